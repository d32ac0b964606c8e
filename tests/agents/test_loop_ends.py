"""How the loop ends: by a tool that gives the answer, by a person who is asked, by a crash; and the history that is left."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from agentflow import (
    CancelSignal,
    Engine,
    OutputInvalid,
    RunCancelled,
    RunSuspended,
    StructuredOutputNotGenerated,
    ToolContext,
    build_loop,
    structured,
    tool,
)
from agentflow.agents.acting import settled
from agentflow.messages import Message, ToolCall, assistant, tool_result, user
from agentflow.mock import MockCall, MockModel, MockReply, Rule, call, calls
from tests.agents.kit import Looking, assert_valid, endless, look, roles, scripted


class City(BaseModel):
    """A place."""

    city: str


# --- bail ----------------------------------------------------------------------------------------


@tool
async def finish(text: str, ctx: ToolContext) -> None:
    """Give the answer."""
    ctx.bail(text)


async def test_a_tool_may_give_the_answer_and_no_model_is_asked_again() -> None:
    model = scripted(calls(call("look", at=1), call("finish", text="It is 42.")))
    result = await build_loop().run({"messages": "go"}, model=model, tools=[look, finish])
    assert (result.text, result.object) == ("It is 42.", "It is 42.")
    assert result.finish_reason == "bail"
    assert len(model.requests) == 1
    assert_valid(result.messages)


@pytest.mark.case("P098")
async def test_a_tool_whose_output_is_the_answer_runs_at_the_last_step_too() -> None:
    model = scripted(call("finish", text="42"))
    result = await build_loop(max_steps=1).run({"messages": "go"}, model=model, tools=[finish])
    assert (result.text, result.finish_reason) == ("42", "bail")


async def test_a_bail_stops_the_calls_beside_it_and_every_call_has_one_result() -> None:
    stopped: list[str] = []

    @tool
    async def slow() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("slow")

    @tool(parallel=False)
    async def quick() -> str:
        return "done before"

    reply = calls(call("quick"), call("slow"), call("finish", text="42"))
    model = MockModel([Rule(reply=reply)])
    tools = [slow, quick, finish]
    result = await build_loop().run({"messages": "go"}, model=model, tools=tools)
    assert stopped == ["slow"]
    told = [one.content for one in result.steps[0].tool_results]
    assert told[0] == "done before"
    assert all("has ended the loop while it was at work" in told[at] for at in (1, 2))
    assert_valid(result.messages)


# --- suspension ----------------------------------------------------------------------------------


@pytest.mark.rule("R208", "R209")
@pytest.mark.case("T059")
@pytest.mark.parametrize(
    ("answer", "told", "paid"), [(True, "paid 5", [5]), (False, "was refused", [])]
)
async def test_a_call_that_needs_approval_suspends_the_run_and_the_answer_decides(
    answer: bool, told: str, paid: list[int]
) -> None:
    made: list[int] = []
    looked: list[int] = []

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        made.append(amount)
        return f"paid {amount}"

    @tool(id="look")
    async def watched(at: int) -> int:
        looked.append(at)
        return at

    model = scripted(calls(call("look", at=1), call("pay", amount=5)), "done")
    async with Engine(build_loop(), model=model, tools=[pay, watched], store="memory:") as engine:
        with pytest.raises(RunSuspended):
            await engine.run({"messages": "go"}, run_id="r")
        assert (made, looked) == ([], [1])
        result = await engine.resume("r", answer)
    assert (made, looked) == (paid, [1])
    assert told in result.steps[0].tool_results[1].content
    assert result.text == "done"
    assert_valid(result.messages)


async def test_a_loop_that_was_interrupted_goes_on_and_asks_for_nothing_twice() -> None:
    from agentflow.stores.memory import MemoryStore

    store, looking = MemoryStore(), Looking()
    model = scripted(call("look", at=1), call("look", at=2), "done")
    async with (
        Engine(build_loop(), model=model, tools=[looking.tool], store=store) as engine,
        engine.start({"messages": "go"}, run_id="r"),
    ):
        await looking.stuck.wait()
    async with Engine(build_loop(), model=model, tools=[looking.tool], store=store) as engine:
        result = await engine.run({"messages": "go"}, run_id="r")
    assert looking.looked == [1, 2, 2]
    assert (result.text, len(model.requests)) == ("done", 3)
    assert_valid(result.messages)


# --- structured output beside tools --------------------------------------------------------------


async def test_tools_may_be_called_before_the_structured_answer() -> None:
    model = scripted(call("look"), {"city": "Rome"})
    result = await build_loop(output=City).run({"messages": "go"}, model=model, tools=[look])
    assert result.object == City(city="Rome")
    assert (result.finish_reason, len(result.steps)) == ("stop", 2)


class Vendor:
    """A provider that is held to a schema by a tool call."""

    structured = "tool"

    def __init__(self, *replies: Any) -> None:
        self.model = MockModel([Rule(reply=list(replies))])
        self.choices: list[str | None] = []

    def stream(self, messages: Any, context: Any) -> Any:
        self.choices.append(context.tool_choice)
        return self.model.stream(messages, context)


async def test_a_vendor_that_answers_by_a_tool_call_is_not_kept_from_the_other_tools() -> None:
    provider = Vendor(call("look"), call("final_answer", city="Rome"))
    loop = build_loop(output=City)
    result = await loop.run({"messages": "go"}, model=provider, tools=[look])
    assert result.object == City(city="Rome")
    assert provider.choices == ["required", "required"]
    alone = Vendor(call("final_answer", city="Rome"))
    await loop.run({"messages": "go"}, model=alone)
    assert alone.choices == ["final_answer"]


@pytest.mark.rule("R101")
@pytest.mark.case("T047")
async def test_steps_that_end_without_the_structured_answer_are_an_error_with_a_way_out() -> None:
    loop = build_loop(output=City, max_steps=3)
    with pytest.raises(StructuredOutputNotGenerated) as caught:
        await loop.run({"messages": "go"}, model=endless(), tools=[look])
    told = str(caught.value)
    assert "after 3 steps" in told
    assert "final answer without tools" in told
    assert "split the work into two calls" in told


@pytest.mark.rule("R102")
async def test_without_structured_output_the_same_steps_are_a_result() -> None:
    result = await build_loop(max_steps=3).run({"messages": "go"}, model=endless(), tools=[look])
    assert result.finish_reason == "max_steps"


async def test_a_condition_that_ends_the_loop_without_the_structured_answer_is_the_same_error() -> (
    None
):
    loop = build_loop(output=City, stop_when=lambda steps: True)
    with pytest.raises(StructuredOutputNotGenerated, match="stop condition"):
        await loop.run({"messages": "go"}, model=endless(), tools=[look])


async def test_the_last_word_may_be_the_structured_answer() -> None:
    model = scripted(call("look"), {"city": "Rome"})
    loop = build_loop(output=City, max_steps=1, on_max_steps="answer")
    result = await loop.run({"messages": "go"}, model=model, tools=[look])
    assert (result.object, result.finish_reason) == (City(city="Rome"), "max_steps")


async def test_an_invalid_answer_goes_back_as_a_step_and_the_bound_stays() -> None:
    model = scripted({"town": "Rome"}, {"city": "Rome"})
    loop = build_loop(output=City)
    result = await loop.run({"messages": "go"}, model=model)
    assert result.object == City(city="Rome")
    assert "That is no valid answer" in model.requests[1].text
    assert loop.bounds().model_calls.value == 10
    assert roles(result.messages) == ["user", "assistant", "user", "assistant"]


async def test_an_answer_that_stays_invalid_is_an_error() -> None:
    with pytest.raises(OutputInvalid, match="City"):
        await build_loop(output=City).run({"messages": "go"}, model=scripted("no", "no"))
    once = build_loop(output=structured(City, corrections=0))
    with pytest.raises(OutputInvalid):
        await once.run({"messages": "go"}, model=scripted("no", "never asked"))


# --- what is left when it breaks off -------------------------------------------------------------


async def test_a_cancel_in_the_middle_of_tools_leaves_a_history_that_can_be_completed() -> None:
    signal = CancelSignal()

    @tool
    async def stop() -> None:
        signal.cancel("enough")

    model = scripted(calls(call("stop"), call("look")))
    engine = Engine(build_loop(), model=model, tools=[stop, look])
    async with engine.start({"messages": "go"}, signal=signal) as run:
        with pytest.raises(RunCancelled):
            await run.result()
    messages = settled(run.state["messages"], "the run was cancelled")
    assert roles(messages) == ["user", "assistant", "tool", "tool"]
    assert all(one.tool_results[0].is_error for one in messages[2:])
    assert_valid(messages)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Conversations of which any answer may lack some of its results."""
    messages: list[Message] = []
    for turn in range(draw(st.integers(0, 4))):
        messages.append(user("x"))
        made = [ToolCall(f"c{turn}.{number}", "look") for number in range(draw(st.integers(0, 3)))]
        messages.append(assistant("y", tool_calls=made))
        messages += [tool_result(one, "z") for one in made if draw(st.booleans())]
    return messages


@given(histories())
def test_whatever_is_missing_is_made_up_once_and_nothing_else_is_touched(
    messages: list[Message],
) -> None:
    once = settled(messages, "it broke off")
    assert_valid(once)
    assert settled(once, "again") == once
    assert [message for message in once if message in messages] == messages


def test_a_reply_without_tools_is_left_as_it_is() -> None:
    said = (user("x"), Message("assistant", (), "model"))
    assert settled(said, "it broke off") == said
    assert MockReply(calls=(MockCall("look"),)).finish_reason == "tool_calls"
