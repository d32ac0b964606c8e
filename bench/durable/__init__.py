"""Durable runs: the competitors that keep runs in a database, one module each, all behind the protocol of `bench.durable.keeper`."""

from __future__ import annotations

NAMES = ("floor", "agentflow", "langgraph", "dbos")
