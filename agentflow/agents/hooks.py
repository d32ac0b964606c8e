"""Hooks: awaited notifications at fixed points of a call, each exactly once, also when the call fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from agentflow.agents.call_view import CallView
from agentflow.agents.step import Step
from agentflow.graph.argument import FUNCTION, LIST, check_fields, or_none
from agentflow.messages.message import Message
from agentflow.run.usage import Usage

if TYPE_CHECKING:
    from agentflow.agents.result import TextResult

__all__ = [
    "CallEnd",
    "Handoff",
    "Hooks",
    "ToolEnd",
    "ToolStart",
    "as_hooks",
    "notify",
    "notify_of_end",
    "prepared",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd:
    """How a call ended, and what there is of it.

    Args:
        finish_reason: Why: that of the result, or `error`, `cancelled`, `blocked`.
        result: The result, if it came to one.
        error: What it raised, if it did.
        messages: The conversation as far as it came, with one result for each tool call; of an answer that was blocked, the
            input alone.
        steps: The steps that it took.
        text: What was said last, or handed out of an answer that broke off.
        usage: What all model calls have used.
    """

    finish_reason: str
    result: TextResult | None
    error: BaseException | None
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    text: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart:
    """A tool call that is about to be made.

    Args:
        tool: The id of the tool.
        call_id: The id that the model gave to the call.
        input: Its arguments, validated.
    """

    tool: str
    call_id: str | None
    input: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd:
    """A tool call that ended.

    Args:
        tool: The id of the tool.
        call_id: The id that the model gave to the call.
        output: What it gave.
        error: What it raised instead.
    """

    tool: str
    call_id: str | None
    output: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedAgain:
    """Something that was tried again.

    Args:
        what: An `attempt`, which middleware has asked for, or a `model` call.
        reason: Why an attempt was given up; of a model call, the model that has answered or failed in the end.
        times: How often it was tried again.
    """

    what: Literal["attempt", "model"]
    reason: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """A model call that another model has taken over.

    Args:
        model: The model that was to be asked.
        next: The one that was asked in the end.
    """

    model: str
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """A task, or the conversation, that is about to be handed to another agent.

    Args:
        agent: The name of the other agent.
        task: What it is asked; of a conversation, why it is handed over, if the model has said so.
        kind: What is handed over: a `task`, of which the answer comes back, or the `conversation`.
    """

    agent: str
    task: str
    kind: Literal["task", "conversation"] = "task"


Hook = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What is called at the fixed points of a call; each may be plain or async.

    An error of `on_start`, or of another hook before the first model call, refuses the call. One of `on_end` or `on_error` is
    logged and changes nothing; one of any other fails the call.

    Args:
        on_start: `(view)`, before anything runs.
        on_end: `(end, view)`, when the call has ended, however it did.
        on_error: `(error, view)`, when it failed, before `on_end`.
        on_step_finish: `(step, view)`, after each step, but not after one that a tool ended the loop in.
        on_prepare_messages: `(messages, view)`, before each model call: gives the conversation that is sent, instead of the one
            that is kept.
        on_prepare_model_messages: `(messages, view)`, after that: the same with instructions and all, as it is sent.
        on_tool_start: `(start, view)`, before a tool call is made.
        on_tool_end: `(end, view)`, when it has ended, however it did.
        on_retry: `(tried_again, view)`, when middleware has asked for another attempt, and after a model call that took several
            tries.
        on_fallback: `(fallback, view)`, after a model call that another model than the first has taken over.
        on_handoff: `(handoff, view)`, before a task or the conversation is handed to another agent.

    Raises:
        TypeError: One of them cannot be called.
    """

    on_start: Hook | None = None
    on_end: Hook | None = None
    on_error: Hook | None = None
    on_step_finish: Hook | None = None
    on_prepare_messages: Hook | None = None
    on_prepare_model_messages: Hook | None = None
    on_tool_start: Hook | None = None
    on_tool_end: Hook | None = None
    on_retry: Hook | None = None
    on_fallback: Hook | None = None
    on_handoff: Hook | None = None

    def __post_init__(self) -> None:
        check_fields(self, _WANTED)


_WANTED: Final = dict.fromkeys((each.name for each in fields(Hooks)), or_none(FUNCTION))


def as_hooks(given: Hooks | Iterable[Hooks]) -> tuple[Hooks, ...]:
    """What was given as hooks: one set of them, or several.

    Raises:
        TypeError: One of them is none.
    """
    several: Any = given
    found = tuple(several) if LIST.accepts(several) else (given,)
    for hooks in found:
        if not isinstance(hooks, Hooks):
            raise TypeError(f"hooks={hooks!r}: give Hooks(on_end=…), or several of them")
    return tuple(found)


async def notify(hooks: Sequence[Hooks], name: str, *values: Any) -> None:
    """Call a hook of each set, in their order; raises what one raises."""
    for one in hooks:
        hook: Hook | None = getattr(one, name)
        if hook is not None:
            done = hook(*values)
            if inspect.isawaitable(done):
                await done


async def prepared(
    hooks: Sequence[Hooks], name: str, messages: Sequence[Message], view: CallView
) -> Sequence[Message]:
    """The messages after a hook of each set; one that gives `None` leaves them as they are."""
    for one in hooks:
        hook: Hook | None = getattr(one, name)
        if hook is not None:
            given = hook(list(messages), view)
            if inspect.isawaitable(given):
                given = await given
            messages = messages if given is None else given
    return messages


async def notify_of_end(hooks: Sequence[Hooks], end: CallEnd, view: CallView) -> None:
    """Call `on_error`, if there is one, and `on_end`; what they raise is logged, and hides nothing."""
    if end.error is not None:
        await _notify_safely(hooks, "on_error", end.error, view)
    await _notify_safely(hooks, "on_end", end, view)


async def _notify_safely(hooks: Sequence[Hooks], name: str, value: Any, view: CallView) -> None:
    for one in hooks:
        try:
            await notify((one,), name, value, view)
        except Exception as error:
            view.log.warning("hook failed", hook=name, error=repr(error))
            if isinstance(value, CallEnd) and value.error is not None:
                value.error.add_note(f"{name} raised {type(error).__name__}: {error}")
