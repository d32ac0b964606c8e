"""What is delivered and told of an answer while it comes: in order, without reading ahead, each kind apart."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import (
    DeliveryError,
)
from agentflow.messages import (
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
)
from agentflow.testing import FactRecorder
from tests.models.kit import Scripted, Sinking, asking


@pytest.mark.rule("R342")
async def test_the_provider_is_asked_for_a_chunk_when_the_sink_has_taken_the_last_one() -> None:
    log: list[str] = []
    sink = Sinking(log)
    await asking(lambda ctx: ctx.model.invoke("Hi.")).run(
        {}, model=Scripted(log=log), sink=sink, run_id="r"
    )
    assert log == [
        "asked",
        *("sends 1", "takes 1", "took 1"),
        *("sends 2", "takes 2", "took 2"),
        *("sends 3", "done", "closed"),
    ]
    assert [chunk.text for chunk in sink.chunks] == ["Hel", "lo."]
    (origin,) = {chunk.origin for chunk in sink.chunks}
    assert origin.startswith("r/ask#1/model:1.")


@pytest.mark.rule("R343")
async def test_a_sink_that_fails_fails_the_run_and_stops_the_provider() -> None:
    class Broken:
        async def send(self, chunk: Any) -> None:
            raise ConnectionError("gone")

    provider, recorder = Scripted(), FactRecorder()
    with pytest.raises(DeliveryError, match="ConnectionError: gone") as caught:
        await asking(lambda ctx: ctx.model.invoke("Hi.")).run(
            {}, model=provider, sink=Broken(), observers=[recorder]
        )
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert provider.log == ["asked", "sends 1", "closed"]
    assert recorder.kinds("model.") == ["model.started", "model.failed"]
    assert recorder.kinds("run.")[-1] == "run.failed"


@pytest.mark.rule("R345")
async def test_a_started_request_is_told_and_reasoning_is_not() -> None:
    script = ReasoningChunk("the secret"), TextChunk("42"), FinishChunk()
    recorder = FactRecorder()
    await asking(lambda ctx: ctx.model.invoke("Hi.")).run(
        {}, model=Scripted(*script), observers=[recorder]
    )
    assert recorder.only("model.started").data == {"model": "Scripted", "transport": "text"}
    assert "secret" not in repr(recorder.facts)
    assert [data["type"] for data in recorder.data("model.chunk")] == ["reasoning", "text"]


@pytest.mark.rule("R346")
async def test_text_reasoning_proposals_and_the_final_value_are_told_apart() -> None:
    script = (
        ReasoningChunk("hm"),
        TextChunk("Let me see."),
        ToolCallChunk(0, "c1", "look", "{}"),
        FinishChunk("tool_calls"),
    )
    recorder, log = FactRecorder(content=True), list[str]()
    sink = Sinking(log)
    reply = await asking(lambda ctx: ctx.model.invoke("Hi.", transport="message")).run(
        {}, model=Scripted(*script), observers=[recorder], sink=sink
    )
    kinds = [type(fact.content) for fact in recorder.of("model.chunk")]
    assert kinds == [ReasoningChunk, TextChunk, ToolCallChunk]
    assert [type(chunk) for chunk in sink.chunks] == kinds
    assert recorder.only("model.completed").content == reply.value
    assert reply.value.text == "Let me see."
