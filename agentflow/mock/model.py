"""The mock model: a provider that answers by rules. The first rule that matches is used."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

import anyio.lowlevel

from agentflow.errors import ModelUnavailable
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
from agentflow.mock.fault import MalformedAnswer, Refused
from agentflow.mock.generator import echoed
from agentflow.mock.reply import MockReply
from agentflow.mock.request import MockRequest
from agentflow.mock.rule import Pending, Rule, no_match
from agentflow.mock.usage import Usage, usage_of
from agentflow.models.ports import ModelContext
from agentflow.run.ports import Clock, SystemClock

__all__ = ["MockModel", "echo"]


class MockModel:
    """A provider that answers by rules.

    It keeps count of how often each rule was used, over all runs, because a rule with a list of replies gives one each time;
    with other rules the same request always gets the same answer.

    Args:
        rules: Tried in order.
        name: What facts and receipts call it.
        usage: The figures that it reports where a reply has none of its own, or a function of the request and the reply, such
            as `word_usage`, that tells at least input and output tokens; without them it reports nothing.
        chunking: How answers are cut into chunks.
        clock: What replies with a `delay` or a `pace` wait by.
        keep: How many of the latest requests are kept.

    Attributes:
        requests: The latest requests, for tests to look at.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        name: str = "mock",
        usage: Usage = None,
        chunking: Chunking | None = None,
        clock: Clock | None = None,
        keep: int = 1000,
    ) -> None:
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise TypeError(f"{rule!r} is no rule; write MockModel([Rule(reply=…), …])")
        self.name = name
        self.usage = usage
        self.chunking = Chunking() if chunking is None else chunking
        self.reports = _reported(usage)
        self.requests: deque[MockRequest] = deque(maxlen=keep)
        self._clock = SystemClock() if clock is None else clock
        self._uses: Counter[int] = Counter()

    def generate(self, request: MockRequest) -> MockReply:
        """The reply to a request, as data: nothing is sent, cut or raised.

        Raises:
            NoRuleMatches: No rule matches.
            ScriptExhausted: The rule's list of replies is used up.
            TypeError: The rule's reply is an async function, which only `stream` can wait for.
        """
        reply = self._answer(request)
        if isinstance(reply, MockReply):
            return reply
        reply.close()
        raise TypeError(
            "the reply of this rule is an async function: only stream() can wait for it"
        )

    def _answer(self, request: MockRequest) -> MockReply | Pending:
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
        answer = self._answer(request)
        reply = answer if isinstance(answer, MockReply) else await answer
        if reply.delay:
            await self._clock.sleep(reply.delay)
        started = False
        for chunk in self._chunks(reply, request):
            if started and reply.pace:
                await self._clock.sleep(reply.pace)
            # A model takes its time; whoever wants to cancel gets the chance between any two chunks.
            await anyio.lowlevel.checkpoint()
            yield chunk
            started = started or chunk.type != "usage"
        if isinstance(reply.error, Refused):
            raise reply.error.error() from reply.error
        if reply.error is not None:
            raise reply.error
        match reply.fault:
            case "reset":
                reset = ConnectionResetError("the mock model resets the connection on purpose")
                raise ModelUnavailable(str(reset)) from reset
            case "stall":
                await anyio.sleep_forever()
            case "malformed":
                raise MalformedAnswer

    def _chunks(self, reply: MockReply, request: MockRequest) -> Iterator[Chunk]:
        usage = usage_of(self.usage, request, reply) if reply.usage is None else reply.usage
        if usage is not None and usage.input_tokens is not None:
            # Known before anything is said, and all that is known of an answer that breaks off.
            yield UsageChunk(
                input_tokens=usage.input_tokens,
                cached_tokens=usage.cached_tokens,
                cache_write_tokens=usage.cache_write_tokens,
            )
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
        if reply.error is not None or reply.fault is not None:
            return
        if usage is not None:
            yield usage
        yield FinishChunk(reply.finish_reason)

    def __repr__(self) -> str:
        return f"<MockModel {self.name!r}, {len(self.rules)} rules>"


def _reported(usage: Usage) -> frozenset[str]:
    if callable(usage):
        return frozenset({"input_tokens", "output_tokens"})
    return frozenset() if usage is None else frozenset(usage.known())


def echo(model: str) -> MockModel:
    """The provider behind `mock:echo`, which says what it was told.

    Raises:
        ValueError: There is no other model of that kind.
    """
    if model != "echo":
        raise ValueError(
            f"there is no model 'mock:{model}'; there is 'mock:echo', and MockModel(rules) for your own rules"
        )
    return MockModel([Rule(reply=echoed, name="echo")], name="mock:echo")
