"""The stream of a provider, opened so that it is closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext

from agentflow.messages.chunk import Chunk
from agentflow.messages.message import Message
from agentflow.models.ports import ModelContext, Provider

__all__ = ["opened"]


def opened(
    provider: Provider, messages: Sequence[Message], context: ModelContext
) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
    """The chunks of one answer; the iterator is closed at the end of the block, if it is one that can be."""
    stream = provider.stream(messages, context)
    return aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext(stream)
