"""A run that waits for a time: a restart neither begins the wait anew nor skips it, and nothing is held meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from agentflow import (
    Budget,
    ContractError,
    Divergence,
    Engine,
    NodeContext,
    Retry,
    RunSuspended,
    ask,
    define_workflow,
    node,
    route,
    wait,
)
from agentflow.run.run import Run
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock
from tests.durable.crashing import CrashingStore, process
from tests.run.workflows import alone

START = datetime(2030, 1, 1, tzinfo=UTC)


async def waiting(state: Any, ctx: NodeContext) -> dict[str, Any]:
    await ctx.wait(3600)
    return {"x": ctx.run.clock.now().isoformat()}


async def recovered(workflow: Any, store: MemoryStore, clock: FixedClock) -> dict[str, Run[Any]]:
    async with Engine(workflow, store=store, clock=clock) as engine:
        return await engine.recover()


async def test_a_long_wait_is_a_suspension_until_a_time() -> None:
    store, clock = MemoryStore(), FixedClock(START)
    run = await process(alone(waiting), store, clock=clock)
    assert (run.status, run.requests, run.due) == ("suspended", (), START + timedelta(hours=1))
    (info,) = await store.find(status="suspended")
    assert info.due == run.due
    with pytest.raises(RunSuspended, match=r"waits for the time 2030-01-01T01:00"):
        run.outcome()
    assert clock.slept == []


async def test_a_run_whose_time_has_come_is_recovered_and_no_other() -> None:
    store, clock = MemoryStore(), FixedClock(START)
    await process(alone(waiting), store, clock=clock)
    clock.advance(3599)
    assert await recovered(alone(waiting), store, clock) == {}
    # Asking for it before its time tells that it waits; neither that nor a resume without an answer begins the wait anew.
    for ask_for in ("run", "resume"):
        async with Engine(alone(waiting), store=store, clock=clock) as engine:
            with pytest.raises(RunSuspended) as caught:
                await getattr(engine, ask_for)(run_id="r")
            assert caught.value.due == START + timedelta(hours=1)
    clock.advance(1)
    runs = await recovered(alone(waiting), store, clock)
    assert runs["r"].outcome() == {"x": "2030-01-01T01:00:00+00:00"}


@pytest.mark.parametrize("by", ["run", "resume", "start"])
async def test_a_run_whose_time_has_come_goes_on_when_it_is_asked_for(by: str) -> None:
    store, clock = MemoryStore(), FixedClock(START)
    await process(alone(waiting), store, clock=clock)
    clock.advance(5000)
    async with Engine(alone(waiting), store=store, clock=clock) as engine:
        if by == "start":
            async with engine.start(run_id="r") as run:
                result = await run.result()
        else:
            result = await getattr(engine, by)(run_id="r")
    assert result == {"x": "2030-01-01T01:23:20+00:00"}


async def test_a_restart_in_a_wait_neither_begins_it_anew_nor_skips_it() -> None:
    for at in range(1, 5):
        for before in (True, False):
            store, clock = MemoryStore(), FixedClock(START)
            await process(alone(waiting), CrashingStore(store, at, before=before), clock=clock)
            begun = clock.now()
            clock.advance(600)
            run = await process(alone(waiting), store, clock=clock)
            if run.status == "completed":
                continue
            # The wait began when its effect was recorded: in the first life, or else in the second.
            recorded = at > 2 or (at == 2 and not before)
            began = begun if recorded else clock.now()
            assert run.due == began + timedelta(hours=1)
            clock.advance(3600)
            (found,) = (await recovered(alone(waiting), store, clock)).values()
            assert found.status == "completed"


async def test_a_short_wait_is_slept_and_what_is_left_of_it_after_a_restart() -> None:
    slept = FixedClock(START)

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait(4)
        return {"x": 1}

    store = MemoryStore()
    # Dies when the wait is over, before the visit is recorded.
    await process(alone(body), CrashingStore(store, 3, before=True), clock=slept)
    assert slept.slept == [4]
    run = await process(alone(body), store, clock=slept)
    assert run.outcome() == {"x": 1}
    assert slept.slept == [4]

    class Dying(FixedClock):
        async def sleep(self, seconds: float) -> None:
            self.slept.append(seconds)
            self.advance(1)
            await anyio.sleep_forever()

    store, dying = MemoryStore(), Dying(START)
    async with (
        Engine(alone(body), store=store, clock=dying) as engine,
        engine.start(run_id="r"),
    ):
        await anyio.wait_all_tasks_blocked()
    later = FixedClock(dying.now())
    run = await process(alone(body), store, clock=later)
    assert run.outcome() == {"x": 1}
    assert later.slept == [3]


async def test_waiting_until_a_time_that_has_passed_takes_no_time() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait_until(START - timedelta(days=1))
        await ctx.wait_until(START)
        return {"x": 1}

    clock = FixedClock(START)
    run = await process(alone(body), MemoryStore(), clock=clock)
    assert (run.outcome(), clock.slept) == ({"x": 1}, [])


async def test_a_time_without_a_zone_is_refused() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait_until(datetime(2030, 1, 1))  # noqa: DTZ001 - this is what is shown
        return {"x": 1}

    run = await process(alone(body), MemoryStore(), clock=FixedClock(START))
    with pytest.raises(ContractError, match=r"node 'only' waits until .*: give the time a zone"):
        run.outcome()


async def test_without_a_store_a_wait_is_slept() -> None:
    clock = FixedClock(START)
    async with Engine(alone(waiting), clock=clock) as engine:
        assert await engine.run() == {"x": "2030-01-01T01:00:00+00:00"}
    assert clock.slept == [3600]


async def test_the_earliest_of_several_times_wakes_the_run() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        async def until(hours: int) -> None:
            await ctx.wait_until(START + timedelta(hours=hours))
            passed.append(hours)

        async with anyio.create_task_group() as group:
            for hours in (3, 1, 2):
                group.start_soon(until, hours)
        return {"x": 1}

    passed: list[int] = []
    store, clock = MemoryStore(), FixedClock(START)
    run = await process(alone(body), store, clock=clock)
    for hours in (1, 2, 3):
        assert run.due == START + timedelta(hours=hours)
        clock.advance(3600)
        run = await process(alone(body), store, clock=clock)
    assert run.outcome() == {"x": 1}
    assert set(passed) == {1, 2, 3}


async def test_a_question_beside_a_wait_and_a_wait_beside_a_question() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found: dict[str, Any] = {}

        async def question() -> None:
            found["said"] = await ctx.suspend("k")

        async with anyio.create_task_group() as group:
            group.start_soon(question)
            group.start_soon(ctx.wait_until, START + timedelta(hours=1))
        return {"x": found}

    for first in ("answer", "time"):
        store, clock = MemoryStore(), FixedClock(START)
        run = await process(alone(body), store, clock=clock)
        (request,) = run.requests
        assert run.due == START + timedelta(hours=1)
        async with Engine(alone(body), store=store, clock=clock) as engine:
            if first == "answer":
                with pytest.raises(RunSuspended) as caught:
                    await engine.resume("r", "yes")
                assert (caught.value.requests, caught.value.due) == ((), run.due)
                clock.advance(3600)
                runs = await engine.recover()
                assert runs["r"].outcome() == {"x": {"said": "yes"}}
            else:
                clock.advance(3600)
                runs = await engine.recover()
                assert (runs["r"].requests, runs["r"].due) == ((request,), None)
                assert await engine.resume("r", "yes") == {"x": {"said": "yes"}}


async def test_a_question_may_be_left_unanswered_until_a_time() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        answer = await ctx.suspend("k", timeout=3600, default="nobody")
        return {"x": [answer, await ctx.once("then", lambda: "done")]}

    store, clock = MemoryStore(), FixedClock(START)
    run = await process(alone(body), store, clock=clock)
    (request,) = run.requests
    assert run.due == START + timedelta(hours=1)
    clock.advance(3600)
    # Dies right after what it did without an answer: one that comes now is too late.
    await process(alone(body), CrashingStore(store, 2, before=False), clock=clock)
    async with Engine(alone(body), store=store, clock=clock) as engine:
        from agentflow import ResumeConflict

        with pytest.raises(ResumeConflict):
            await engine.resume("r", {request.id: "me"})
        assert await engine.run(run_id="r") == {"x": ["nobody", "done"]}


async def test_a_question_whose_process_died_before_it_was_asked_gets_all_of_its_time() -> None:
    """Its time would have run out while nobody was there, and it would have answered itself without anybody's having seen it."""

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("prepare", lambda: "done")
        return {"x": await ctx.suspend("k", timeout=3600, default="nobody")}

    store, clock = MemoryStore(), FixedClock(START)
    # Started, prepared; the third write would be the question.
    await process(alone(body), CrashingStore(store, 3, before=True), clock=clock)
    clock.advance(100_000)
    runs = await recovered(alone(body), store, clock)
    (request,) = runs["r"].requests
    assert request.due == runs["r"].due == clock.now() + timedelta(hours=1)
    async with Engine(alone(body), store=store, clock=clock) as engine:
        assert await engine.resume("r", "me") == {"x": "me"}


async def test_an_answer_in_time_counts_although_the_run_goes_on_later() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.suspend("k", timeout=3600, default="nobody")}

    store, clock = MemoryStore(), FixedClock(START)
    await process(alone(body), store, clock=clock)
    async with Engine(
        alone(body), store=CrashingStore(store, 2, before=True), clock=clock
    ) as engine:
        async with engine.reopen("r", "me") as run:
            await run.settled()
        assert run.status == "interrupted"
    clock.advance(10_000)
    run = await process(alone(body), store, clock=clock)
    assert run.outcome() == {"x": "me"}


async def test_the_nodes_that_wait_and_ask() -> None:
    workflow = define_workflow(
        "w",
        nodes=[
            wait(
                "pause",
                seconds=lambda state: state["n"] * 60,
                requires=["n"],
                routes=[route.to("day")],
            ),
            wait("day", until=START + timedelta(days=1), routes=[route.to("who")]),
            ask(
                "who",
                prompt=lambda state: {"n": state["n"]},
                requires=["n"],
                answer="name",
                schema=str,
                timeout=60,
                default="nobody",
                routes=[route.deliver("name")],
            ),
        ],
        inputs=["n"],
    )
    for answer in ("ada", None):
        store, clock = MemoryStore(), FixedClock(START)
        run = await process(workflow, store, {"n": 2}, clock=clock)
        assert run.due == START + timedelta(minutes=2)
        for due in (START + timedelta(days=1), START + timedelta(days=1, minutes=1)):
            assert run.due is not None
            clock.advance((run.due - clock.now()).total_seconds())
            run = await process(workflow, store, clock=clock)
            assert run.due == due
        (request,) = run.requests
        assert request.payload == {"n": 2}
        async with Engine(workflow, store=store, clock=clock) as engine:
            if answer is None:
                clock.advance(60)
                assert await engine.run(run_id="r") == "nobody"
            else:
                assert await engine.resume("r", answer) == "ada"


async def test_the_time_of_a_suspension_spends_nothing_of_the_seconds() -> None:
    clock, store = FixedClock(START), MemoryStore()
    budget = Budget(seconds=10)
    run = await process(alone(waiting), store, clock=clock, budget=budget)
    assert run.status == "suspended"
    clock.advance(1_000_000)
    run = await process(alone(waiting), store, clock=clock, budget=budget)
    assert run.status == "completed"
    assert run.ledger.used("seconds") == 0


async def test_a_retry_goes_on_with_the_wait_of_its_visit() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait(3600)
        if ctx.attempt == 1:
            raise OSError("not yet")
        return {"x": ctx.attempt}

    store, clock = MemoryStore(), FixedClock(START)
    await process(alone(body, retry=Retry(2)), store, clock=clock)
    clock.advance(3600)
    run = await process(alone(body, retry=Retry(2)), store, clock=clock)
    assert run.outcome() == {"x": 2}


async def test_waits_of_one_visit_are_told_apart_by_their_keys() -> None:
    @node(provides=["x"], routes=[route.deliver("x")])
    async def twice(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait(60, key="first")
        await ctx.wait(60, key="second")
        return {"x": ctx.run.clock.now().isoformat()}

    workflow = define_workflow("w", nodes=[twice])
    store, clock = MemoryStore(), FixedClock(START)
    for minutes in (1, 2):
        run = await process(workflow, store, clock=clock)
        assert run.due == START + timedelta(minutes=minutes)
        clock.advance(60)
    assert (await process(workflow, store, clock=clock)).outcome() == "2030-01-01T00:02:00+00:00"


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_waits_without_a_name_follow_each_other_through_restarts(before: bool) -> None:
    """Each is a wait of its own, whichever write the process dies at."""

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        for _ in range(3):
            await ctx.wait(60)
        return {"x": ctx.run.clock.now()}

    for at in range(1, 12):
        store, clock = MemoryStore(), FixedClock(START)
        await process(alone(body), CrashingStore(store, at, before=before), clock=clock)
        lives = 0
        while (run := await process(alone(body), store, clock=clock)).status == "suspended":
            lives += 1
            clock.advance(60)
        assert run.outcome() == {"x": START + timedelta(minutes=3)}
        assert lives <= 3


async def test_a_retry_goes_on_with_the_second_wait_of_its_visit() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.wait(60)
        if ctx.attempt == 1:
            raise OSError("not yet")
        await ctx.wait(60)
        return {"x": ctx.run.clock.now()}

    store, clock = MemoryStore(), FixedClock(START)
    while (run := await process(alone(body, retry=Retry(2)), store, clock=clock)).due:
        clock.advance(60)
    assert run.outcome() == {"x": START + timedelta(minutes=2)}


@pytest.mark.parametrize("durable", [True, False], ids=["durable", "not durable"])
async def test_waits_of_several_tasks_have_names(durable: bool) -> None:
    """Which task comes first is chance, so a number would be given to another wait after a restart."""

    def body(keys: list[str | None]) -> Any:
        async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
            async def pause(key: str | None) -> None:
                await ctx.wait(60, key=key)

            async with anyio.create_task_group() as group:
                for key in keys:
                    group.start_soon(pause, key)
            return {"x": 1}

        return alone(body)

    store = MemoryStore() if durable else None
    choices: list[list[str | None]] = [[None, None], [None, "b"], ["a", "b"]]
    for number, keys in enumerate(choices):
        workflow, clock = body(keys), FixedClock(START)
        run = await process(workflow, store, clock=clock, run_id=f"r{number}")
        clock.advance(60)
        if keys == [None, None]:
            told = r"node 'only' waits in several tasks: .* name each of them, as in ctx\.wait\(60, key='first'\)"
            with pytest.raises(ContractError, match=told):
                run.outcome()
        else:
            run = await process(workflow, store, clock=clock, run_id=f"r{number}")
            assert run.outcome() == {"x": 1}


async def test_two_questions_under_one_key_have_times_of_their_own() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        first = await ctx.suspend("k", "first?", timeout=60, default="late")
        second = await ctx.suspend("k", "second?", timeout=60, default="late")
        return {"x": [first, second, ctx.run.clock.now()]}

    store, clock = MemoryStore(), FixedClock(START)
    while (run := await process(alone(body), store, clock=clock)).due:
        clock.advance(60)
    assert run.outcome() == {"x": ["late", "late", START + timedelta(minutes=2)]}


async def test_a_question_keeps_its_time_in_a_fork() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.suspend("k", "well?", timeout=60, default="late")}

    store, clock = MemoryStore(), FixedClock(START)
    run = await process(alone(body), store, clock=clock)
    clock.advance(30)
    async with Engine(alone(body), store=store, clock=clock) as engine:
        last = (await engine.history("r"))[-1].number
        async with await engine.fork("r", at=last) as fork:
            await fork.settled()
        assert fork.due == run.due
        assert fork.requests[0].id != run.requests[0].id


async def test_an_effect_under_the_key_of_a_wait_is_not_taken_for_it() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("wait.1", lambda: START)
        await ctx.wait(60)
        return {"x": 1}

    run = await process(alone(body), MemoryStore(), clock=FixedClock(START))
    with pytest.raises(Divergence, match=r"wait\.1"):
        run.outcome()
