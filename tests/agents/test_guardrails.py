"""Guardrails: pass or block, at every boundary; whatever cannot be judged does not pass."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import Agent, BudgetExceeded, RunCancelled, RunSuspended, tool
from agentflow.agents import (
    Block,
    FinishEvent,
    Guardrail,
    GuardrailBlocked,
    Hooks,
    Middleware,
)
from agentflow.messages import FinishChunk, TextChunk
from agentflow.mock import MockModel, Rule, call
from agentflow.testing import FactRecorder
from tests.agents.kit import assert_valid, look, scripted
from tests.models.kit import Endless, Scripted


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    return Agent("helper", "Be brief.", model, tools, **options)


def blocks(word: str) -> Any:
    """A judge that blocks what has a word in it."""

    async def judge(value: Any, view: Any) -> bool | Block:
        await anyio.lowlevel.checkpoint()
        return Block(f"it says {word!r}") if word in repr(value) else True

    return judge


def test_what_judges_nothing_is_no_guardrail() -> None:
    for wrong in (42, object(), Guardrail(), Guardrail(when="later", input=blocks("x"))):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"guardrails\[0\]"):
            agent(scripted("ok"), guardrails=[wrong])


async def test_an_input_that_is_blocked_reaches_no_model() -> None:
    model, recorder = scripted("ok"), FactRecorder()
    asked = agent(
        model, guardrails=[Guardrail(name="g", input=blocks("bomb"))], observers=[recorder]
    )
    with pytest.raises(GuardrailBlocked) as caught:
        await asked.generate_text("a bomb")
    assert (caught.value.guardrail, caught.value.boundary) == ("g", "input")
    assert caught.value.reason == "it says 'bomb'"
    assert len(model.requests) == 0
    assert recorder.only("guardrail.judged").data["passed"] is False
    assert (await asked.generate_text("a flower")).text == "ok"


@pytest.mark.rule("R079")
async def test_what_is_judged_is_what_middleware_made_of_it() -> None:
    asked = agent(
        scripted("a bomb"),
        middlewares=[Middleware(output=lambda text, ctx: text.replace("bomb", "flower"))],
        guardrails=[Guardrail(output=blocks("bomb"))],
    )
    assert (await asked.generate_text("go")).text == "a flower"


async def test_an_answer_that_is_blocked_is_nobodys_result_and_nobodys_history() -> None:
    ends: list[Any] = []
    asked = agent(
        scripted("a bomb"),
        guardrails=[Guardrail(output=blocks("bomb"))],
        hooks=Hooks(on_end=lambda end, view: ends.append(end)),
    )
    with pytest.raises(GuardrailBlocked, match="blocked the output"):
        await asked.generate_text("go")
    (end,) = ends
    assert (end.finish_reason, end.result, end.text) == ("blocked", None, "")
    assert [message.text for message in end.messages] == ["go"]


@pytest.mark.rule("R078")
async def test_a_guardrail_cannot_change_what_it_judges() -> None:
    asked = agent(scripted("ok"), guardrails=[Guardrail(output=lambda value, view: "better")])
    with pytest.raises(GuardrailBlocked, match="'better', which is no verdict"):
        await asked.generate_text("go")


@pytest.mark.case("P125")
@pytest.mark.parametrize("boundary", ["input", "output"])
async def test_a_guardrail_that_fails_does_not_let_anything_pass(boundary: str) -> None:
    def broken(value: Any, view: Any) -> bool:
        raise LookupError("no table")

    judges: dict[str, Any] = {boundary: broken}
    with pytest.raises(GuardrailBlocked, match="LookupError: no table") as caught:
        await agent(scripted("ok"), guardrails=[Guardrail(**judges)]).generate_text("go")
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize("verdict", [False, None, 1])
async def test_anything_but_true_blocks(verdict: Any) -> None:
    guardrail = Guardrail(output=lambda value, view: verdict)
    with pytest.raises(GuardrailBlocked):
        await agent(scripted("ok"), guardrails=[guardrail]).generate_text("go")


async def test_limits_are_not_taken_for_verdicts() -> None:
    def over(value: Any, view: Any) -> bool:
        raise BudgetExceeded("cost", 1, 2)

    with pytest.raises(BudgetExceeded):
        await agent(scripted("ok"), guardrails=[Guardrail(output=over)]).generate_text("go")


# --- beside the model ----------------------------------------------------------------------------


@pytest.mark.case("P124")
async def test_a_guardrail_beside_the_model_cancels_it_when_it_blocks() -> None:
    model = Endless()

    async def judge(messages: Any, view: Any) -> bool:
        await model.thinking.wait()
        return False

    asked = agent(model, look, guardrails=[Guardrail(input=judge, when="beside")])
    assert asked.workflow.report.findings == ()
    assert asked.workflow.bounds().model_calls.value == 10
    with pytest.raises(GuardrailBlocked):
        await asked.generate_text("go")
    assert model.closed == 1


@pytest.mark.case("P124")
async def test_no_tool_starts_once_the_verdict_is_known() -> None:
    looked: list[int] = []
    answered = anyio.Event()

    @tool(id="look")
    async def watched(at: int = 0) -> None:
        looked.append(at)
        if at == 1:
            answered.set()
            await anyio.sleep_forever()

    async def judge(messages: Any, view: Any) -> bool:
        await answered.wait()
        return False

    model = MockModel([Rule(reply=lambda request: call("look", at=request.turn))])
    asked = agent(model, watched, guardrails=[Guardrail(input=judge, when="beside")])
    with pytest.raises(GuardrailBlocked):
        await asked.generate_text("go")
    assert looked == [1]


async def test_nothing_is_handed_out_before_the_guardrail_beside_has_passed() -> None:
    gate = anyio.Event()

    async def judge(messages: Any, view: Any) -> bool:
        await gate.wait()
        return True

    model = Scripted(TextChunk("a"), TextChunk("b"), FinishChunk())
    seen: list[str] = []

    async def read(stream: Any) -> None:
        seen.extend([piece async for piece in stream.text])

    asked = agent(model, guardrails=[Guardrail(input=judge, when="beside")])
    async with asked.stream_text("go") as stream, anyio.create_task_group() as group:
        group.start_soon(read, stream)
        await anyio.wait_all_tasks_blocked()
        assert model.log[:1] == ["asked"]
        assert stream.text_so_far == ""
        gate.set()
    assert seen == ["a", "b"]


async def test_a_stream_whose_input_is_blocked_beside_hands_out_nothing() -> None:
    model = Scripted(TextChunk("a"), FinishChunk())
    asked = agent(model, guardrails=[Guardrail(input=blocks("go"), when="beside")])
    async with asked.stream_text("go") as stream:
        events = [event async for event in stream.events]
    assert [event.type for event in events] == ["start", "finish"]
    assert events[-1].finish_reason == "blocked"


async def test_guardrails_before_and_beside_each_judge_once() -> None:
    log: list[str] = []

    def noting(what: str) -> Any:
        def judge(value: Any, view: Any) -> bool:
            log.append(what)
            return True

        return judge

    asked = agent(
        scripted("ok"),
        guardrails=[
            Guardrail(input=noting("beside"), when="beside"),
            Guardrail(input=noting("before")),
        ],
    )
    await asked.generate_text("go")
    assert sorted(log) == ["before", "beside"]
    assert log[0] == "before"


# --- streams -------------------------------------------------------------------------------------


@pytest.mark.rule("R099")
@pytest.mark.case("T063")
async def test_a_chunk_that_is_blocked_ends_the_stream_after_those_before_it() -> None:
    model = Scripted(TextChunk("one"), TextChunk("two"), TextChunk("bomb"), FinishChunk())
    asked = agent(model, guardrails=[Guardrail(name="g", chunk=blocks("bomb"))])
    async with asked.stream_text("go") as stream:
        events = [event async for event in stream.events]
        with pytest.raises(GuardrailBlocked, match="blocked the chunk"):
            await stream.text
    assert [event.text for event in events if isinstance(event, TextChunk)] == ["one", "two"]
    last = events[-1]
    assert isinstance(last, FinishEvent)
    assert last.finish_reason == "blocked"


@pytest.mark.rule("R100")
async def test_chunks_that_pass_come_in_order_and_at_once() -> None:
    model = Scripted(TextChunk("a"), TextChunk("b"), TextChunk("c"), FinishChunk())
    asked = agent(model, guardrails=[Guardrail(chunk=blocks("bomb"))])
    async with asked.stream_text("go") as stream:
        reader = stream.text.__aiter__()
        assert await anext(reader) == "a"
        assert "sends 3" not in model.log
        assert [piece async for piece in reader] == ["b", "c"]


@pytest.mark.case("T063")
async def test_a_stream_whose_answer_is_blocked_at_its_end_ends() -> None:
    asked = agent(scripted("a bomb"), guardrails=[Guardrail(output=blocks("bomb"))])
    async with asked.stream_text("go") as stream:
        events = [event async for event in stream.events]
    assert events[-1].finish_reason == "blocked"
    assert isinstance(events[-1].error, GuardrailBlocked)


@pytest.mark.rule("R098")
async def test_what_comes_after_the_answer_waits_for_the_last_chunk() -> None:
    log: list[str] = []

    def judge(value: Any, view: Any) -> bool:
        log.append("guardrail")
        return True

    def shout(value: Any, ctx: Any) -> Any:
        log.append("middleware")
        return value

    def end(end: Any, view: Any) -> None:
        log.append("on_end")

    asked = agent(
        Scripted(TextChunk("a"), TextChunk("b"), FinishChunk()),
        middlewares=[Middleware(output=shout)],
        guardrails=[Guardrail(output=judge)],
        hooks=Hooks(on_end=end),
    )
    async with asked.stream_text("go") as stream:
        assert await anext(stream.text.__aiter__()) == "a"
        await anyio.wait_all_tasks_blocked()
        assert log == []
        await stream.result()
    assert log == ["middleware", "guardrail", "on_end"]


# --- tools ---------------------------------------------------------------------------------------


async def test_a_tool_call_that_is_blocked_is_not_made_and_the_model_is_told() -> None:
    looked: list[int] = []

    @tool(id="look")
    async def watched(at: int) -> None:
        looked.append(at)

    def judge(made: Any, view: Any) -> bool | Block:
        return Block("too far") if made.input["at"] > 3 else True

    model = scripted(call("look", at=7), call("look", at=1), "ok")
    asked = agent(model, watched, guardrails=[Guardrail(name="g", tool_input=judge)])
    result = await asked.generate_text("go")
    assert looked == [1]
    refused = result.steps[0].tool_results[0]
    assert refused.is_error
    assert "guardrail 'g' blocked the tool input: too far" in refused.content
    assert_valid(result.messages)


async def test_what_a_tool_gave_is_judged_before_the_model_sees_it() -> None:
    @tool
    async def read() -> str:
        return "the PIN is 1234"

    model = scripted(call("read"), "ok")
    asked = agent(model, read, guardrails=[Guardrail(tool_output=blocks("1234"))])
    result = await asked.generate_text("go")
    assert result.steps[0].tool_results[0].is_error
    assert "the PIN is" not in repr(model.requests[1].messages)


async def test_a_call_that_a_guardrail_blocks_is_not_put_before_a_person() -> None:
    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        return "paid"

    model = scripted(call("pay", amount=5), "ok")
    guardrails = [Guardrail(tool_input=lambda made, view: False)]
    async with agent(model, pay, guardrails=guardrails, store="memory:") as asked:
        result = await asked.generate_text("go")
    assert result.steps[0].tool_results[0].is_error


async def test_a_cancel_is_no_verdict() -> None:
    from agentflow import CancelSignal

    signal = CancelSignal()

    def judge(value: Any, view: Any) -> bool:
        signal.cancel("enough")
        return True

    with pytest.raises(RunCancelled):
        await agent(scripted("ok"), guardrails=[Guardrail(input=judge)]).generate_text(
            "go", signal=signal
        )


async def test_arguments_that_an_approver_has_changed_are_judged_too() -> None:
    paid: list[int] = []

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    small = Guardrail(tool_input=lambda call, view: call.input["amount"] <= 100)
    model = scripted(call("pay", amount=5), "ok")
    async with agent(model, pay, guardrails=[small], store="memory:") as asked:
        with pytest.raises(RunSuspended) as waits:
            await asked.generate_text("go", run_id="r")
        (request,) = waits.value.requests
        changed = {"approved": True, "arguments": {"amount": 500}}
        result = await asked.resume("r", {request.id: changed})
    assert paid == []
    (told,) = result.messages[2].tool_results
    assert told.is_error
    assert "blocked the tool input" in told.content
