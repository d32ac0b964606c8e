"""The mock model: a provider that answers by rules. The first rule that matches is used."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

import anyio.lowlevel

from agentflow.messages.chunk import (
    Chunk,
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from agentflow.messages.message import Message
from agentflow.mock.chunking import Chunking
from agentflow.mock.reply import MockReply
from agentflow.mock.request import MockRequest
from agentflow.mock.rule import Rule, no_match
from agentflow.models.ports import ModelContext

__all__ = ["MockModel", "echo"]


class MockModel:
    """A provider that answers by rules.

    It keeps count of how often each rule was used, over all runs, because a rule with a list of replies gives one each time;
    with other rules the same request always gets the same answer.

    Args:
        rules: Tried in order.
        name: What facts and receipts call it.
        usage: The figures that it reports where a reply has none of its own; without them it reports nothing.
        chunking: How answers are cut into chunks.
        keep: How many of the latest requests are kept.

    Attributes:
        requests: The latest requests, for tests to look at.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        name: str = "mock",
        usage: UsageChunk | None = None,
        chunking: Chunking | None = None,
        keep: int = 1000,
    ) -> None:
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise TypeError(f"{rule!r} is no rule; write MockModel([Rule(reply=…), …])")
        self.name = name
        self.usage = usage
        self.chunking = Chunking() if chunking is None else chunking
        self.reports = frozenset() if usage is None else frozenset(usage.known())
        self.requests: deque[MockRequest] = deque(maxlen=keep)
        self._uses: Counter[int] = Counter()

    def generate(self, request: MockRequest) -> MockReply:
        """The reply to a request, as data: nothing is sent, cut or raised.

        Raises:
            NoRuleMatches: No rule matches.
            ScriptExhausted: The rule's list of replies is used up.
        """
        self.requests.append(request)
        for number, rule in enumerate(self.rules):
            if rule.matches(request):
                use = self._uses[number]
                self._uses[number] += 1
                return rule.answer(request, use)
        raise no_match(self.rules, request)

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        """The provider's door: the reply, in chunks."""
        request = MockRequest(tuple(messages), context)
        reply = self.generate(request)
        for chunk in self._chunks(reply, request):
            # A model takes its time; whoever wants to cancel gets the chance between any two chunks.
            await anyio.lowlevel.checkpoint()
            yield chunk
        if reply.error is not None:
            raise reply.error

    def _chunks(self, reply: MockReply, request: MockRequest) -> Iterator[Chunk]:
        for piece in self.chunking.cut(reply.reasoning):
            yield ReasoningChunk(piece)
        for piece in self.chunking.cut(reply.text):
            yield TextChunk(piece)
        before = sum(len(message.tool_calls) for message in request.messages)
        for index, call in enumerate(reply.calls):
            id = call.id or f"call_{before + index + 1}"
            yield ToolCallChunk(index, id, call.name)
            for piece in self.chunking.cut(call.text):
                yield ToolCallChunk(index, arguments=piece)
        usage = self.usage if reply.usage is None else reply.usage
        if usage is not None:
            yield usage
        if reply.error is None and not reply.cut:
            yield FinishChunk(reply.finish_reason)

    def __repr__(self) -> str:
        return f"<MockModel {self.name!r}, {len(self.rules)} rules>"


def echo(model: str) -> MockModel:
    """The provider behind `mock:echo`, which says what it was told.

    Raises:
        ValueError: There is no other model of that kind.
    """
    if model != "echo":
        raise ValueError(
            f"there is no model 'mock:{model}'; there is 'mock:echo', and MockModel(rules) for your own rules"
        )
    return MockModel([Rule(reply=lambda request: request.text, name="echo")], name="mock:echo")
