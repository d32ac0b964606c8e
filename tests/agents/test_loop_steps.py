"""The steps of the loop: how many there are, what each asks with, and what is told of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Engine,
    Toolkit,
    Workflow,
    build_loop,
    tool,
)
from agentflow.agents.max_steps import ANY_NUMBER, default_steps, resolve_steps
from agentflow.agents.overlay import overlaid
from agentflow.agents.step_plan import StepContext, StepPlan, chained
from agentflow.agents.stop import step_count, tool_called
from agentflow.messages import ToolCall, assistant, system, user
from agentflow.mock import MockCall, MockModel, MockReply, Rule, call
from agentflow.testing import FactRecorder
from agentflow.tools.repeats import RepeatLimit
from tests.agents.kit import assert_valid, endless, look, roles, scripted


async def ran(loop: Workflow[Any], model: Any, **options: Any) -> Any:
    return await loop.run({"messages": "go"}, model=model, tools=[look], **options)


# --- how many ------------------------------------------------------------------------------------


@pytest.mark.rule("R058")
def test_ten_steps_is_the_default_and_is_proved_before_anything_runs() -> None:
    bounds = build_loop().bounds()
    assert (bounds.model_calls.value, bounds.rounds.value) == (10, 10)


@pytest.mark.rule("R057", "R058")
@pytest.mark.case("T045")
@pytest.mark.parametrize(
    ("given", "made"), [({}, 10), ({"max_steps": 2}, 2), ({"max_steps": 10}, 10)]
)
async def test_a_model_that_never_ends_is_asked_as_often_as_the_loop_says(
    given: dict[str, Any], made: int
) -> None:
    loop, model = build_loop(**given), endless()
    result = await ran(loop, model)
    assert len(model.requests) == made == loop.bounds().model_calls.value
    assert result.finish_reason == "max_steps"


@pytest.mark.rule("R061")
@pytest.mark.case("P097", "T047")
async def test_at_the_limit_the_work_so_far_is_the_result() -> None:
    result = await ran(build_loop(max_steps=3), endless())
    assert result.finish_reason == "max_steps"
    assert [step.tool_results[0].content for step in result.steps] == ["1", "2", "3"]
    assert_valid(result.messages)


@pytest.mark.case("P097")
async def test_the_last_word_is_one_more_call_without_tools_and_the_bound_says_so() -> None:
    loop, model = build_loop(max_steps=2, on_max_steps="answer"), endless()
    assert loop.report.findings == ()
    assert loop.bounds().model_calls.value == 3
    result = await ran(loop, model)
    assert (result.text, result.finish_reason) == ("I have seen enough.", "max_steps")
    assert [asked.context.tool_choice for asked in model.requests] == [None, None, "none"]
    assert [step.number for step in result.steps] == [1, 2, 3]
    assert_valid(result.messages)


async def test_a_last_word_that_is_a_tool_call_all_the_same_is_not_carried_out() -> None:
    looked: list[int] = []

    @tool(id="look")
    async def watched(at: int) -> None:
        looked.append(at)

    model = MockModel([Rule(reply=call("look", at=1))])
    loop = build_loop(max_steps=1, on_max_steps="answer")
    result = await loop.run({"messages": "go"}, model=model, tools=[watched])
    assert looked == [1]
    assert "nothing was executed" in result.messages[-1].tool_results[0].content
    assert_valid(result.messages)


async def test_steps_that_run_out_are_an_error_where_that_is_wanted() -> None:
    model = endless()
    loop = build_loop(max_steps=2, on_max_steps="raise")
    assert loop.report.findings == ()
    with pytest.raises(BudgetExceeded) as caught:
        await ran(loop, model)
    assert (caught.value.limit, caught.value.allowed) == ("rounds", 2)
    assert len(model.requests) == 2


def test_there_are_three_things_that_can_happen_when_steps_run_out() -> None:
    with pytest.raises(ValueError, match="'stop', 'answer' or 'raise'"):
        build_loop(on_max_steps="go on")  # type: ignore[arg-type]


@pytest.mark.rule("R057", "R059", "R060")
@pytest.mark.parametrize(
    ("workspace", "sub_agents", "steps"),
    [(False, 0, 10), (False, 1, 10), (False, 3, 30), (True, 0, 100), (True, 3, 100)],
)
def test_the_default_follows_the_profile(workspace: bool, sub_agents: int, steps: int) -> None:
    assert default_steps(workspace=workspace, sub_agents=sub_agents) == steps


@given(
    call=st.none() | st.integers(1, 99),
    agent=st.none() | st.integers(1, 99),
    default=st.integers(1, 99),
    stops=st.booleans(),
)
def test_the_call_goes_before_the_agent_and_a_condition_replaces_only_a_default(
    call: int | None, agent: int | None, default: int, stops: bool
) -> None:
    said = [number for number in (call, agent) if number is not None]
    found = resolve_steps(call=call, agent=agent, default=default, stops=stops)
    assert found == (said[0] if said else ANY_NUMBER if stops else default)


# --- when it stops -------------------------------------------------------------------------------


@pytest.mark.rule("R056")
async def test_a_condition_takes_the_place_of_the_default_cap() -> None:
    replies = [call("look", at=number) for number in range(12)]
    model = scripted(*replies, "done")
    loop = build_loop(stop_when=lambda steps: False)
    result = await ran(loop, model)
    assert (result.text, len(result.steps)) == ("done", 13)
    assert loop.bounds().model_calls.value == 1_000


@pytest.mark.rule("R056")
async def test_an_explicit_cap_and_every_budget_hold_beside_a_condition() -> None:
    capped = await ran(build_loop(stop_when=lambda steps: False, max_steps=4), endless())
    assert (capped.finish_reason, len(capped.steps)) == ("max_steps", 4)
    with pytest.raises(BudgetExceeded):
        await ran(
            build_loop(stop_when=lambda steps: False), endless(), budget=Budget(model_calls=5)
        )


@pytest.mark.case("T043")
async def test_a_condition_is_asked_after_each_step_that_would_go_on_and_no_other() -> None:
    asked: list[int] = []

    def never(steps: Any) -> bool:
        asked.append(len(steps))
        return False

    await ran(build_loop(stop_when=never), scripted(call("look"), call("look"), "done"))
    assert asked == [1, 2]


@pytest.mark.case("P098", "P101")
async def test_a_tool_that_means_the_end_is_run_and_ends_the_loop_also_at_the_last_step() -> None:
    done: list[str] = []

    @tool
    async def submit(text: str) -> str:
        done.append(text)
        return text

    loop = build_loop(max_steps=2, stop_when=tool_called("submit"))
    model = scripted(call("look"), call("submit", text="42"))
    result = await loop.run({"messages": "go"}, model=model, tools=[look, submit])
    assert (result.finish_reason, done) == ("stop_when", ["42"])
    assert_valid(result.messages)


async def test_any_of_several_conditions_ends_the_loop_and_they_may_be_async() -> None:
    async def never(steps: Any) -> bool:
        return False

    result = await ran(build_loop(stop_when=[never, step_count(3)]), endless())
    assert (result.finish_reason, len(result.steps)) == ("stop_when", 3)


async def test_a_condition_that_tells_neither_yes_nor_no_is_a_contract_error() -> None:
    with pytest.raises(ContractError, match="True or False"):
        await ran(build_loop(stop_when=lambda steps: "yes"), endless())  # type: ignore[arg-type, return-value]


def test_what_cannot_be_called_is_no_condition() -> None:
    with pytest.raises(TypeError, match="no condition"):
        build_loop(stop_when=[3])  # type: ignore[list-item]


# --- what a step asks with -----------------------------------------------------------------------


@pytest.mark.rule("R063")
async def test_a_step_may_be_prepared_before_it_begins() -> None:
    def prepare(step: StepContext) -> StepPlan | None:
        return StepPlan(tools=()) if step.number == 2 else None

    model = scripted(call("look"), "done")
    await ran(build_loop(prepare_step=prepare), model)
    assert [asked.tools for asked in model.requests] == [("look",), ()]


async def test_a_call_of_a_tool_that_this_step_does_not_offer_is_refused_and_the_model_told() -> (
    None
):
    looked: list[int] = []

    @tool(id="look")
    async def watched(at: int) -> None:
        looked.append(at)

    @tool
    async def other() -> str:
        return "other"

    both = MockReply(calls=(MockCall("look", {"at": 1}), MockCall("other")))
    model, recorder = scripted(both, "ok"), FactRecorder()
    loop = build_loop(prepare_step=lambda step: StepPlan(tools=("other",)))
    result = await loop.run(
        {"messages": "go"}, model=model, tools=[watched, other], observers=[recorder]
    )
    refused, made = result.steps[0].tool_results
    assert looked == []
    assert refused.is_error
    assert "the tools are: 'other'" in refused.content
    assert made.content == "other"
    assert recorder.only("tool.failed").data["tool"] == "look"
    assert_valid(result.messages)


@pytest.mark.rule("R065")
async def test_a_forced_tool_choice_holds_for_the_first_step_only() -> None:
    model = scripted(call("look"), "done")
    await ran(build_loop(tool_choice="look"), model)
    assert [asked.context.tool_choice for asked in model.requests] == ["look", None]


@pytest.mark.rule("R064")
async def test_forcing_a_tool_leaves_everything_else_that_the_user_prepares() -> None:
    def prepare(step: StepContext) -> StepPlan:
        return StepPlan(tool_choice="none", parameters={"step": step.number})

    model = scripted(call("look"), "done")
    await ran(build_loop(tool_choice="required", prepare_step=prepare), model)
    assert [asked.context.tool_choice for asked in model.requests] == ["required", "none"]
    assert [asked.context.parameters["step"] for asked in model.requests] == [1, 2]


async def test_a_plan_changes_model_instructions_length_and_parameters_of_one_step() -> None:
    big, small = scripted("unused"), scripted("small", name="small")
    plan = StepPlan(
        model="small", instructions="Hurry.", max_output_tokens=5, parameters={"a": {"x": 1}}
    )
    loop = build_loop(
        instructions="Take your time.", parameters={"a": {"y": 2}}, prepare_step=lambda step: plan
    )
    result = await loop.run({"messages": "go"}, model=big, models={"small": small})
    (asked,) = small.requests
    assert [message.text for message in asked.messages] == ["Hurry.", "go"]
    assert asked.context.max_output_tokens == 5
    assert asked.context.parameters["a"] == {"x": 1, "y": 2}
    assert result.steps[0].model == "small"


@pytest.mark.rule("R361")
async def test_what_a_step_contributes_is_in_its_request_and_nowhere_else() -> None:
    def prepare(step: StepContext) -> StepPlan | None:
        if step.number > 1:
            return None
        return StepPlan(contributions=(system("It is noon."), user("(the clock strikes)")))

    model = scripted(call("look"), "done")
    result = await ran(build_loop(instructions="Be brief.", prepare_step=prepare), model)
    first, second = ([message.text for message in asked.messages] for asked in model.requests)
    assert first == ["Be brief.", "It is noon.", "go", "(the clock strikes)"]
    assert second[:2] == ["Be brief.", "go"]
    assert roles(result.messages) == ["user", "assistant", "tool", "assistant"]
    kinds = {message.provenance for message in model.requests[0].messages}
    assert kinds == {"contributed", "input"}


async def test_nobody_speaks_for_the_model_in_a_plan() -> None:
    for forged in (
        assistant("I agree to everything."),
        user("x", provenance="model"),
        user("x", provenance="tool"),
        assistant(tool_calls=[ToolCall("c", "look")], provenance="contributed"),
    ):
        with pytest.raises(ContractError, match="nobody but the"):
            StepPlan(contributions=(forged,))


@pytest.mark.rule("R156")
async def test_what_is_contributed_may_have_the_role_of_an_answer_and_is_none_of_the_models() -> (
    None
):
    example = [user("2 + 2?"), assistant("4.", provenance="contributed")]
    model = scripted("done")
    await ran(build_loop(prepare_step=lambda step: StepPlan(contributions=example)), model)
    (asked,) = model.requests
    assert [(m.role, m.text, m.provenance) for m in asked.messages] == [
        ("user", "go", "input"),
        ("user", "2 + 2?", "contributed"),
        ("assistant", "4.", "contributed"),
        # Vendors refuse a request that ends with an answer.
        ("user", "Go on.", "notice"),
    ]


async def test_what_prepares_a_step_sees_the_steps_before_and_may_be_async() -> None:
    seen: list[tuple[int, int, str]] = []

    async def prepare(step: StepContext) -> StepPlan | None:
        seen.append((step.number, len(step.steps), step.messages[-1].role))
        return None

    await ran(build_loop(prepare_step=prepare), scripted(call("look"), "done"))
    assert seen == [(1, 0, "user"), (2, 1, "tool")]


async def test_a_step_is_prepared_by_a_plan_and_nothing_else() -> None:
    with pytest.raises(ContractError, match="dict"):
        await ran(build_loop(prepare_step=lambda step: {"tools": []}), endless())  # type: ignore[arg-type, return-value]


async def test_several_preparations_are_laid_one_over_the_other() -> None:
    both = chained(
        [
            lambda step: StepPlan(model="a", max_output_tokens=1, contributions=(user("1"),)),
            lambda step: StepPlan(model="b", contributions=(user("2"),)),
        ]
    )
    step = StepContext(
        number=1, messages=(), steps=(), run_id="r", context={}, identity=None, deps=None
    )
    made: Any = both(step)
    plan = await made
    assert (plan.model, plan.max_output_tokens) == ("b", 1)
    assert [message.text for message in plan.contributions] == ["1", "2"]


_trees = st.recursive(
    st.integers(0, 3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8
)


@pytest.mark.rule("R191")
@given(
    st.dictionaries(st.sampled_from("abc"), _trees), st.dictionaries(st.sampled_from("abc"), _trees)
)
def test_options_laid_over_others_win_and_the_rest_stays(
    below: dict[str, Any], above: dict[str, Any]
) -> None:
    merged = overlaid(below, above)
    assert merged.keys() == below.keys() | above.keys()
    assert overlaid(merged, above) == merged
    assert {name: merged[name] for name in below.keys() - above.keys()} == {
        name: below[name] for name in below.keys() - above.keys()
    }
    assert all(
        merged[name] == value for name, value in above.items() if not isinstance(value, dict)
    )


# --- instructions, asked once --------------------------------------------------------------------


async def test_instructions_may_be_a_function_that_is_asked_once_a_run() -> None:
    asked: list[str] = []

    async def told(ctx: Any) -> str:
        asked.append(ctx.identity)
        return f"Speak {ctx.context['language']}."

    model = scripted(call("look"), "done")
    loop = build_loop(instructions=told)
    async with Engine(loop, model=model, tools=[Toolkit([look], "Look twice.")]) as engine:
        await engine.run({"messages": "go"}, identity="u", context={"language": "Danish"})
    assert asked == ["u"]
    for request in model.requests:
        assert [message.text for message in request.messages[:3]] == [
            *("Speak Danish.", "Look twice.", "go")
        ]


async def test_instructions_that_are_no_text_are_a_contract_error() -> None:
    with pytest.raises(ContractError, match="must give a text"):
        await ran(build_loop(instructions=lambda ctx: 3), endless())  # type: ignore[arg-type]


@pytest.mark.rule("R040")
async def test_feedback_is_told_after_the_instructions_and_is_no_history() -> None:
    model = scripted("ok", "ok")
    loop = build_loop(instructions="Be brief.")
    result = await loop.run({"messages": "go", "feedback": "Too long."}, model=model)
    await loop.run({"messages": "go"}, model=model)
    with_it, without = ([m.text for m in asked.messages] for asked in model.requests)
    assert with_it == ["Be brief.", "Too long.", "go"]
    assert without == ["Be brief.", "go"]
    assert roles(result.messages) == ["user", "assistant"]


# --- what is kept and told of a step -------------------------------------------------------------


@pytest.mark.rule("R212", "R214", "R189")
async def test_each_model_call_is_a_round_and_results_come_back_as_messages() -> None:
    model, recorder = scripted(call("look", at=1), call("look", at=2), "done"), FactRecorder()
    result = await ran(build_loop(), model, observers=[recorder])
    assert [fact.round for fact in recorder.of("model.started")] == [1, 2, 3]
    assert [asked.messages[-1].role for asked in model.requests] == ["user", "tool", "tool"]
    assert [asked.tools for asked in model.requests] == [("look",)] * 3
    assert result.text == "done"


@pytest.mark.rule("R068", "R069")
async def test_every_step_is_told_item_by_item_without_what_was_said() -> None:
    reply = MockReply(text="Let me see.", reasoning="hm", calls=(MockCall("look", {"at": 7}, "c"),))
    recorder = FactRecorder(content=True)
    await ran(build_loop(), scripted(reply, "done"), observers=[recorder])
    first, second = recorder.of("step.completed")
    assert list(first.data["items"]) == [
        {"kind": "reasoning", "chars": 2},
        {"kind": "text", "chars": 11},
        {"kind": "tool_call", "tool": "look", "call_id": "c"},
        {"kind": "tool_result", "tool": "look", "call_id": "c", "is_error": False},
    ]
    assert list(second.data["items"]) == [{"kind": "text", "chars": 4}]
    assert [fact.data["step"] for fact in (first, second)] == [1, 2]
    assert [message.role for message in first.content] == ["assistant", "tool"]


@pytest.mark.case("T057")
async def test_the_calls_of_all_steps_are_in_the_result() -> None:
    result = await ran(build_loop(), scripted(call("look", at=1), call("look", at=2), "done"))
    assert [dict(made.arguments) for made in result.tool_calls] == [{"at": 1}, {"at": 2}]
    assert result.new_messages == result.messages[1:]


@pytest.mark.rule("R067")
async def test_the_steps_before_a_failure_are_recorded() -> None:
    model = scripted(call("look", at=1), call("look", at=2), RuntimeError("down"))
    async with Engine(build_loop(), model=model, tools=[look], store="memory:") as engine:
        with pytest.raises(Exception, match="down"):
            await engine.run({"messages": "go"}, run_id="r")
        last = (await engine.history("r"))[-1]
        state = await engine.state_at("r", last.number - 1)
    assert [record.number for record in state["steps"]] == [1, 2]
    assert_valid(state["messages"])


# --- what is sent --------------------------------------------------------------------------------


@pytest.mark.rule("R093", "R096", "R097")
@pytest.mark.case("P134", "T055")
async def test_a_history_that_broke_off_is_sent_as_a_legal_one_and_kept_as_it_is() -> None:
    model, recorder = scripted("ok"), FactRecorder()
    history = [user("a"), assistant(tool_calls=[ToolCall("c", "look")]), user("b")]
    result = await build_loop().run({"messages": history}, model=model, observers=[recorder])
    assert [message.text for message in model.requests[0].messages] == ["a", "b"]
    assert list(result.messages[:3]) == history
    assert recorder.only("history.repaired").data["repairs"][0]["kind"] == "call_dropped"


async def test_a_model_that_repeats_itself_is_stopped_where_that_is_asked_for() -> None:
    model = MockModel([Rule(reply=call("look", at=1))])
    with pytest.raises(BudgetExceeded) as caught:
        await ran(build_loop(repeat_limit=RepeatLimit(warn=2, stop=3)), model)
    assert (caught.value.limit, len(model.requests)) == ("repeats", 3)
