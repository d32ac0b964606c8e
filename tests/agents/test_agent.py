"""Agents: the four ways to ask, the trunk that they share, and what comes of a call."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel

from agentflow import (
    Agent,
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    DefinitionError,
    ModelListEmpty,
    ObjectResult,
    RunCancelled,
    RunSuspended,
    StructuredOutputNotGenerated,
    TextResult,
    ToolContext,
    Toolkit,
    tool,
)
from agentflow.agents import AgentDenied, Guardrail, Hooks, Prompts, StepPlan, Workspace
from agentflow.agents.trunk import opened
from agentflow.messages import UsageChunk, system, user
from agentflow.mock import MockModel, MockRequest, Rule, call, calls
from agentflow.models import Model, Price
from agentflow.testing import FactRecorder
from agentflow.tools.connected import ConnectedToolkit
from agentflow.tools.files import file_tools
from agentflow.tools.tool import Tool
from tests.agents.kit import assert_valid, endless, look, roles, scripted


class City(BaseModel):
    """A place."""

    city: str


class Customer(TypedDict):
    """What the context must hold."""

    tier: str


def agent(model: Any = None, *tools: Any, **options: Any) -> Agent:
    return Agent(
        "helper", "Be brief.", scripted("ok") if model is None else model, tools, **options
    )


# --- the ways to ask -----------------------------------------------------------------------------


@pytest.mark.rule("R001")
async def test_one_agent_can_be_asked_in_four_ways() -> None:
    asked = agent(MockModel([Rule(reply={"city": "Rome"})]))
    text = await asked.generate_text("Where?")
    made = await asked.generate_object("Where?", City)
    async with asked.stream_text("Where?") as stream:
        streamed = await stream.text
    with pytest.warns(DeprecationWarning, match="stream_text"):
        old = asked.stream_object("Where?", City)
    async with old as stream:
        value = await stream.object
    assert text.text == streamed == '{"city":"Rome"}'
    assert made.object == value == City(city="Rome")


@pytest.mark.rule("R003")
async def test_the_result_of_text_is_the_last_text_with_its_steps() -> None:
    result = await agent(scripted(call("look"), "It is 0."), look).generate_text("go")
    assert isinstance(result, TextResult)
    assert (result.text, len(result.steps), result.finish_reason) == ("It is 0.", 2, "stop")
    assert [made.name for made in result.tool_calls] == ["look"]
    assert roles(result.messages) == ["user", "assistant", "tool", "assistant"]
    assert result.new_messages == result.messages[1:]


@pytest.mark.rule("R006")
async def test_an_object_is_of_the_type_that_was_asked_for_also_after_tools() -> None:
    model = scripted(call("look"), {"city": "Rome"})
    result = await agent(model, look).generate_object("go", City)
    assert isinstance(result, ObjectResult)
    assert result.object == City(city="Rome")


@pytest.mark.rule("R007")
def test_asking_for_a_stream_of_an_object_tells_what_to_use_instead() -> None:
    with pytest.warns(DeprecationWarning, match="stream_text"):
        agent().stream_object("go", City)


@pytest.mark.rule("R008")
async def test_what_was_awaited_is_settled() -> None:
    model = scripted("ok", usage=UsageChunk(input_tokens=3, output_tokens=1))
    result = await agent(model).generate_text("go")
    assert (result.text, result.finish_reason) == ("ok", "stop")
    assert result.usage.known("input_tokens") == 3


@pytest.mark.rule("R010", "R011")
async def test_a_text_is_a_message_at_the_end_and_instructions_are_the_system_message() -> None:
    model = scripted("ok")
    await agent(model).generate_text("hi")
    (request,) = model.requests
    assert [(m.role, m.text) for m in request.messages] == [("system", "Be brief."), ("user", "hi")]


@pytest.mark.rule("R012")
async def test_without_tools_it_is_one_model_call() -> None:
    model = scripted("ok")
    await agent(model).generate_text("hi")
    assert len(model.requests) == 1


async def test_a_conversation_can_be_gone_on_with_what_came_of_a_call() -> None:
    model = scripted(call("look"), "It is 0.", "Still 0.")
    asked = agent(model, look)
    first = await asked.generate_text("go")
    second = await asked.generate_text([*first.messages, user("And now?")])
    assert second.text == "Still 0."
    assert roles(second.new_messages) == ["assistant"]
    assert_valid(model.requests[-1].messages)


def test_code_that_is_not_async_may_ask_too() -> None:
    model = MockModel([Rule(reply={"city": "Rome"})])
    asked = agent(model)
    assert asked.generate_text_sync("Where?").text == '{"city":"Rome"}'
    assert asked.generate_object_sync("Where?", City).object == City(city="Rome")


@pytest.mark.parametrize("store", [None, "memory:"])
def test_threads_that_ask_one_agent_do_not_end_the_calls_of_each_other(store: str | None) -> None:
    inside, others = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        inside.set()
        # With a store, the other one waits for this one instead.
        return "waited" if store else f"waited {others.wait(10)}"

    def answer(request: MockRequest) -> Any:
        slow = request.messages[1].text == "slow"
        return call("wait") if slow and len(request.messages) == 2 else "done"

    asked = agent(MockModel([Rule(reply=answer)]), wait, store=store)
    with ThreadPoolExecutor() as threads:
        slow = threads.submit(asked.generate_text_sync, "slow")
        assert inside.wait(10)
        assert threads.submit(asked.generate_text_sync, "fast").result(10).text == "done"
        others.set()
        assert slow.result(10).text == "done"


def test_an_agent_with_a_store_that_is_asked_by_its_own_tool_does_not_wait_for_itself() -> None:
    @tool
    def ask_again() -> str:
        return asked.generate_text_sync("again").text

    model = scripted(call("ask_again"), "done")
    asked = agent(model, ask_again, store="memory:")
    result = asked.generate_text_sync("go")
    (told,) = result.messages[2].tool_results
    assert "is asked from inside of one of its own calls" in told.content


async def test_an_agent_with_a_store_that_is_open_is_asked_in_its_loop() -> None:
    async with agent(store="memory:") as asked:
        with pytest.raises(RuntimeError, match="is open in another loop"):
            await anyio.to_thread.run_sync(asked.generate_text_sync, "go")
        assert (await asked.generate_text("go")).text == "ok"


async def test_a_sync_call_inside_of_a_loop_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match="await generate_text"):
        agent().generate_text_sync("go")


# --- the run context -----------------------------------------------------------------------------


@pytest.mark.rule("R013", "R014")
async def test_every_call_has_a_run_of_its_own_with_an_id() -> None:
    asked = agent(MockModel([Rule(reply="ok")]))
    first, second = [await asked.generate_text("go") for _ in range(2)]
    assert uuid.UUID(first.run_id) != uuid.UUID(second.run_id)


@pytest.mark.rule("R015")
@pytest.mark.case("P029")
async def test_calls_at_the_same_time_do_not_touch_each_other() -> None:
    async def reply(request: MockRequest) -> Any:
        await anyio.lowlevel.checkpoint()
        return f"Hello {request.text}." if request.turn > 1 else call("who")

    @tool
    async def who(ctx: ToolContext) -> str:
        await anyio.lowlevel.checkpoint()
        ctx.context["seen"] = [*ctx.context.get("seen", ()), ctx.identity]
        assert ctx.context["seen"] == [ctx.identity]
        return str(ctx.identity)

    model = MockModel([Rule(reply=reply)], usage=UsageChunk(input_tokens=1, output_tokens=1))
    asked = agent(model, who, context={"shared": []})
    results: dict[int, TextResult] = {}

    async def one(number: int) -> None:
        results[number] = await asked.generate_text("go", identity=f"user-{number}")

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(one, number)
    for number, result in results.items():
        assert result.text == f"Hello user-{number}."
        assert len(result.steps) == 2
        assert result.total_usage.known("input_tokens") == 2
    assert len({result.run_id for result in results.values()}) == 50


@pytest.mark.rule("R016", "R017", "R033")
@pytest.mark.case("T033")
async def test_a_tool_sees_who_asks_the_log_the_signal_and_the_same_run_as_everybody() -> None:
    seen: list[Any] = []

    @tool
    async def show(ctx: ToolContext) -> None:
        seen.append((ctx.node.run, ctx.identity, ctx.signal.cancelled, ctx.deps, ctx.log is None))

    def start(view: Any) -> None:
        seen.append(view.run)

    model = scripted(call("show"), "ok")
    asked = agent(model, show, hooks=Hooks(on_start=start))
    await asked.generate_text("go", identity={"user": "u", "thread": "t"}, deps="db", run_id="r")
    run, (same, identity, cancelled, deps, no_log) = seen
    assert run is same
    assert (run.id, identity, cancelled, deps, no_log) == (
        *("r", {"user": "u", "thread": "t"}),
        *(False, "db", False),
    )


@pytest.mark.rule("R018", "R019", "R020", "R051", "R052")
async def test_the_context_is_the_callers_own_map_and_holds_nothing_of_the_frameworks() -> None:
    seen: list[dict[str, Any]] = []

    @tool
    async def show(ctx: ToolContext) -> None:
        seen.append(dict(ctx.context))
        ctx.context.update(messages=[], steps=[], request=None)

    def told(ctx: Any) -> str:
        return f"They are {ctx.context['tier']}."

    model = scripted(call("show"), "ok", call("show"), "ok")
    asked = Agent("helper", told, model, [show])
    first = await asked.generate_text("go", context={"tier": "pro"})
    await asked.generate_text("go", context={"tier": "free"})
    assert seen == [{"tier": "pro"}, {"tier": "free"}]
    assert [request.messages[0].text for request in model.requests] == [
        *(["They are pro."] * 2),
        *(["They are free."] * 2),
    ]
    assert len(first.steps) == 2


async def test_the_agents_own_context_is_copied_into_each_call_and_the_caller_wins() -> None:
    seen: list[dict[str, Any]] = []

    @tool
    async def show(ctx: ToolContext) -> None:
        seen.append({"limits": dict(ctx.context["limits"]), "tier": ctx.context["tier"]})
        ctx.context["limits"]["refunds"] = 99

    model = MockModel([Rule(when="go", reply=call("show")), Rule(reply="ok")])
    own = {"tier": "free", "limits": {"refunds": 1, "days": 3}}
    asked = agent(model, show, context=own)
    given = {"limits": {"days": 7}}
    await asked.generate_text("go", context=given)
    await asked.generate_text("go")
    assert seen == [
        {"limits": {"refunds": 1, "days": 7}, "tier": "free"},
        {"limits": {"refunds": 1, "days": 3}, "tier": "free"},
    ]
    assert (own["limits"], given) == ({"refunds": 1, "days": 3}, {"limits": {"days": 7}})


# --- the trunk -----------------------------------------------------------------------------------


@pytest.mark.rule("R191")
async def test_parameters_of_a_call_are_merged_over_those_of_the_agent() -> None:
    model = scripted("ok", "ok")
    asked = agent(model, parameters={"model": {"temp": 0.2, "top_p": 0.9}})
    await asked.generate_text("go", parameters={"model": {"temp": 0}})
    await asked.generate_text("go")
    changed, own = (request.context.parameters["model"] for request in model.requests)
    assert changed == {"temp": 0, "top_p": 0.9}
    assert own == {"temp": 0.2, "top_p": 0.9}


@pytest.mark.rule("R032")
async def test_tools_of_a_call_are_offered_beside_those_of_the_agent() -> None:
    @tool
    async def extra() -> None:
        """Do more."""

    model = scripted("ok", "ok")
    asked = agent(model, look)
    await asked.generate_text("go", tools=[extra])
    await asked.generate_text("go")
    assert [request.tools for request in model.requests] == [("look", "extra"), ("look",)]


@pytest.mark.rule("R055", "R056")
async def test_the_condition_of_the_call_is_asked_and_not_the_agents() -> None:
    asked_for: list[str] = []

    def own(steps: Any) -> bool:
        asked_for.append("agent")
        return True

    def calls_own(steps: Any) -> bool:
        asked_for.append("call")
        return len(steps) == 2

    asked = agent(endless(), look, stop_when=own)
    result = await asked.generate_text("go", stop_when=calls_own)
    assert (result.finish_reason, len(result.steps)) == ("stop_when", 2)
    assert set(asked_for) == {"call"}


@pytest.mark.rule("R057", "R060")
async def test_the_steps_of_the_call_go_before_the_agents_and_the_bounds_follow() -> None:
    asked = agent(endless(), look, max_steps=5)
    assert asked.workflow.bounds().model_calls.value == 5
    result = await asked.generate_text("go", max_steps=2)
    assert (len(result.steps), result.bounds.model_calls.value) == (2, 2)
    assert len((await asked.generate_text("go")).steps) == 5
    assert agent(endless(), Workspace([look])).workflow.bounds().model_calls.value == 100
    assert agent(endless(), file_tools(".")).workflow.bounds().model_calls.value == 100
    assert agent(endless(), look).workflow.bounds().model_calls.value == 10


async def test_what_a_call_prepares_is_laid_over_what_the_agent_prepares() -> None:
    model = scripted("ok")
    asked = agent(model, prepare_step=lambda step: StepPlan(max_output_tokens=9, tools=()))
    await asked.generate_text("go", prepare_step=lambda step: StepPlan(max_output_tokens=3))
    (request,) = model.requests
    assert (request.context.max_output_tokens, request.tools) == (3, ())


@pytest.mark.rule("R192", "R194", "R196", "R197")
async def test_context_permission_and_model_are_looked_at_in_this_order() -> None:
    log: list[str] = []

    class Provider:
        @property
        def stream(self) -> Any:
            log.append("model")
            raise AttributeError("stream")

    def permission(asked: Any) -> bool:
        log.append("permission")
        return bool(asked.identity == "boss")

    model = scripted("ok")
    asked = agent(model, context_type=Customer, permission=permission)
    with pytest.raises(ContractError, match="the context of agent 'helper'"):
        await asked.generate_text("go", context={}, model=Provider())
    assert log == []
    with pytest.raises(AgentDenied, match="said no"):
        await asked.generate_text("go", context={"tier": "pro"}, model=Provider())
    assert log == ["permission"]
    with pytest.raises(TypeError, match="no stream"):
        await asked.generate_text("go", context={"tier": "pro"}, identity="boss", model=Provider())
    assert log[:2] == ["permission", "permission"]
    assert "model" in log[2:]
    assert len(model.requests) == 0


@pytest.mark.parametrize("verdict", [None, 1, "yes"])
async def test_a_permission_that_is_not_true_is_a_no(verdict: Any) -> None:
    async def permission(asked: Any) -> Any:
        return verdict

    with pytest.raises(AgentDenied, match="not True"):
        await agent(permission=permission).generate_text("go")


async def test_a_permission_that_fails_is_a_no() -> None:
    def permission(asked: Any) -> bool:
        raise LookupError(asked.run_id)

    with pytest.raises(AgentDenied, match="LookupError: r-1"):
        await agent(permission=permission).generate_text("go", run_id="r-1")


@pytest.mark.rule("R195", "R203")
async def test_a_model_may_be_named_and_what_is_none_is_refused_at_once() -> None:
    assert (await agent("mock:echo").generate_text("hi")).text == "hi"
    assert (await agent("mock/echo").generate_text("hi")).text == "hi"
    assert (await agent().generate_text("hi", model="mock:echo")).text == "hi"
    with pytest.raises(ValueError, match="nowhere"):
        agent("nowhere:model")
    with pytest.raises(ModelListEmpty):
        agent([])


async def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="'max_step'"):
        agent(max_step=3)
    with pytest.raises(TypeError, match="'temprature'"):
        await agent().generate_text("go", temprature=0)  # type: ignore[call-arg]
    with pytest.raises(DefinitionError):
        agent(max_steps=0)


@pytest.mark.rule("R190", "R202", "R207")
async def test_the_loop_of_an_agent_is_a_workflow_that_runs_without_it() -> None:
    recorder = FactRecorder()
    asked = agent(scripted("unused"), look)
    assert asked.workflow.report.findings == ()
    assert asked.workflow.id == "helper"
    result = await asked.workflow.run(
        {"messages": "go"}, model=scripted("ok"), tools=[look], observers=[recorder]
    )
    assert result.text == "ok"
    visited = [fact.node_id for fact in recorder.of("node.committed")]
    assert visited == ["admit", "assemble", "model", "tools", "decide"]


def test_any_name_makes_a_workflow() -> None:
    assert Agent("Support agent (EU)").workflow.id == "Support-agent-EU"
    assert Agent("7").workflow.id == "agent-7"
    assert Agent("助手").workflow.id == "agent"


# --- what it costs, and where it ends ------------------------------------------------------------


async def test_usage_and_cost_are_added_up_and_unknown_where_they_are_not_told() -> None:
    usage = UsageChunk(input_tokens=1_000, output_tokens=100)
    model = Model(scripted(call("look"), "ok", usage=usage), price=Price(input=1, output=10))
    result = await agent(model, look).generate_text("go")
    assert result.usage.known("input_tokens") == result.total_usage.known("input_tokens") == 2_000
    assert result.cost == pytest.approx(0.004)
    assert list(result.usage_by_path) == ["model"]
    assert (await agent().generate_text("go")).cost is None


async def test_budgets_of_agent_and_call_both_hold() -> None:
    asked = agent(endless(), look, budget=Budget(model_calls=3))
    with pytest.raises(BudgetExceeded) as caught:
        await asked.generate_text("go")
    assert caught.value.allowed == 3
    with pytest.raises(BudgetExceeded) as caught:
        await asked.generate_text("go", budget=Budget(model_calls=2))
    assert caught.value.allowed == 2


async def test_a_cancelled_call_raises_and_leaves_the_agent_as_it_was() -> None:
    signal = CancelSignal()

    @tool
    async def stop() -> None:
        signal.cancel("enough")

    asked = agent(MockModel([Rule(when="go", reply=call("stop")), Rule(reply="ok")]), stop)
    with pytest.raises(RunCancelled, match="enough"):
        await asked.generate_text("go", signal=signal)
    assert (await asked.generate_text("hi")).text == "ok"


async def test_cancelling_whoever_waits_cancels_the_call() -> None:
    ended: list[str] = []

    @tool
    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("tool")

    started = anyio.Event()

    def reply(request: MockRequest) -> Any:
        started.set()
        return call("wait")

    model = MockModel([Rule(reply=reply)])
    async with anyio.create_task_group() as group:
        group.start_soon(agent(model, wait).generate_text, "go")
        await started.wait()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert ended == ["tool"]


@pytest.mark.rule("R101")
async def test_an_object_that_never_comes_is_an_error_with_guidance() -> None:
    with pytest.raises(StructuredOutputNotGenerated, match="after 10 steps"):
        await agent(endless(), look).generate_object("go", City)


@pytest.mark.rule("R213")
async def test_the_calls_of_one_answer_that_run_at_once_are_bounded() -> None:
    now, peak = 0, 0

    @tool
    async def work() -> None:
        nonlocal now, peak
        now += 1
        peak = max(peak, now)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        now -= 1

    model = scripted(calls(*[call("work")] * 5), "ok")
    await agent(model, work, max_parallel_tools=2).generate_text("go")
    assert peak == 2


# --- stores --------------------------------------------------------------------------------------


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.mark.rule("R209")
async def test_a_call_that_waits_for_a_person_is_gone_on_with_by_its_id() -> None:
    model = scripted(call("pay", amount=5), "Done.")
    async with agent(model, pay, store="memory:") as asked:
        with pytest.raises(RunSuspended) as caught:
            await asked.generate_text("go", run_id="r", max_steps=3)
        result = await asked.resume(caught.value.run_id, True, max_steps=3)
    assert (result.text, result.steps[0].tool_results[0].content) == ("Done.", "paid 5")
    assert result.bounds.model_calls.value == 3


async def test_a_call_with_a_known_id_is_answered_from_the_store() -> None:
    model = scripted("ok")
    async with agent(model, store="memory:") as asked:
        first = await asked.generate_text("go", run_id="r")
        again = await asked.generate_text("go", run_id="r")
    assert first.text == again.text == "ok"
    assert len(model.requests) == 1


async def test_an_agent_with_a_store_is_entered_first() -> None:
    with pytest.raises(RuntimeError, match="async with Agent"):
        await agent(store="memory:").generate_text("go")


async def test_an_agent_that_was_closed_can_be_used_again() -> None:
    asked = agent(MockModel([Rule(reply="ok")]), store="memory:")
    async with asked:
        await asked.generate_text("go", run_id="r")
    async with asked:
        assert (await asked.generate_text("go", run_id="r2")).text == "ok"


@pytest.mark.rule("R036", "R039")
async def test_the_system_message_goes_before_a_history_that_has_one_too() -> None:
    model = scripted("ok")
    await agent(model).generate_text([system("Old notes."), user("a"), user("b")])
    assert [m.text for m in model.requests[0].messages] == ["Be brief.", "Old notes.", "a", "b"]


async def test_calls_that_were_interrupted_are_recovered_by_the_agents_engine() -> None:
    gate = anyio.Event()

    @tool
    async def work() -> str:
        if not gate.is_set():
            gate.set()
            await anyio.sleep_forever()
        return "done"

    model = scripted(call("work"), "ok")
    asked = agent(model, work, store="memory:")
    async with (
        asked,
        asked.stream_text("go", run_id="r") as stream,
        anyio.create_task_group() as group,
    ):
        group.start_soon(stream.events.__anext__)

        async def read() -> None:
            async for _ in stream.events:
                pass

        group.start_soon(read)
        await gate.wait()
        await asked.engine.drain(0)
    async with asked:
        found = await asked.engine.recover()
        assert found["r"].outcome().text == "ok"
    assert len(model.requests) == 2


@pytest.mark.rule("R030", "R202")
async def test_what_was_prepared_is_handed_to_the_loop_in_one_piece() -> None:
    asked = agent(scripted("ok"), look, max_steps=3)
    prepared = await opened(asked, "go", {"max_steps": 2})
    assert [message.text for message in prepared.asked] == ["go"]
    assert prepared.profile.tools == (look,)
    assert prepared.profile.steps == prepared.run.workflow.max_rounds == 2
    await prepared.begin()
    assert (await prepared.ended()).text == "ok"


@pytest.mark.rule("R031")
async def test_tools_may_be_chosen_for_each_call() -> None:
    @tool
    async def refund() -> None:
        """Give money back."""

    kit = Toolkit(lambda ctx: [refund] if ctx.identity == "clerk" else [])
    model = scripted("ok", "ok")
    asked = Agent("helper", None, model, [look, kit])
    await asked.generate_text("go", identity="clerk")
    await asked.generate_text("go", identity="guest")
    assert [request.tools for request in model.requests] == [("look", "refund"), ("look",)]


@pytest.mark.rule("R200")
async def test_instructions_may_depend_on_who_asks() -> None:
    model = scripted("ok", "ok")
    asked = Agent("helper", lambda ctx: f"You speak to {ctx.identity}.", model)
    await asked.generate_text("go", identity="Ann")
    await asked.generate_text("go", identity="Bob")
    told = [request.messages[0].text for request in model.requests]
    assert told == ["You speak to Ann.", "You speak to Bob."]


@pytest.mark.rule("R054")
async def test_results_are_fed_back_until_there_is_an_answer() -> None:
    looked: list[int] = []

    @tool(id="look")
    async def watched(at: int) -> int:
        looked.append(at)
        return at

    model = scripted(call("look", at=1), call("look", at=2), "done")
    result = await agent(model, watched).generate_text("go")
    assert (len(model.requests), looked, result.text) == (3, [1, 2], "done")
    assert model.requests[2].messages[-1].tool_results[0].content == "2"


@pytest.mark.rule("R029", "R044", "R046", "R047", "R048", "R050", "R051")
async def test_what_the_model_is_told_is_stacked_in_one_order_and_gathered_once_an_attempt() -> (
    None
):
    asked_for: list[str] = []

    async def told(ctx: Any) -> str:
        return str(ctx.prompts.get("base", tier=ctx.context["tier"], host=ctx.headers["host"]))

    def archive(query: str, ctx: Any) -> str:
        asked_for.append(query)
        return "It was built in 1889."

    model = scripted(call("look"), "ok")
    asked = Agent(
        "guide",
        told,
        model,
        [Toolkit([look], "Look twice.")],
        sub_agents=[Agent("maps", description="Knows the way."), Agent("prices")],
        markdown=True,
        retriever=archive,
        prompts=Prompts({"base": "A {{tier}} guide at {{host}}."}),
    )
    question = "How old is the tower?"
    await asked.generate_text(question, context={"tier": "pro"}, headers={"host": "example.org"})
    assert asked_for == [question]
    for request in model.requests:
        texts = [message.text for message in request.messages if message.role == "system"]
        marks = ["You supervise", "A pro guide at example.org.", "Look twice.", "Markdown", "1889"]
        places = [next(at for at, text in enumerate(texts) if mark in text) for mark in marks]
        assert places == sorted(places)
        assert "maps: Knows the way." in texts[0]
        assert "prices" in texts[0]
        assert "rules of delegation" in texts[-1]


@pytest.mark.rule("R053")
async def test_a_retriever_that_fails_fails_the_call_before_the_model_and_is_named() -> None:
    def archive(query: str, ctx: Any) -> str:
        raise ConnectionError("no archive")

    model = scripted("ok")
    with pytest.raises(ConnectionError, match="no archive") as caught:
        await agent(model, retriever=archive).generate_text("go")
    assert any("'archive'" in note for note in caught.value.__notes__)
    assert len(model.requests) == 0


class Server(ConnectedToolkit):
    """A server of one tool, with the count of its connections."""

    source = "server"
    instructions = "Ask the server."

    def __init__(self) -> None:
        self.connected = 0

    @property
    def opened(self) -> bool:
        return self.connected > 0

    @property
    def tools(self) -> tuple[Tool, ...]:
        if not self.connected:
            raise RuntimeError("not open")
        return (look,)

    async def open(self) -> None:
        self.connected += 1

    async def close(self) -> None:
        self.connected -= 1


async def test_tools_that_lie_elsewhere_are_connected_while_the_agent_is_entered() -> None:
    server = Server()
    model = MockModel([Rule(when="go", reply=call("look", at=3)), Rule(reply="ok")])
    asked = Agent(
        "helper", None, model, [server], guardrails=[Guardrail(tool_input=lambda made, v: True)]
    )
    async with asked:
        assert server.connected == 1
        result = await asked.generate_text("go")
        changed = await asked.generate_text("go", max_steps=3)
        assert server.connected == 1
    assert server.connected == 0
    for one in (result, changed):
        assert one.steps[0].tool_results[0].content == "3"
    with pytest.raises(RuntimeError, match="entered first"):
        await asked.generate_text("go")


async def test_a_sub_agent_with_tools_that_lie_elsewhere_is_entered_too() -> None:
    below = Agent("below", None, scripted(call("look", at=3), "three"), [Server()])
    boss = Agent("boss", None, scripted(call("ask_below", task="look"), "ok"), sub_agents=[below])
    with pytest.raises(RuntimeError, match="'below' has a server of tools"):
        await boss.generate_text("go")
    async with below:
        result = await boss.generate_text("go")
    assert result.steps[0].tool_results[0].content == "three"
