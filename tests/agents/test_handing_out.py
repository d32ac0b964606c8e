"""What is handed out while a call works has passed whoever has a say in it, whichever way it goes."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import Agent, RunSuspended, tool
from agentflow.agents import (
    FinishEvent,
    Guardrail,
    GuardrailBlocked,
    Middleware,
    StartEvent,
    SubAgentEvent,
    ToolCallEvent,
)
from agentflow.messages import TextChunk
from agentflow.mock import call
from agentflow.stores.memory import MemoryStore
from tests.agents.kit import look, scripted


class Sink:
    """A sink of the caller's own."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    async def send(self, chunk: Any) -> None:
        self.taken.append(chunk)

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.taken if isinstance(chunk, TextChunk))


class EventSink(Sink):
    """One that takes events too."""

    async def tell(self, event: Any) -> None:
        self.taken.append(event)


async def refuses(value: Any, view: Any) -> bool:
    """Take so long that the loop is far ahead."""
    await anyio.wait_all_tasks_blocked()
    return False


async def agrees(value: Any, view: Any) -> bool:
    await anyio.wait_all_tasks_blocked()
    return True


@pytest.mark.parametrize("kind", [Sink, EventSink])
async def test_a_sink_gets_nothing_before_the_guardrails_beside_the_loop_have_passed(
    kind: type[Sink],
) -> None:
    sink = kind()

    def asked(judge: Any) -> Agent:
        beside = Guardrail(input=judge, when="beside")
        return Agent("helper", model=scripted("one two"), guardrails=[beside])

    with pytest.raises(GuardrailBlocked):
        await asked(refuses).generate_text("go", sink=sink)
    assert not sink.taken
    await asked(agrees).generate_text("go", sink=sink)
    assert sink.text == "one two"


async def test_a_sink_gets_what_chunk_middleware_and_chunk_guardrails_leave() -> None:
    sink = Sink()
    masked = Middleware(chunk=lambda chunk, ctx: None if "PIN" in repr(chunk) else chunk)
    await Agent("helper", model=scripted("My PIN is"), middlewares=[masked]).generate_text(
        "go", sink=sink
    )
    assert sink.text == "My is"
    sink = Sink()
    judged = Guardrail(chunk=lambda chunk, view: "PIN" not in repr(chunk))
    with pytest.raises(GuardrailBlocked):
        await Agent("helper", model=scripted("My PIN is"), guardrails=[judged]).generate_text(
            "go", sink=sink
        )
    assert sink.text == "My"


async def test_what_a_sub_agent_says_waits_for_the_guardrails_beside_its_loop() -> None:
    async def told(judge: Any) -> list[Any]:
        beside = Guardrail(input=judge, when="beside")
        sub = Agent("sub", model=scripted("one two"), description="Helps.", guardrails=[beside])
        boss = Agent("boss", model=scripted(call("ask_sub", task="x"), "ok"), sub_agents=[sub])
        async with boss.stream_text("go") as stream:
            found = [event async for event in stream.events]
        return [event.event for event in found if isinstance(event, SubAgentEvent)]

    assert [type(event) for event in await told(refuses)] == [StartEvent, FinishEvent]
    said = await told(agrees)
    assert "".join(e.text for e in said if isinstance(e, TextChunk)) == "one two"


async def test_what_was_let_pass_before_an_interruption_is_not_held_for_ever() -> None:
    judged: list[str] = []

    async def judge(value: Any, view: Any) -> bool:
        judged.append("input")
        return True

    @tool(needs_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    def process() -> Agent:
        beside = Guardrail(input=judge, when="beside")
        model = scripted("one two") if judged else scripted(call("pay"))
        return Agent("helper", model=model, tools=[pay], guardrails=[beside], store=store)

    store, sink = MemoryStore(), Sink()
    async with process() as asked:
        with pytest.raises(RunSuspended):
            await asked.generate_text("go", run_id="r")
    async with process() as asked:
        with anyio.fail_after(5):
            await asked.resume("r", answers=True, sink=sink)
    assert (sink.text, judged) == ("one two", ["input"])


async def test_a_stream_that_goes_on_hands_out_what_was_let_pass_before() -> None:
    judged: list[str] = []

    async def judge(value: Any, view: Any) -> bool:
        judged.append("input")
        return True

    store = MemoryStore()

    def process(reply: Any) -> Agent:
        beside = Guardrail(input=judge, when="beside")
        return Agent(
            "helper", model=scripted(reply), tools=[look], guardrails=[beside], store=store
        )

    async with process(call("look")) as asked, asked.stream_text("go", run_id="r") as stream:
        async for event in stream.events:
            if isinstance(event, ToolCallEvent):
                break
    async with process("one two") as asked:
        with anyio.fail_after(5):
            async with asked.stream_text("go", run_id="r") as stream:
                assert await stream.text == "one two"
    assert judged == ["input"]
