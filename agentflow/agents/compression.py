"""Compression of a conversation: an ordinary node, which enters where the author puts it and is checked like any other.

What a compressor leaves out is its own affair, but for what must stay: the current question, whatever is pinned, and tool calls
that still wait for their results.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.messages.message import Message, system
from agentflow.messages.shortening import (
    check_shortened,
    current_question,
    pending_calls,
    split_recent,
)

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Compressor", "Summarise", "compress_node"]

Compressor = Callable[[Sequence[Message], "NodeContext"], Awaitable[Sequence[Message]]]
"""Makes a conversation shorter."""

_ASK: Final = (
    "Summarise the conversation below for somebody who goes on with it: facts, decisions, open questions and names. "
    "Be short, leave out what was settled, and add nothing."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """The recommended compressor: older exchanges become one summary, which a model writes; recent and pinned ones stay.

    Args:
        keep_recent: How many of the last messages stay at least; exchanges of tool calls and results stay whole,
            and those whose calls still wait stay.
        model: The name of the model that summarises; default: the engine's own.
        instructions: What it is told.
        max_output_tokens: How long the summary may be.
    """

    keep_recent: int = 6
    model: str | None = None
    instructions: str = _ASK
    max_output_tokens: int | None = None

    async def __call__(self, messages: Sequence[Message], ctx: NodeContext) -> list[Message]:
        at = 0
        while at < len(messages) and messages[at].role == "system":
            at += 1
        older, recent = split_recent(messages[at:], self.keep_recent)
        current, pending = current_question(messages), pending_calls(messages)

        def must_stay(message: Message) -> bool:
            waits = any(call.id in pending for call in message.tool_calls)
            return message.pinned or message is current or waits

        stays = [group for group in older if any(map(must_stay, group))]
        goes = [message for group in older if group not in stays for message in group]
        if not goes:
            return list(messages)
        reply = await ctx.model.invoke(
            "\n\n".join(map(_told, goes)),
            model=self.model,
            instructions=self.instructions,
            max_output_tokens=self.max_output_tokens,
            stage="compress",
        )
        summary = system(f"What was said before, in short:\n{reply.value}", provenance="memory")
        kept = [message for group in (*stays, *recent) for message in group]
        return [*messages[:at], summary, *kept]


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
        compressor: Makes it shorter; default: `Summarise()`. What it gives is checked: the current question and pinned
            messages must be there, and no tool call may have lost its result.
        options: `routes`, `on_error`, `uses` and whatever else `node` takes.
    """
    shorten: Compressor = Summarise() if compressor is None else compressor
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
        if sum(message.chars for message in messages) <= self.above_chars:
            return {self.target: messages}
        shorter = list(await self.compressor(messages, ctx))
        check_shortened(messages, shorter)
        return {self.target: shorter}


def _told(message: Message) -> str:
    lines = [message.text] if message.text else []
    lines += [f"called {call.name}({dict(call.arguments)})" for call in message.tool_calls]
    lines += [f"{result.name} gave: {result.content}" for result in message.tool_results]
    return f"{message.role}: " + "\n".join(lines)
