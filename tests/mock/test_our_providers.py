"""Our own providers conform when a mock server is on the other side of a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from agentflow import (
    Engine,
    Model,
    ModelUnavailable,
    define_workflow,
    node,
    route,
    structured,
)
from agentflow.messages import FilePart, UsageChunk, user
from agentflow.mock import (
    Chunking,
    MockCall,
    MockModel,
    MockReply,
    MockServer,
    Quirk,
    RecordingModel,
    Refused,
    ReplayingModel,
    Rule,
    by_schema,
    call,
    calls,
)
from agentflow.models.ports import Provider
from agentflow.providers.anthropic_messages import AnthropicMessages
from agentflow.providers.openai_chat import ChatDialect, OpenAIChat
from agentflow.providers.openai_responses import OpenAIResponses
from agentflow.testing import FixedClock, ProviderCheck, Scenario, fake_context, provider_suite

Make = Callable[[MockServer], Any]

PROVIDERS: dict[str, Make] = {
    "chat": lambda server: OpenAIChat("m", api_key="any", base_url=server.openai_url),
    "responses": lambda server: OpenAIResponses("m", api_key="any", base_url=server.openai_url),
    "messages": lambda server: AnthropicMessages("m", api_key="any", base_url=server.url),
}
REFUSALS: dict[str, Refused] = {
    "denied": Refused(401),
    "limited": Refused(429, retry_after=7),
    "unavailable": Refused(503),
    "refused": Refused(400),
}


def reply_of(scenario: Scenario) -> MockReply:
    usage = None
    if scenario.usage is not None:
        usage = UsageChunk(input_tokens=scenario.usage[0], output_tokens=scenario.usage[1])
    return MockReply(
        text=scenario.text,
        calls=tuple(MockCall(name, arguments) for name, arguments in scenario.calls),
        reasoning=scenario.reasoning,
        usage=usage,
        finish="length" if scenario.length else None,
        error=OSError("broken") if scenario.fails else REFUSALS.get(scenario.refuses or ""),
        fault="cut" if scenario.cut else "stall" if scenario.stalls else None,
    )


@asynccontextmanager
async def spoken_to(make: Make) -> AsyncIterator[Callable[[Scenario], Provider]]:
    """Makes providers whose other side is a server; both are closed at the end."""
    async with AsyncExitStack() as stack:

        def provider(scenario: Scenario) -> Provider:
            model = MockModel([Rule(reply=reply_of(scenario))])
            server = stack.enter_context(MockServer(model, usage=None))
            made = make(server)
            stack.push_async_callback(made.aclose)
            found: Provider = made
            return found

        yield provider


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("check", provider_suite, ids=str)
async def test_our_providers_conform_over_a_real_socket(check: ProviderCheck, name: str) -> None:
    async with spoken_to(PROVIDERS[name]) as provider:
        await check(provider)


class Order(BaseModel):
    city: str
    count: int


@node(provides=["order"], routes=[route.deliver("order")])
async def read(state: Any, ctx: Any) -> Any:
    reply = await ctx.model.invoke("Two tickets to Rome.", transport=structured(Order))
    return {"order": reply.value.model_dump()}


reading = define_workflow("reading", nodes=[read], result=dict)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_objects_come_by_whatever_way_a_provider_asks_for_them(name: str) -> None:
    with MockServer(MockModel([Rule(reply=by_schema)])) as server:
        provider = PROVIDERS[name](server)
        assert await reading.run(model=provider) == {"city": "city", "count": 1}
        await provider.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_refusal_over_the_wire_is_tried_again_when_the_server_says(name: str) -> None:
    clock = FixedClock()
    story = [Refused(429, retry_after=7), Refused(529), {"city": "Rome", "count": 2}]
    with MockServer(MockModel([Rule(reply=story)])) as server:
        provider = PROVIDERS[name](server)
        async with Engine(reading, model=Model(provider, retries=2), clock=clock) as engine:
            assert await engine.run() == {"city": "Rome", "count": 2}
        await provider.aclose()
        assert len(server.received) == 3
    assert clock.slept[0] == 7
    assert len(clock.slept) == 2


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_real_exchange_is_recorded_and_replayed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tape.json"
    rules = [Rule(reply=MockReply(reasoning="hm", text='{"city": "Rome", "count": 2}'))]
    with MockServer(MockModel(rules)) as server:
        provider = PROVIDERS[name](server)
        first = await reading.run(model=RecordingModel(provider, path))
        await provider.aclose()
    with ReplayingModel(path) as model:
        assert await reading.run(model=model) == first == {"city": "Rome", "count": 2}


@pytest.mark.parametrize("name", PROVIDERS)
async def test_files_come_through_as_they_were_sent(name: str) -> None:
    image = FilePart("image/png", b"\x89PNG", name=None)
    linked = FilePart("image/png", url="https://example.org/a.png")
    document = FilePart("application/pdf", b"%PDF", name="a.pdf")
    model = MockModel([Rule(reply=lambda asked: f"{len(asked.files)} files")])
    with MockServer(model) as server:
        provider = PROVIDERS[name](server)
        context = fake_context(model=provider)
        question = user("What is it?", files=[image, linked, document])
        assert (await context.model.invoke([question])).value == "3 files"
        await provider.aclose()
    assert model.requests[-1].files == (image, linked, document)
    assert model.requests[-1].text == "What is it?"


@pytest.mark.parametrize("name", PROVIDERS)
async def test_what_a_cut_answer_has_used_until_then_is_known_where_the_vendor_says_it(
    name: str,
) -> None:
    usage = UsageChunk(input_tokens=9, output_tokens=5)
    cut = MockReply(text="one two", fault="cut", usage=usage)
    with MockServer(MockModel([Rule(reply=cut)])) as server:
        provider = PROVIDERS[name](server)
        context = fake_context(model=Model(provider, retries=0))
        with pytest.raises(ModelUnavailable) as caught:
            await context.model.invoke("Hi.")
        await provider.aclose()
    invocation = caught.value.invocation
    assert invocation is not None
    assert invocation.partial
    assert invocation.usage.get("input_tokens") == (9 if name == "messages" else None)


@pytest.mark.parametrize("quirk", get_args(Quirk))
async def test_our_provider_of_chat_completions_survives_every_quirk(quirk: Quirk) -> None:
    reply = calls(MockReply(text="Let me see."), call("look", word="ä"), call("now"))
    end: Any = "finish_reason" if quirk == "no-done" else "done"
    with MockServer(
        MockModel([Rule(reply=reply)]), quirks=[quirk], blocks=Chunking("bytes", 5, seed=1)
    ) as server:
        provider = OpenAIChat(
            "m", api_key="any", base_url=server.openai_url, dialect=ChatDialect(end=end)
        )
        answer = await fake_context(model=provider).model.invoke("Hi.", transport="message")
        await provider.aclose()
    assert answer.value.text == "Let me see."
    assert [(c.name, dict(c.arguments)) for c in answer.value.tool_calls] == [
        ("look", {"word": "ä"}),
        ("now", {}),
    ]
    assert answer.invocation.usage["output_tokens"] > 0
