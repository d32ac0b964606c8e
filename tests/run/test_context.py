"""The node context: a visit's own view of its run, and nothing after the visit."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import anyio
import pytest
import structlog

from agentflow import (
    CancelSignal,
    ContractError,
    Engine,
    RunCancelled,
    node,
    route,
)
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, nothing, unchecked


@pytest.mark.parametrize("watched", [False, True])
async def test_a_context_tells_where_it_is(watched: bool) -> None:
    found: dict[str, Any] = {}
    deps, identity, context = object(), object(), {"k": 1}

    async def body(state: Any, ctx: Any) -> None:
        names = "run_id node_id visit round attempt failure deps identity"
        found.update({name: getattr(ctx, name) for name in names.split()})
        found["context"] = ctx.context
        found["run"] = ctx.run
        found["same"] = ctx.ledger is ctx.run.ledger

    observers = [Recorder()] if watched else []
    engine = Engine(alone(body), observers=observers)
    async with engine.start(run_id="r", deps=deps, identity=identity, context=context) as run:
        await run.result()
    assert found["context"] is context
    assert found == {
        "run_id": "r",
        "node_id": "only",
        "visit": 1,
        "round": 1,
        "attempt": 1,
        "failure": None,
        "deps": deps,
        "identity": identity,
        "context": context,
        "run": run,
        "same": True,
    }


@pytest.mark.case("T031")
@pytest.mark.parametrize("given", [None, {"before": 1}])
async def test_what_one_node_puts_into_the_context_the_next_ones_see(given: Any) -> None:
    async def put(state: Any, ctx: Any) -> None:
        ctx.context["k"] = "v"

    async def get(state: Any, ctx: Any) -> Any:
        return {"x": ctx.context["k"]}

    def get_plainly(state: Any, ctx: Any) -> Any:
        return {"y": ctx.context["k"]}

    result = await line(put, get, get_plainly).run(context=given)
    assert result == {"x": "v", "y": "v"}
    assert given is None or given == {"before": 1, "k": "v"}


@pytest.mark.case("T031")
async def test_two_runs_without_a_context_share_none() -> None:
    async def body(state: Any, ctx: Any) -> Any:
        before = dict(ctx.context)
        ctx.context["mine"] = ctx.run_id
        return {"x": before}

    engine = Engine(alone(body))
    assert await engine.run() == {"x": {}}
    assert await engine.run() == {"x": {}}


@pytest.mark.rule("R319", "R320")
async def test_the_signal_of_the_context_is_cancelled_with_the_run() -> None:
    signal = CancelSignal()
    seen: list[bool] = []

    async def body(state: Any, ctx: Any) -> None:
        seen.append(ctx.signal.cancelled)
        signal.cancel("enough")
        seen.append(ctx.signal.cancelled)

    with pytest.raises(RunCancelled):
        await alone(body).run(signal=signal)
    assert seen == [False, True]


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("how", ["returned", "failed", "bailed"])
async def test_a_context_is_of_no_use_after_its_visit(watched: bool, how: str) -> None:
    kept: list[Any] = []
    done: list[str] = []

    async def body(state: Any, ctx: Any) -> Any:
        kept.append(ctx)
        if how == "failed":
            raise OSError("no")
        if how == "bailed":
            ctx.bail(1)

    async def later(state: Any) -> None:
        with pytest.raises(RunCancelled, match="the visit of node 'a' is over"):
            await kept[0].once("late", lambda: done.append("late"))
        done.append("refused")

    workflow = unchecked(
        "w",
        nodes=[
            node(body, id="a", on_error="b", routes=[route.to("b")]),
            node(later, id="b", routes=[END]),
        ],
    )
    await workflow.run(observers=[Recorder()] if watched else [])
    if how == "bailed":
        await later({})
    assert done == ["refused"]


async def test_a_task_that_outlives_its_visit_can_do_nothing_more() -> None:
    refused: list[str] = []
    go_on = anyio.Event()

    async def background(ctx: Any) -> None:
        await go_on.wait()
        try:
            await ctx.once("late", lambda: 1)
        except RunCancelled as error:
            refused.append(str(error.reason))

    async with anyio.create_task_group() as group:

        async def spawn(state: Any, ctx: Any) -> None:
            group.start_soon(background, ctx)

        await alone(spawn).run()
        go_on.set()
    assert refused == ["the visit of node 'only' is over"]


VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="unset")


async def test_context_variables_of_the_caller_are_seen_in_every_kind_of_node() -> None:
    async def look(state: Any) -> Any:
        return {"x": VARIABLE.get()}

    def look_plainly(state: Any) -> Any:
        return {"y": VARIABLE.get()}

    token = VARIABLE.set("the caller's")
    try:
        result = await line(look, look_plainly).run()
        timed = alone(look, timeout=60)
        assert await timed.run() == {"x": "the caller's"}
    finally:
        VARIABLE.reset(token)
    assert result == {"x": "the caller's", "y": "the caller's"}


async def test_context_variables_that_a_node_sets_do_not_reach_the_caller() -> None:
    async def change(state: Any) -> None:
        VARIABLE.set("the node's")

    await alone(change).run()
    assert VARIABLE.get() == "unset"


def test_effect_keys_are_the_same_for_each_try_of_a_visit_and_differ_between_visits() -> None:
    keys: list[str] = []

    async def body(state: Any, ctx: Any) -> Any:
        keys.append(ctx.effect_key("pay"))

    line(body, body).run_sync(run_id="r")
    line(body, body).run_sync(run_id="r")
    assert keys[:2] == keys[2:]
    assert len(set(keys)) == 2


class TestReport:
    """Nodes tell how they get on, and the run adds who and where."""

    @pytest.mark.rule("R332", "R333", "R334", "R366")
    async def test_a_report_gets_its_identity_from_the_run(self) -> None:
        async def body(state: Any, ctx: Any) -> None:
            ctx.report(used_model=True, payload={"step": 1})

        plain, curious = Recorder(), Recorder(content={"node.progress"})
        await alone(body).run(run_id="r", observers=[plain, curious])
        (fact,) = plain.of("node.progress")
        assert (fact.run_id, fact.node_id, fact.visit, fact.attempt) == ("r", "only", 1, 1)
        assert (dict(fact.data), fact.content) == ({"used_model": True}, None)
        (fact,) = curious.of("node.progress")
        assert fact.content == {"payload": {"step": 1}}

    @pytest.mark.rule("R335")
    @pytest.mark.parametrize("told", [None, True, False])
    async def test_what_is_not_told_is_not_known(self, told: bool | None) -> None:
        async def body(state: Any, ctx: Any) -> None:
            if told is None:
                ctx.report(payload="x")
            else:
                ctx.report(used_model=told)

        seen = Recorder(content={"node.progress"})
        await alone(body).run(observers=[seen])
        assert seen.data("node.progress") == {"used_model": told}
        assert (seen.of("node.progress")[0].content is None) == (told is not None)

    @pytest.mark.rule("R332")
    async def test_what_a_node_changes_after_its_report_is_not_seen_by_observers(self) -> None:
        async def body(state: Any, ctx: Any) -> None:
            payload = {"steps": [1]}
            ctx.report(payload=payload)
            payload["steps"].append(2)

        seen = Recorder(content={"node.progress"})
        await alone(body).run(observers=[seen])
        assert seen.of("node.progress")[0].content == {"payload": {"steps": [1]}}

    async def test_a_report_from_a_thread_names_the_call_to_use(self) -> None:
        def body(state: Any, ctx: Any) -> None:
            ctx.report(payload="x")

        with pytest.raises(ContractError, match=r"call ctx\.sync\.report there"):
            await alone(body).run()


async def test_the_log_of_a_context_knows_where_it_is() -> None:
    async def body(state: Any, ctx: Any) -> None:
        ctx.log.info("hello", more=1)

    with structlog.testing.capture_logs() as logs:
        await alone(body).run(run_id="r")
    assert logs == [
        {
            "event": "hello",
            "log_level": "info",
            "more": 1,
            "run_id": "r",
            "workflow": "alone",
            "node": "only",
            "visit": 1,
            "attempt": 1,
        }
    ]


@pytest.mark.rule("R340")
async def test_facts_correlate_without_any_argument() -> None:
    seen = Recorder()
    await line(nothing, nothing).run(run_id="r", observers=[seen])
    assert {fact.run_id for fact in seen.facts} == {"r"}
    assert [fact.node_id for fact in seen.of("node.started")] == ["a", "b"]
