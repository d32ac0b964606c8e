"""Engines: stateless between runs, and strict about what is under way."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Engine,
    RunCancelled,
    RunConflict,
    field,
    node,
    route,
)
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, nothing, unchecked


class Gate:
    """A node's function that waits until it is let through, and then provides what it was given."""

    def __init__(self) -> None:
        self.open = anyio.Event()

    async def __call__(self, state: Any) -> Any:
        await self.open.wait()
        return {"y": state.get("x")}


@pytest.mark.rule("R242")
async def test_one_engine_runs_again_and_again_each_run_with_its_own_state() -> None:
    async def body(state: Any) -> Any:
        return {"y": [*state.get("y", []), state["x"]]}

    engine = Engine(alone(body))
    assert await engine.run({"x": 1}) == {"x": 1, "y": [1]}
    assert await engine.run({"x": 2}) == {"x": 2, "y": [2]}


@pytest.mark.parametrize("uses", ["nothing", "models and tools"])
@pytest.mark.parametrize("heard", [True, False])
async def test_a_run_is_freed_at_once_whoever_listens_and_whatever_it_has_used(
    uses: str, heard: bool
) -> None:
    seen: list[weakref.ref[Any]] = []

    async def body(state: Any, ctx: Any) -> Any:
        seen.append(weakref.ref(ctx.run))
        if uses == "models and tools":
            assert ctx.tools.specs() == ()
            assert ctx.model is ctx.model

    engine = Engine(alone(body), observers=[lambda fact: None] if heard else [])
    gc.disable()
    try:
        await engine.run({"x": 1})
        await wait_all_tasks_blocked()
        assert seen[0]() is None
    finally:
        gc.enable()


@pytest.mark.rule("R242")
@pytest.mark.case("P025")
async def test_two_runs_at_the_same_time_do_not_see_each_other() -> None:
    both, results = anyio.Event(), {}
    inside = 0

    async def body(state: Any, ctx: Any) -> Any:
        nonlocal inside
        ctx.context["user"] = state["x"]
        inside += 1
        if inside == 2:
            both.set()
        await both.wait()
        return {"y": [state["x"], ctx.context["user"], ctx.ledger.visits]}

    engine = Engine(alone(body))

    async def run(user: str) -> None:
        results[user] = await engine.run({"x": user})

    async with anyio.create_task_group() as group:
        group.start_soon(run, "ann")
        group.start_soon(run, "bob")
    assert results == {user: {"x": user, "y": [user, user, 1]} for user in ("ann", "bob")}


@pytest.mark.rule("R242")
@pytest.mark.case("P025")
async def test_a_thousand_runs_at_the_same_time_stay_apart() -> None:
    async def count(state: Any, ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return {"n": state["n"] + 1, "log": [*state["log"], (ctx.run_id, ctx.round)]}

    turn = node(
        count,
        id="turn",
        provides=["n", "log"],
        starts_round=True,
        routes=[route.to("turn", field("n") < 3), END],
    )
    engine = Engine(unchecked("w", nodes=[turn], max_rounds=3))
    results: dict[int, Any] = {}

    async def run(number: int) -> None:
        results[number] = await engine.run({"n": 0, "log": []}, run_id=f"r-{number}")

    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(run, number)
    assert len(results) == 1000
    for number, result in results.items():
        assert result == {"n": 3, "log": [(f"r-{number}", turn) for turn in (1, 2, 3)]}
    assert engine.get("r-0") is None


@pytest.mark.rule("R243")
async def test_a_run_that_failed_leaves_no_trace_in_the_next() -> None:
    async def body(state: Any) -> Any:
        if state["x"] == "bad":
            raise OSError("no answer")
        return {"y": 1}

    engine = Engine(alone(body))
    with pytest.raises(OSError, match="no answer"):
        await engine.run({"x": "bad"}, run_id="r")
    assert await engine.run({"x": "good"}, run_id="r") == {"x": "good", "y": 1}


class TestRunIds:
    """A run id means one run at a time."""

    async def test_an_id_that_is_under_way_is_a_conflict_and_runs_nothing(self) -> None:
        gate, seen = Gate(), Recorder()
        engine = Engine(alone(gate))
        async with engine.start({"x": 1}, run_id="r") as first:
            again = engine.start({"x": 2}, run_id="r", observers=[seen])
            with pytest.raises(RunConflict, match="run 'r' is under way"):
                async with again:
                    raise AssertionError("it must not begin")
            with pytest.raises(RunConflict):
                await engine.run({"x": 3}, run_id="r")
            assert engine.get("r") is first
            gate.open.set()
            assert await first.result() == {"x": 1, "y": 1}
        assert seen.facts == []
        with pytest.raises(RuntimeError, match="has not begun"):
            await again.result()

    async def test_an_id_may_be_used_again_after_its_run_has_ended(self) -> None:
        engine = Engine(alone(nothing))
        assert await engine.run({"x": 1}, run_id="r") == {"x": 1}
        assert await engine.run({"x": 2}, run_id="r") == {"x": 2}

    async def test_ids_that_nobody_gives_are_unique_and_sorted_by_time(self) -> None:
        engine = Engine(alone(nothing))
        ids = [engine.start().id for _ in range(100)]
        assert len(set(ids)) == 100
        assert [one[:8] for one in ids] == sorted(one[:8] for one in ids)

    async def test_a_run_is_cancelled_by_its_id(self) -> None:
        gate = Gate()
        engine = Engine(alone(gate))
        async with engine.start(run_id="r") as run:
            assert await engine.cancel("r", "by its id")
            with pytest.raises(RunCancelled, match="by its id"):
                await run.result()
        assert not await engine.cancel("r")
        assert engine.get("r") is None


class TestClosing:
    """A closed engine has nothing running and takes nothing more."""

    async def test_closing_cancels_what_is_running_and_waits_for_it(self) -> None:
        gates = [Gate(), Gate()]
        engine = Engine(alone(gates[0]))
        async with engine.start() as one, engine.start() as two:
            await wait_all_tasks_blocked()
            await engine.close()
            assert (one.status, two.status) == ("cancelled", "cancelled")
            with pytest.raises(RunCancelled, match="the engine was closed"):
                await one.result()
            await engine.close()

    async def test_a_closed_engine_takes_no_run(self) -> None:
        async with Engine(alone(nothing)) as engine:
            await engine.run()
        with pytest.raises(RuntimeError, match="the engine of workflow 'alone' is closed"):
            await engine.run()
        with pytest.raises(RuntimeError, match="is closed"):
            async with engine.start():
                raise AssertionError("it must not begin")

    async def test_leaving_by_an_error_closes_too(self) -> None:
        engine = Engine(alone(Gate()))
        run = engine.start()

        async def fail() -> None:
            async with engine:
                run.begin()
                raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            await fail()
        assert run.status == "cancelled"

    @pytest.mark.usefixtures("no_patience")
    async def test_a_node_may_close_its_own_engine(self) -> None:
        engines: list[Any] = []

        async def close(state: Any) -> None:
            await engines[0].close()

        engines.append(Engine(alone(close)))
        with anyio.fail_after(10):
            with pytest.raises(RunCancelled, match="the engine was closed"):
                await engines[0].run()
        await wait_all_tasks_blocked()


class TestStarting:
    """A handle is one run, and begins when its block is entered."""

    async def test_a_handle_runs_once(self) -> None:
        async with Engine(alone(nothing)).start() as run:
            await run.result()
            with pytest.raises(RuntimeError, match="has begun already"):
                run.begin()

    async def test_nothing_runs_before_the_block_is_entered(self) -> None:
        ran: list[int] = []

        async def body(state: Any) -> None:
            ran.append(1)

        run = Engine(alone(body)).start()
        await wait_all_tasks_blocked()
        assert ran == []
        with pytest.raises(RuntimeError, match="has not begun"):
            await run.result()

    async def test_many_may_wait_for_one_result(self) -> None:
        gate, results = Gate(), []

        async with Engine(alone(gate)).start({"x": 1}) as run:

            async def wait() -> None:
                results.append(await run.result())

            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(wait)
                await wait_all_tasks_blocked()
                gate.open.set()
        assert results == [{"x": 1, "y": 1}] * 5


class TestInput:
    """What a run is given is checked field by field before anything runs."""

    @pytest.mark.parametrize("input", [5, "text", [("x", 1)], object()])
    async def test_an_input_that_is_no_mapping_is_refused(self, input: Any) -> None:
        with pytest.raises(ContractError, match="the input of workflow 'alone' is"):
            await alone(nothing).run(input)

    @pytest.mark.parametrize("watched", [False, True])
    async def test_a_field_name_that_is_no_text_is_refused(self, watched: bool) -> None:
        input: Any = {1: "x", "a": 2}
        with pytest.raises(ContractError, match="takes no input field 1"):
            await alone(nothing).run(input, observers=[Recorder()] if watched else [])

    async def test_missing_and_unknown_fields_are_named(self) -> None:
        workflow = unchecked(
            "w", nodes=[node(nothing, id="a", routes=[END])], inputs=["x"], optional_inputs=["y"]
        )
        with pytest.raises(ContractError, match="lacks the field 'x'"):
            await workflow.run({"y": 1})
        with pytest.raises(ContractError, match="takes no input field 'z'; it takes 'x', 'y'"):
            await workflow.run({"x": 1, "z": 1})
        assert await workflow.run({"x": 1}) == {"x": 1}


class TestOneLine:
    """`workflow.run` takes what the engine and the run take."""

    async def test_options_go_where_they_belong(self) -> None:
        async def body(state: Any, ctx: Any) -> Any:
            return {"x": [ctx.run_id, ctx.deps, ctx.identity], "y": ctx.ledger.left("visits")}

        result = await alone(body).run(
            run_id="r",
            deps=1,
            identity="me",
            context={},
            signal=CancelSignal(),
            budget=Budget(visits=9),
        )
        assert result == {"x": ["r", 1, "me"], "y": 8}

    async def test_an_unknown_option_is_refused(self) -> None:
        with pytest.raises(TypeError, match="colour"):
            await alone(nothing).run(colour="red")

    def test_the_twin_for_plain_code_gives_the_same(self) -> None:
        assert alone(nothing).run_sync({"x": 1}) == {"x": 1}
        assert Engine(alone(nothing)).run_sync({"x": 1}, run_id="r") == {"x": 1}
        with pytest.raises(BudgetExceeded):
            alone(nothing).run_sync(budget=Budget(visits=0))

    async def test_the_twin_for_plain_code_is_refused_in_a_loop(self) -> None:
        for twin in (alone(nothing).run_sync, Engine(alone(nothing)).run_sync):
            with pytest.raises(RuntimeError, match=r"already running.*; await run\(\) there"):
                twin()

    def test_an_error_of_the_twin_has_no_other_behind_it(self) -> None:
        async def fail(state: Any) -> None:
            raise OSError("no answer")

        with pytest.raises(OSError, match="no answer") as caught:
            alone(fail).run_sync()
        assert caught.value.__context__ is None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="asyncio has eager tasks since Python 3.12")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("waits", [False, True])
async def test_tasks_that_run_at_once_change_nothing(waits: bool) -> None:
    async def body(state: Any) -> Any:
        if waits:
            await anyio.lowlevel.checkpoint()
        return {"y": 1}

    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    loop.set_task_factory(vars(asyncio)["eager_task_factory"])
    try:
        seen = Recorder()
        engine = Engine(alone(body), observers=[seen], budget=Budget(seconds=60))
        assert await engine.run({"x": 1}) == {"x": 1, "y": 1}
        assert seen.kinds[-1] == "run.completed"
    finally:
        loop.set_task_factory(before)


class TestOptions:
    """What a run is given besides its input is what it should be, or refused in words."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"signal": "stop"}, "signal='stop': it is a CancelSignal"),
            ({"budget": 5}, "budget=5: it is a Budget"),
            ({"budget": {"visits": 1}}, "it is a Budget"),
            ({"context": [1]}, r"context=\[1\]: it is a dict"),
            ({"run_id": 7}, "run_id=7: it is a text"),
            ({"sink": print}, "give an object with an async method send"),
        ],
    )
    async def test_an_option_of_another_kind_is_refused(
        self, options: dict[str, Any], message: str
    ) -> None:
        engine = Engine(alone(nothing))
        with pytest.raises(TypeError, match=message):
            await engine.run(**options)
        with pytest.raises(TypeError, match=message):
            engine.start(**options)

    def test_the_engine_refuses_them_too(self) -> None:
        for options in ({"budget": 5}, {"sink": 5}):
            with pytest.raises(TypeError):
                Engine(alone(nothing), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [0, -1, 1.5, "3", True, None])
def test_a_number_of_parallel_tools_that_lets_none_begin_is_refused(most: Any) -> None:
    with pytest.raises(
        ValueError, match=r"max_parallel_tools=.*: it is a whole number of at least"
    ):
        Engine(alone(lambda state: None), max_parallel_tools=most)


async def test_what_was_never_stored_is_not_resumed_by_a_new_run() -> None:
    ran: list[Any] = []

    async def body(state: Any) -> None:
        ran.append(state)

    with pytest.raises(RuntimeError, match="the engine has no store"):
        await Engine(alone(body)).resume("r", True)
    with pytest.raises(RuntimeError, match="the engine has no store"):
        Engine(alone(body)).reopen("r", True)
    assert ran == []
