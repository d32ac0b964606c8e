"""Middleware: functions at named boundaries of a call, which rewrite what passes, or ask for another attempt."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, get_args

from agentflow.agents.call_view import CallView
from agentflow.agents.middleware_span import spanned
from agentflow.agents.record import as_record
from agentflow.errors import AgentflowError
from agentflow.graph.argument import one_of

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.run import Run

__all__ = [
    "Boundary",
    "Middleware",
    "MiddlewareAborted",
    "MiddlewareContext",
    "as_middlewares",
    "begin_attempt",
    "forget",
    "handled",
    "handled_once",
    "rewritten",
    "seen_by",
]

Boundary = Literal["input", "turn", "step", "request", "commit", "chunk", "output"]

_BOUNDARIES: Final[tuple[Boundary, ...]] = get_args(Boundary)

_SCOPE: Final = one_of("call", "attempt")


class MiddlewareAborted(AgentflowError):
    """A middleware ended the call, or its attempt: `middleware` names it, `reason` is what it said.

    Args:
        middleware: The name of the middleware.
        reason: Why.
        retry: Whether it asked for another attempt.
        because: Why there was none, if it did.
    """

    code = "middleware_aborted"

    def __init__(self, middleware: str, reason: str, *, retry: bool, because: str = "") -> None:
        self.middleware = middleware
        self.reason = reason
        self.retry = retry
        self.because = because
        super().__init__(middleware, reason)

    def __str__(self) -> str:
        told = f"middleware {self.middleware!r} aborted the call: {self.reason}"
        return f"{told} ({self.because})" if self.because else told


@dataclass(frozen=True, slots=True, kw_only=True)
class MiddlewareContext(CallView):
    """What a middleware sees of the call, and what it may do besides returning another value.

    Args:
        name: The name of the middleware.
        state: Its own map. It lives through steps and attempts as long as the call, or with `state_scope="attempt"` as long as
            the attempt; it is shared by all of its functions, and recorded nowhere: a call that goes on in another process
            begins with an empty one.
    """

    name: str
    state: dict[str, Any]

    def abort(self, reason: str, *, retry: bool = False) -> NoReturn:
        """End the call; or its attempt, for another one that is told the reason.

        Args:
            reason: Why; with `retry`, the model reads it in the next attempt.
            retry: Ask for another attempt, at the boundaries `input` and `output`. There is one as long as
                `max_middleware_retries` allows it, and nothing of the answer was handed out.

        Raises:
            MiddlewareAborted: Always.
        """
        raise MiddlewareAborted(self.name, reason, retry=retry)


Handler = Callable[[Any, MiddlewareContext], Any]
"""Takes the value and the context, and gives the value that goes on; plain or async."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Middleware:
    """One middleware: a function for each boundary at which it has something to do.

    Instead of this record, any object may be given that has some of these as methods, and perhaps a `name`.

    Args:
        name: What errors and facts call it; default: by its place in the list.
        input: Takes the conversation that is asked with, as a tuple of messages, and gives another: a text, a message or
            messages.
        turn: Takes a `PendingTurn` and gives what `await turn.proceed()` gave, or a text in its place. It stands around the
            loop in each attempt; a call that goes on after a crash goes through it again.
        step: Takes the `StepContext` of a step that is about to begin, and gives a `StepPlan` or `None`.
        request: Takes a `PendingRequest` and gives what `await request.send()` gave, or a text in its place.
        commit: Takes a model's answer, which is a message, before it goes into the conversation, and gives another, or a text
            for its text; the tool calls stay.
        chunk: Takes a chunk of a stream before it is handed out, and gives another, or `None` to leave it out.
        output: Takes the answer, which is the text or the structured output, and gives another.
        state_scope: How long its `state` lives: as long as the `call`, or as long as the `attempt`, so that a further attempt
            begins with an empty one.
    """

    name: str = ""
    input: Handler | None = None
    turn: Handler | None = None
    step: Handler | None = None
    request: Handler | None = None
    commit: Handler | None = None
    chunk: Handler | None = None
    output: Handler | None = None
    state_scope: Literal["call", "attempt"] = "call"


def as_middlewares(given: Iterable[Any], *, before: int = 0) -> tuple[Middleware, ...]:
    """What was given as middleware, as records with names.

    Args:
        given: Records, or objects with the methods of one.
        before: How many there are before these.

    Raises:
        TypeError: One of them is none; says which.
        ValueError: The `state_scope` of one is neither `call` nor `attempt`.
    """
    return tuple(_as_middleware(item, before + at) for at, item in enumerate(given))


def _as_middleware(item: Any, at: int) -> Middleware:
    scope = getattr(item, "state_scope", "call")
    _SCOPE.check("state_scope", scope, of=f"middlewares[{at}]")
    name = f"middleware-{at + 1}"
    made = as_record(Middleware, item, _BOUNDARIES, name=name, state_scope=scope)
    handlers = [getattr(made, boundary) for boundary in _BOUNDARIES]
    if all(handler is None for handler in handlers):
        raise TypeError(
            f"middlewares[{at}]={item!r} is no middleware: give Middleware(output=function), or an object with a method "
            f"{', '.join(_BOUNDARIES[:-1])} or {_BOUNDARIES[-1]}"
        )
    for boundary, handler in zip(_BOUNDARIES, handlers, strict=True):
        if handler is not None and not callable(handler):
            raise TypeError(f"middlewares[{at}]: its {boundary}={handler!r} cannot be called")
    return made


_States = dict[tuple[str, int], dict[str, Any]]
_states: weakref.WeakKeyDictionary[Run[Any], _States] = weakref.WeakKeyDictionary()


def seen_by(at: int, middleware: Middleware, view: CallView) -> MiddlewareContext:
    """What one of the middlewares of a call sees of it.

    Args:
        at: Its place in the list.
        middleware: The middleware.
        view: The call.
    """
    states = _states.setdefault(view.run, {})
    return MiddlewareContext(
        run=view.run,
        run_id=view.run_id,
        attempt=view.attempt,
        feedback=view.feedback,
        name=middleware.name,
        state=states.setdefault((view.run_id, at), {}),
    )


def begin_attempt(middlewares: Sequence[Middleware], view: CallView) -> None:
    """Have those whose state is of an attempt begin this one with an empty one."""
    states = _states.get(view.run, {})
    for at, middleware in enumerate(middlewares):
        if middleware.state_scope == "attempt":
            states.pop((view.run_id, at), None)


def forget(run: Run[Any]) -> None:
    """Drop the maps of a call that has ended: what lies in them may lead back to its run, which would never be freed then."""
    _states.pop(run, None)


async def handled(handler: Handler, value: Any, context: MiddlewareContext) -> Any:
    """What a handler gives, plain or async."""
    given = handler(value, context)
    return await given if inspect.isawaitable(given) else given


async def handled_once(handler: Handler, value: Any, context: MiddlewareContext) -> Any:
    """The same, at a boundary that knows no further attempt.

    Raises:
        MiddlewareAborted: It ended the call.
    """
    try:
        return await handled(handler, value, context)
    except MiddlewareAborted as aborted:
        raise _not_again(aborted) from None


def _not_again(aborted: MiddlewareAborted) -> MiddlewareAborted:
    """The end of a call at a boundary that knows no further attempt, which says so if one was asked for."""
    if not aborted.retry:
        return aborted
    return MiddlewareAborted(
        aborted.middleware,
        aborted.reason,
        retry=True,
        because="it asked for another attempt, which input and output middleware alone can",
    )


async def rewritten(
    ctx: NodeContext,
    middlewares: Sequence[Middleware],
    boundary: Literal["input", "output"],
    value: Any,
    view: CallView,
) -> Any:
    """The value after all middlewares of a boundary, in their order; each is told of by a fact.

    Raises:
        MiddlewareAborted: One of them ended the attempt.
        Exception: What one of them raised.
    """
    for at, middleware in enumerate(middlewares):
        handler = getattr(middleware, boundary)
        if handler is None:
            continue
        with spanned(ctx, at, middleware, boundary, value) as tell:
            value = await handled(handler, value, seen_by(at, middleware, view))
            tell(value)
    return value
