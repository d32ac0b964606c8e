"""Agents: the built-in agentic loop, a workflow like any other."""

from __future__ import annotations

from agentflow.agents.loop import LoopState, OnMaxSteps, build_loop
from agentflow.agents.loop_result import FinishReason, LoopResult
from agentflow.agents.step import Step
from agentflow.agents.step_plan import PrepareStep, StepContext, StepPlan
from agentflow.agents.stop import StopWhen, step_count, tool_called

__all__ = [
    "FinishReason",
    "LoopResult",
    "LoopState",
    "OnMaxSteps",
    "PrepareStep",
    "Step",
    "StepContext",
    "StepPlan",
    "StopWhen",
    "build_loop",
    "step_count",
    "tool_called",
]
