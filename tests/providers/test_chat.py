"""Chat completions: what is asked, and what is made of everything that servers answer with."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from agentflow import Message, ModelContext, ModelError, ModelRequestRefused, structured
from agentflow.messages import (
    FilePart,
    FinishChunk,
    TextPart,
    ToolCall,
    ToolSpec,
    assistant,
    system,
    tool_result,
    user,
)
from agentflow.messages.formats import to_openai_chat
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.providers.openai_chat import ChatDialect, OpenAIChat
from agentflow.run.signal import CancelSignal
from agentflow.testing import fake_context
from tests.providers.speakers import CHAT, chat_piece, chat_usage, openai_client
from tests.providers.wires import Recorded, sse


class Wanted(BaseModel):
    word: str = ""


LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {"q": {"type": "string"}}})
STOP = chat_piece({}, "stop")


def sent_by(messages: list[Message]) -> list[dict[str, Any]]:
    return to_openai_chat(messages, ToolNames(()))


async def asked(**options: Any) -> Any:
    """The request that a call makes."""
    transport = Recorded(sse(chat_piece({"content": "{}"}), STOP, end="[DONE]"))
    dialect = options.pop("dialect", None)
    provider = OpenAIChat("m", client=openai_client(transport), dialect=dialect)
    await fake_context(model=provider).model.invoke(**{"input": "Hi.", **options})
    return transport.requests[0]


async def answer_to(*bodies: Any, end: str | None = "[DONE]", **options: Any) -> Message:
    transport = Recorded(sse(*bodies, end=end))
    provider = OpenAIChat("m", client=openai_client(transport), **options)
    ctx = fake_context(model=provider)
    message: Message = (await ctx.model.invoke("Hi.", transport="message", tools=[LOOK])).value
    return message


def call_piece(**call: Any) -> Any:
    return chat_piece({"tool_calls": [call]})


# What is asked.


async def test_a_plain_call_asks_for_a_stream_and_its_figures() -> None:
    assert await asked(instructions="Be brief.") == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi."},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_conversation_with_tools_keeps_calls_and_results_together() -> None:
    first, second = ToolCall("c1", "look", {"q": "ü"}), ToolCall("c2", "now")
    messages = [
        user("Hi."),
        assistant("Let me see.", tool_calls=[first, second], reasoning="secret"),
        tool_result(first, "1"),
        tool_result(second, "Error: no", is_error=True),
    ]
    _, answer, *results = sent_by(messages)
    assert answer["content"] == "Let me see."
    assert [call["function"]["arguments"] for call in answer["tool_calls"]] == ['{"q": "ü"}', "{}"]
    assert results == [
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no"},
    ]
    assert "secret" not in repr(answer)
    assert sent_by([assistant(tool_calls=[first])])[0]["content"] is None


@pytest.mark.case("P080")
def test_arguments_that_could_not_be_read_are_not_sent_back() -> None:
    broken = ToolCall("c1", "look", {}, "no JSON", '{"q": "abc')
    (answer,) = sent_by([assistant(tool_calls=[broken])])
    assert json.loads(answer["tool_calls"][0]["function"]["arguments"]) == {}


def test_files_are_sent_as_what_they_are() -> None:
    files = [
        FilePart("image/png", b"\x89PNG"),
        FilePart("image/png", url="https://example.org/a.png"),
        FilePart("audio/wav", b"RIFF"),
        FilePart("application/pdf", b"%PDF", name="a.pdf"),
        FilePart("text/csv", b"a,b\n", name="a.csv"),
    ]
    (message,) = sent_by([user("See.", files=files)])
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "image_url", "image_url", "input_audio", "file", "text"]
    assert message["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert message["content"][2]["image_url"]["url"] == "https://example.org/a.png"
    assert message["content"][4]["file"]["filename"] == "a.pdf"
    assert message["content"][5]["text"] == "a.csv:\na,b\n"


def test_a_file_that_cannot_be_sent_is_refused_and_says_what_to_do() -> None:
    with pytest.raises(ModelRequestRefused, match="by its content alone"):
        sent_by([user("", files=[FilePart("application/pdf", url="https://example.org/a.pdf")])])
    with pytest.raises(ModelRequestRefused, match="cannot be sent back"):
        sent_by([Message("assistant", (FilePart("image/png", b"x"),))])


def test_files_that_tools_gave_follow_all_results_of_the_answer() -> None:
    first, second = ToolCall("c1", "draw"), ToolCall("c2", "now")
    messages = [
        assistant(tool_calls=[first, second]),
        tool_result(first, "done", files=[FilePart("image/png", b"x")]),
        tool_result(second, "9"),
        user("Nice."),
    ]
    roles = [message["role"] for message in sent_by(messages)]
    assert roles == ["assistant", "tool", "tool", "user", "user"]
    assert [message["role"] for message in sent_by(messages[:2])] == ["assistant", "tool", "user"]


async def test_tools_choices_limits_and_parameters_are_sent() -> None:
    request = await asked(
        tools=[LOOK],
        tool_choice="look",
        max_output_tokens=9,
        transport="message",
        parameters={"temperature": 0, "reasoning_effort": "low", "top_k": 3},
    )
    assert request["tools"][0]["function"] == {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    }
    assert request["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert request["max_completion_tokens"] == 9
    assert (request["temperature"], request["reasoning_effort"], request["top_k"]) == (0, "low", 3)


async def test_a_schema_is_sent_strictly_where_it_can_be() -> None:
    request = await asked(transport=structured(dict))
    assert request["response_format"]["json_schema"] == {
        "name": "answer",
        "schema": {"type": "object", "additionalProperties": True},
        "strict": False,
    }
    request = await asked(transport=structured(Wanted))
    assert request["response_format"]["json_schema"]["strict"] is True
    assert request["response_format"]["json_schema"]["schema"]["required"] == ["word"]


@pytest.mark.parametrize(
    ("dialect", "present", "absent"),
    [
        (ChatDialect(), "max_tokens", "max_completion_tokens"),
        (ChatDialect(length="max_completion_tokens"), "max_completion_tokens", "max_tokens"),
        (ChatDialect(usage="unasked"), "max_tokens", "stream_options"),
        (ChatDialect(structured="prompt"), "max_tokens", "response_format"),
        (ChatDialect(structured="tool"), "tool_choice", "response_format"),
    ],
)
async def test_a_dialect_tells_what_a_server_understands(
    dialect: ChatDialect, present: str, absent: str
) -> None:
    request = await asked(dialect=dialect, max_output_tokens=5, transport=structured(dict))
    assert present in request
    assert absent not in request


def test_figures_that_are_not_asked_for_are_not_promised() -> None:
    client = openai_client(Recorded(b""))
    assert OpenAIChat("m", client=client).reports == {"input_tokens", "output_tokens"}
    silent = OpenAIChat("m", client=client, dialect=ChatDialect(usage="unasked"))
    assert silent.reports == frozenset()


# What servers make of the format.


@pytest.mark.case("P079")
async def test_a_call_without_arguments_has_none() -> None:
    for arguments in ("", None, "  "):
        function = {"name": "look", "arguments": arguments}
        message = await answer_to(call_piece(index=0, id="c", function=function), STOP)
        assert [(c.name, dict(c.arguments), c.error) for c in message.tool_calls] == [
            ("look", {}, None)
        ]


@pytest.mark.case("P080")
async def test_arguments_that_are_cut_are_an_error_of_their_call_alone() -> None:
    message = await answer_to(
        call_piece(index=0, id="c1", function={"name": "look", "arguments": '{"q": "abc'}),
        call_piece(index=1, id="c2", function={"name": "look", "arguments": "{}"}),
        chat_piece({}, "length"),
    )
    broken, whole = message.tool_calls
    assert broken.error is not None
    assert (broken.raw, whole.error) == ('{"q": "abc', None)


@pytest.mark.parametrize(
    ("text", "kind"), [("[1]", "a list"), ("null", "null"), ('"a"', "a text"), ("3", "a number")]
)
async def test_arguments_that_are_no_object_are_an_error_of_their_call(
    text: str, kind: str
) -> None:
    message = await answer_to(
        call_piece(index=0, id="c", function={"name": "look", "arguments": text}), STOP
    )
    assert kind in str(message.tool_calls[0].error)


async def test_arguments_that_are_sent_as_an_object_are_read() -> None:
    function = {"name": "look", "arguments": {"q": "ü"}}
    message = await answer_to(call_piece(index=0, id="c", function=function), STOP)
    assert dict(message.tool_calls[0].arguments) == {"q": "ü"}


async def test_a_name_that_is_repeated_in_every_piece_is_one_name() -> None:
    pieces = [
        call_piece(index=0, id="c", function={"name": "look", "arguments": text})
        for text in ('{"q"', ': "a"', "}")
    ]
    (call,) = (await answer_to(*pieces, STOP)).tool_calls
    assert (call.name, dict(call.arguments)) == ("look", {"q": "a"})


async def test_gaps_between_the_numbers_of_calls_are_no_calls() -> None:
    pieces = [
        call_piece(index=index, id=f"c{index}", function={"name": "look", "arguments": "{}"})
        for index in (3, 7)
    ]
    assert [c.id for c in (await answer_to(*pieces, STOP)).tool_calls] == ["c3", "c7"]


async def test_calls_that_are_not_numbered_are_told_apart_by_their_ids() -> None:
    message = await answer_to(
        call_piece(id="a", function={"name": "look", "arguments": '{"q":'}),
        call_piece(function={"arguments": ' "1"}'}),
        call_piece(id="b", function={"name": "look", "arguments": "{}"}),
        call_piece(id="b", function={"arguments": ""}),
        STOP,
    )
    assert [(c.id, dict(c.arguments)) for c in message.tool_calls] == [("a", {"q": "1"}), ("b", {})]


async def test_calls_that_all_have_the_same_number_are_told_apart_by_their_ids() -> None:
    pieces = [
        call_piece(index=0, id=id, function={"name": "look", "arguments": "{}"}) for id in "ab"
    ]
    assert [c.id for c in (await answer_to(*pieces, STOP)).tool_calls] == ["a", "b"]


async def test_a_call_without_an_id_gets_one() -> None:
    message = await answer_to(
        call_piece(index=0, function={"name": "look", "arguments": "{}"}), STOP
    )
    assert message.tool_calls[0].id.startswith("call_")


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([chat_piece({"content": "Hi."})], "other"),
        ([call_piece(index=0, id="c", function={"name": "look"})], "tool_calls"),
        ([call_piece(index=0, id="c", function={"name": "look"}), STOP], "tool_calls"),
        ([chat_piece({"content": "Hi."}, "")], "other"),
        ([chat_piece({"content": "Hi."}, "eos")], "other"),
        ([chat_piece({"content": "Hi."}, "content_filter")], "filter"),
        ([chat_piece({"refusal": "No."}), STOP], "filter"),
        ([chat_piece({"content": "Hi."}, "stop")], "stop"),
    ],
)
async def test_a_reason_that_is_missing_or_strange_does_not_spoil_the_answer(
    pieces: list[Any], reason: str
) -> None:
    transport = Recorded(sse(*pieces, end="[DONE]"))
    provider = OpenAIChat("m", client=openai_client(transport))
    reply = await fake_context(model=provider).model.invoke(
        "Hi.", transport="message", tools=[LOOK]
    )
    assert reply.invocation.finish_reason == reason


async def test_content_that_follows_the_reason_still_counts() -> None:
    message = await answer_to(
        chat_piece({"content": "a"}, "stop"), chat_piece({"content": "b"}), chat_piece({}, "stop")
    )
    assert message.text == "ab"


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": []},
        {"choices": None},
        {},
        {"choices": [None]},
        {"choices": [{"index": 0}]},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": None}}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [], "usage": None},
        {"choices": [], "usage": {}},
        {"choices": [], "error": None},
        {"choices": [{"index": 0, "delta": {"tool_calls": [None]}}]},
        {"object": "ping"},
    ],
)
async def test_pieces_that_say_nothing_are_passed_over(odd: Any) -> None:
    message = await answer_to(odd, chat_piece({"content": "Hi."}), odd, STOP)
    assert message == Message("assistant", (TextPart("Hi."),), "model", message.id)


@pytest.mark.parametrize("place", ["last", "none", "every"])
async def test_figures_come_in_the_last_piece_or_in_every_one_or_not_at_all(place: str) -> None:
    pieces = [chat_piece({"content": "Hi."}), STOP]
    if place == "every":
        growing = [
            {"prompt_tokens": 9, "completion_tokens": n, "total_tokens": 9 + n} for n in (1, 2)
        ]
        pieces = [{**piece, "usage": told} for piece, told in zip(pieces, growing, strict=True)]
    elif place == "last":
        pieces.append(chat_usage(9, 2))
    provider = OpenAIChat("m", client=openai_client(Recorded(sse(*pieces, end="[DONE]"))))
    usage = (await fake_context(model=provider).model.invoke("Hi.")).invocation.usage
    told = (usage.get("input_tokens"), usage.get("output_tokens"), usage.get("total_tokens"))
    assert told == ((None, None, None) if place == "none" else (9, 2, 11))


async def test_the_kinds_of_tokens_and_a_cost_are_told() -> None:
    figures = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 3},
        "cost": 0.25,
    }
    pieces = [chat_piece({"content": "Hi."}), STOP, {"choices": [], "usage": figures}]
    provider = OpenAIChat("m", client=openai_client(Recorded(sse(*pieces, end="[DONE]"))))
    usage = (await fake_context(model=provider).model.invoke("Hi.")).invocation.usage
    names = ("cached_tokens", "cache_write_tokens", "reasoning_tokens", "cost")
    assert [usage[name] for name in names] == [4, 1, 3, 0.25]


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": [{"type": "thinking", "thinking": "hm"}]},
    ],
)
async def test_reasoning_is_kept_apart_whatever_it_is_called(delta: Any) -> None:
    message = await answer_to(
        chat_piece(delta), chat_piece({"content": [{"type": "text", "text": "42"}]}), STOP
    )
    assert (message.reasoning, message.text) == ("hm", "42")


async def test_an_error_in_the_middle_of_the_answer_is_raised_with_what_it_says() -> None:
    broken = {"error": {"message": "the engine broke", "type": "server_error"}}
    with pytest.raises(ModelError, match="the engine broke"):
        await answer_to(chat_piece({"content": "He"}), broken)


async def test_a_server_that_sends_no_last_frame_needs_its_dialect() -> None:
    pieces = [chat_piece({"content": "Hi."}), STOP]
    with pytest.raises(ModelError, match="ended before the answer did"):
        await answer_to(*pieces, end=None)
    message = await answer_to(*pieces, end=None, dialect=ChatDialect(end="finish_reason"))
    assert message.text == "Hi."
    with pytest.raises(ModelError, match="ended before the answer did"):
        await answer_to(*pieces[:1], end=None, dialect=ChatDialect(end="finish_reason"))


async def test_a_server_that_does_not_stream_is_understood() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    whole = {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi.", "tool_calls": [call]},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }
    provider = OpenAIChat(
        "m", client=openai_client(Recorded(lambda _: httpx2.Response(200, json=whole)))
    )
    reply = await fake_context(model=provider).model.invoke(
        "Hi.", transport="message", tools=[LOOK]
    )
    assert (reply.value.text, reply.value.tool_calls[0].name) == ("Hi.", "look")
    assert reply.invocation.usage["total_tokens"] == 3
    rubbish = httpx2.Response(200, content=b"{oops", headers={"content-type": "application/json"})
    with pytest.raises(ModelError, match="no JSON"):
        await fake_context(
            model=OpenAIChat("m", client=openai_client(Recorded(lambda _: rubbish)))
        ).model.invoke("Hi.")


async def test_a_stream_that_its_server_does_not_end_is_not_waited_for() -> None:
    whole = sse(chat_piece({"content": "Hi."}), STOP, end="[DONE]")

    class Lingering(httpx2.AsyncByteStream):
        closed = 0

        async def __aiter__(self) -> Any:
            yield whole
            await anyio.sleep_forever()

        async def aclose(self) -> None:
            type(self).closed += 1

    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Lingering())
    provider = OpenAIChat("m", client=openai_client(Recorded(lambda _: answer)))
    assert (await fake_context(model=provider).model.invoke("Hi.")).value == "Hi."
    assert Lingering.closed == 1


names_of_tools = st.text(st.characters(codec="utf-8"), min_size=1, max_size=90)


@given(st.lists(names_of_tools, max_size=8, unique=True))
def test_every_tool_has_a_name_that_vendors_take_and_comes_back(names: list[str]) -> None:
    import re

    translated = ToolNames(ToolSpec(name, "", {}) for name in names)
    wires = [translated.wire(name) for name in names]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wire) for wire in wires)
    assert [translated.own(wire) for wire in wires] == names
    assert all(
        wire == name
        for wire, name in zip(wires, names, strict=True)
        if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    )


def test_a_tool_of_the_history_that_is_not_offered_has_a_name_too() -> None:
    assert ToolNames(()).wire("files.read") == ToolNames(()).wire("files.read") != "files.read"
    assert ToolNames(()).own("nobody") == "nobody"


async def test_a_finish_chunk_is_the_last_of_a_whole_answer() -> None:
    provider = CHAT.provider(Recorded(sse(chat_piece({"content": "Hi."}), STOP, end="[DONE]")))
    context = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="c")
    chunks = [chunk async for chunk in provider.stream([system("a"), user("b")], context)]
    assert chunks[-1] == FinishChunk("stop")
