"""Sub-agents: tasks that are handed out, with a state of their own, out of one budget, under one cancel."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

import anyio
import pytest
from pydantic import BaseModel

from agentflow import (
    Agent,
    Budget,
    BudgetExceeded,
    CancelSignal,
    RunCancelled,
    RunSuspended,
    ToolContext,
    define_workflow,
    route,
    tool,
)
from agentflow.agents import (
    FinishEvent,
    Guardrail,
    Hooks,
    Middleware,
    StartEvent,
    SubAgentEvent,
    steps_above,
)
from agentflow.messages import TextChunk, UsageChunk
from agentflow.mock import MockModel, MockRequest, Rule, call, calls
from agentflow.testing import FactRecorder
from tests.agents.kit import Looking, assert_valid, endless, look, scripted
from tests.models.kit import Endless


class City(BaseModel):
    """A place."""

    city: str


def helper(model: Any = None, *tools: Any, name: str = "research", **options: Any) -> Agent:
    return Agent(name, "You look things up.", model, tools, **options)


def boss(model: Any, *agents: Agent, **options: Any) -> Agent:
    return Agent("boss", "You delegate.", model, sub_agents=agents, **options)


def ask(name: str, task: str = "find it") -> Any:
    return call(f"ask_{name}", task=task)


async def test_a_task_is_handed_out_and_its_answer_is_a_tool_result() -> None:
    below = scripted("It is blue.")
    model = scripted(ask("research", "Which colour?"), "Blue, then.")
    result = await boss(model, helper(below)).generate_text("go")
    assert result.text == "Blue, then."
    assert result.steps[0].tool_results[0].content == "It is blue."
    (asked,) = below.requests
    assert [message.text for message in asked.messages] == ["You look things up.", "Which colour?"]
    assert_valid(result.messages)


async def test_a_sub_agent_has_its_own_model_tools_and_instructions() -> None:
    @tool(id="look")
    async def other_look() -> str:
        return "other"

    below = scripted(call("look"), "done")
    model = scripted(call("look", at=1), ask("research"), "ok")
    asked = Agent("boss", None, model, [look], sub_agents=[helper(below, other_look)])
    result = await asked.generate_text("go")
    assert below.requests[1].messages[-1].tool_results[0].content == "other"
    assert model.requests[0].tools == ("look", "ask_research")
    assert below.requests[0].tools == ("look",)
    assert result.steps[0].tool_results[0].content == "1"


async def test_without_a_model_of_its_own_it_asks_its_parents() -> None:
    def reply(request: MockRequest) -> Any:
        if request.messages[0].text == "You look things up.":
            return "from below"
        return "ok" if request.turn > 1 else ask("research")

    result = await boss(MockModel([Rule(reply=reply)]), helper()).generate_text("go")
    assert result.steps[0].tool_results[0].content == "from below"


async def test_an_object_is_handed_back_as_json() -> None:
    result = await boss(
        scripted(ask("research"), "ok"), helper(scripted({"city": "Rome"}), output=City)
    ).generate_text("go")
    assert result.steps[0].tool_results[0].content == '{"city":"Rome"}'


# --- what is shared and what is not --------------------------------------------------------------


@pytest.mark.rule("R024", "R025")
async def test_the_context_is_one_map_and_the_parents_values_stay() -> None:
    seen: list[Any] = []

    @tool
    async def show(ctx: ToolContext) -> None:
        seen.append((ctx.context, dict(ctx.context)))

    below = helper(scripted(call("show"), "ok"), show, context={"k": 2, "j": [3]})
    model = scripted(call("show"), ask("research"), "ok")
    asked = Agent("boss", None, model, [show], sub_agents=[below])
    await asked.generate_text("go", context={"k": 1})
    (above, first), (shared, second) = seen
    assert shared is above
    assert (first, second) == ({"k": 1}, {"k": 1, "j": [3]})
    assert below.context == {"k": 2, "j": [3]}


@pytest.mark.rule("R192")
async def test_a_sub_agent_that_asks_for_another_context_is_not_run() -> None:
    class Customer(TypedDict):
        tier: str

    below = scripted("ok", "ok")
    sub = helper(
        below, context_type=Customer, permission=lambda asked: asked.context["tier"] == "x"
    )
    asked = boss(scripted(ask("research"), "ok"), sub)
    result = await asked.generate_text("go", context={"tier": 3})
    (told,) = result.messages[2].tool_results
    assert told.is_error
    assert "the context of agent 'research': tier" in told.content
    assert not below.requests
    result = await boss(scripted(ask("research"), "ok"), sub).generate_text(
        "go", context={"tier": "x"}
    )
    assert not result.messages[2].tool_results[0].is_error


@pytest.mark.rule("R028")
async def test_what_a_sub_agent_says_is_in_its_own_conversation() -> None:
    below = scripted(call("look"), "the answer")
    result = await boss(scripted(ask("research"), "ok"), helper(below, look)).generate_text("go")
    assert len(result.messages) == 4
    assert "look" not in repr([made.name for made in result.tool_calls])


@pytest.mark.rule("R023")
async def test_a_sub_agent_can_read_what_its_parent_has_done() -> None:
    seen: list[list[str]] = []

    @tool
    async def recall(ctx: ToolContext) -> None:
        seen.append([step.text for step in steps_above(ctx.node)])

    below = helper(scripted(call("recall"), "ok"), recall)
    from agentflow.mock import MockReply

    first = MockReply(text="Let me see.", calls=call("look").calls)
    model = scripted(first, ask("research"), "ok")
    await Agent("boss", None, model, [look], sub_agents=[below]).generate_text("go")
    assert seen == [["Let me see.", ""]]


async def test_nothing_is_above_an_agent_that_nobody_has_asked() -> None:
    seen: list[Any] = []

    @tool
    async def recall(ctx: ToolContext) -> None:
        seen.append(steps_above(ctx.node))

    await Agent("alone", None, scripted(call("recall"), "ok"), [recall]).generate_text("go")
    assert seen == [()]


async def test_identity_deps_and_observers_are_the_parents() -> None:
    seen: list[Any] = []
    recorder = FactRecorder()

    @tool
    async def show(ctx: ToolContext) -> None:
        seen.append((ctx.identity, ctx.deps))

    below = helper(scripted(call("show"), "ok"), show)
    asked = boss(scripted(ask("research"), "ok"), below, observers=[recorder])
    await asked.generate_text("go", identity="u", deps="db")
    assert seen == [("u", "db")]
    tools = [data["tool"] for data in recorder.data("tool.completed")]
    assert tools == ["show", "ask_research"]
    (inner,) = [fact for fact in recorder.of("run.started") if fact.workflow_id == "research"]
    assert inner.parent_run_id is not None


async def test_middleware_of_the_parent_is_not_that_of_the_sub_agent() -> None:
    seen: list[str] = []

    def note(value: Any, ctx: Any) -> Any:
        seen.append(ctx.run_id)
        return value

    below = helper(scripted("low"), middlewares=[Middleware(output=lambda text, ctx: text.upper())])
    asked = boss(scripted(ask("research"), "ok"), below, middlewares=[Middleware(output=note)])
    result = await asked.generate_text("go", run_id="r")
    assert seen == ["r"]
    assert result.steps[0].tool_results[0].content == "LOW"
    assert result.text == "ok"


# --- cancel and bail -----------------------------------------------------------------------------


@pytest.mark.rule("R026", "R027")
async def test_a_cancel_of_the_parent_ends_the_sub_agent_too() -> None:
    model, signal, ends = Endless(), CancelSignal(), []
    hooks = Hooks(on_end=lambda end, view: ends.append(end.finish_reason))
    asked = boss(scripted(ask("research")), helper(model, hooks=hooks))

    async def cancel() -> None:
        await model.thinking.wait()
        signal.cancel("enough")

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        with pytest.raises(RunCancelled, match="enough"):
            await asked.generate_text("go", signal=signal)
    assert model.closed == 1
    assert ends == ["cancelled"]


@pytest.mark.rule("R026")
async def test_a_tool_of_a_sub_agent_is_told_by_its_signal_that_the_parent_is_cancelled() -> None:
    signal, waits, told = CancelSignal(), anyio.Event(), []

    @tool
    async def tidy(ctx: ToolContext) -> None:
        with anyio.CancelScope(shield=True):
            waits.set()
            await ctx.signal.wait()
            told.append(ctx.signal.reason)

    asked = boss(scripted(ask("research")), helper(scripted(call("tidy")), tidy))
    async with anyio.create_task_group() as group:

        async def cancel() -> None:
            await waits.wait()
            signal.cancel("enough")

        group.start_soon(cancel)
        with pytest.raises(RunCancelled, match="enough"):
            await asked.generate_text("go", signal=signal)
    assert told == ["enough"]


@pytest.mark.rule("R026")
async def test_a_cancel_of_the_sub_agent_alone_is_a_failed_task() -> None:
    @tool
    async def give_up(ctx: ToolContext) -> None:
        ctx.signal.cancel("I give up")

    below = helper(scripted(call("give_up"), "never"), give_up)
    result = await boss(scripted(ask("research"), "ok"), below).generate_text("go")
    refused = result.steps[0].tool_results[0]
    assert refused.is_error
    assert "I give up" in refused.content
    assert result.text == "ok"


@pytest.mark.rule("R026", "R074", "R075", "R077")
async def test_a_bail_below_is_the_answer_of_the_whole_call() -> None:
    @tool
    async def finish(text: str, ctx: ToolContext) -> None:
        ctx.bail(text)

    model = scripted(ask("research"))
    below = helper(scripted(call("finish", text="It is 42.")), finish)
    result = await boss(model, below).generate_text("go")
    assert (result.text, result.finish_reason) == ("It is 42.", "bail")
    assert len(model.requests) == 1
    assert_valid(result.messages)


# --- failures ------------------------------------------------------------------------------------


@pytest.mark.case("T061")
@pytest.mark.parametrize(
    ("below", "told"),
    [
        (helper(scripted(RuntimeError("down"), RuntimeError("down"))), "down"),
        (
            helper(scripted("a bomb", "a bomb"), guardrails=[Guardrail(output=lambda v, c: False)]),
            "said no",
        ),
        (helper(endless(), look, output=City, max_steps=1), "StructuredOutputNotGenerated"),
        (helper(scripted("ok"), permission=lambda asked: False), "the permission said no"),
        (helper(endless(), look, max_steps=1, on_max_steps="raise"), "rounds"),
    ],
)
async def test_a_sub_agent_that_fails_is_a_failed_tool_and_the_parent_goes_on(
    below: Agent, told: str
) -> None:
    model = MockModel([Rule(when="go", reply=ask("research")), Rule(reply="I see.")])
    result = await boss(model, below).generate_text("go")
    refused = result.steps[0].tool_results[0]
    assert refused.is_error
    assert "agent 'research' failed" in refused.content
    assert told in refused.content
    assert result.text == "I see."


# --- budgets and bounds --------------------------------------------------------------------------


async def test_a_sub_agent_spends_what_its_parent_has_left() -> None:
    asked = boss(MockModel([Rule(when="go", reply=ask("research"))]), helper(endless(), look))
    with pytest.raises(BudgetExceeded) as caught:
        await asked.generate_text("go", budget=Budget(model_calls=4))
    assert (caught.value.limit, caught.value.allowed) == ("model_calls", 4)


async def test_its_own_smaller_share_is_its_own_failure() -> None:
    below = helper(endless(), look).as_tool(budget=Budget(model_calls=2))
    model = scripted(ask("research"), "ok")
    result = await Agent("boss", None, model, [below]).generate_text("go")
    assert result.text == "ok"
    assert "limit of model_calls" in result.steps[0].tool_results[0].content
    assert result.total_usage.calls == 4


async def test_usage_is_told_by_path_and_adds_up() -> None:
    usage = UsageChunk(input_tokens=10, output_tokens=1)
    below = helper(scripted(call("look"), "ok", usage=usage), look)
    other = helper(scripted("ok", usage=usage), name="writer")
    model = scripted(calls(ask("research"), ask("writer")), "ok", usage=usage)
    result = await boss(model, below, other).generate_text("go")
    calls_by_path = {path: found.calls for path, found in result.usage_by_path.items()}
    assert calls_by_path == {
        "model": 2,
        "tools/research/model": 2,
        "tools/writer/model": 1,
    }
    assert (result.usage.calls, result.total_usage.calls) == (2, 5)
    assert result.total_usage.known("input_tokens") == 50


@pytest.mark.rule("R059")
def test_the_bounds_count_what_may_be_handed_out() -> None:
    below = helper(scripted("ok"), max_steps=3)
    asked = boss(scripted("ok"), below, max_steps=2, max_delegations=4)
    assert asked.workflow.report.findings == ()
    assert asked.workflow.bounds().model_calls.value == 2 * (1 + 4 * 3)
    three = [helper(scripted("ok"), name=name, max_steps=1) for name in ("a", "b", "c")]
    assert boss(scripted("ok"), *three).workflow.bounds().rounds.value == 30


async def test_no_more_tasks_are_handed_out_in_a_step_than_the_bounds_count() -> None:
    below = helper(MockModel([Rule(reply="ok")]))
    model = scripted(calls(*[ask("research")] * 3), "ok")
    result = await boss(model, below, max_delegations=2).generate_text("go")
    assert sum(one.is_error for one in result.steps[0].tool_results) == 1
    assert len(result.steps[0].tool_results) == 3


async def test_agents_that_hand_tasks_to_themselves_come_to_an_end() -> None:
    depths: list[int] = []

    def reply(request: MockRequest) -> Any:
        depths.append(len(request.messages))
        return ask("loop") if request.turn == 1 else "back"

    model = MockModel([Rule(reply=reply)])
    nested = Agent("loop", None, model)
    for _ in range(7):
        nested = Agent("loop", None, model, [nested.as_tool()])
    result = await nested.generate_text("go")
    assert result.text == "back"
    assert len(depths) == 2 * 6
    with pytest.raises(BudgetExceeded) as caught:
        await nested.generate_text("go", budget=Budget(depth=1))
    assert caught.value.limit == "depth"


# --- durable -------------------------------------------------------------------------------------


async def test_an_approval_below_suspends_the_whole_call_and_goes_on_where_it_was() -> None:
    paid: list[int] = []

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    log: list[str] = []
    hooks = Hooks(
        on_start=lambda view: log.append("start"),
        on_end=lambda end, view: log.append(end.finish_reason),
        on_handoff=lambda handoff, view: log.append("handoff"),
    )
    below_model = scripted(call("pay", amount=5), "Paid.")
    model = scripted(ask("research"), "ok")
    below = helper(below_model, pay, hooks=hooks)
    async with boss(model, below, hooks=hooks, store="memory:") as asked:
        with pytest.raises(RunSuspended):
            await asked.generate_text("go", run_id="r")
        assert (paid, log) == ([], ["start", "handoff", "start"])
        result = await asked.resume("r", True)
    assert (result.text, paid) == ("ok", [5])
    assert result.steps[0].tool_results[0].content == "Paid."
    assert (len(model.requests), len(below_model.requests)) == (2, 2)
    assert log[3:] == ["stop", "stop"]


async def test_a_sub_agent_that_was_interrupted_goes_on_and_asks_nothing_twice() -> None:
    from agentflow.stores.memory import MemoryStore

    store, looking = MemoryStore(), Looking()
    below_model = scripted(call("look", at=1), call("look", at=2), "found")
    model = scripted(ask("research"), "ok")

    def made() -> Agent:
        return boss(model, helper(below_model, looking.tool), store=store)

    await looking.left(made())
    async with made() as asked:
        result = await asked.generate_text("go", run_id="r")
    assert looking.looked == [1, 2, 2]
    assert (len(model.requests), len(below_model.requests)) == (2, 3)
    assert result.steps[0].tool_results[0].content == "found"


# --- streams and hooks ---------------------------------------------------------------------------


async def test_what_a_sub_agent_says_is_handed_out_with_its_path_and_is_not_the_parents_text() -> (
    None
):
    inner = helper(scripted("deep"), name="inner")
    below = Agent("research", None, scripted(ask("inner"), "low"), sub_agents=[inner])
    async with boss(scripted(ask("research"), "top"), below).stream_text("go") as stream:
        events = [event async for event in stream.events]
        pieces = [piece async for piece in stream.text]
    assert pieces == ["top"]
    told = [event for event in events if isinstance(event, SubAgentEvent)]
    texts = {event.path: event.event.text for event in told if isinstance(event.event, TextChunk)}
    assert texts == {("research",): "low", ("research", "inner"): "deep"}
    inside = [event.event for event in told if event.path == ("research",)]
    assert isinstance(inside[0], StartEvent)
    assert inside[-1] == FinishEvent(finish_reason="stop")


async def test_chunk_guardrails_of_a_sub_agent_hold_in_its_parents_stream() -> None:
    below = helper(scripted("a bomb"), guardrails=[Guardrail(chunk=lambda chunk, view: False)])
    async with boss(scripted(ask("research"), "ok"), below).stream_text("go") as stream:
        events = [event async for event in stream.events]
        assert await stream.text == "ok"
    inside = [event.event for event in events if isinstance(event, SubAgentEvent)]
    assert not any(isinstance(event, TextChunk) for event in inside)
    assert inside[-1].finish_reason == "blocked"


async def test_hooks_tell_of_the_task_and_of_its_end() -> None:
    log: list[Any] = []
    below = helper(
        scripted("low"),
        hooks=Hooks(
            on_start=lambda view: log.append("start below"),
            on_end=lambda end, view: log.append(("end below", end.text)),
        ),
    )
    own = Hooks(
        on_handoff=lambda handoff, view: log.append((handoff.agent, handoff.task)),
        on_end=lambda end, view: log.append(("end", end.text)),
    )
    await boss(scripted(ask("research", "find it"), "top"), below, hooks=own).generate_text("go")
    assert log == [("research", "find it"), "start below", ("end below", "low"), ("end", "top")]


# --- nodes ---------------------------------------------------------------------------------------


class Letter(TypedDict):
    """The state of a workflow with an agent in it."""

    question: str
    answer: NotRequired[str]


async def test_an_agent_is_a_node_of_any_workflow() -> None:
    asked = helper(scripted(call("look", at=1), "It is 1."), look, max_steps=3)
    workflow = define_workflow(
        "letter",
        nodes=[asked.as_node(input="question", routes=[route.deliver("answer")])],
        state=Letter,
        inputs=["question"],
        result=str,
    )
    assert workflow.report.findings == ()
    assert workflow.bounds().model_calls.value == 3
    assert await workflow.run({"question": "How many?"}) == "It is 1."


async def test_a_node_that_is_an_agent_fails_as_the_agent_does() -> None:
    asked = helper(scripted("ok"), permission=lambda asked: False)
    workflow = define_workflow(
        "letter",
        nodes=[asked.as_node("ask", input="question", routes=[route.deliver("answer")])],
        state=Letter,
        inputs=["question"],
    )
    with pytest.raises(Exception, match="said no"):
        await workflow.run({"question": "How many?"})


def test_tools_of_agents_are_named_and_described_after_them() -> None:
    made = Agent("Web research", description="Looks things up.").as_tool()
    assert (made.id, made.spec.description) == ("ask_Web-research", "Looks things up.")
    assert list(made.parameters["properties"]) == ["task"]
    other = Agent("x").as_tool(id="delegate", description="Hand it over.")
    assert (other.id, other.spec.description) == ("delegate", "Hand it over.")
