"""Agents: ours, a bare loop and those of others, with the same scripted model, behind the protocol of `bench.agents.worker`."""

from __future__ import annotations

NAMES = ("floor", "agentflow", "pydantic_ai", "openai_agents", "langchain", "agno")
