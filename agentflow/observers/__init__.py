"""Observers: ready-made listeners to the facts of a run."""

from __future__ import annotations

from agentflow.observers.console import console_progress

__all__ = ["console_progress"]
