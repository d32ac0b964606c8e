"""The competitors, one module each, all behind the protocol of `bench.peer`."""

from __future__ import annotations

FLOOR = "floor"
OURS = "agentflow"
NAMES = (FLOOR, OURS, "langgraph", "pydantic_graph", "pydantic_graph_1", "burr")
