"""Compression of a conversation: an ordinary node, which enters where the author puts it and is checked like any other.

What a compressor leaves out is its own affair, but for what must stay: the current question, whatever is pinned, and calls that
still wait for their result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from agentflow.errors import ModelError
from agentflow.graph.argument import (
    FUNCTION,
    TEXT,
    check_arguments,
    check_fields,
    or_none,
    whole,
)
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.messages.message import Message, chars_of, system
from agentflow.messages.shortening import (
    check_shortened,
    current_question,
    must_stay,
    split_leading,
    split_recent,
)
from agentflow.messages.trimming import cut_results, trim

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Compressor", "Summarise", "Trim", "compress_node", "shortened", "uses_of"]

Compressor = Callable[[Sequence[Message], "NodeContext"], Awaitable[Sequence[Message]]]
"""Makes a conversation shorter. One that asks a model says how often by its attribute `uses`."""

_ASK: Final = (
    "Summarise the conversation below for somebody who goes on with it: facts, decisions, open questions and names. "
    "Be short, leave out what was settled, and add nothing."
)


_OF_TRIMMING: Final = {"max_chars": whole(0), "keep_recent": whole(0)}
_OF_A_SUMMARY: Final = {
    "keep_recent": whole(0),
    "model": or_none(TEXT),
    "instructions": TEXT,
    "max_output_tokens": or_none(whole(1)),
    "max_chars": or_none(whole(0)),
}
_OF_THE_NODE: Final = {
    "above_chars": whole(0),
    "compressor": replace(
        or_none(FUNCTION), told="Summarise(…), Trim(…), or an async function (messages, ctx)"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """The recommended compressor: older exchanges become one summary, which a model writes; recent and pinned ones stay.

    So do the current question and calls that still wait for their result. When there is no summary, because the model fails or
    says nothing, the conversation stays what it was, and a warning is logged; a cancel and an exceeded budget are not caught.

    Args:
        keep_recent: How many of the last messages stay at least; exchanges of tool calls and results stay whole.
        model: The name of the model that summarises; default: the engine's own.
        instructions: What it is told.
        max_output_tokens: How long the summary may be.
        max_chars: How long the whole may be afterwards: where what stays is longer alone, its longest results of tools are cut;
            default: as long as it is.

    Raises:
        TypeError: `model` or `instructions` is no text.
        ValueError: A number is out of range.
    """

    uses: ClassVar[Uses] = Uses(model_calls=1)
    keep_recent: int = 6
    model: str | None = None
    instructions: str = _ASK
    max_output_tokens: int | None = None
    max_chars: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, _OF_A_SUMMARY)

    async def __call__(self, messages: Sequence[Message], ctx: NodeContext) -> list[Message]:
        leading, talk = split_leading(messages)
        older, recent = split_recent(talk, self.keep_recent)
        question = current_question(messages)
        kept: list[Message] = []
        goes: list[Message] = []
        for group in older:
            (kept if must_stay(group, question) else goes).extend(group)
        kept += [message for group in recent for message in group]
        if not goes:
            return self._within([*leading, *kept])
        told = await self._summary(goes, ctx)
        if told is None:
            return list(messages)
        summary = system(f"What was said before, in short:\n{told}", provenance="memory")
        return self._within([*leading, summary, *kept])

    async def _summary(self, goes: Sequence[Message], ctx: NodeContext) -> str | None:
        try:
            reply = await ctx.model.invoke(
                "\n\n".join(map(_told, goes)),
                model=self.model,
                instructions=self.instructions,
                max_output_tokens=self.max_output_tokens,
                stage="compress",
            )
        except ModelError as error:
            ctx.log.warning(
                "the conversation is not summarised: the model failed", error=str(error)
            )
            return None
        told: str = reply.value
        if told.strip():
            return told
        ctx.log.warning("the conversation is not summarised: the summary is empty")
        return None

    def _within(self, messages: list[Message]) -> list[Message]:
        if self.max_chars is None:
            return messages
        return list(cut_results(messages, max_chars=self.max_chars))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    """A compressor that asks no model: the oldest exchanges are left out, and then long results of tools are cut; see `trim`.

    Args:
        max_chars: How long the conversation may be afterwards.
        keep_recent: How many of the last messages stay at least; exchanges of tool calls and results stay whole.

    Raises:
        ValueError: One of them is no whole number of at least 0.
    """

    uses: ClassVar[Uses] = Uses()
    max_chars: int = 20_000
    keep_recent: int = 1

    def __post_init__(self) -> None:
        check_fields(self, _OF_TRIMMING)

    async def __call__(self, messages: Sequence[Message], _ctx: NodeContext) -> list[Message]:
        return list(trim(messages, max_chars=self.max_chars, keep_recent=self.keep_recent))


def compress_node(
    id: str,
    *,
    source: str = "messages",
    target: str = "context",
    above_chars: int = 20_000,
    compressor: Compressor | None = None,
    **options: Any,
) -> Node:
    """A node that puts a conversation, shorter if it is long, into another field.

    Args:
        id: The node's id.
        source: The field with the conversation, put to `requires` by itself.
        target: The field for the shorter one, put to `provides` by itself; a field without a reducer.
        above_chars: A conversation of up to so many characters stays as it is, and no model is asked.
        compressor: Makes it shorter; default: `Summarise(max_chars=above_chars)`; `Trim(…)` asks no model. What it gives is
            checked: the current question, pinned messages and calls that wait for their result must be there, and no tool call
            may have lost its result.
        options: `routes`, `on_error`, `uses` and whatever else `node` takes.

    Raises:
        TypeError: The compressor cannot be called.
        ValueError: `above_chars` is no whole number of at least 0.
    """
    asked = {"above_chars": above_chars, "compressor": compressor}
    check_arguments("compress_node", _OF_THE_NODE, asked)
    shorten: Compressor = Summarise(max_chars=above_chars) if compressor is None else compressor
    calls = Uses(model_calls=1) if compressor is None else None
    given = {"uses": calls, "description": "Make the conversation shorter.", **options}
    requires = [source, *given.pop("requires", ())]
    body = _Compress(source, target, above_chars, shorten)
    return node(body, id=id, requires=requires, provides=[target], **given)


@dataclass(frozen=True, slots=True)
class _Compress:
    """The body of a node that compresses."""

    source: str
    target: str
    above_chars: int
    compressor: Compressor

    async def __call__(self, state: Any, ctx: NodeContext) -> dict[str, Any]:
        messages = list(state[self.source])
        shorter = await shortened(messages, ctx, self.compressor, above_chars=self.above_chars)
        return {self.target: list(shorter)}


async def shortened(
    messages: Sequence[Message], ctx: NodeContext, compressor: Compressor, *, above_chars: int
) -> Sequence[Message]:
    """A conversation, made shorter if it is longer than so many characters; the very same if it is not.

    Raises:
        ContractError: The compressor has lost what must stay.
    """
    if chars_of(messages) <= above_chars:
        return messages
    shorter = tuple(await compressor(messages, ctx))
    check_shortened(messages, shorter)
    return shorter


def uses_of(compressor: Compressor | None) -> Uses | None:
    """What a compressor may spend, as it says; `None` where there is none."""
    return None if compressor is None else getattr(compressor, "uses", Uses())


def _told(message: Message) -> str:
    lines = [message.text] if message.text else []
    lines += [f"called {call.name}({dict(call.arguments)})" for call in message.tool_calls]
    lines += [f"{result.name} gave: {result.content}" for result in message.tool_results]
    return f"{message.role}: " + "\n".join(lines)
