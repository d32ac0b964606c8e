"""Agents: thin shells around the built-in agentic loop, which is a workflow like any other."""

from __future__ import annotations

from agentflow.agents.agent import Agent
from agentflow.agents.background import background
from agentflow.agents.call_view import CallView
from agentflow.agents.delegation import SubAgentFailed, steps_above
from agentflow.agents.events import (
    AgentEvent,
    FinishEvent,
    HandoffEvent,
    IdleEvent,
    StartEvent,
    StepEvent,
    SubAgentEvent,
    TaskEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from agentflow.agents.guardrails import Block, Guardrail, GuardrailBlocked, JudgedCall
from agentflow.agents.hooks import CallEnd, Fallback, Handoff, Hooks, ToolEnd, ToolStart, TriedAgain
from agentflow.agents.instructions import InstructionContext
from agentflow.agents.loop import LoopState, OnMaxSteps, build_loop
from agentflow.agents.loop_result import FinishReason, LoopResult
from agentflow.agents.middleware import Middleware, MiddlewareAborted, MiddlewareContext
from agentflow.agents.options import AgentOptions, CallOptions, ResumedCallOptions
from agentflow.agents.pending_request import PendingRequest
from agentflow.agents.pending_turn import PendingTurn
from agentflow.agents.permission import AgentDenied, Asked, Permission
from agentflow.agents.prompts import Prompts
from agentflow.agents.registration import registered
from agentflow.agents.result import ObjectResult, TextResult
from agentflow.agents.spawning import Spawned, SpawnScope, spawn
from agentflow.agents.step import Step
from agentflow.agents.step_plan import PrepareStep, StepContext, StepPlan
from agentflow.agents.stop import StopWhen, step_count, tool_called
from agentflow.agents.stream import AgentStream
from agentflow.agents.subagents import Backend, Order, Subagents, SubTask, SubTasks
from agentflow.agents.system_context import SystemContext
from agentflow.tools.workspace import Workspace

__all__ = [
    "Agent",
    "AgentDenied",
    "AgentEvent",
    "AgentOptions",
    "AgentStream",
    "Asked",
    "Backend",
    "Block",
    "CallEnd",
    "CallOptions",
    "CallView",
    "Fallback",
    "FinishEvent",
    "FinishReason",
    "Guardrail",
    "GuardrailBlocked",
    "Handoff",
    "HandoffEvent",
    "Hooks",
    "IdleEvent",
    "InstructionContext",
    "JudgedCall",
    "LoopResult",
    "LoopState",
    "Middleware",
    "MiddlewareAborted",
    "MiddlewareContext",
    "ObjectResult",
    "OnMaxSteps",
    "Order",
    "PendingRequest",
    "PendingTurn",
    "Permission",
    "PrepareStep",
    "Prompts",
    "ResumedCallOptions",
    "SpawnScope",
    "Spawned",
    "StartEvent",
    "Step",
    "StepContext",
    "StepEvent",
    "StepPlan",
    "StopWhen",
    "SubAgentEvent",
    "SubAgentFailed",
    "SubTask",
    "SubTasks",
    "Subagents",
    "SystemContext",
    "TaskEvent",
    "TextResult",
    "ToolCallEvent",
    "ToolEnd",
    "ToolResultEvent",
    "ToolStart",
    "TriedAgain",
    "Workspace",
    "background",
    "build_loop",
    "registered",
    "spawn",
    "step_count",
    "steps_above",
    "tool_called",
]
