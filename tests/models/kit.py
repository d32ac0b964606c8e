"""What the tests of model calls share: providers that are watched, and one-node workflows that ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import anyio.lowlevel

from agentflow import Message, ModelContext, Workflow, define_workflow, node, route
from agentflow.messages import Chunk, FinishChunk, TextChunk

HELLO: tuple[Chunk, ...] = (TextChunk("Hel"), TextChunk("lo."), FinishChunk())


class Scripted:
    """A provider that sends the same chunks every time, and notes what happens to it. An exception is raised in its place."""

    def __init__(
        self, *chunks: Chunk | Exception, reports: Sequence[str] = (), log: list[str] | None = None
    ) -> None:
        self.script = chunks or HELLO
        self.reports = reports
        self.log: list[str] = [] if log is None else log
        self.asked: list[tuple[Message, ...]] = []
        self.contexts: list[ModelContext] = []

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        self.log.append("asked")
        self.asked.append(tuple(messages))
        self.contexts.append(context)
        try:
            for number, chunk in enumerate(self.script, 1):
                await anyio.lowlevel.checkpoint()
                if isinstance(chunk, Exception):
                    raise chunk
                self.log.append(f"sends {number}")
                yield chunk
            self.log.append("done")
        finally:
            self.log.append("closed")


class Chunks:
    """An iterator of chunks that is no generator: nothing closes it but `aclose`."""

    def __init__(self, *chunks: Chunk | Exception, close_error: Exception | None = None) -> None:
        self.left = list(chunks)
        self.close_error = close_error
        self.closed = 0

    def stream(self, messages: Sequence[Message], context: ModelContext) -> Chunks:
        return self

    def __aiter__(self) -> Chunks:
        return self

    async def __anext__(self) -> Chunk:
        await anyio.lowlevel.checkpoint()
        if not self.left:
            raise StopAsyncIteration
        chunk = self.left.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closed += 1
        if self.close_error is not None:
            raise self.close_error


class Endless:
    """A provider that says a word and then thinks for ever."""

    def __init__(self) -> None:
        self.closed = 0
        self.signals: list[Any] = []
        self.thinking = anyio.Event()

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        self.signals.append(context.signal)
        try:
            yield TextChunk("Well")
            self.thinking.set()
            await anyio.sleep_forever()
        finally:
            self.closed += 1


def asking(body: Callable[[Any], Awaitable[Any]], **options: Any) -> Workflow[Any]:
    """A workflow with one node, whose value is what `body(ctx)` gives."""

    async def ask(state: Any, ctx: Any) -> dict[str, Any]:
        return {"value": await body(ctx)}

    asked = node(ask, provides=["value"], routes=[route.deliver("value")], **options)
    return define_workflow("asking", nodes=[asked])


class Sinking:
    """A sink that notes what it takes in the log that it is given."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.chunks: list[Any] = []

    async def send(self, chunk: Any) -> None:
        self.log.append(f"takes {len(self.chunks) + 1}")
        await anyio.lowlevel.checkpoint()
        self.chunks.append(chunk)
        self.log.append(f"took {len(self.chunks)}")
