"""Model requests that middleware stands around: it sends them, again perhaps, and shapes what is kept of the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentflow.agents.call_view import CallView
from agentflow.agents.middleware import Middleware, handled_once, seen_by
from agentflow.agents.middleware_span import spanned
from agentflow.agents.sendable import check_sendable
from agentflow.agents.setup import LoopSetup
from agentflow.errors import ContractError
from agentflow.messages.message import Message, assistant
from agentflow.messages.part import TextPart

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["PendingRequest", "Send", "committed", "dispatched", "saying"]

Send = Callable[[Sequence[Message]], Awaitable[Message]]
"""Sends messages to the model, and gives its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """A model request that is about to be sent.

    Args:
        messages: What is to be sent.
        step: The step that it belongs to, from 1.
    """

    messages: tuple[Message, ...]
    step: int
    _send: Send

    async def send(self, messages: Iterable[Message] | None = None) -> Message:
        """Send it, and give the model's answer.

        It may be sent again: as often in a step as `max_middleware_retries` allows.

        Args:
            messages: What is sent in its place; it is not kept.

        Raises:
            ContractError: The messages are no legal sequence, or there is no further try.
            ModelError: The call failed.
        """
        return await self._send(self.messages if messages is None else tuple(messages))


async def dispatched(
    setup: LoopSetup, ctx: NodeContext, messages: Sequence[Message], step: int, send: Send
) -> Message:
    """The answer to a request, by way of all middlewares that stand around it, the first of them outermost.

    Args:
        setup: The setup in force.
        ctx: The visit.
        messages: What is to be sent.
        step: The step.
        send: Sends.
    """
    around = [(at, one) for at, one in enumerate(setup.middlewares) if one.request is not None]
    if not around:
        return await send(messages)
    sent, most = 0, 1 + setup.retries

    async def counted(given: Sequence[Message]) -> Message:
        nonlocal sent
        if sent == most:
            raise ContractError(
                f"the request of step {step} was sent {sent} times, and max_middleware_retries={setup.retries} allows no more"
            )
        sent += 1
        return await send(check_sendable(given, by="request middleware"))

    inner: Send = counted
    view = CallView.of(ctx)
    for at, middleware in reversed(around):
        inner = _inside(ctx, at, middleware, step, inner, view)
    return await inner(messages)


def _inside(
    ctx: NodeContext, at: int, middleware: Middleware, step: int, send: Send, view: CallView
) -> Send:
    async def take(messages: Sequence[Message]) -> Message:
        assert middleware.request is not None
        answers: list[Message] = []

        async def sent(given: Sequence[Message]) -> Message:
            answers.append(await send(given))
            return answers[-1]

        request = PendingRequest(messages=tuple(messages), step=step, _send=sent)
        with spanned(ctx, at, middleware, "request", request.messages) as tell:
            given = await handled_once(middleware.request, request, seen_by(at, middleware, view))
            answer = _answer(given, middleware, "request")
            if not answers and answer.provenance == "model":
                answer = replace(answer, provenance="contributed")
            # An answer that nobody has sent for says something, and calls nothing.
            _check_calls(answer, middleware, (*answers, assistant()))
            tell(answer)
        return answer

    return take


async def committed(setup: LoopSetup, ctx: NodeContext, said: Message) -> Message:
    """A model's answer as it goes into the conversation, after all middlewares that shape it.

    Raises:
        ContractError: One gave no answer, or another one's tool calls.
    """
    for at, middleware in enumerate(setup.middlewares):
        if middleware.commit is not None:
            with spanned(ctx, at, middleware, "commit", said) as tell:
                seen = seen_by(at, middleware, CallView.of(ctx))
                given = await handled_once(middleware.commit, said, seen)
                if isinstance(given, str):
                    given = saying(said, given)
                answer = _answer(given, middleware, "commit")
                _check_calls(answer, middleware, (said,))
                tell(answer)
            said = answer
    return said


def _answer(given: Any, middleware: Middleware, boundary: str) -> Message:
    if isinstance(given, str):
        return assistant(given, provenance="contributed")
    if not isinstance(given, Message) or given.role != "assistant":
        raise ContractError(
            f"middleware {middleware.name!r} gave {type(given).__name__} at its {boundary}; it gives an answer of the model, or a text"
        )
    return given


def _check_calls(answer: Message, middleware: Middleware, of: Iterable[Message]) -> None:
    if all(answer.tool_calls != one.tool_calls for one in of):
        raise ContractError(
            f"middleware {middleware.name!r} has changed the tool calls of an answer; only the model says what is called"
        )


def saying(message: Message, text: str) -> Message:
    """The same message with another text in the place of its own."""
    rest = [part for part in message.content if not isinstance(part, TextPart)]
    calls = [part for part in rest if part.type == "tool_call"]
    others = [part for part in rest if part.type != "tool_call"]
    return replace(message, content=(*others, *((TextPart(text),) if text else ()), *calls))
