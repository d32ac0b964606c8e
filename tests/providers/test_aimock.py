"""Our providers against a mock of the vendors that others have made, over real sockets with the vendors' own clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

from agentflow import Model, ModelError, ModelUnavailable, build_loop, structured, tool
from agentflow.messages import TextChunk
from agentflow.providers.anthropic_messages import AnthropicMessages
from agentflow.providers.openai_chat import OpenAIChat
from agentflow.providers.openai_responses import OpenAIResponses
from agentflow.testing import FixedClock, fake_context
from tests.providers.servers import AIMOCK, node, running

pytestmark = [
    pytest.mark.aimock,
    pytest.mark.skipif(
        node() is None or not AIMOCK.exists(),
        reason="the mock @copilotkit/aimock is not installed; `make aimock` installs it, with Node",
    ),
]

FIXTURES = Path(__file__).with_name("aimock.json")
_numbers = iter(range(1_000_000))


class Wanted(BaseModel):
    word: str
    count: int


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    # One UTF-16 unit a piece: a character outside the basic plane comes in two halves.
    options = ["-p", "0", "-h", "127.0.0.1", "-f", str(FIXTURES), "--strict", "-c", "1"]
    with running([str(AIMOCK), *options]) as found:
        yield found


def chat(address: str, headers: dict[str, str]) -> Any:
    client = openai.AsyncOpenAI(
        api_key="k",
        base_url=f"{address}/v1",
        max_retries=0,
        default_headers=headers,
        http_client=openai.DefaultAsyncHttpxClient(),
    )
    return OpenAIChat("gpt-5-mini", client=client), client


def responses(address: str, headers: dict[str, str]) -> Any:
    _, client = chat(address, headers)
    return OpenAIResponses("gpt-5-mini", client=client), client


def messages(address: str, headers: dict[str, str]) -> Any:
    client = anthropic.AsyncAnthropic(
        api_key="k",
        base_url=address,
        max_retries=0,
        default_headers=headers,
        http_client=anthropic.DefaultAsyncHttpxClient(),
    )
    return AnthropicMessages("claude-sonnet-5", client=client), client


@pytest.fixture(params=[chat, responses, messages], ids=lambda make: make.__name__)
async def provider(request: pytest.FixtureRequest, address: str) -> Any:
    make: Callable[..., Any] = request.param
    # What the mock counts, it counts for each test.
    made, client = make(address, {"X-Test-Id": f"test-{next(_numbers)}"})
    yield made
    await client.close()


async def test_a_text_comes_whole_and_is_counted(provider: Any) -> None:
    ctx = fake_context(model=provider)
    async with ctx.model.stream("greet") as stream:
        pieces = [chunk.text async for chunk in stream if isinstance(chunk, TextChunk)]
        reply = await stream.reply()
    assert reply.value == "".join(pieces) == "Grüße, 世界 🍸!"
    assert "🍸" in pieces
    usage = reply.invocation.usage
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (11, 5, 16)


async def test_reasoning_is_no_text(provider: Any) -> None:
    reply = await fake_context(model=provider).model.invoke("think", transport="message")
    assert reply.value.text == "42"
    assert reply.value.reasoning in ("", "six by seven")


async def test_a_structured_answer_is_read(provider: Any) -> None:
    ctx = fake_context(model=provider)
    reply = await ctx.model.invoke("report", transport=structured(Wanted, corrections=0))
    assert reply.value == Wanted(word="naïve", count=3)


async def test_calls_at_the_same_time_run_and_their_results_are_understood(provider: Any) -> None:
    called: list[str] = []

    @tool
    async def weather(city: str) -> str:
        """Tell the weather of a city."""
        called.append(city)
        return "sunny"

    @tool
    async def time() -> str:
        """Tell the time."""
        called.append("time")
        return "nine"

    result = await build_loop().run(
        {"messages": "What is the weather?"}, model=provider, tools=[weather, time]
    )
    assert sorted(called) == ["Bergen", "Köln", "time"]
    assert (result.text, len(result.steps)) == ("It is sunny in Köln.", 2)
    assert [message.role for message in result.messages] == [
        *("user", "assistant", "tool", "tool", "tool"),
        "assistant",
    ]


async def test_a_rate_limit_is_waited_for_as_long_as_the_server_says(provider: Any) -> None:
    clock = FixedClock()
    reply = await fake_context(model=provider, clock=clock).model.invoke("busy")
    assert (reply.value, reply.invocation.tries) == ("Now.", 2)
    assert clock.slept == [1]


async def test_a_server_that_stays_down_is_given_up(provider: Any) -> None:
    ctx = fake_context(model=Model(provider, retries=2), clock=FixedClock())
    with pytest.raises(ModelUnavailable, match=r"in 3 tries: .* 503: overloaded") as caught:
        await ctx.model.invoke("down")
    assert caught.value.status == 503


async def test_a_stream_that_is_cut_is_no_answer(provider: Any) -> None:
    ctx = fake_context(model=Model(provider, retries=0))
    with pytest.raises(ModelUnavailable):
        await ctx.model.invoke("cut off")


async def test_a_call_that_is_cut_is_not_carried_out(provider: Any) -> None:
    called: list[str] = []

    @tool
    async def weather(city: str) -> str:
        """Tell the weather of a city."""
        called.append(city)
        return "sunny"

    with pytest.raises(ModelError):
        await build_loop().run(
            {"messages": "cut call"}, model=Model(provider, retries=0), tools=[weather]
        )
    assert called == []


async def test_many_calls_at_the_same_time_share_nothing(provider: Any) -> None:
    import anyio

    values: list[str] = []
    ctx = fake_context(model=provider)

    async def ask() -> None:
        values.append((await ctx.model.invoke("greet")).value)

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask)
    assert values == ["Grüße, 世界 🍸!"] * 20
