"""Hand-offs in a stream: the text is that of whoever speaks, everything is told once, and who has a say keeps it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pydantic import BaseModel

from agentflow import Agent, OutputInvalid
from agentflow.agents import (
    FinishEvent,
    Guardrail,
    GuardrailBlocked,
    HandoffEvent,
    Hooks,
    Middleware,
    StartEvent,
    StepEvent,
    SubAgentEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from agentflow.agents.speaking import Speaker
from agentflow.messages import TextChunk
from agentflow.mock import MockReply, call
from tests.agents.kit import look, scripted
from tests.agents.test_handoffs import billing, front, ids_of, over
from tests.models.kit import Endless


class City(BaseModel):
    """A place."""

    city: str


class Kept:
    """A sink that takes chunks, and nothing else."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def send(self, chunk: Any) -> None:
        if isinstance(chunk, TextChunk):
            self.texts.append(chunk.text)


def greeting() -> Any:
    return MockReply(text="One moment.", calls=over().calls)


def texts(events: list[Any]) -> dict[tuple[str, ...], str]:
    """What was said, by the path of whoever has said it."""
    found: dict[tuple[str, ...], str] = {}
    for event in events:
        below = isinstance(event, SubAgentEvent)
        path, inner = (event.path, event.event) if below else ((), event)
        if isinstance(inner, TextChunk):
            found[path] = found.get(path, "") + inner.text
    return found


@pytest.mark.case("P127")
async def test_the_text_is_that_of_whoever_speaks_and_every_call_is_told_of_and_kept_once() -> None:
    told: list[Any] = []
    hooks = Hooks(on_handoff=lambda handoff, view: told.append((handoff.agent, handoff.kind)))
    below = billing(scripted(call("look", at=1), "It is paid."), look)
    asked = front(scripted(greeting()), below, hooks=hooks)
    async with asked.stream_text("Is it paid?") as stream:
        pieces = [piece async for piece in stream.text]
        events = [event async for event in stream.events]
        messages = await stream.messages
        assert "".join(pieces) == stream.text_so_far == "One moment.It is paid."
        assert await stream.text == "It is paid."
        assert [step.number for step in stream.steps_so_far] == [1, 2, 1]
    assert texts(events) == {(): "One moment.", ("billing",): "It is paid."}
    every = [event.event if isinstance(event, SubAgentEvent) else event for event in events]
    proposed = Counter(e.call.id for e in every if isinstance(e, ToolCallEvent))
    answered = Counter(e.result.call_id for e in every if isinstance(e, ToolResultEvent))
    assert set(proposed.values()) == {1}
    assert proposed == answered
    assert ids_of(messages) == (proposed, answered)
    assert events.count(HandoffEvent(agent="billing")) == 1
    assert sum(isinstance(event, StepEvent) for event in events) == 1
    assert [event for event in events if isinstance(event, FinishEvent)] == events[-1:]
    assert told == [("billing", "conversation")]


async def test_sub_agents_of_who_took_over_do_not_speak() -> None:
    inner = Agent("inner", None, scripted("deep"))
    ways = scripted(call("ask_inner", task="x"), over("refunds"))
    last = billing(scripted("Refunded."), name="refunds")
    below = billing(ways, sub_agents=[inner], handoffs=[last])
    async with front(scripted(over()), below).stream_text("go") as stream:
        assert "".join([piece async for piece in stream.text]) == "Refunded."
        assert stream.text_so_far == await stream.text == "Refunded."
        events = [event async for event in stream.events]
    assert texts(events) == {("billing", "inner"): "deep", ("billing", "refunds"): "Refunded."}


async def test_a_sub_agent_that_hands_over_is_no_speaker_of_its_callers() -> None:
    below = front(scripted(over()), billing(scripted("It is paid.")))
    model = scripted(call("ask_front", task="Is it paid?"), "Paid.")
    async with Agent("boss", None, model, sub_agents=[below]).stream_text("go") as stream:
        assert "".join([piece async for piece in stream.text]) == "Paid."
        events = [event async for event in stream.events]
    assert texts(events) == {("front", "billing"): "It is paid.", (): "Paid."}


async def test_after_a_failure_the_first_one_speaks_again() -> None:
    shy = billing(scripted("I say this."), guardrails=[Guardrail(output=lambda text, view: False)])
    async with front(scripted(over(), "I do it myself."), shy).stream_text("go") as stream:
        assert "".join([piece async for piece in stream.text]) == "I say this.I do it myself."
        assert await stream.text == "I do it myself."
        events = [event async for event in stream.events]
    results = [event for event in events if isinstance(event, ToolResultEvent)]
    assert [one.result.is_error for one in results] == [True]


@pytest.mark.rule("R099")
async def test_who_has_a_say_in_the_callers_chunks_has_it_in_those_of_who_took_over() -> None:
    louder = Middleware(
        chunk=lambda chunk, ctx: (
            TextChunk(chunk.text.upper()) if isinstance(chunk, TextChunk) else chunk
        )
    )
    kept, below = Kept(), billing(scripted("it is paid"))
    asked = front(scripted(over()), below, middlewares=[louder])
    async with asked.stream_text("go", sink=kept) as stream:
        assert "".join([piece async for piece in stream.text]) == "IT IS PAID"
    assert "".join(kept.texts) == "IT IS PAID"

    model = scripted(over(), "I go on.")
    bombs = Guardrail(
        chunk=lambda chunk, view: not (isinstance(chunk, TextChunk) and "bomb" in chunk.text)
    )
    last = billing(scripted("a bomb"), name="refunds")
    deep = billing(scripted(over("refunds"), "never"), handoffs=[last])
    for other in (billing(scripted("a bomb")), deep):
        model = scripted(over(), "never")
        async with front(model, other, guardrails=[bombs]).stream_text("go") as stream:
            with pytest.raises(GuardrailBlocked):
                await stream.text
            events = [event async for event in stream.events]
        assert events[-1].finish_reason == "blocked"
        assert "bomb" not in stream.text_so_far
        assert len(model.requests) == 1


async def test_its_own_chunk_guardrails_are_a_failure_of_its_own() -> None:
    no = Guardrail(chunk=lambda chunk, view: not isinstance(chunk, TextChunk))
    below = billing(scripted("a bomb"), guardrails=[no])
    async with front(scripted(over(), "I go on."), below).stream_text("go") as stream:
        assert "".join([piece async for piece in stream.text]) == "I go on."
    last = billing(scripted("a bomb"), name="refunds")
    deep = billing(scripted(over("refunds")), guardrails=[no], handoffs=[last])
    async with front(scripted(over(), "I go on."), deep).stream_text("go") as stream:
        assert "".join([piece async for piece in stream.text]) == "I go on."


async def test_a_sink_that_takes_no_events_gets_the_text_of_who_took_over() -> None:
    kept = Kept()
    asked = front(scripted(greeting()), billing(scripted("It is paid.")))
    await asked.generate_text("go", sink=kept)
    assert "".join(kept.texts) == "One moment.It is paid."


async def test_a_structured_answer_of_who_took_over_is_not_corrected_in_a_stream() -> None:
    model, below = scripted(over(), "I do not know."), scripted("no city", {"city": "Rome"})
    async with front(model, billing(below)).stream_text("Where?", output=City) as stream:
        with pytest.raises(OutputInvalid):
            await stream.object
    assert (len(below.requests), len(model.requests)) == (1, 2)
    below = scripted("no city", {"city": "Rome"})
    asked = front(scripted(over(), "I go on."), billing(below, output=City))
    async with asked.stream_text("Where?") as stream:
        assert await stream.text == "I go on."
    assert len(below.requests) == 1
    asked = front(scripted(over()), billing(scripted({"city": "Rome"})))
    async with asked.stream_text("Where?", output=City) as stream:
        assert await stream.object == City(city="Rome")


async def test_leaving_early_stops_who_took_over() -> None:
    model = Endless()
    async with front(scripted(over()), billing(model)).stream_text("go") as stream:
        async for event in stream.events:
            if isinstance(event, SubAgentEvent) and isinstance(event.event, TextChunk):
                break
    assert model.closed == 1
    assert stream.ended


def test_a_speaker_is_followed_from_turn_to_turn() -> None:
    speaker, start = Speaker(), StartEvent(run_id="r", response_id="x")
    said = TextChunk("a")
    below = SubAgentEvent(path=("b",), event=said)
    assert speaker.heard(said) is said
    assert speaker.heard(below) is None
    speaker.heard(HandoffEvent(agent="b"))
    assert (speaker.heard(below), speaker.heard(said)) == (said, None)
    assert speaker.heard(start) is start
    assert speaker.heard(said) is said
