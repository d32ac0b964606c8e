"""Models: providers, the calls that reach them, and the transports that read their answers."""

from __future__ import annotations
