"""Facts: metadata of what happened, numbered and placed, in order, while it happens."""

from __future__ import annotations

import dataclasses
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentflow import Engine, Fact, Retry, node, route, subflow
from agentflow.run.facts import FACT_KINDS
from tests.run.clock import HandClock
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, nothing, unchecked


async def give(state: Any) -> Any:
    return {"x": "secret"}


async def fail(state: Any) -> Any:
    raise OSError("no answer")


async def facts_of(workflow: Any, **options: Any) -> list[Fact]:
    """What the reader of a started run gets to see."""
    async with Engine(workflow, **options).start(run_id="r") as run:
        return [fact async for fact in run.facts()]


@pytest.mark.rule("R333")
async def test_every_fact_says_where_it_belongs() -> None:
    clock = HandClock()
    workflow = unchecked(
        "outer",
        nodes=[
            subflow("sub", alone(give, retry=Retry(2)), routes=[route.to("b")]),
            node(fail, id="b", on_error="c", routes=[END]),
            node(nothing, id="c", routes=[END]),
        ],
        version="7",
    )
    facts = await facts_of(workflow, clock=clock)
    assert [fact.seq for fact in facts] == list(range(1, len(facts) + 1))
    assert {fact.time for fact in facts} == {clock.now()}
    for fact in facts:
        assert fact.kind in FACT_KINDS
        below = fact.run_id != "r"
        assert (fact.workflow_id, fact.workflow_version) == (
            ("alone", "1") if below else ("outer", "7")
        )
        assert fact.parent_run_id == ("r" if below else None)
        assert fact.run_id == ("r/sub#1" if below else "r")
        if fact.kind.startswith(("node.", "route.")):
            assert fact.node_id is not None
            assert fact.visit == 1
        if fact.kind == "node.started":
            assert fact.attempt == 1
        if not fact.kind.startswith("run."):
            assert fact.round == 1


async def test_facts_tell_the_whole_story_in_order() -> None:
    async def fail_once(state: Any, ctx: Any) -> Any:
        if ctx.attempt == 1:
            raise OSError("no answer")
        return {"x": 1}

    workflow = unchecked(
        "w",
        nodes=[
            node(fail_once, id="a", may_provide=["x"], retry=Retry(2), routes=[route.to("b")]),
            node(fail, id="b", on_error="c", routes=[END]),
            node(nothing, id="c", routes=[END]),
        ],
    )
    told = [(fact.kind, fact.node_id) for fact in await facts_of(workflow)]
    assert told == [
        ("run.started", None),
        ("round.started", None),
        ("node.started", "a"),
        ("node.retried", "a"),
        ("node.started", "a"),
        ("node.committed", "a"),
        ("route.taken", "a"),
        ("node.started", "b"),
        ("node.failed", "b"),
        ("node.started", "c"),
        ("node.committed", "c"),
        ("route.taken", "c"),
        ("run.completed", None),
    ]


@pytest.mark.rule("R240")
async def test_content_is_there_for_those_alone_who_asked_for_it() -> None:
    plain = Recorder()
    curious = Recorder(content={"node.committed", "run.completed"})
    async with Engine(alone(give), observers=[plain, curious]).start() as run:
        read = [fact async for fact in run.facts()]
    assert "secret" not in repr(plain.facts)
    assert "secret" not in repr(read)
    with_content = {fact.kind: fact.content for fact in curious.facts if fact.content is not None}
    assert with_content == {"node.committed": {"x": "secret"}, "run.completed": {"x": "secret"}}


@pytest.mark.rule("R348")
async def test_facts_carry_no_account_or_message_of_anybody() -> None:
    seen = Recorder()
    engine = Engine(alone(give), observers=[seen])
    await engine.run(
        identity={"user": "user-4711"}, context={"thread": "thread-4711"}, deps={"db": "pool-4711"}
    )
    names = {name for fact in seen.facts for name in (*dataclasses.asdict(fact), *fact.data)}
    assert not [name for name in names if "user" in name or "account" in name or "message" in name]
    assert not [
        mark for mark in ("user-4711", "thread-4711", "pool-4711") if mark in repr(seen.facts)
    ]


async def test_a_fact_cannot_be_changed_by_one_observer_for_the_next() -> None:
    refused: list[Exception] = []

    def meddle(fact: Fact) -> None:
        for change in (
            lambda: fact.data.update(fields=["forged"]),  # type: ignore[attr-defined]
            lambda: setattr(fact, "kind", "forged"),
        ):
            try:
                change()
            except Exception as error:
                refused.append(error)

    seen = Recorder()
    await alone(give).run(observers=[meddle, seen])
    assert len(refused) == 2 * len(seen.facts)
    assert "forged" not in repr(seen.facts)


@pytest.mark.rule("R365")
async def test_facts_arrive_while_the_run_is_going_on() -> None:
    gate, seen = anyio.Event(), Recorder()

    async def wait(state: Any) -> None:
        await gate.wait()

    async with Engine(alone(wait), observers=[seen]).start() as run:
        reader = run.facts()
        while (await anext(reader)).kind != "node.started":
            pass
        assert seen.visited() == ["only"]
        assert run.status == "running"
        gate.set()
        await run.result()


class TestReading:
    """`run.facts()` reads along; what the reader does changes nothing for the run."""

    async def test_the_first_reader_gets_everything_from_the_beginning(self) -> None:
        async with Engine(alone(give)).start() as run:
            await run.result()
            kinds = [fact.kind async for fact in run.facts()]
        assert kinds[0] == "run.started"
        assert kinds[-1] == "run.completed"

    async def test_two_readers_get_the_same_facts(self) -> None:
        seen: dict[int, list[int]] = {1: [], 2: []}
        gate = anyio.Event()

        async def wait(state: Any) -> None:
            await gate.wait()

        async with Engine(line(wait, nothing)).start() as run:

            async def read(name: int) -> None:
                async for fact in run.facts():
                    seen[name].append(fact.seq)

            async with anyio.create_task_group() as group:
                group.start_soon(read, 1)
                await wait_all_tasks_blocked()
                group.start_soon(read, 2)
                await wait_all_tasks_blocked()
                gate.set()
        assert seen[2] == seen[1][-len(seen[2]) :]
        assert seen[1] == list(range(1, len(seen[1]) + 1))
        assert 0 < len(seen[2]) < len(seen[1])

    async def test_one_reader_may_be_shared_by_tasks(self) -> None:
        taken: list[int] = []
        gate = anyio.Event()

        async def wait(state: Any) -> None:
            await gate.wait()

        async with Engine(line(wait, nothing)).start() as run:
            reader = run.facts()

            async def read() -> None:
                async for fact in reader:
                    taken.append(fact.seq)
                    await anyio.lowlevel.checkpoint()

            with anyio.fail_after(10):
                async with anyio.create_task_group() as group:
                    group.start_soon(read)
                    group.start_soon(read)
                    await wait_all_tasks_blocked()
                    gate.set()
        assert sorted(taken) == list(range(1, len(taken) + 1))

    @pytest.mark.case("P109", "T041")
    async def test_breaking_out_only_stops_the_reading(self) -> None:
        async with Engine(line(give, nothing)).start() as run:
            async for fact in run.facts():
                if fact.kind == "node.started":
                    break
            assert await run.result() == {"x": "secret"}

    @pytest.mark.case("T041", "P109")
    async def test_a_run_that_is_only_read_may_be_cancelled_or_fail_without_a_trace(self) -> None:
        async def wait(state: Any) -> None:
            await anyio.sleep_forever()

        async with Engine(alone(wait)).start() as run:
            async for fact in run.facts():
                if fact.kind == "node.started":
                    run.cancel()
        assert fact.kind == "run.cancelled"
        assert (await facts_of(alone(fail)))[-1].kind == "run.failed"

    @pytest.mark.case("P115")
    async def test_a_run_out_of_time_ends_its_readers(self) -> None:
        clock = HandClock()

        async def wait(state: Any) -> None:
            await anyio.sleep_forever()

        kinds: list[str] = []
        async with Engine(alone(wait, timeout=5), clock=clock).start() as run:
            async for fact in run.facts():
                kinds.append(fact.kind)
                if fact.kind == "node.started":
                    await wait_all_tasks_blocked()
                    clock.move(5)
        assert kinds[-2:] == ["node.failed", "run.failed"]

    async def test_a_reader_that_is_closed_gets_no_more(self) -> None:
        gate = anyio.Event()

        async def wait(state: Any) -> None:
            await gate.wait()

        async with Engine(alone(wait)).start() as run:
            reader = run.facts()
            first = await anext(reader)
            reader.close()
            gate.set()
            await run.result()
            rest = [fact.kind async for fact in reader]
        assert first.kind == "run.started"
        assert "run.completed" not in rest

    async def test_a_wait_for_the_next_fact_that_is_cancelled_loses_none(self) -> None:
        gate = anyio.Event()

        async def wait(state: Any) -> None:
            await gate.wait()

        seqs: list[int] = []
        async with Engine(line(wait, nothing)).start() as run:
            reader = run.facts()
            await wait_all_tasks_blocked()
            while not gate.is_set():
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    seqs.append((await anext(reader)).seq)
                if scope.cancelled_caught:
                    gate.set()
            seqs += [fact.seq async for fact in reader]
        assert seqs == list(range(1, len(seqs) + 1))

    async def test_facts_of_a_run_that_has_not_begun_are_refused(self) -> None:
        run = Engine(alone(give)).start()
        with pytest.raises(RuntimeError, match="has not begun"):
            run.facts()

    async def test_facts_of_a_run_that_keeps_none_are_refused(self) -> None:
        gate = anyio.Event()

        async def wait(state: Any) -> None:
            await gate.wait()

        engine = Engine(alone(wait))
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await engine.run(run_id="r")

            group.start_soon(run)
            await wait_all_tasks_blocked()
            found = engine.get("r")
            assert found is not None
            with pytest.raises(RuntimeError, match="nobody reads this run"):
                found.facts()
            gate.set()


@pytest.mark.case("P022")
async def test_a_run_that_is_followed_fact_by_fact_takes_the_same_steps_as_one_in_one_go() -> None:
    """A reader that lets every fact settle before it asks for the next one changes nothing of what happens."""

    async def count(state: Any) -> Any:
        return {"x": state.get("x", 0) + 1}

    def loop() -> Any:
        turn = node(count, id="turn", provides=["x"], starts_round=True,
                    routes=[route.to("tell", lambda state: state["x"] < 3), END])  # fmt: skip
        tell = node(nothing, id="tell", routes=[route.to("turn")])
        return unchecked("w", nodes=[turn, tell], max_rounds=3)

    whole = Recorder()
    result = await Engine(loop(), observers=[whole]).run({}, run_id="r")

    steps: list[Fact] = []
    async with Engine(loop()).start({}, run_id="r") as run:
        async for fact in run.facts():
            steps.append(fact)
            await wait_all_tasks_blocked()
        assert await run.result() == result == {"x": 3}

    def trace(facts: list[Fact]) -> list[Any]:
        return [(fact.seq, fact.kind, fact.node_id, fact.visit, fact.round) for fact in facts]

    assert trace(steps) == trace(whole.facts)
    assert whole.visited() == ["turn", "tell", "turn", "tell", "turn"]
