"""The official clients of OpenAI and Anthropic talk to the mock server over a socket, and notice nothing."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from agentflow.messages import UsageChunk
from agentflow.mock import MockModel, MockReply, MockServer, Rule, call, calls
from tests.mock.clients import FORMATS, Format, Heard, weather

# OpenAI's asynchronous client does not close its generators when it reads `[DONE]`.
pytestmark = [
    pytest.mark.usefixtures("quick_collections"),
    pytest.mark.filterwarnings("ignore:Async generator '(openai|httpx2|httpcore2):ResourceWarning"),
]

Ask = Callable[..., Awaitable[Heard]]

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FORCED: dict[str, Any] = {
    "chat": {"type": "function", "function": {"name": "weather"}},
    "responses": {"type": "function", "name": "weather"},
    "messages": {"type": "tool", "name": "weather"},
}
HISTORY: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"role": "user", "content": [{"type": "text", "text": "Rome?"}]},
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "hm",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ],
    "responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "Rome?"}]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"role": "assistant", "content": "Let me see."},
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "weather",
            "arguments": '{"city": "Rome"}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Rome?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Rome"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "sunny"}],
        },
    ],
}
STOPPED = {"chat": "stop", "responses": "completed", "messages": "end_turn"}
WANTS_TOOLS = {"chat": "tool_calls", "responses": "completed", "messages": "tool_use"}
TOO_LONG = {"chat": "length", "responses": "incomplete", "messages": "max_tokens"}
FILTERED = {"chat": "content_filter", "responses": "incomplete", "messages": "refusal"}
TEXT = " Grüße, 世界 👋\n  two lines — and a tab\t"

model = MockModel(
    [
        Rule(when="greet", reply=TEXT),
        Rule(when="nothing", reply=""),
        Rule(when="weather in Paris", reply=call("weather", city="Paris")),
        Rule(
            when="weather in both",
            reply=calls(
                MockReply(text="Let me see."),
                call("weather", city="Zürich"),
                call("weather", city="Rome"),
            ),
        ),
        Rule(when="where", reply={"city": "Paris"}),
        Rule(
            when="counted",
            reply=MockReply(text="Yes.", usage=UsageChunk(input_tokens=12, output_tokens=5)),
        ),
        Rule(when="think", reply=MockReply(text="42", reasoning="six by seven")),
        Rule(when="long", reply=MockReply(text="And then", finish="length")),
        Rule(when="rude", reply=MockReply(text="I", finish="filter")),
    ]
)


@pytest.fixture(scope="module", params=["sync", "asyncio", "trio"])
def way(request: pytest.FixtureRequest) -> str:
    """With the synchronous client, or with the asynchronous one on a backend."""
    return str(request.param)


@pytest.fixture(scope="module")
def anyio_backend(way: str) -> str:
    return "asyncio" if way == "sync" else way


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(model) as server:
        yield server


@pytest.fixture(scope="module", params=FORMATS)
def format(request: pytest.FixtureRequest, server: MockServer) -> Iterator[Format]:
    format = Format(request.param, server)
    yield format
    format.close()


@pytest.fixture(params=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "streamed")


@pytest.fixture
def ask(way: str, format: Format, stream: bool) -> Ask:
    async def sync(prompt: str, **more: Any) -> Heard:
        return await anyio.to_thread.run_sync(
            functools.partial(format.ask, prompt, stream=stream, **more)
        )

    async def native(prompt: str, **more: Any) -> Heard:
        return await format.ask_async(prompt, stream=stream, **more)

    return sync if way == "sync" else native


@pytest.mark.rule("R351", "R352")
async def test_a_text_comes_to_the_letter(ask: Ask, format: Format, stream: bool) -> None:
    heard = await ask("greet", instructions="Be kind.")
    assert (heard.text, heard.calls, heard.finish) == (TEXT, (), STOPPED[format.name])
    if stream:
        assert len(heard.pieces) > 3
    assert [message.role for message in model.requests[-1].messages] == ["system", "user"]


async def test_an_answer_may_be_empty(ask: Ask, format: Format) -> None:
    heard = await ask("nothing")
    assert (heard.text, heard.calls, heard.finish) == ("", (), STOPPED[format.name])


async def test_a_tool_call_comes_whole(ask: Ask, format: Format) -> None:
    heard = await ask("weather in Paris", tools=[weather()])
    assert heard.calls == (("call_1", "weather", {"city": "Paris"}),)
    assert (heard.text, heard.finish) == ("", WANTS_TOOLS[format.name])
    (tool,) = model.requests[-1].context.tools
    assert (tool.name, tool.description) == ("weather", "Tell the weather.")
    assert tool.parameters == weather()["parameters"]


async def test_parallel_tool_calls_come_in_order_after_the_text(ask: Ask, format: Format) -> None:
    heard = await ask("weather in both", tools=[weather()])
    assert heard.text == "Let me see."
    assert heard.calls == (
        ("call_1", "weather", {"city": "Zürich"}),
        ("call_2", "weather", {"city": "Rome"}),
    )
    assert heard.finish == WANTS_TOOLS[format.name]


async def test_structured_output_is_the_object_of_the_rule(ask: Ask) -> None:
    heard = await ask("where", schema=SCHEMA)
    assert json.loads(heard.text) == {"city": "Paris"}
    assert model.requests[-1].context.output_schema == SCHEMA


async def test_a_forced_tool_gets_the_object_of_the_rule(ask: Ask, format: Format) -> None:
    heard = await ask("where", tools=[weather()], more={"tool_choice": FORCED[format.name]})
    assert heard.calls == (("call_1", "weather", {"city": "Paris"}),)
    assert model.requests[-1].context.tool_choice == "weather"


async def test_usage_is_told_as_the_rule_has_it(ask: Ask) -> None:
    assert (await ask("counted")).usage == (12, 5)


async def test_usage_is_counted_in_words_where_the_rule_has_none(ask: Ask) -> None:
    assert (await ask("greet", instructions="Be very kind.")).usage == (4, len(TEXT.split()))


async def test_reasoning_is_no_text(ask: Ask) -> None:
    heard = await ask("think")
    assert (heard.text, heard.reasoning) == ("42", "six by seven")


@pytest.mark.parametrize(("prompt", "finish"), [("long", TOO_LONG), ("rude", FILTERED)])
async def test_the_reason_to_stop_has_the_formats_own_name(
    ask: Ask, format: Format, prompt: str, finish: dict[str, str]
) -> None:
    assert (await ask(prompt)).finish == finish[format.name]


async def test_a_whole_conversation_is_understood(ask: Ask, format: Format) -> None:
    heard = await ask("weather in Paris", tools=[weather()], history=HISTORY[format.name])
    assert heard.calls == (("call_2", "weather", {"city": "Paris"}),)
    asked = model.requests[-1]
    assert asked.turn == 2
    said, result = asked.messages[1:3]
    assert (said.text, said.reasoning) == ("Let me see.", "hm")
    assert [(c.id, c.name, dict(c.arguments)) for c in said.tool_calls] == [
        ("call_1", "weather", {"city": "Rome"})
    ]
    assert [(r.call_id, r.name, r.content) for r in result.tool_results] == [
        ("call_1", "weather", "sunny")
    ]
