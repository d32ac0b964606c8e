"""The agentic loop: a workflow like any other, one step a round, and a conversation that stays valid."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    DefinitionError,
    Engine,
    LoopResult,
    RunCancelled,
    Toolkit,
    Uses,
    Workflow,
    build_loop,
    define_workflow,
    node,
    route,
    subflow,
    tool,
)
from agentflow.agents import LoopState
from agentflow.agents.step import StepRecord
from agentflow.messages import (
    FinishChunk,
    TextChunk,
    ToolCall,
    ToolCallChunk,
    UsageChunk,
    assistant,
    tool_result,
    user,
)
from agentflow.mock import MockCall, MockModel, MockReply, MockRequest, Rule, call, calls
from agentflow.testing import FactRecorder
from tests.agents.kit import assert_valid, roles
from tests.models.kit import Scripted


@tool
async def add_up(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def broken() -> None:
    """Fail."""
    raise ValueError("no luck")


def counting(limit: int) -> MockModel:
    """A model that adds until the sum has reached `limit`, then says it."""

    def reply(request: MockRequest) -> Any:
        total = int(request.text or 0)
        return f"It is {total}." if total >= limit else call("add_up", a=total, b=1)

    return MockModel([Rule(reply=reply)], usage=UsageChunk(input_tokens=10, output_tokens=2))


def test_the_loop_passes_the_validator_without_a_word() -> None:
    assert build_loop().report.findings == ()


def test_the_loop_is_the_graph_that_it_says_it_is() -> None:
    loop = build_loop(max_steps=7)
    assert [node.id for node in loop.nodes] == [
        *("admit", "assemble", "model", "tools", "decide", "conclude")
    ]
    ways = {
        node.id: [one.target or f"deliver {one.field}" for one in node.routes]
        for node in loop.nodes
    }
    assert ways == {
        "admit": ["assemble"],
        "assemble": ["model"],
        "model": ["tools"],
        "tools": ["decide"],
        "decide": ["deliver result", "admit"],
        "conclude": ["deliver result"],
    }
    assert [node.id for node in loop.nodes if node.starts_round] == ["admit"]
    assert (loop.on_limit, loop.max_rounds, loop.result) == ("conclude", 7, LoopResult)
    assert {node.id: node.uses for node in loop.nodes}["model"] == Uses(model_calls=1)


def test_the_loop_prints_its_own_graph() -> None:
    drawing = build_loop().to_mermaid()
    assert all(name in drawing for name in ("admit", "assemble", "model", "tools", "decide"))


async def test_the_loop_works_with_tools_until_the_model_is_done() -> None:
    result = await build_loop().run({"messages": "0"}, model=counting(2), tools=[add_up])
    assert isinstance(result, LoopResult)
    assert (result.text, result.finish_reason, len(result.steps)) == ("It is 2.", "stop", 3)
    assert roles(result.messages) == [
        *("user", "assistant", "tool", "assistant", "tool", "assistant")
    ]
    assert_valid(result.messages)
    assert (result.usage["input_tokens"], result.usage["output_tokens"]) == (30, 6)


async def test_step_n_is_round_n() -> None:
    recorder = FactRecorder()
    result = await build_loop().run(
        {"messages": "0"}, model=counting(2), tools=[add_up], observers=[recorder]
    )
    assert [fact.round for fact in recorder.of("model.started")] == [1, 2, 3]
    assert [fact.round for fact in recorder.of("tool.started")] == [1, 2]
    assert len(result.steps) == len(recorder.of("round.started")) == 3


@pytest.mark.parametrize("max_steps", [1, 2, 5])
async def test_when_the_steps_run_out_there_is_a_result_with_what_there_is(max_steps: int) -> None:
    model, recorder = counting(99), FactRecorder()
    result = await build_loop(max_steps=max_steps).run(
        {"messages": "0"}, model=model, tools=[add_up], observers=[recorder]
    )
    assert (result.finish_reason, len(result.steps)) == ("max_steps", max_steps)
    assert len(model.requests) == max_steps
    assert_valid(result.messages)
    assert result.messages[-1].tool_results[0].content == str(max_steps)
    assert recorder.only("limit.reached").data["handler"] == "conclude"


async def test_an_answer_on_the_last_step_is_an_answer() -> None:
    result = await build_loop(max_steps=3).run({"messages": "0"}, model=counting(2), tools=[add_up])
    assert (result.finish_reason, len(result.steps)) == ("stop", 3)


async def test_the_last_text_of_the_model_is_the_text_also_beside_tool_calls() -> None:
    reply = MockReply(text="Let me see.", calls=(MockCall("add_up", {"a": 1, "b": 1}),))
    result = await build_loop(max_steps=1).run(
        {"messages": "x"}, model=MockModel([Rule(reply=reply)]), tools=[add_up]
    )
    assert (result.text, result.finish_reason) == ("Let me see.", "max_steps")


async def test_a_budget_is_hard_also_where_steps_are_soft() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        await build_loop().run(
            {"messages": "0"}, model=counting(9), tools=[add_up], budget=Budget(model_calls=2)
        )
    assert caught.value.limit == "model_calls"


@pytest.mark.case("P077", "P080", "P082", "T053")
async def test_what_the_model_gets_wrong_goes_back_to_it_and_the_history_stays_valid() -> None:
    wrong = (
        MockCall("nothing"),
        MockCall("add_up", '{"a": 1'),
        MockCall("add_up", {"a": "x", "b": 1}),
        MockCall("broken"),
        MockCall("add_up", {"a": 1, "b": 1}),
    )
    model = MockModel([Rule(reply=[MockReply(calls=wrong), "I see."])])
    result = await build_loop().run({"messages": "go"}, model=model, tools=[add_up, broken])
    assert (result.text, len(result.steps)) == ("I see.", 2)
    assert_valid(result.messages)
    told = model.requests[1].tool_results
    assert [item.is_error for item in told] == [True, True, True, True, False]
    assert "the tools are: 'add_up', 'broken'" in told[0].content
    assert told[4].content == "2"


@pytest.mark.case("P079")
async def test_a_call_without_arguments_is_made() -> None:
    @tool
    async def now() -> str:
        return "noon"

    model = MockModel([Rule(reply=[MockReply(calls=(MockCall("now", ""),)), "ok"])])
    result = await build_loop().run({"messages": "time?"}, model=model, tools=[now])
    assert result.messages[2].tool_results[0].content == "noon"


@pytest.mark.rule("R290")
async def test_nothing_is_executed_when_the_answer_is_cut() -> None:
    from agentflow import ModelError

    called: list[int] = []

    @tool
    async def act() -> None:
        called.append(1)

    provider = Scripted(ToolCallChunk(0, "c", "act", "{}"))
    with pytest.raises(ModelError, match="cut off"):
        await build_loop().run({"messages": "go"}, model=provider, tools=[act])
    assert called == []


async def test_the_model_is_told_instructions_and_toolkits_first_and_they_are_no_history() -> None:
    model = MockModel([Rule(reply="ok")])
    kit = Toolkit([add_up], "Add only small numbers.")
    loop = build_loop(instructions="Be brief.")
    result = await loop.run({"messages": "Hi."}, model=model, tools=[kit])
    assert [message.text for message in model.requests[0].messages] == [
        *("Be brief.", "Add only small numbers.", "Hi.")
    ]
    assert roles(result.messages) == ["user", "assistant"]


async def test_only_the_named_tools_are_offered() -> None:
    model = MockModel([Rule(reply="ok")])
    await build_loop(tools=["broken"]).run({"messages": "Hi."}, model=model, tools=[add_up, broken])
    await build_loop().run({"messages": "Hi."}, model=model, tools=[add_up, broken])
    assert [asked.tools for asked in model.requests] == [("broken",), ("add_up", "broken")]


async def test_the_model_and_its_parameters_are_chosen_when_the_loop_is_built() -> None:
    fast = Scripted(TextChunk("ok"), FinishChunk())
    loop = build_loop(model="fast", max_output_tokens=9, parameters={"temperature": 0})
    await loop.run({"messages": "Hi."}, models={"fast": fast})
    (context,) = fast.contexts
    assert (context.max_output_tokens, dict(context.parameters)) == (9, {"temperature": 0})


@pytest.mark.parametrize("given", ["Hi.", user("Hi."), [user("Hi.")]])
async def test_the_input_is_a_text_a_message_or_a_conversation(given: Any) -> None:
    result = await build_loop().run({"messages": given}, model="mock:echo")
    assert [message.text for message in result.messages] == ["Hi.", "Hi."]


async def test_a_conversation_can_be_continued_with_its_tool_results() -> None:
    done = ToolCall("call_1", "add_up", {"a": 1, "b": 1})
    history = [user("1+1?"), assistant(tool_calls=[done]), tool_result(done, "2"), user("And 3?")]
    result = await build_loop().run({"messages": history}, model="mock:echo")
    assert (result.text, len(result.messages)) == ("2\nAnd 3?", 5)


@pytest.mark.parametrize("wrong", [{"max_steps": 0}, {"id": "two words"}])
def test_a_loop_that_could_not_run_is_a_definition_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        build_loop(**wrong)


async def test_a_cancelled_loop_asks_the_model_no_more() -> None:
    signal = CancelSignal()

    @tool
    async def stop() -> None:
        signal.cancel("enough")

    model = MockModel([Rule(reply=call("stop"))])
    with pytest.raises(RunCancelled, match="enough"):
        await build_loop().run({"messages": "go"}, model=model, tools=[stop], signal=signal)
    assert len(model.requests) == 1


async def test_one_loop_serves_many_runs_and_keeps_nothing_of_them() -> None:
    async with Engine(build_loop(), model=counting(1), tools=[add_up]) as engine:
        first = await engine.run({"messages": "0"})
        second = await engine.run({"messages": "0"})
    assert roles(first.messages) == roles(second.messages)
    assert dict(first.usage) == dict(second.usage)


async def test_the_loop_is_a_node_in_another_workflow() -> None:
    outer: Workflow[LoopResult] = define_workflow(
        "outer",
        nodes=[
            subflow(
                "agent",
                build_loop(),
                inputs={"messages": "question"},
                outputs={"answer": "$result"},
                routes=[route.deliver("answer")],
            )
        ],
        inputs=["question"],
    )
    result = await outer.run({"question": "0"}, model=counting(1), tools=[add_up])
    assert (result.text, len(result.steps)) == ("It is 1.", 2)


async def test_parallel_calls_of_one_answer_come_back_in_their_order() -> None:
    reply = calls(*(call("add_up", a=number, b=0) for number in range(5)))
    model = MockModel([Rule(reply=[reply, "ok"])])
    result = await build_loop().run({"messages": "go"}, model=model, tools=[add_up])
    told = [part.content for message in result.messages for part in message.tool_results]
    assert told == ["0", "1", "2", "3", "4"]


def test_a_result_does_not_change() -> None:
    record = StepRecord(number=1, at=0, model="m", usage={"x": 1})
    said = (assistant("a"),)
    result = LoopResult(text="a", messages=said, given=0, records=(record,), finish_reason="stop")
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.text = "b"  # type: ignore[misc]
    usage: Any = result.usage
    with pytest.raises(TypeError, match="read-only"):
        usage["x"] = 2


async def test_the_loop_can_be_taken_apart_and_put_together_with_a_node_more() -> None:
    seen: list[int] = []

    async def count(state: LoopState) -> None:
        """Look at what was done."""
        seen.append(len(state["messages"]))

    parts = {part.id: part for part in build_loop().nodes}
    parts["tools"] = dataclasses.replace(parts["tools"], routes=(route.to("count"),))
    more = node(count, requires=["messages"], routes=[route.to("decide")])
    loop: Workflow[LoopResult] = define_workflow(
        "mine",
        nodes=[*parts.values(), more],
        state=LoopState,
        inputs=["messages"],
        optional_inputs=["feedback"],
        on_limit="conclude",
        max_rounds=3,
        result=LoopResult,
    )
    assert loop.report.findings == ()
    assert loop.bounds().model_calls.value == 3
    result = await loop.run({"messages": "0"}, model=counting(1), tools=[add_up])
    assert (result.text, seen) == ("It is 1.", [3, 4])
