"""Streams: handed out while they are made, read in any way, left at any time."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from agentflow import (
    Agent,
    CancelSignal,
    ModelError,
    OutputInvalid,
    RunCancelled,
    RunInterrupted,
    RunSuspended,
    tool,
)
from agentflow.agents import (
    AgentDenied,
    FinishEvent,
    Hooks,
    StartEvent,
    StepEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from agentflow.messages import FinishChunk, TextChunk, ToolCallChunk
from agentflow.mock import MockModel, MockReply, Rule, call
from tests.agents.kit import endless, look, scripted
from tests.models.kit import Endless, Scripted, Sinking


class City(BaseModel):
    """A place."""

    city: str


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    return Agent("helper", "Be brief.", model, tools, **options)


@pytest.mark.rule("R004")
async def test_the_stream_is_there_before_the_model_has_finished() -> None:
    model = Endless()
    async with agent(model).stream_text("go") as stream:
        async for piece in stream.text:
            assert piece == "Well"
            break
        assert not stream.ended
    assert model.closed == 1


@pytest.mark.rule("R005")
async def test_the_text_view_has_the_text_and_the_full_view_has_everything() -> None:
    asked = agent(
        MockModel([Rule(when="go", reply=call("look", at=3)), Rule(reply="It is 3.")]), look
    )
    async with asked.stream_text("go") as stream:
        pieces = [piece async for piece in stream.text]
        events = [event async for event in stream.events]
    assert "".join(pieces) == "It is 3."
    kinds = [type(event) for event in events if not isinstance(event, TextChunk | ToolCallChunk)]
    assert kinds == [
        *(StartEvent, ToolCallEvent, ToolResultEvent, StepEvent),
        *(StepEvent, FinishEvent),
    ]
    assert [event.text for event in events if isinstance(event, TextChunk)] == pieces
    assert events[-1] == FinishEvent(finish_reason="stop")


@pytest.mark.rule("R009", "R364")
async def test_what_it_comes_to_is_open_until_the_end_and_awaiting_it_leads_there() -> None:
    model = scripted(call("look"), "ok")
    async with agent(model, look).stream_text("go") as stream:
        text = stream.text
        known = [text.done]
        await anyio.wait_all_tasks_blocked()
        known.append(text.done)
        assert await text == "ok"
        assert [*known, text.done] == [False, False, True]
        assert await stream.finish_reason == "stop"


@pytest.mark.rule("R210", "R211")
async def test_it_can_be_taken_apart_iterated_and_awaited_and_says_the_same() -> None:
    model = scripted(call("look", at=1), "It is 1.")
    async with agent(model, look).stream_text("go") as stream:
        text, made, steps = stream.text, stream.tool_calls, stream.steps
        pieces = [piece async for piece in text]
    assert "".join(pieces) == await text == "It is 1."
    assert [one.name for one in await made] == ["look"]
    assert len(await steps) == 2
    assert (await stream.result()).text == await text
    assert (await stream.usage).calls == (await stream.total_usage).calls == 2
    assert (await stream.new_messages) == (await stream.messages)[1:]
    assert await stream.cost is None
    assert stream.bounds.model_calls.value == 10


@pytest.mark.rule("R204")
async def test_the_first_event_tells_the_run_and_the_id_of_the_answer() -> None:
    async with agent(scripted("ok")).stream_text("go", run_id="r") as stream:
        first = await anext(stream.events)
        messages = await stream.messages
    assert first == StartEvent(run_id="r", response_id=str(messages[-1].id))
    assert stream.run_id == "r"


@pytest.mark.rule("R100")
async def test_the_model_goes_on_only_as_fast_as_somebody_reads() -> None:
    model = Scripted(TextChunk("a"), TextChunk("b"), TextChunk("c"), FinishChunk())
    async with agent(model).stream_text("go") as stream:
        await anyio.wait_all_tasks_blocked()
        assert model.log == ["asked", "sends 1"]
        reader = stream.text.__aiter__()
        assert await anext(reader) == "a"
        await anyio.wait_all_tasks_blocked()
        assert model.log[-1] == "sends 2"
        assert await anext(reader) == "b"
        assert [piece async for piece in reader] == ["c"]


async def test_several_readers_each_get_everything() -> None:
    model = Scripted(TextChunk("a"), TextChunk("b"), FinishChunk())
    found: list[str] = []

    async def read(stream: Any) -> None:
        found.append("".join([piece async for piece in stream.text]))

    async with agent(model).stream_text("go") as stream, anyio.create_task_group() as group:
        group.start_soon(read, stream)
        group.start_soon(read, stream)
    assert found == ["ab", "ab"]


@pytest.mark.case("P110")
async def test_leaving_early_stops_the_model_and_leaves_nothing_behind() -> None:
    model = Endless()
    async with agent(model).stream_text("go") as stream:
        text = stream.text
        async for _ in text:
            break
    assert model.closed == 1
    assert stream.text_so_far == "Well"
    with pytest.raises(RunCancelled, match="its reader left"):
        await text


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with agent(Endless()).stream_text("go"):
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        async with agent(scripted("ok")).stream_text("go") as stream:
            1 / len((await stream.result()).tool_calls)


async def test_cancelling_the_task_of_the_block_stops_the_run() -> None:
    model = Endless()
    with anyio.CancelScope() as scope:
        async with agent(model).stream_text("go") as stream:
            async for _ in stream.text:
                scope.cancel()
    assert model.closed == 1
    assert stream.ended


@pytest.mark.case("T037")
async def test_a_stream_that_was_cancelled_tells_how_far_it_came() -> None:
    signal = CancelSignal()
    thinking = Endless()

    def reply(request: Any) -> Any:
        return MockReply(text="I look. ", calls=call("look", at=1).calls)

    first = MockModel([Rule(when="go", reply=reply)])

    class Both:
        async def stream(self, messages: Any, context: Any) -> Any:
            model: Any = thinking if len(messages) > 2 else first
            async for chunk in model.stream(messages, context):
                yield chunk

    async with agent(Both(), look).stream_text("go", signal=signal) as stream:
        events = []
        async for event in stream:
            events.append(event)
            if isinstance(event, TextChunk) and event.text == "Well":
                signal.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await stream.result()
    assert events[-1].finish_reason == "cancelled"
    assert stream.text_so_far == "I look. Well"
    assert [step.number for step in stream.steps_so_far] == [1]


@pytest.mark.case("T039", "T041")
async def test_an_error_is_the_end_for_events_and_is_raised_by_the_text() -> None:
    model = Scripted(TextChunk("a"), RuntimeError("down"), FinishChunk())
    async with agent(model).stream_text("go") as stream:
        events = [event async for event in stream.events]
        with pytest.raises(ModelError, match="down"):
            [piece async for piece in stream.text]
        with pytest.raises(ModelError, match="down"):
            await stream.text
    assert [type(event) for event in events] == [StartEvent, TextChunk, FinishEvent]
    assert (events[-1].finish_reason, type(events[-1].error)) == ("error", ModelError)


async def test_a_stream_of_which_nothing_is_awaited_complains_about_nothing() -> None:
    model = Scripted(TextChunk("a"), RuntimeError("down"))
    async with agent(model).stream_text("go") as stream:
        async for _ in stream.events:
            pass
    assert stream.ended


async def test_structured_output_of_a_stream_is_there_at_its_end() -> None:
    async with agent(scripted({"city": "Rome"})).stream_text("go", output=City) as stream:
        pieces = [piece async for piece in stream.text]
        assert await stream.object == City(city="Rome")
    assert "".join(pieces) == '{"city":"Rome"}'


async def test_an_invalid_object_that_was_handed_out_is_not_corrected_behind_the_reader() -> None:
    model = scripted("no", {"city": "Rome"})
    async with agent(model).stream_text("go", output=City) as stream:
        with pytest.raises(OutputInvalid):
            await stream.object
    assert len(model.requests) == 1


async def test_the_callers_own_sink_gets_the_chunks_too() -> None:
    sink = Sinking([])
    async with agent(scripted("It is 3.")).stream_text("go", sink=sink) as stream:
        pieces = [piece async for piece in stream.text]
    assert [chunk.text for chunk in sink.chunks] == pieces


async def test_a_slow_reader_of_a_stream_with_tools_sees_results_before_the_next_answer() -> None:
    log: list[str] = []

    @tool
    async def work() -> str:
        log.append("worked")
        return "done"

    async with agent(scripted(call("work"), "ok"), work).stream_text("go") as stream:
        async for event in stream:
            note = event.type
            log.append(note)
    assert log.index("tool_call_ready") < log.index("tool_result")
    assert log.index("worked") < log.index("tool_result")
    assert log.index("tool_result") < log.index("text")


@pytest.mark.case("T035")
async def test_a_durable_stream_that_was_left_is_interrupted_and_can_go_on() -> None:
    class Patient:
        asked = 0

        async def stream(self, messages: Any, context: Any) -> Any:
            self.asked += 1
            yield TextChunk("Well")
            if self.asked == 1:
                await anyio.sleep_forever()
            yield FinishChunk()

    async with agent(Patient(), store="memory:") as asked:
        async with asked.stream_text("go", run_id="r") as stream:
            async for _ in stream.text:
                break
        with pytest.raises(RunInterrupted):
            await stream.text
        assert (await asked.generate_text("go", run_id="r")).text == "Well"


async def test_what_is_refused_is_refused_when_the_block_is_entered() -> None:
    asked = agent(scripted("ok"), permission=lambda asked: False)
    with pytest.raises(Exception, match="said no"):
        async with asked.stream_text("go"):
            pytest.fail("the block was entered")


async def test_a_stream_is_entered_before_it_is_read_and_once() -> None:
    stream = agent(scripted("ok")).stream_text("go")
    with pytest.raises(RuntimeError, match="has not begun"):
        await stream.text
    async with stream:
        await stream.text
    with pytest.raises(RuntimeError, match="begun already"):
        await stream.__aenter__()


async def test_streams_and_calls_of_one_agent_go_on_at_the_same_time() -> None:
    asked = agent(endless(), look, max_steps=3)
    async with asked.stream_text("go") as stream, asked.stream_text("go") as other:
        result = await asked.generate_text("go")
        assert len(await stream.steps) == len(await other.steps) == len(result.steps) == 3


async def test_a_stream_that_waits_for_a_person_ends_and_the_call_goes_on_by_its_id() -> None:
    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    model = scripted(call("pay", amount=5), "Done.")
    async with agent(model, pay, store="memory:") as asked:
        async with asked.stream_text("go", run_id="r") as stream:
            events = [event async for event in stream.events]
            with pytest.raises(RunSuspended):
                await stream.text
        assert events[-1].finish_reason == "suspended"
        assert (await asked.resume("r", True)).text == "Done."


async def test_what_is_awaited_of_a_stream_that_could_not_begin_raises_why() -> None:
    def refuse(view: Any) -> None:
        raise ValueError("not today")

    for asked in (agent(scripted("ok"), permission=lambda asked: False), agent(scripted("ok"))):
        stream = asked.stream_text("go", hooks=Hooks(on_start=refuse))
        with pytest.raises((AgentDenied, ValueError)) as refused:
            await stream.__aenter__()
        with anyio.fail_after(5), pytest.raises(refused.type):
            await stream.text
        with anyio.fail_after(5):
            *_, last = [event async for event in stream.events]
        assert (last.finish_reason, last.error) == ("error", refused.value)


async def test_what_is_no_exception_comes_out_of_a_stream_as_it_was_raised() -> None:
    class Stop(BaseException):
        """Ends the program."""

    @tool
    async def stop() -> str:
        raise Stop

    with pytest.raises(Stop):
        async with agent(scripted(call("stop")), stop).stream_text("go") as stream:
            await stream.text


@pytest.mark.case("P112")
async def test_a_stream_has_not_ended_before_its_end_is_stored() -> None:
    from agentflow.stores.memory import MemoryStore

    gate, log = anyio.Event(), []

    class Slow(MemoryStore):
        async def append(self, claim: Any, entries: Any, **options: Any) -> None:
            if options.get("status") == "completed":
                log.append("storing")
                await gate.wait()
                log.append("stored")
            await super().append(claim, entries, **options)

    async def read(stream: Any) -> None:
        await stream.result()
        log.append("ended")

    asked = agent(scripted("ok"), store=Slow())
    async with asked, asked.stream_text("go") as stream, anyio.create_task_group() as group:
        group.start_soon(read, stream)
        while "storing" not in log:
            await anyio.lowlevel.checkpoint()
        assert not stream.ended
        gate.set()
    assert log == ["storing", "stored", "ended"]
