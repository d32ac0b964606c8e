"""Events: what a streamed call hands out besides the chunks of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentflow.agents.step import Step
from agentflow.errors import DeliveryError
from agentflow.messages.chunk import Chunk
from agentflow.messages.part import ToolCall, ToolResult

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = [
    "AgentEvent",
    "EventSink",
    "FinishEvent",
    "HandoffEvent",
    "IdleEvent",
    "StartEvent",
    "StepEvent",
    "SubAgentEvent",
    "TaskEvent",
    "ToolCallEvent",
    "ToolResultEvent",
    "takes_events",
    "tell",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEvent:
    """The call began.

    Args:
        run_id: The run.
        response_id: The id that the first message of the answer will have.
    """

    run_id: str
    response_id: str
    type: Literal["start"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEvent:
    """A tool call that the model proposed, whole and parsed; it is about to be looked at."""

    call: ToolCall
    type: Literal["tool_call_ready"] = "tool_call_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent:
    """What came of a tool call."""

    result: ToolResult
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent:
    """A step ended."""

    step: Step
    type: Literal["step"] = "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishEvent:
    """The call ended; nothing follows, unless the stream lasts until it is idle: then further calls may.

    Args:
        finish_reason: Why: that of the result, or `error`, `cancelled`, `blocked`, `suspended`, `interrupted`.
        error: What went wrong, if anything did.
    """

    finish_reason: str
    error: BaseException | None = None
    type: Literal["finish"] = "finish"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffEvent:
    """The conversation is handed to another agent. What that hands out comes with its path, and its text is the call's.

    Args:
        agent: The name of the other agent.
    """

    agent: str
    type: Literal["handoff"] = "handoff"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentEvent:
    """Something that a sub-agent hands out, or an agent that has taken over.

    Args:
        path: The names of the agents that lead to it, the outermost first.
        event: What it hands out.
    """

    path: tuple[str, ...]
    event: Any
    type: Literal["sub_agent"] = "sub_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent:
    """A background task ended, and a further call is about to tell the model of it.

    Args:
        task: The id of the task.
        tool: The id of its tool.
        status: How it ended: `completed` or `failed`.
    """

    task: str
    tool: str
    status: str
    type: Literal["task"] = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleEvent:
    """A stream that lasts until it is idle has ended; nothing follows.

    Args:
        turns: How many calls there were.
    """

    turns: int
    type: Literal["idle"] = "idle"


AgentEvent = (
    Chunk
    | StartEvent
    | ToolCallEvent
    | ToolResultEvent
    | StepEvent
    | HandoffEvent
    | SubAgentEvent
    | TaskEvent
    | FinishEvent
    | IdleEvent
)
"""Everything that the full view of a stream hands out."""


class EventSink(Protocol):
    """A sink that takes events besides chunks."""

    async def tell(self, event: Any) -> None:
        """Take one event."""
        ...


def takes_events(ctx: NodeContext) -> bool:
    """Whether the run has a sink that takes events, so that they are worth making."""
    return getattr(ctx.run.sink, "tell", None) is not None


async def tell(ctx: NodeContext, event: AgentEvent) -> None:
    """Hand an event to the run's sink, if that takes any.

    Raises:
        DeliveryError: The sink failed.
    """
    take = getattr(ctx.run.sink, "tell", None)
    if take is None:
        return
    try:
        await take(event)
    except Exception as error:
        raise DeliveryError(
            f"node {ctx.node_id!r}: the sink failed to take an event: {type(error).__name__}: {error}"
        ) from error
