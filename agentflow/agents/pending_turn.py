"""Turns that middleware stands around: it lets the loop work, or gives an answer without it, and sees what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.loop_result import LoopResult
from agentflow.agents.middleware import Middleware, handled_once, seen_by
from agentflow.agents.middleware_span import spanned
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.errors import ContractError, OutputInvalid
from agentflow.graph.kinds import Kind
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.messages.message import Message, assistant
from agentflow.models.transport import structured
from agentflow.run.compose import perform

if TYPE_CHECKING:
    from agentflow.agents.guarded import GuardedState
    from agentflow.run.context import NodeContext

__all__ = ["PendingTurn", "surrounded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """A turn that is about to be taken.

    Args:
        messages: The conversation that the loop is asked with.
        proceed: Lets it work, once, and gives what it has come to; raises what it raises.
    """

    messages: tuple[Message, ...]
    proceed: Callable[[], Awaitable[LoopResult]]


def surrounded(work: Node, setup: LoopSetup, *, told: str, model_calls: int | None) -> Node:
    """The node that lets a loop work, with middleware around it.

    Args:
        work: The node without it.
        setup: The setup of the agent.
        told: The field with what the loop is asked with.
        model_calls: How many the loop may make.
    """
    kind = work.kind
    assert kind is not None
    # What judges beside the loop has passed, or was not asked, because there was no loop.
    besides = {"passed": True} if "passed" in work.provides else {}

    async def around(state: GuardedState, ctx: NodeContext) -> Mapping[str, Any]:
        taken = await _taken(kind, setup_in_force(setup, ctx), state, ctx, told)
        return {**besides, "worked": taken}

    return node(
        around,
        id=work.id,
        requires=list(work.requires),
        provides=list(work.provides),
        uses=Uses(model_calls=model_calls, tool_calls=None),
        routes=list(work.routes),
        description="Let middleware take the turn, by the loop or without it.",
    )


async def _taken(
    kind: Kind, setup: LoopSetup, state: GuardedState, ctx: NodeContext, told: str
) -> LoopResult:
    asked: Sequence[Message] = state[told]  # type: ignore[literal-required]
    messages = tuple(asked)
    begun = False

    async def work() -> LoopResult:
        nonlocal begun
        if begun:
            raise RuntimeError("a turn is taken once: await turn.proceed() only once")
        begun = True
        result: LoopResult = (await perform(ctx, kind))["worked"]
        return result

    view = CallView.of(ctx, attempt=state["attempt"], feedback=state["feedback"])
    proceed = work
    for at, middleware in reversed(list(enumerate(setup.middlewares))):
        if middleware.turn is not None:
            proceed = _inside(ctx, at, middleware, messages, proceed, view, setup.output)
    return await proceed()


def _inside(
    ctx: NodeContext,
    at: int,
    middleware: Middleware,
    messages: tuple[Message, ...],
    proceed: Callable[[], Awaitable[LoopResult]],
    view: CallView,
    wanted: structured | None,
) -> Any:
    async def take() -> LoopResult:
        assert middleware.turn is not None
        taken: list[LoopResult] = []

        async def proceeding() -> LoopResult:
            taken.append(await proceed())
            return taken[-1]

        turn = PendingTurn(messages=messages, proceed=proceeding)
        with spanned(ctx, at, middleware, "turn", messages) as tell:
            given = await handled_once(middleware.turn, turn, seen_by(at, middleware, view))
            if isinstance(given, str):
                given = _answered(messages, given, _read(given, middleware, wanted))
            elif not isinstance(given, LoopResult):
                raise ContractError(
                    f"middleware {middleware.name!r} gave {type(given).__name__} for a turn; it gives what "
                    f"'await turn.proceed()' gave, or a text in its place"
                )
            elif wanted is not None and all(given.object is not one.object for one in taken):
                given = replace(given, object=_accepted(given.object, middleware, wanted))
            tell(given.text)
        return given

    return take


def _accepted(value: Any, middleware: Middleware, wanted: structured) -> Any:
    """The structured output of a result that middleware has made.

    Raises:
        ContractError: It is none.
    """
    try:
        return wanted.accept(value)
    except OutputInvalid as error:
        raise ContractError(
            f"middleware {middleware.name!r} gave another value for the structured output of a turn: {error}"
        ) from error


def _read(text: str, middleware: Middleware, wanted: structured | None) -> Any:
    """The structured output that a text is, if one was asked for.

    Raises:
        ContractError: It is none.
    """
    if wanted is None:
        return None
    try:
        return wanted.parse(assistant(text))
    except OutputInvalid as error:
        raise ContractError(
            f"middleware {middleware.name!r} gave a text for a turn that is to give structured output: {error}"
        ) from error


def _answered(messages: tuple[Message, ...], text: str, object: Any) -> LoopResult:
    """What a turn has come to for which no model was asked: nobody must take its answer for a model's."""
    return LoopResult(
        text=text,
        object=object,
        messages=(*messages, assistant(text, provenance="contributed")),
        given=len(messages),
        records=(),
        finish_reason="skipped",
    )
