"""Tools and extras: pydantic and the packages alone, and agentflow on top of them, behind the protocol of `bench.tools.smith`."""

from __future__ import annotations

NAMES = ("floor", "agentflow")
