"""The state of the agentic loop."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import BeforeValidator

from agentflow.agents.loop_result import LoopResult
from agentflow.agents.request import StepRequest
from agentflow.agents.step import Step, StepRecord, step_of, steps_of
from agentflow.graph.reducer import add, append
from agentflow.messages.message import Message, as_messages

__all__ = ["LoopState", "as_list", "last_step", "steps_so_far"]


def as_list(value: object) -> object:
    """A text or a single message as a conversation; everything else is left to the validation."""
    return list(as_messages(value)) if isinstance(value, (str, Message)) else value


class LoopState(TypedDict):
    """The state of the loop.

    `messages` is the conversation. `feedback` is what was wrong with an earlier attempt at the same input; it is told to the
    model as a system message, and is no part of the conversation. The rest is the loop's own: `given` counts the messages
    that it began with, `request` is what the step asks with, `steps` what is kept of each step, `corrected` how many answers
    went back to the model, and `bailed` the value of a tool that ended the loop.
    """

    messages: Annotated[list[Message], BeforeValidator(as_list), append]
    feedback: NotRequired[str | None]
    given: NotRequired[int]
    step: NotRequired[int]
    request: NotRequired[StepRequest]
    steps: NotRequired[Annotated[list[StepRecord], append]]
    corrected: NotRequired[Annotated[int, add]]
    bailed: NotRequired[Any]
    result: NotRequired[LoopResult]


def last_step(state: LoopState) -> Step:
    """The latest step that is in the state, which has one."""
    return step_of(state["steps"][-1], state["messages"])


def steps_so_far(state: LoopState) -> tuple[Step, ...]:
    """The steps that are in the state."""
    return steps_of(state.get("steps", ()), state["messages"])
