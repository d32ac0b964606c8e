"""The Responses API: what is asked, and what its events say."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from agentflow import Message, Model, ModelError, ModelRequestRefused, structured
from agentflow.messages import (
    FilePart,
    ReasoningPart,
    ToolCall,
    ToolSpec,
    assistant,
    tool_result,
    user,
)
from agentflow.messages.formats import to_openai_responses
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.providers.openai_responses import OpenAIResponses
from agentflow.testing import fake_context
from tests.providers.speakers import Responses, openai_client
from tests.providers.wires import Recorded, sse

LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {}})


class Wanted(BaseModel):
    word: str = ""


def sent_by(*messages: Message) -> list[dict[str, Any]]:
    return to_openai_responses(messages, ToolNames(()))


def provider_of(transport: Recorded) -> OpenAIResponses:
    return OpenAIResponses("m", client=openai_client(transport))


async def answer_to(events: Responses, **options: Any) -> Any:
    provider = provider_of(Recorded(events.sent()))
    return await fake_context(model=provider).model.invoke(
        "Hi.", transport="message", tools=[LOOK], **options
    )


async def test_a_call_keeps_the_conversation_here_and_not_at_the_vendor() -> None:
    events = Responses()
    events.begin()
    events.say('{"word": "a"}')
    events.end()
    transport = Recorded(events.sent())
    await fake_context(model=provider_of(transport)).model.invoke(
        "Hi.",
        instructions="Be brief.",
        transport=structured(Wanted),
        max_output_tokens=9,
        parameters={"reasoning": {"effort": "low"}},
    )
    (request,) = transport.requests
    assert transport.paths == ["/v1/responses"]
    assert request == {
        "model": "m",
        "input": [
            {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        ],
        "stream": True,
        "store": False,
        "max_output_tokens": 9,
        "reasoning": {"effort": "low"},
        "text": {
            "format": {
                "type": "json_schema",
                "name": "answer",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {"word": {"type": "string"}},
                    "required": ["word"],
                    "additionalProperties": False,
                },
            }
        },
    }


async def test_tools_and_choices_are_sent() -> None:
    events = Responses()
    events.begin()
    events.call("look", "{}")
    events.end()
    transport = Recorded(events.sent())
    await fake_context(model=provider_of(transport)).model.invoke(
        "Hi.", transport="message", tools=[LOOK], tool_choice="look"
    )
    (request,) = transport.requests
    assert request["tool_choice"] == {"type": "function", "name": "look"}
    assert request["tools"] == [
        {
            "type": "function",
            "name": "look",
            "description": "Look.",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


async def test_sealed_reasoning_comes_with_the_answer_and_goes_back() -> None:
    events = Responses()
    events.begin()
    events.reason("hm")
    events.call("look", "{}")
    events.end()
    answer = (await answer_to(events)).value
    assert answer.reasoning == "hm"
    reasoning, call = sent_by(answer)
    assert reasoning == {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "sealed",
    }
    assert (call["type"], call["call_id"]) == ("function_call", "call_1")


def test_reasoning_of_others_stays_here() -> None:
    foreign = ReasoningPart("hm", {"vendor": "anthropic", "signature": "s"})
    message = Message("assistant", (foreign, ReasoningPart("plain")))
    assert sent_by(message) == []


def test_a_conversation_is_a_list_of_items() -> None:
    call = ToolCall("c1", "look", {"q": "ü"})
    broken = ToolCall("c2", "look", {}, "no JSON", '{"q": "abc')
    assert sent_by(
        user("Hi."),
        assistant("Let me see.", tool_calls=[call, broken]),
        tool_result(call, "1"),
        tool_result(broken, "Error", files=[FilePart("image/png", b"x")]),
    ) == [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q": "ü"}'},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [
                {"type": "input_text", "text": "Error"},
                {
                    "type": "input_image",
                    "image_url": "data:image/png;base64,eA==",
                    "detail": "auto",
                },
            ],
        },
    ]


def test_files_are_sent_as_what_they_are() -> None:
    (message,) = sent_by(
        user(
            "See.",
            files=[
                FilePart("image/png", url="https://example.org/a.png"),
                FilePart("application/pdf", b"%PDF", name="a.pdf"),
                FilePart("application/pdf", url="https://example.org/a.pdf"),
                FilePart("text/csv", b"a,b\n"),
            ],
        )
    )
    told = [(part["type"], sorted(part)) for part in message["content"]]
    assert told == [
        ("input_text", ["text", "type"]),
        ("input_image", ["detail", "image_url", "type"]),
        ("input_file", ["file_data", "filename", "type"]),
        ("input_file", ["file_url", "type"]),
        ("input_text", ["text", "type"]),
    ]


@pytest.mark.parametrize(
    "message",
    [
        user("", files=[FilePart("audio/wav", b"RIFF")]),
        Message("assistant", (FilePart("image/png", b"x"),)),
    ],
)
def test_a_file_that_cannot_be_sent_is_refused(message: Message) -> None:
    with pytest.raises(ModelRequestRefused):
        sent_by(message)


async def test_the_kinds_of_tokens_are_told() -> None:
    events = Responses()
    events.begin()
    events.say("Hi.")
    events.end(
        usage={
            "input_tokens": 9,
            "output_tokens": 5,
            "total_tokens": 14,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
            "output_tokens_details": {"reasoning_tokens": 3},
        }
    )
    usage = (await answer_to(events)).invocation.usage
    names = ("input_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
    assert [usage[name] for name in names] == [9, 4, 1, 3]


async def test_arguments_that_come_with_the_end_of_their_call_are_read() -> None:
    events = Responses()
    events.begin()
    item = {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"q": 1}'}
    events.add("response.output_item.added", output_index=0, item={**item, "arguments": ""})
    events.add("response.output_item.done", output_index=0, item=item)
    events.end()
    (call,) = (await answer_to(events)).value.tool_calls
    assert (call.id, dict(call.arguments)) == ("c", {"q": 1})


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "tired"}}, "other"),
        ({"status": "completed", "incomplete_details": None}, "stop"),
    ],
)
async def test_why_an_answer_ended_is_told(end: Any, reason: str) -> None:
    events = Responses()
    events.begin()
    events.say("Hi.")
    events.end(**end)
    assert (await answer_to(events)).invocation.finish_reason == reason


async def test_a_refusal_of_the_model_is_its_text_and_no_ordinary_end() -> None:
    events = Responses()
    events.begin()
    events.add("response.refusal.delta", output_index=0, delta="I will not.")
    events.end()
    reply = await answer_to(events)
    assert (reply.value.text, reply.invocation.finish_reason) == ("I will not.", "filter")


@pytest.mark.parametrize(
    ("more", "kind", "text"),
    [
        ({"error": {"code": "server_error", "message": "it broke"}}, ModelError, "it broke"),
        ({"error": {"code": "invalid_prompt", "message": "no"}}, ModelRequestRefused, "no"),
        ({}, ModelError, "says nothing of it"),
    ],
)
async def test_an_answer_that_failed_is_raised(more: Any, kind: Any, text: str) -> None:
    events = Responses()
    events.begin()
    events.end("failed", **more)
    with pytest.raises(kind, match=text):
        await fake_context(
            model=Model(provider_of(Recorded(events.sent())), retries=0)
        ).model.invoke("Hi.")


async def test_events_that_nobody_knows_are_passed_over() -> None:
    events = Responses()
    events.begin()
    events.add("response.something.new", delta="?", item={"type": "x"})
    events.add("response.output_item.added", output_index=0, item={"type": "web_search_call"})
    events.add("response.output_item.added", output_index=0, item=None)
    events.add("response.output_text.delta", delta=None)
    events.say("Hi.")
    events.end()
    assert (await answer_to(events)).value.text == "Hi."


async def test_the_vendor_counts_the_tokens_of_a_request() -> None:
    def counted(request: Any) -> Any:
        assert (request["model"], len(request["input"]), len(request["tools"])) == ("m", 1, 1)
        return httpx2.Response(200, json={"object": "response.input_tokens", "input_tokens": 42})

    provider = provider_of(Recorded(counted))
    assert await provider.count([user("Hi.")], [LOOK]) == 42
    down = provider_of(Recorded(lambda _: httpx2.Response(503)))
    with pytest.raises(ModelError):
        await down.count([user("Hi.")], [])


async def test_an_error_without_an_event_name_is_raised_too() -> None:
    body = sse({"error": {"message": "bad gateway", "code": 502}})
    with pytest.raises(ModelError, match="bad gateway"):
        await fake_context(model=Model(provider_of(Recorded(body)), retries=0)).model.invoke("Hi.")
