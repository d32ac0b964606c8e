"""Tools: what a workflow can do to the outside, with a contract, a permit and a receipt."""

from __future__ import annotations
