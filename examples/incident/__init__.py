"""What the incident triage works with, beside its workflow: values, tools, and the script of its model."""

from __future__ import annotations
