"""Spawned agents, for a single use; and sub-tasks, which belong to a run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from agentflow import (
    Agent,
    BudgetExceeded,
    ModelError,
    NodeContext,
    RunCancelled,
    ToolContext,
    Uses,
    define_workflow,
    node,
    route,
    tool,
)
from agentflow.agents import (
    Hooks,
    Middleware,
    Order,
    SpawnScope,
    Subagents,
    TextResult,
    registered,
    spawn,
)
from agentflow.mock import MockModel, MockRequest, Rule, call
from agentflow.testing import FactRecorder
from tests.agents.kit import look, scripted

Install = Callable[[Any], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Have `openai:…` name a model of the test's."""

    def put(model: Any) -> None:
        entry = SimpleNamespace(load=lambda: lambda name: model)
        monkeypatch.setattr("agentflow.models.resolution._installed", lambda: {"openai": entry})

    return put


@tool
async def refund(order: int) -> str:
    """Give money back."""
    raise AssertionError("it was called")


def only_look(asked: Any, *_: Any) -> bool:
    return bool(asked.id == "look")


def no_refund(asked: Any, *_: Any) -> bool:
    return bool(asked.id != "refund")


def anything(*_: Any) -> bool:
    return True


# --- spawned ----------------------------------------------------------------------------------------


@pytest.mark.rule("R160")
async def test_a_spawned_agent_answers_once(install: Install) -> None:
    install(scripted("ok", "ok"))
    spawned = spawn(Agent("boss", model="openai:x"), model="openai:gpt-4o")
    assert (await spawned.generate_text("go")).text == "ok"
    with pytest.raises(RuntimeError, match="single use"):
        await spawned.generate_text("go")
    streamed = spawn(Agent("boss"), model="openai:gpt-4o")
    async with streamed.stream_text("go") as stream:
        assert await stream.text == "ok"
    with pytest.raises(RuntimeError, match="single use"):
        streamed.stream_text("go")


@pytest.mark.rule("R161")
@pytest.mark.parametrize("wrong", ["gpt-4o", "openai:", ":gpt-4o", None, scripted("ok")])
def test_its_model_is_named_with_its_provider(install: Install, wrong: Any) -> None:
    install(scripted("ok"))
    with pytest.raises(ValueError, match="'provider:model'"):
        spawn(Agent("boss"), model=wrong)
    with pytest.raises(ValueError, match="no provider 'other' is installed"):
        spawn(Agent("boss"), model="other:gpt-4o")
    assert spawn(Agent("boss"), model="openai:gpt-4o").agent.name == "boss-spawned"


@pytest.mark.rule("R162")
async def test_the_list_of_its_tools_narrows_what_it_sees_and_permits_nothing(
    install: Install,
) -> None:
    model = scripted(call("refund", order=7), call("look"), "ok")
    install(model)
    boss = Agent("boss", tools=[look, refund], authorize=only_look)
    result = await spawn(boss, model="openai:x", tools=["refund"]).generate_text("go")
    assert list(model.requests[0].tools) == ["refund"]
    denied, unseen = (step.tool_results[0] for step in result.steps[:2])
    assert "denied" in denied.content
    assert unseen.is_error
    assert denied.is_error


@pytest.mark.rule("R163")
@pytest.mark.parametrize("inherit", [True, False])
@pytest.mark.parametrize("own", ["text", "function", "async"])
async def test_it_is_told_its_prompt_and_what_its_parent_is_told_if_it_inherits_that(
    install: Install, inherit: bool, own: str
) -> None:
    model = scripted("ok")
    install(model)

    async def later(context: Any) -> str:
        return "Be polite."

    told: dict[str, Any] = {
        "text": "Be polite.",
        "function": lambda context: "Be polite.",
        "async": later,
    }
    boss = Agent("boss", told[own], markdown=True)
    await spawn(boss, model="openai:x", prompt="Count to three.", inherit=inherit).generate_text(
        "go"
    )
    text = "\n".join(m.text for m in model.requests[0].messages if m.role == "system")
    assert "Count to three." in text
    assert ("Be polite." in text) is inherit
    assert ("Markdown" in text) is inherit


@pytest.mark.rule("R163")
async def test_its_listeners_are_its_own_and_set_up_once(install: Install) -> None:
    install(scripted("ok"))
    scopes: list[SpawnScope] = []
    told: list[str] = []
    recorder = FactRecorder()

    def setup(scope: SpawnScope) -> None:
        scopes.append(scope)
        scope.hooks.append(Hooks(on_start=lambda view: told.append("hook")))
        scope.observers.append(recorder)
        scope.middlewares.append(Middleware(output=lambda text, ctx: f"{text}!"))

    boss = Agent(
        "boss",
        model=scripted("boss"),
        middlewares=[Middleware(output=lambda text, ctx: f"{text}?")],
        hooks=Hooks(on_start=lambda view: told.append("boss")),
    )
    spawned = spawn(boss, model="openai:x", setup=setup)
    assert (await spawned.generate_text("go")).text == "ok!"
    assert (len(scopes), told) == (1, ["hook"])
    assert recorder.kinds("run.completed") != []
    assert (await boss.generate_text("go")).text == "boss?"


# --- sub-tasks --------------------------------------------------------------------------------------


async def result_of(service: Subagents, use: Callable[[Any], Any]) -> str:
    """What comes of a node that begins sub-tasks."""

    async def plan(_: Any, ctx: NodeContext) -> dict[str, str]:
        async with service.open(ctx) as tasks:
            return {"said": str(await use(tasks))}

    made = node(
        plan,
        provides=["said"],
        uses=Uses(model_calls=None, tool_calls=None),
        routes=[route.deliver("said")],
    )
    return str(await define_workflow("caller", nodes=[made], inputs=[]).run())


@pytest.mark.rule("R164")
async def test_sub_tasks_work_at_the_same_time_and_their_handles_are_awaited() -> None:
    meeting = {"a": anyio.Event(), "b": anyio.Event()}

    def meet(name: str, other: str) -> Agent:
        @tool
        async def wait() -> str:
            """Wait for the other one."""
            meeting[name].set()
            await meeting[other].wait()
            return "met"

        return Agent(name, model=scripted(call("wait"), f"{name} is done"), tools=[wait])

    async def use(tasks: Any) -> str:
        first, second = tasks.start("a", "meet b"), tasks.start("b", "meet a")
        assert not first.ended
        return f"{(await second).text}, {(await first).text}"

    service = Subagents([meet("a", "b"), meet("b", "a")])
    assert await result_of(service, use) == "b is done, a is done"


@pytest.mark.rule("R164")
async def test_sub_tasks_nest_no_deeper_than_the_service_allows() -> None:
    seen: list[BudgetExceeded] = []

    async def again(ctx: ToolContext) -> str:
        """Have another one work."""
        try:
            async with service.open(ctx) as tasks:
                return str((await tasks.start("below", "go on")).text)
        except BudgetExceeded as error:
            seen.append(error)
            return "too deep"

    def reply(request: MockRequest) -> Any:
        last = request.messages[-1]
        return last.tool_results[0].content if last.role == "tool" else call("again")

    below = Agent("below", model=MockModel([Rule(reply=reply)]), tools=[tool(again)])
    service = Subagents([below], depth=1)

    async def use(tasks: Any) -> str:
        return str((await tasks.start("below", "go")).text)

    assert await result_of(service, use) == "too deep"
    (error,) = seen
    assert (error.limit, error.allowed, error.used) == ("depth", 1, 2)


@pytest.mark.rule("R164")
@pytest.mark.parametrize("own", [None, anything])
async def test_a_tool_above_the_ceiling_is_denied_however_deep_it_is_called(own: Any) -> None:
    results: list[str] = []
    told = Middleware(
        step=lambda step, ctx: results.extend(
            result.content for one in step.steps for result in one.tool_results
        )
    )
    deepest = Agent(
        "deepest",
        model=scripted(call("refund", order=7), call("look", at=7), "done"),
        tools=[look, refund],
        authorize=own,
    )
    middle = Agent(
        "middle", model=scripted(call("ask_deepest", task="go"), "ok"), sub_agents=[deepest]
    )
    service = Subagents([middle], ceiling=no_refund)

    async def use(tasks: Any) -> str:
        return str((await tasks.start("middle", "go")).text)

    with registered(told, agent=deepest):
        assert await result_of(service, use) == "ok"
    assert "denied" in results[0]
    assert results[-1] == "7"


@pytest.mark.rule("R164")
async def test_a_ceiling_does_not_speak_for_whoever_must_allow_a_tool() -> None:
    strict = Agent(
        "strict",
        model=scripted(call("look"), "done"),
        tools=[look],
        require_authorization=True,
    )

    async def use(tasks: Any) -> str:
        result: TextResult = await tasks.start("strict", "go")
        return result.steps[0].tool_results[0].content

    said = await result_of(Subagents([strict], ceiling=anything), use)
    assert "denied" in said


@pytest.mark.rule("R164")
async def test_where_sub_tasks_are_worked_on_can_be_chosen() -> None:
    orders: list[Order] = []

    class Elsewhere:
        async def perform(self, order: Order) -> TextResult:
            orders.append(order)
            return await order.agent.generate_text(f"{order.task}, elsewhere")

    async def use(tasks: Any) -> str:
        first, second = tasks.start("echo", "go"), tasks.start("echo", "go")
        return f"{(await first).text}; {(await second).text}"

    service = Subagents([Agent("echo", model="mock:echo")], backend=Elsewhere())
    assert await result_of(service, use) == "go, elsewhere; go, elsewhere"
    assert sorted(order.name for order in orders) == ["subtask/echo/1", "subtask/echo/2"]


async def test_a_sub_task_is_cancelled_alone() -> None:
    begun = anyio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def use(tasks: Any) -> str:
        slow, quick = tasks.start("slow", "go"), tasks.start("quick", "go")
        await begun.wait()
        slow.cancel()
        with pytest.raises(RunCancelled):
            await slow
        return str((await quick).text)

    slow = Agent("slow", model=scripted(call("wait")), tools=[wait])
    service = Subagents([slow, Agent("quick", model=scripted("quick"))])
    assert await result_of(service, use) == "quick"


@pytest.mark.parametrize("awaited", [True, False])
async def test_a_failure_is_raised_by_the_handle_or_else_by_the_block(awaited: bool) -> None:
    async def use(tasks: Any) -> str:
        task = tasks.start("broken", "go")
        return str((await task).text) if awaited else "not awaited"

    def fail(request: MockRequest) -> Any:
        raise ValueError("it is broken")

    service = Subagents([Agent("broken", model=MockModel([Rule(reply=fail)]))])
    with pytest.raises(ModelError, match="it is broken"):
        await result_of(service, use)


async def test_an_unknown_agent_is_told_with_those_that_there_are() -> None:
    async def use(tasks: Any) -> str:
        return str(tasks.start("nobody", "go"))

    with pytest.raises(LookupError, match="there is no agent 'nobody'; the agents are: 'a', 'b'"):
        await result_of(Subagents([Agent("a"), Agent("b")]), use)


def test_a_service_has_agents_of_different_names_and_some_depth() -> None:
    with pytest.raises(ValueError, match="the name 'a'"):
        Subagents([Agent("a"), Agent("a")])
    with pytest.raises(ValueError, match="depth=0"):
        Subagents([], depth=0)
