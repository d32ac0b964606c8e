"""Guardrails: verdicts on what passes the boundaries of a call. Pass or block, nothing else; what fails to judge, blocks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from agentflow.agents.call_view import CallView
from agentflow.agents.record import as_record
from agentflow.errors import AgentflowError
from agentflow.run.decide import UNRECOVERABLE
from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Block", "Guardrail", "GuardrailBlocked", "JudgedCall", "as_guardrails", "judge"]

Judged = Literal["input", "output", "chunk", "tool_input", "tool_output"]

_JUDGED: Final = ("input", "output", "chunk", "tool_input", "tool_output")


class GuardrailBlocked(AgentflowError):
    """A guardrail blocked what passed: `guardrail` names it, `boundary` says where it stands, `reason` is what it said."""

    code = "guardrail_blocked"

    def __init__(self, guardrail: str, boundary: str, reason: str) -> None:
        self.guardrail = guardrail
        self.boundary = boundary
        self.reason = reason
        super().__init__(guardrail, boundary, reason)

    def __str__(self) -> str:
        return f"guardrail {self.guardrail!r} blocked the {self.boundary}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Block:
    """The verdict that blocks.

    Args:
        reason: Why; whoever called is told, and of a tool call the model.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCall:
    """A tool call that is judged.

    Args:
        tool: The id of the tool.
        input: Its arguments, validated.
        output: What it gave; `None` before it was made.
    """

    tool: str
    input: Any
    output: Any = None


Judge = Callable[[Any, CallView], Any]
"""Takes the value and the view of the call, and gives `True`, or `False` or a `Block`; plain or async."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrail:
    """One guardrail: a function for each boundary that it judges. It cannot change what it judges.

    Instead of this record, any object may be given that has some of these as methods, and perhaps a `name` and a `when`.

    Args:
        name: What errors and facts call it; default: by its place in the list.
        input: Judges the conversation that is asked with, after all input middleware.
        output: Judges the answer, which is the text or the structured output, after all output middleware.
        chunk: Judges each chunk of a stream, after all chunk middleware and before it is handed out.
        tool_input: Judges a tool call before it is made; one that is blocked is a result that the model sees.
        tool_output: Judges what a tool call gave, before the model sees it.
        when: When `input` is judged: `before` the model is asked; or `beside` it, and then nothing is handed out before the
            verdict, and a block cancels the model.
    """

    name: str = ""
    input: Judge | None = None
    output: Judge | None = None
    chunk: Judge | None = None
    tool_input: Judge | None = None
    tool_output: Judge | None = None
    when: Literal["before", "beside"] = "before"


def as_guardrails(given: Iterable[Any], *, before: int = 0) -> tuple[Guardrail, ...]:
    """What was given as guardrails, as records with names.

    Args:
        given: Records, or objects with the methods of one.
        before: How many there are before these.

    Raises:
        TypeError: One of them is none; says which.
    """
    return tuple(_as_guardrail(item, before + at) for at, item in enumerate(given))


def _as_guardrail(item: Any, at: int) -> Guardrail:
    when = getattr(item, "when", "before")
    made = as_record(Guardrail, item, _JUDGED, name=f"guardrail-{at + 1}", when=when)
    found = [judge for judge in (getattr(made, each) for each in _JUDGED) if judge is not None]
    if not found or not all(map(callable, found)):
        raise TypeError(
            f"guardrails[{at}]={item!r} is no guardrail: give Guardrail(output=function), or an object with a method "
            f"{', '.join(_JUDGED)}"
        )
    if made.when not in ("before", "beside"):
        raise TypeError(f"guardrails[{at}]: when={made.when!r}; it is 'before' or 'beside'")
    return made


async def judge(
    guardrails: Sequence[Guardrail],
    boundary: Judged,
    value: Any,
    view: CallView,
    *,
    ctx: NodeContext | None = None,
) -> None:
    """Let a value pass all guardrails of a boundary, in their order, or none.

    Args:
        guardrails: Those of the call.
        boundary: What is judged.
        value: What passes.
        view: The call.
        ctx: The visit that tells of verdicts by facts, if one does.

    Raises:
        GuardrailBlocked: One of them blocked, or could not judge.
    """
    for guardrail in guardrails:
        judged: Judge | None = getattr(guardrail, boundary)
        if judged is None:
            continue
        reason, cause = await _verdict(judged, value, view)
        if ctx is not None:
            data = {"guardrail": guardrail.name, "boundary": boundary, "passed": reason is None}
            emit(
                ctx, "guardrail.judged", data=data | ({} if reason is None else {"reason": reason})
            )
        if reason is not None:
            told = boundary.replace("_", " ")
            raise GuardrailBlocked(guardrail.name, told, reason) from cause


async def _verdict(
    judged: Judge, value: Any, view: CallView
) -> tuple[str | None, Exception | None]:
    """Why not, or `None` for a pass; and the error that stands behind it."""
    try:
        verdict = judged(value, view)
        if inspect.isawaitable(verdict):
            verdict = await verdict
    except UNRECOVERABLE:
        raise
    except Exception as error:
        return f"it raised {type(error).__name__}: {error}", error
    match verdict:
        case True:
            return None, None
        case Block(reason=reason):
            return reason, None
        case False:
            return "it said no", None
    return f"it gave {verdict!r}, which is no verdict", None
