"""The state of the agentic loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import BeforeValidator

from agentflow.agents.loop_result import LoopResult
from agentflow.agents.request import StepRequest
from agentflow.agents.step import Step, StepRecord, step_of, steps_of
from agentflow.graph.reducer import add, append
from agentflow.messages.message import Message, as_messages

__all__ = ["LoopState", "Shortened", "as_list", "last_step", "steps_so_far", "told_conversation"]


def as_list(value: object) -> object:
    """A text or a single message as a conversation; everything else is left to the validation."""
    return list(as_messages(value)) if isinstance(value, (str, Message)) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """What stands for the beginning of a conversation where the model is told of it.

    Args:
        messages: What is told in its place.
        of: How many messages of the conversation that stands for.
    """

    messages: tuple[Message, ...]
    of: int


class LoopState(TypedDict):
    """The state of the loop.

    `messages` is the conversation. `feedback` is what was wrong with an earlier attempt at the same input; it is told to the
    model as a system message, and is no part of the conversation. The rest is the loop's own: `given` counts the messages
    that it began with, `shortened` is what stands for its beginning, `request` what the step asks with, `steps` what is kept of each step, `corrected` how many answers
    went back to the model, and `bailed` the value of a tool that ended the loop.
    """

    messages: Annotated[list[Message], BeforeValidator(as_list), append]
    feedback: NotRequired[str | None]
    given: NotRequired[int]
    step: NotRequired[int]
    shortened: NotRequired[Shortened]
    request: NotRequired[StepRequest]
    steps: NotRequired[Annotated[list[StepRecord], append]]
    corrected: NotRequired[Annotated[int, add]]
    bailed: NotRequired[Any]
    result: NotRequired[LoopResult]


def told_conversation(state: LoopState) -> Sequence[Message]:
    """The conversation as the model is told of it."""
    shortened = state.get("shortened")
    if shortened is None:
        return state["messages"]
    return [*shortened.messages, *state["messages"][shortened.of :]]


def last_step(state: LoopState) -> Step:
    """The latest step that is in the state, which has one."""
    return step_of(state["steps"][-1], state["messages"])


def steps_so_far(state: LoopState) -> tuple[Step, ...]:
    """The steps that are in the state."""
    return steps_of(state.get("steps", ()), state["messages"])
