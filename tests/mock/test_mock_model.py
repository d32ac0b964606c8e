"""The mock model: the first rule that matches answers, the same way through every door."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from agentflow import (
    CancelSignal,
    ModelContext,
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelUnavailable,
    tool,
)
from agentflow.messages import (
    Chunk,
    Collector,
    FinishChunk,
    Message,
    ToolCall,
    ToolCallChunk,
    ToolSpec,
    UsageChunk,
    assistant,
    system,
    tool_result,
    user,
)
from agentflow.mock import (
    Chunking,
    MockCall,
    MockModel,
    MockReply,
    MockRequest,
    NoRuleMatches,
    Rule,
    ScriptExhausted,
    call,
    calls,
    echo,
    word_usage,
)
from agentflow.testing import FixedClock, ProviderCheck, Scenario, fake_context, provider_suite

THREE: Any = 3
CONTEXT = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="r/n#1/model:1.1")


def request(*messages: Message | str) -> MockRequest:
    return MockRequest(tuple(user(m) if isinstance(m, str) else m for m in messages), CONTEXT)


async def streamed(model: MockModel, *messages: Message | str) -> list[Chunk]:
    return [chunk async for chunk in model.stream(request(*messages).messages, CONTEXT)]


async def said(model: MockModel, *messages: Message | str) -> Message:
    collector = Collector("r/n#1/model:1.1")
    for chunk in await streamed(model, *messages):
        collector.add(chunk)
    return collector.message()


REFUSALS: dict[str, Exception] = {
    "denied": ModelDenied("401"),
    "limited": ModelRateLimited("429", retry_after=7),
    "unavailable": ModelUnavailable("503"),
    "refused": ModelRequestRefused("400"),
}


def model_of(scenario: Scenario) -> MockModel:
    usage = None
    if scenario.usage is not None:
        usage = UsageChunk(input_tokens=scenario.usage[0], output_tokens=scenario.usage[1])
    reply = MockReply(
        text=scenario.text,
        calls=tuple(MockCall(name, arguments) for name, arguments in scenario.calls),
        reasoning=scenario.reasoning,
        usage=usage,
        finish="length" if scenario.length else None,
        error=OSError("reset") if scenario.fails else REFUSALS.get(scenario.refuses or ""),
        fault="cut" if scenario.cut else "stall" if scenario.stalls else None,
    )
    return MockModel([Rule(reply=reply)], chunking=Chunking("chars", 7, seed=1))


@pytest.mark.parametrize("check", provider_suite, ids=str)
async def test_the_mock_model_does_what_every_provider_must(check: ProviderCheck) -> None:
    await check(model_of)


@pytest.mark.rule("R349")
@pytest.mark.parametrize("reply", ["Hello there.", {"a": 1}, call("look", word="x")])
async def test_both_doors_give_the_same_answer(reply: Any) -> None:
    model = MockModel([Rule(reply=reply)])
    data = model.generate(request("Hi."))
    through_stream = await said(model, "Hi.")
    through_engine = await fake_context(model=model).model.invoke("Hi.", transport="message")
    assert through_stream.text == through_engine.value.text == data.text
    names = [proposed.name for proposed in data.calls]
    assert [proposed.name for proposed in through_stream.tool_calls] == names
    assert [proposed.name for proposed in through_engine.value.tool_calls] == names


@pytest.mark.rule("R349")
async def test_generate_makes_data_only() -> None:
    reply = MockReply(text="a", fault="cut")
    assert MockModel([Rule(reply=reply)]).generate(request("Hi.")) is reply


@pytest.mark.rule("R350")
async def test_a_rule_without_a_condition_answers_any_prompt() -> None:
    model = MockModel([Rule(reply=lambda asked: f"you said {asked.text}")])
    assert (await said(model, "this")).text == "you said this"
    assert (await said(model, "that")).text == "you said that"


@pytest.mark.rule("R350")
async def test_the_first_rule_that_matches_is_used() -> None:
    model = MockModel(
        [
            Rule(when="status", reply="by text"),
            Rule(when=re.compile(r"order \d+"), reply="by pattern"),
            Rule(when=lambda asked: asked.turn == 2, reply="by function"),
            Rule(reply="by default"),
        ]
    )
    assert (await said(model, "the status of order 7")).text == "by text"
    assert (await said(model, "where is order 7")).text == "by pattern"
    assert (await said(model, "a", assistant("b"), "c")).text == "by function"
    assert (await said(model, "a")).text == "by default"


async def test_a_rule_matches_when_all_that_it_asks_for_is_so() -> None:
    look = ToolSpec("look", "", {})
    model = MockModel(
        [
            Rule(when="a", turn=2, tools=["look"], reply="all"),
            Rule(turn=2, reply="turn"),
            Rule(tools=["look"], reply="tools"),
            Rule(reply="none"),
        ]
    )
    offered = replace(CONTEXT, tools=(look, ToolSpec("find", "", {})))
    second = (user("x"), assistant("y"), user("a"))
    assert model.generate(MockRequest(second, offered)).text == "all"
    assert model.generate(MockRequest(second, CONTEXT)).text == "turn"
    assert model.generate(MockRequest((user("a"),), offered)).text == "tools"
    assert model.generate(MockRequest((user("a"),), CONTEXT)).text == "none"


async def test_a_function_may_be_async_and_is_waited_for() -> None:
    gate = anyio.Event()
    heard: list[str] = []

    async def reply(asked: MockRequest) -> str:
        await gate.wait()
        return f"{asked.text} again"

    async def ask() -> None:
        heard.append((await said(MockModel([Rule(reply=reply)]), "Hi.")).text)

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert heard == []
        gate.set()
    assert heard == ["Hi. again"]


@pytest.mark.parametrize("choice", ["look", "required"])
async def test_an_object_is_what_a_forced_tool_is_called_with(choice: str) -> None:
    model = MockModel([Rule(when="text", reply="as it is"), Rule(reply=Report(title="t"))])
    forced = replace(CONTEXT, tools=(ToolSpec("look", "", {}),), tool_choice=choice)
    (called,) = model.generate(MockRequest((user("object"),), forced)).calls
    assert (called.name, called.text) == ("look", '{"title":"t"}')
    assert model.generate(MockRequest((user("text"),), forced)).text == "as it is"
    assert model.generate(request("object")).text == '{"title":"t"}'


async def test_a_text_is_looked_for_in_what_is_new_since_the_last_answer() -> None:
    model = MockModel([Rule(when="weather", reply=call("look")), Rule(reply="done")])
    look = ToolCall("call_1", "look")
    assert (await said(model, system("No weather."), "weather?")).tool_calls[0].name == "look"
    history = ("weather?", assistant(tool_calls=[look]), tool_result(look, "sunny"))
    assert (await said(model, *history)).text == "done"


def test_a_request_offers_what_rules_ask_for() -> None:
    look, find = ToolCall("c1", "look"), ToolCall("c2", "find")
    asked = request(
        system("Be brief."),
        "Hi.",
        assistant(tool_calls=[look, find]),
        tool_result(look, "one"),
        tool_result(find, "two"),
    )
    assert (asked.turn, asked.text) == (2, "one\ntwo")
    assert [result.name for result in asked.tool_results] == ["look", "find"]
    assert asked.tools == ()


class Report(BaseModel):
    title: str


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("as it is", "as it is"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (Report(title="t"), '{"title":"t"}'),
        (Point(1), '{"x":1}'),
        (None, "null"),
        (3, "3"),
        (lambda asked: {"turn": asked.turn}, '{"turn":1}'),
        (lambda asked: MockReply(text="made"), "made"),
    ],
)
async def test_a_reply_is_a_text_or_an_object_or_a_function_of_the_request(
    reply: Any, text: str
) -> None:
    assert (await said(MockModel([Rule(reply=reply)]), "Hi.")).text == text


async def test_tool_calls_get_ids_that_differ_over_the_conversation() -> None:
    model = MockModel([Rule(reply=calls(call("look", word="a"), call("now")))])
    first = await said(model, "Hi.")
    assert [(c.id, c.name, dict(c.arguments)) for c in first.tool_calls] == [
        ("call_1", "look", {"word": "a"}),
        ("call_2", "now", {}),
    ]
    second = await said(model, "Hi.", first, *(tool_result(c, "x") for c in first.tool_calls))
    assert [c.id for c in second.tool_calls] == ["call_3", "call_4"]
    own = MockModel([Rule(reply=MockCall("now", id="mine"))])
    assert (await said(own, "Hi.")).tool_calls[0].id == "mine"


async def test_an_argument_may_be_called_name() -> None:
    model = MockModel([Rule(reply=call("find", name="test", path="."))])
    (proposed,) = (await said(model, "Hi.")).tool_calls
    assert (proposed.name, dict(proposed.arguments)) == ("find", {"name": "test", "path": "."})


async def test_arguments_may_be_broken_on_purpose() -> None:
    model = MockModel([Rule(reply=MockCall("look", '{"word": "a'))])
    assert "no valid JSON" in str((await said(model, "Hi.")).tool_calls[0].error)


async def test_a_list_of_replies_gives_one_each_time_and_then_says_that_it_is_over() -> None:
    model = MockModel([Rule(when="go", reply=["one", call("look"), "three"], name="script")])
    assert (await said(model, "go")).text == "one"
    assert (await said(model, "go")).tool_calls[0].name == "look"
    assert (await said(model, "go")).text == "three"
    with pytest.raises(
        ScriptExhausted, match=r"rule script \(text contains 'go'\) holds 3 replies"
    ):
        await said(model, "go")


@pytest.mark.parametrize("error", [OSError("reset"), OSError])
async def test_an_error_is_raised_as_a_provider_would(error: Any) -> None:
    with pytest.raises(ModelError, match="OSError") as caught:
        await fake_context(model=MockModel([Rule(reply=error)])).model.invoke("Hi.")
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.rule("R290")
@pytest.mark.parametrize("fault", [{"error": OSError("reset")}, {"fault": "cut"}])
async def test_a_fault_after_a_whole_looking_call_executes_nothing(fault: Any) -> None:
    called: list[int] = []

    @tool
    async def look() -> None:
        called.append(1)

    model = MockModel([Rule(reply=MockReply(calls=(MockCall("look"),), **fault))])
    ctx = fake_context(model=model, tools=[look])
    with pytest.raises(ModelError):
        await ctx.model.invoke("Hi.", tools=[look], transport="message")
    assert called == []


async def test_usage_is_reported_where_it_is_given_and_only_there() -> None:
    usage = UsageChunk(input_tokens=3, output_tokens=1)
    silent = MockModel([Rule(reply="a")])
    own = MockModel(
        [Rule(reply=MockReply(text="a", usage=UsageChunk(input_tokens=9)))], usage=usage
    )
    told = MockModel([Rule(reply="a")], usage=usage)
    assert silent.reports == frozenset()
    assert told.reports == {"input_tokens", "output_tokens"}
    assert usage in await streamed(told, "Hi.")
    assert UsageChunk(input_tokens=9) in await streamed(own, "Hi.")
    assert not [chunk for chunk in await streamed(silent, "Hi.") if chunk.type == "usage"]


async def test_usage_may_be_worked_out_from_request_and_reply() -> None:
    model = MockModel([Rule(reply="one two")], usage=word_usage)
    assert model.reports == {"input_tokens", "output_tokens"}
    assert UsageChunk(input_tokens=3, output_tokens=2) in await streamed(model, "a b c")


async def test_of_an_answer_that_breaks_off_only_the_input_is_known() -> None:
    usage = UsageChunk(input_tokens=3, output_tokens=1)
    model = MockModel([Rule(reply=MockReply(text="a", fault="cut"))], usage=usage)
    chunks = await streamed(model, "Hi.")
    assert [chunk for chunk in chunks if chunk.type == "usage"] == [UsageChunk(input_tokens=3)]


async def test_times_are_waited_for_by_the_models_clock() -> None:
    clock = FixedClock()
    reply = MockReply(text="one two", delay=3, pace=0.5)
    model = MockModel([Rule(reply=reply)], clock=clock, usage=UsageChunk(input_tokens=1))
    assert (await said(model, "Hi.")).text == "one two"
    assert clock.slept == [3, 0.5, 0.5, 0.5]


async def test_without_a_matching_rule_the_error_lists_the_rules() -> None:
    model = MockModel(
        [
            Rule(when="a", reply=""),
            Rule(when=re.compile("b+"), reply="", name="named"),
            Rule(when=lambda asked: False, reply=""),
            Rule(turn=3, tools=["look"], reply=""),
        ]
    )
    with pytest.raises(NoRuleMatches) as caught:
        await said(model, "xyz")
    assert str(caught.value) == (
        "no rule of the mock model matches turn 1, where the news is: 'xyz'\n"
        "rules, in order:\n"
        "  1. text contains 'a'\n"
        "  2. named (text matches /b+/)\n"
        "  3. <lambda>(request)\n"
        "  4. turn is 3 and tools offer 'look'"
    )
    with pytest.raises(NoRuleMatches, match="rules, in order: none"):
        await said(MockModel([]), "xyz")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: Rule(reply="", when=THREE),
            TypeError,
            r"Rule\(when=3\): it is a text, a compiled",
        ),
        (lambda: Rule(reply="", turn=0), ValueError, "turns are counted from 1"),
        (lambda: Rule(reply="", tools="look"), TypeError, "it is a list of names"),
        (lambda: Chunking(THREE), ValueError, "there are 'words', 'chars', 'bytes', 'whole'"),
        (lambda: Rule(reply=[]), ValueError, "a list of replies holds at least one"),
        (lambda: MockModel([THREE]), TypeError, r"write MockModel\(\[Rule\(reply=…\), …\]\)"),
        (lambda: Chunking(size=0), ValueError, "a piece holds at least 1"),
        (lambda: echo("other"), ValueError, "there is no model 'mock:other'; there is 'mock:echo'"),
    ],
)
def test_a_mistake_in_a_rule_is_told_when_it_is_made(
    make: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


async def test_requests_are_kept_for_the_test_to_look_at() -> None:
    model = MockModel([Rule(reply="a")])
    await said(model, "one")
    await said(model, "two")
    assert [asked.text for asked in model.requests] == ["one", "two"]
    latest = MockModel([Rule(reply="a")], keep=1)
    await said(latest, "one")
    await said(latest, "two")
    assert [asked.text for asked in latest.requests] == ["two"]


async def test_the_model_can_be_interrupted_between_any_two_chunks() -> None:
    model = MockModel([Rule(reply="one two three")])
    taken: list[Chunk] = []
    with anyio.CancelScope() as scope:
        async for chunk in model.stream(request("Hi.").messages, CONTEXT):
            taken.append(chunk)
            scope.cancel()
    assert len(taken) == 1


async def test_echo_says_what_it_was_told() -> None:
    assert (await fake_context(model="mock:echo").model.invoke("Hi.")).value == "Hi."


@given(
    text=st.text(),
    by=st.sampled_from(["words", "chars", "bytes", "whole"]),
    size=st.integers(1, 9),
    seed=st.none() | st.integers(),
)
def test_pieces_joined_are_the_text_and_are_cut_the_same_way_every_time(
    text: str, by: Any, size: int, seed: int | None
) -> None:
    chunking = Chunking(by, size, seed)
    pieces = list(chunking.cut(text))
    assert "".join(pieces) == text
    assert all(pieces)
    assert pieces == list(chunking.cut(text))
    if by == "bytes":
        assert all(len(piece.encode()) <= size or len(piece) == 1 for piece in pieces)


@given(data=st.binary(), size=st.integers(1, 9), seed=st.none() | st.integers())
def test_blocks_joined_are_the_data_and_are_cut_the_same_way_every_time(
    data: bytes, size: int, seed: int | None
) -> None:
    chunking = Chunking("bytes", size, seed)
    blocks = list(chunking.cut_bytes(data))
    assert b"".join(blocks) == data
    assert all(0 < len(block) <= size for block in blocks)
    assert blocks == list(chunking.cut_bytes(data))
    assert list(Chunking("whole").cut_bytes(data)) == ([data] if data else [])


@pytest.mark.parametrize(
    ("chunking", "pieces"),
    [
        (Chunking(), ["one", " two", "  three"]),
        (Chunking("words", 2), ["one two", "  three"]),
        (Chunking("chars", 5), ["one t", "wo  t", "hree"]),
        (Chunking("bytes", 4), ["one ", "two ", " thr", "ee"]),
        (Chunking("whole"), ["one two  three"]),
    ],
)
def test_a_text_is_cut_as_it_was_asked_for(chunking: Chunking, pieces: Sequence[str]) -> None:
    assert list(chunking.cut("one two  three")) == pieces


async def test_arguments_are_cut_too() -> None:
    model = MockModel([Rule(reply=call("look", word="abc"))], chunking=Chunking("chars", 4))
    chunks = await streamed(model, "Hi.")
    assert chunks[0] == ToolCallChunk(0, "call_1", "look")
    assert [c.arguments for c in chunks[1:-1] if isinstance(c, ToolCallChunk)] == [
        *('{"wo', 'rd":', ' "ab', 'c"}')
    ]
    assert chunks[-1] == FinishChunk("tool_calls")
