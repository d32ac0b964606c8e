"""Agents: the built-in agentic loop, a workflow like any other."""

from __future__ import annotations
