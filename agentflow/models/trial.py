"""A trial: one request to one model, and what has come of it so far."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentflow.messages.chunk import Chunk
from agentflow.messages.collector import Collector
from agentflow.messages.message import Message
from agentflow.messages.surrogates import HalfKeeper
from agentflow.models.answer_form import AnswerReader
from agentflow.models.limits import settle
from agentflow.models.request import ModelRequest
from agentflow.models.sending import Sending

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.effects import Performance

__all__ = ["Trial"]


class Trial:
    """One try of a call.

    Args:
        ctx: The visit.
        request: What is asked, and of which model.
        key: The key of the call.
        performance: The effect that the call is.
        tokens: The input tokens, where they are counted.

    Attributes:
        collector: What has come so far, as it was handed on.
    """

    __slots__ = (
        "_come",
        "_ctx",
        "_keeper",
        "_performance",
        "_reader",
        "_sending",
        "_settled",
        "collector",
        "request",
        "tokens",
    )

    def __init__(
        self,
        ctx: NodeContext,
        request: ModelRequest,
        key: str,
        performance: Performance,
        tokens: int | None,
    ) -> None:
        self._ctx = ctx
        self._performance = performance
        self._sending = Sending(ctx, request, key)
        self._keeper = HalfKeeper()
        self._reader = AnswerReader(request.form)
        self._come: deque[Chunk] = deque()
        self._settled = False
        self.request = request
        self.tokens = tokens
        self.collector = Collector(key)

    async def open(self) -> None:
        """Send the request; whoever does it closes the trial, on every way out.

        Raises:
            Exception: Whatever `Sending.open` raises.
        """
        await self._sending.open()

    async def next(self) -> Chunk | None:
        """The next chunk, counted first: one that is too much is not handed on. `None` at the end.

        Raises:
            BudgetExceeded: The output is more than the budget allows.
            Exception: Whatever `Sending.next` raises.
        """
        while True:
            while self._come:
                come = self._come.popleft()
                chunk = self._reader.take(come) if self._reader.translates else come
                if chunk is not None:
                    self._count(chunk)
                    return chunk
            piece = await self._sending.next()
            if piece is None:
                return None
            self._come.extend(self._keeper.take(piece))

    async def close(self) -> None:
        """End the request."""
        await self._sending.close()

    def _count(self, chunk: Chunk) -> None:
        size = self.collector.add(chunk)
        if size:
            self._performance.note("output_chars", size)

    def answer(self) -> Message:
        """The whole answer.

        Raises:
            ModelError: It was cut off.
        """
        return self._reader.read(self.collector.message())

    def usage(self) -> dict[str, float]:
        """What it has used, as far as that is known."""
        figures = self.collector.usage
        if self.tokens is not None and self.collector.begun:
            figures.setdefault("input_tokens", self.tokens)
            if "output_tokens" in figures:
                total = figures["input_tokens"] + figures["output_tokens"]
                figures.setdefault("total_tokens", total)
        price = self.request.model.price
        if price is not None and "cost" not in figures:
            cost = price.cost(figures)
            if cost is not None:
                figures["cost"] = cost
        return figures

    def settle(self, *, partial: bool) -> None:
        """Count what was used, once; raises as `limits.settle` does."""
        if self._settled:
            return
        self._settled = True
        usage = self.usage()
        if self.collector.begun or not partial:
            self._performance.note_call(usage, partial=partial)
        settle(self._ctx, self.request, usage, self._performance, partial=partial)
