"""The conformance suite of providers: what every provider must do, whatever it speaks to.

A check asks for a provider that will answer in a given way, and looks at what comes out. Make the scenario come true by
whatever the provider speaks to: a scripted server, a recorded exchange, a mock. ::

    @pytest.mark.parametrize("check", provider_suite, ids=str)
    async def test_my_provider_conforms(check):
        await check(lambda scenario: MyProvider(server_that_answers(scenario)))
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import anyio

from agentflow.errors import (
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelUnavailable,
)
from agentflow.messages.chunk import Chunk, FinishChunk, UsageChunk
from agentflow.messages.collector import Collector
from agentflow.messages.message import Message, assistant, system, tool_result, user
from agentflow.messages.part import FilePart, ToolCall
from agentflow.messages.tool_spec import ToolSpec
from agentflow.models.ports import ModelContext, Provider
from agentflow.run.signal import CancelSignal

__all__ = ["ProviderCheck", "Scenario", "provider_suite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """How the other side of a provider is to answer, every time it is asked.

    Args:
        text: What it says.
        calls: The tool calls that it proposes: name and arguments.
        reasoning: What it says to itself; a provider whose other side never tells may ignore it.
        usage: Input and output tokens that it reports, or `None` for no report.
        length: Whether it stops because its output limit is reached.
        fails: Whether it fails, after everything else was sent.
        cut: Whether the connection ends before the answer does.
        stalls: Whether nothing more comes, after everything else was sent, and the connection stays open.
        refuses: Why it takes no request at all: the key is wrong (`denied`), too much was asked in too short a time
            (`limited`, to be asked again after 7 seconds), it is down (`unavailable`), or the request is wrong (`refused`).
    """

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    reasoning: str = ""
    usage: tuple[int, int] | None = None
    length: bool = False
    fails: bool = False
    cut: bool = False
    stalls: bool = False
    refuses: Refusal | None = None


Refusal = Literal["denied", "limited", "unavailable", "refused"]
MakeProvider = Callable[[Scenario], Provider]


@dataclass(frozen=True, slots=True)
class ProviderCheck:
    """One thing that every provider must do; await it with a function that makes a provider for a scenario.

    Raises:
        AssertionError: The provider does not conform.
    """

    name: str
    promise: str
    perform: Callable[[MakeProvider], Awaitable[None]]

    async def __call__(self, make: MakeProvider) -> None:
        """Try a provider."""
        await self.perform(make)

    def __str__(self) -> str:
        return self.name


_checks: list[ProviderCheck] = []

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["word"],
}
TOOLS = (
    ToolSpec(
        "look_up",
        "Look something up.",
        {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    ),
    ToolSpec("now", "Tell the time.", {"type": "object", "properties": {}}),
)
ODD_TOOLS = (
    ToolSpec("files.read", "Read a file.", {"type": "object", "properties": {}}),
    ToolSpec("files_read", "Read another file.", {"type": "object", "properties": {}}),
)
PROMPT = (system("Be brief."), user("What is it?"))


def _check(check: Callable[[MakeProvider], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    name = getattr(check, "__name__", "check")
    _checks.append(ProviderCheck(name, (check.__doc__ or "").strip(), check))
    return check


def _context(**options: Any) -> ModelContext:
    return ModelContext(
        signal=CancelSignal(),
        run_id="run",
        node_id="node",
        call_id="run/node#1/model:1.1",
        **options,
    )


async def _chunks(
    provider: Provider, messages: tuple[Message, ...] = PROMPT, **options: Any
) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(messages, _context(**options))]


def _collected(chunks: list[Chunk]) -> Collector:
    collector = Collector("run/node#1/model:1.1")
    for chunk in chunks:
        collector.add(chunk)
    return collector


@_check
async def a_text_comes_whole_and_ends_once(make: MakeProvider) -> None:
    """The joined text is what was said, to the letter, and exactly one finish chunk says that it stopped by itself."""
    text = " Grüße, 世界!\n  two lines — and a tab\t"
    chunks = await _chunks(make(Scenario(text=text)))
    assert _collected(chunks).message().text == text
    assert [chunk for chunk in chunks if isinstance(chunk, FinishChunk)] == [FinishChunk("stop")]


@_check
async def nothing_but_usage_follows_the_end(make: MakeProvider) -> None:
    """After the finish chunk comes no content."""
    chunks = await _chunks(make(Scenario(text="Done.", usage=(3, 1))))
    end = chunks.index(FinishChunk("stop"))
    assert all(isinstance(chunk, UsageChunk) for chunk in chunks[end + 1 :])


@_check
async def an_empty_answer_is_an_answer(make: MakeProvider) -> None:
    """A model that says nothing has still ended well."""
    assert _collected(await _chunks(make(Scenario()))).message().content == ()


@_check
async def tool_calls_come_whole_and_in_order(make: MakeProvider) -> None:
    """Names and arguments of several calls come out as they went in; ids are there and differ; the reason is named."""
    wanted: tuple[tuple[str, dict[str, Any]], ...] = (
        ("look_up", {"word": "naïve"}),
        ("now", {}),
        ("look_up", {"word": "b"}),
    )
    chunks = await _chunks(make(Scenario(text="Let me see.", calls=wanted)), tools=TOOLS)
    message = _collected(chunks).message()
    assert message.text == "Let me see."
    assert [(call.name, dict(call.arguments)) for call in message.tool_calls] == list(wanted)
    assert all(call.error is None for call in message.tool_calls)
    assert len({call.id for call in message.tool_calls}) == len(wanted)
    assert FinishChunk("tool_calls") in chunks


@_check
async def a_conversation_with_tools_is_understood(make: MakeProvider) -> None:
    """A history with calls, results and failed results can be sent, and is not changed by sending it."""
    first, second = ToolCall("call_1", "look_up", {"word": "a"}), ToolCall("call_2", "now")
    history = (
        *PROMPT,
        assistant("Let me see.", tool_calls=[first, second], reasoning="hm"),
        tool_result(first, json.dumps({"found": True})),
        tool_result(second, "Error: no clock", is_error=True),
    )
    before = repr(history)
    chunks = await _chunks(make(Scenario(text="It is a.")), history, tools=TOOLS)
    assert _collected(chunks).message().text == "It is a."
    assert repr(history) == before


@_check
async def a_tool_is_offered_whatever_its_id(make: MakeProvider) -> None:
    """An id that the other side would not take comes back as it was given, and is not mixed up with a similar one."""
    for tool in ODD_TOOLS:
        wanted = make(Scenario(calls=((tool.name, {}),)))
        message = _collected(
            await _chunks(wanted, tools=ODD_TOOLS, tool_choice=tool.name)
        ).message()
        assert [call.name for call in message.tool_calls] == [tool.name]


@_check
async def everything_that_may_be_asked_is_understood(make: MakeProvider) -> None:
    """A schema, an output limit and every tool choice can be sent."""
    text = '{"word": "a"}'
    asked = await _chunks(make(Scenario(text=text)), output_schema=SCHEMA, max_output_tokens=9)
    assert _collected(asked).message().text == text
    for choice in ("auto", "none", "required", "look_up"):
        chunks = await _chunks(make(Scenario(text="Hi.")), tools=TOOLS, tool_choice=choice)
        assert _collected(chunks).message().text == "Hi."


@_check
async def a_file_is_sent_or_refused(make: MakeProvider) -> None:
    """An image by content or by address is sent with the text, or refused as a request; it is never left out."""
    for image in (
        FilePart("image/png", b"\x89PNG"),
        FilePart("image/png", url="https://example.org/a.png"),
    ):
        try:
            chunks = await _chunks(
                make(Scenario(text="A dot.")), (user("What is it?", files=[image]),)
            )
        except ModelRequestRefused:
            continue
        assert _collected(chunks).message().text == "A dot."


@_check
async def reasoning_is_no_text(make: MakeProvider) -> None:
    """What the model says to itself never shows in what it says."""
    message = _collected(
        await _chunks(make(Scenario(text="42", reasoning="six by seven")))
    ).message()
    assert message.text == "42"
    assert message.reasoning in ("", "six by seven")


@_check
async def usage_is_told_as_it_was_reported(make: MakeProvider) -> None:
    """The figures are those of the other side."""
    usage = _collected(await _chunks(make(Scenario(text="Hi.", usage=(12, 5))))).usage
    told = [usage.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")]
    assert told == [12, 5, 17]


@_check
async def usage_that_was_not_reported_is_not_made_up(make: MakeProvider) -> None:
    """Not known is not zero."""
    assert _collected(await _chunks(make(Scenario(text="Hi.")))).usage == {}


@_check
async def an_answer_that_is_too_long_says_so(make: MakeProvider) -> None:
    """Stopping at the output limit has a reason of its own."""
    assert FinishChunk("length") in await _chunks(make(Scenario(text="And then", length=True)))


@_check
async def a_failure_is_raised(make: MakeProvider) -> None:
    """An error in mid-stream comes as an exception, and no end is told."""
    chunks: list[Chunk] = []
    try:
        async for chunk in make(Scenario(text="Well", fails=True)).stream(PROMPT, _context()):
            chunks.append(chunk)  # noqa: PERF401 - what came before the error matters
    except Exception:
        assert not any(isinstance(chunk, FinishChunk) for chunk in chunks)
        return
    raise AssertionError("the failure of the other side was not raised")


@_check
async def a_cut_answer_never_looks_whole(make: MakeProvider) -> None:
    """When the connection ends too early, an error is raised or no finish chunk comes; a proposed call is never complete."""
    cut = Scenario(calls=(("look_up", {"word": "a"}),), cut=True)
    try:
        _collected(await _chunks(make(cut), tools=TOOLS)).message()
    except ModelError:
        return
    except Exception:
        # What the provider itself raises becomes a ModelError one level up.
        return
    raise AssertionError("a cut answer looked like a whole one")


@_check
async def a_cancel_ends_the_wait(make: MakeProvider) -> None:
    """While nothing more comes the call waits; a cancel ends it, and what came until then is no whole answer."""
    chunks: list[Chunk] = []

    async def ask() -> None:
        stalled = make(Scenario(text="Well", stalls=True))
        async for chunk in stalled.stream(PROMPT, _context()):
            chunks.append(chunk)  # noqa: PERF401 - what came before the cancel matters

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert not any(isinstance(chunk, FinishChunk) for chunk in chunks)


@_check
async def a_refusal_is_told_by_its_kind(make: MakeProvider) -> None:
    """Whether another try may help is told by the error, and after which time."""
    kinds: dict[Refusal, type[ModelError]] = {
        "denied": ModelDenied,
        "limited": ModelRateLimited,
        "unavailable": ModelUnavailable,
        "refused": ModelRequestRefused,
    }
    for refuses, kind in kinds.items():
        try:
            await _chunks(make(Scenario(refuses=refuses)))
        except kind as error:
            after = error.retry_after if isinstance(error, ModelRateLimited) else None
            assert after == (7 if refuses == "limited" else None)
            continue
        raise AssertionError(f"{refuses!r} was not told by {kind.__name__}")


@_check
async def it_can_be_left_early(make: MakeProvider) -> None:
    """Closing the iterator after the first chunk ends it, and the provider can be used again."""
    provider = make(Scenario(text="one two three four five"))
    stream = provider.stream(PROMPT, _context())
    iterator = aiter(stream)
    await anext(iterator)
    close = getattr(iterator, "aclose", None)
    if close is not None:
        await close()
    assert _collected(await _chunks(provider)).message().text == "one two three four five"


@_check
async def many_calls_share_nothing(make: MakeProvider) -> None:
    """Ten calls at the same time on one provider each get the whole answer."""
    provider = make(Scenario(text="one two three", calls=(("now", {}),)))
    answers: list[Message] = []

    async def ask() -> None:
        answers.append(_collected(await _chunks(provider, tools=TOOLS)).message())

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)
    assert len(answers) == 10
    assert {answer.text for answer in answers} == {"one two three"}
    assert {call.name for answer in answers for call in answer.tool_calls} == {"now"}


provider_suite: tuple[ProviderCheck, ...] = tuple(_checks)
"""Every check of a provider."""
