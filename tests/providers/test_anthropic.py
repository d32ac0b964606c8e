"""The Messages API: what is asked, and what its events say."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from agentflow import Message, ModelError, ModelRequestRefused, structured
from agentflow.messages import (
    FilePart,
    ReasoningPart,
    ToolCall,
    ToolSpec,
    assistant,
    system,
    tool_result,
    user,
)
from agentflow.messages.formats import to_anthropic
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.providers.anthropic_messages import AnthropicMessages
from agentflow.testing import Scenario, fake_context
from tests.providers.speakers import anthropic_client, encode_anthropic
from tests.providers.wires import Recorded, sse

LOOK = ToolSpec("look", "Look.", {"properties": {"q": {"type": "string"}}})


class Wanted(BaseModel):
    word: str = ""


class Tree(BaseModel):
    children: list[Tree] = []


def turns_of(*messages: Message) -> list[dict[str, Any]]:
    return to_anthropic(messages, ToolNames(()))[1]


def provider_of(transport: Recorded, model: str = "m", **options: Any) -> AnthropicMessages:
    return AnthropicMessages(model, client=anthropic_client(transport), **options)


async def asked(**options: Any) -> Any:
    transport = Recorded(encode_anthropic(Scenario(text='{"word": "a"}')))
    own = {name: options.pop(name) for name in ("model", "structured") if name in options}
    provider = provider_of(transport, **own)
    await fake_context(model=provider).model.invoke(**{"input": "Hi.", **options})
    return transport.requests[0]


async def answer_to(*bodies: Any) -> Any:
    transport = Recorded(sse(*bodies, {"type": "message_stop"}, names=True))
    return await fake_context(model=provider_of(transport)).model.invoke(
        "Hi.", transport="message", tools=[LOOK]
    )


def block(index: int, start: Any, *deltas: Any) -> list[Any]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


async def test_a_plain_call_says_how_long_its_answer_may_be() -> None:
    assert await asked(instructions="Be brief.") == {
        "model": "m",
        "max_tokens": 8192,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}],
        "stream": True,
    }


async def test_tools_choices_limits_and_parameters_are_sent() -> None:
    request = await asked(
        tools=[LOOK],
        tool_choice="required",
        max_output_tokens=9,
        transport="message",
        parameters={"thinking": {"type": "adaptive"}},
    )
    assert request["tools"] == [
        {
            "name": "look",
            "description": "Look.",
            "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
        }
    ]
    assert (request["tool_choice"], request["max_tokens"]) == ({"type": "any"}, 9)
    assert request["thinking"] == {"type": "adaptive"}
    request = await asked(tools=[LOOK], tool_choice="look", transport="message")
    assert request["tool_choice"] == {"type": "tool", "name": "look"}


async def test_a_schema_is_held_natively_where_the_vendor_can() -> None:
    request = await asked(transport=structured(Wanted))
    assert request["output_config"]["format"]["type"] == "json_schema"
    assert request["output_config"]["format"]["schema"]["additionalProperties"] is False
    assert "tools" not in request


@pytest.mark.parametrize(
    ("type", "options"),
    [
        (dict[str, int], {}),
        (Tree, {}),
        (Wanted, {"model": "claude-3-opus-20240229"}),
        (Wanted, {"model": "claude-sonnet-4-20250514"}),
        (Wanted, {"structured": "tool"}),
    ],
)
async def test_where_it_cannot_a_forced_tool_does(type: Any, options: Any) -> None:
    answer = sse(
        *block(
            0,
            {"type": "tool_use", "id": "t", "name": "final_answer", "input": {}},
            {"type": "input_json_delta", "partial_json": "{}"},
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
        names=True,
    )
    transport = Recorded(answer)
    provider = provider_of(transport, **options)
    reply = await fake_context(model=provider).model.invoke("Hi.", transport=structured(type))
    (request,) = transport.requests
    assert request["tool_choice"] == {"type": "tool", "name": "final_answer"}
    assert "output_config" not in request
    assert reply.value == (type() if type in (Tree, Wanted) else {})


def test_what_follows_one_another_from_one_side_is_one_turn() -> None:
    first, second = ToolCall("c1", "look", {"q": "ü"}), ToolCall("c.2", "look")
    messages = (
        system("One."),
        system("Two."),
        user("Hi."),
        assistant("Let me see.", tool_calls=[first, second]),
        tool_result(first, "1"),
        tool_result(second, "", is_error=True, files=[FilePart("image/png", b"x")]),
        user("Well?"),
        system("Hurry."),
        assistant(""),
    )
    assert to_anthropic(messages)[0] == "One.\n\nTwo."
    image = {"type": "base64", "media_type": "image/png", "data": "eA=="}
    assert turns_of(*messages) == [
        {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "ü"}},
                {"type": "tool_use", "id": "c_2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "1"}],
                    "is_error": False,
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "c_2",
                    "content": [{"type": "image", "source": image}],
                    "is_error": True,
                },
                {"type": "text", "text": "Well?"},
                {"type": "text", "text": "<system>\nHurry.\n</system>"},
            ],
        },
    ]


def test_files_are_sent_as_what_they_are() -> None:
    (turn,) = turns_of(
        user(
            "",
            files=[
                FilePart("image/png", url="https://example.org/a.png"),
                FilePart("application/pdf", b"%PDF", name="a.pdf"),
                FilePart("text/csv", b"a,b\n", name="a.csv"),
            ],
        )
    )
    assert [part["type"] for part in turn["content"]] == ["image", "document", "document"]
    assert turn["content"][0]["source"] == {"type": "url", "url": "https://example.org/a.png"}
    assert (turn["content"][2]["title"], turn["content"][2]["source"]["data"]) == ("a.csv", "a,b\n")


@pytest.mark.parametrize(
    "message",
    [
        user("", files=[FilePart("audio/wav", b"RIFF")]),
        user("", files=[FilePart("text/csv", url="https://example.org/a.csv")]),
        Message("assistant", (FilePart("image/png", b"x"),)),
    ],
)
def test_a_file_that_cannot_be_sent_is_refused(message: Message) -> None:
    with pytest.raises(ModelRequestRefused):
        turns_of(message)


async def test_thinking_comes_apart_and_goes_back_as_it_was() -> None:
    reply = await answer_to(
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "h"},
            {"type": "thinking_delta", "thinking": "m"},
            {"type": "signature_delta", "signature": "signed"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "hidden"}),
        *block(2, {"type": "text", "text": "4"}, {"type": "text_delta", "text": "2"}),
        *block(3, {"type": "tool_use", "id": "t", "name": "look", "input": {}}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    )
    assert (reply.value.reasoning, reply.value.text) == ("hm", "42")
    (turn,) = turns_of(reply.value)
    assert turn["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "signed"},
        {"type": "redacted_thinking", "data": "hidden"},
        {"type": "text", "text": "42"},
        {"type": "tool_use", "id": "t", "name": "look", "input": {}},
    ]


def test_reasoning_of_others_stays_here() -> None:
    foreign = ReasoningPart("hm", {"vendor": "openai", "id": "rs"})
    assert turns_of(Message("assistant", (foreign, ReasoningPart("plain")))) == []


async def test_figures_are_sums_from_the_beginning_and_caches_count_as_input() -> None:
    start = {
        "input_tokens": 5,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
        "output_tokens": 1,
    }
    later = {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}}
    reply = await answer_to(
        {"type": "message_start", "message": {"usage": start}},
        *block(0, {"type": "text", "text": "Hi."}),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": later},
    )
    names = (
        "input_tokens",
        "cached_tokens",
        "cache_write_tokens",
        "output_tokens",
        "reasoning_tokens",
        "total_tokens",
    )
    assert [reply.invocation.usage[name] for name in names] == [10, 3, 2, 7, 4, 17]


@pytest.mark.case("P121")
async def test_what_the_request_has_used_is_known_when_its_answer_breaks_off() -> None:
    body = sse(
        {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}},
        *block(0, {"type": "text", "text": "Hi."}),
        names=True,
    )
    ctx = fake_context(model=provider_of(Recorded(body)))
    with pytest.raises(ModelError) as caught:
        await ctx.model.invoke("Hi.")
    assert caught.value.invocation is not None
    assert caught.value.invocation.usage["input_tokens"] == 5
    assert (ctx.ledger.used("input_tokens"), ctx.ledger.usage.partial) == (5, 1)


async def test_an_input_that_comes_whole_with_its_call_is_read() -> None:
    reply = await answer_to(
        *block(0, {"type": "tool_use", "id": "t", "name": "look", "input": {"q": "a"}}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    )
    assert dict(reply.value.tool_calls[0].arguments) == {"q": "a"}


@pytest.mark.case("P080")
async def test_an_input_that_is_cut_is_an_error_of_its_call() -> None:
    reply = await answer_to(
        *block(
            0,
            {"type": "tool_use", "id": "t", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"q": "abc'},
        ),
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {}},
    )
    (call,) = reply.value.tool_calls
    assert (call.error is not None, reply.invocation.finish_reason) == (True, "length")
    assert turns_of(reply.value)[0]["content"][0]["input"] == {}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filter"),
        ("pause_turn", "other"),
        (None, "other"),
    ],
)
async def test_why_an_answer_ended_is_told(said: Any, reason: str) -> None:
    reply = await answer_to(
        *block(0, {"type": "text", "text": "Hi."}),
        {"type": "message_delta", "delta": {"stop_reason": said}, "usage": None},
    )
    assert reply.invocation.finish_reason == reason


async def test_events_that_nobody_knows_are_passed_over() -> None:
    reply = await answer_to(
        {"type": "ping"},
        {"type": "something_new", "delta": "?"},
        {"type": "message_start", "message": None},
        *block(0, {"type": "server_tool_use", "id": "s"}, {"type": "citations_delta"}),
        *block(1, None, None),
        *block(2, {"type": "text", "text": "Hi."}),
    )
    assert reply.value.text == "Hi."


async def test_an_error_in_the_middle_of_the_answer_has_its_kind() -> None:
    from agentflow import ModelRateLimited

    broken = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    with pytest.raises(ModelRateLimited, match="slow down"):
        await answer_to(*block(0, {"type": "text", "text": "H"}), broken)


async def test_the_vendor_counts_the_tokens_of_a_request() -> None:
    def counted(request: Any) -> Any:
        assert (request["system"], len(request["tools"])) == ("Be brief.", 1)
        return httpx2.Response(200, json={"input_tokens": 42})

    transport = Recorded(counted)
    provider = provider_of(transport)
    assert await provider.count([system("Be brief."), user("Hi.")], [LOOK]) == 42
    assert transport.paths == ["/v1/messages/count_tokens"]
    down = provider_of(Recorded(lambda _: httpx2.Response(503)))
    with pytest.raises(ModelError):
        await down.count([user("Hi.")], [])
