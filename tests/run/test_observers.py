"""Observers: a side channel. Whatever they do, the result stays the same."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
import structlog
from anyio import wait_all_tasks_blocked

from agentflow import Engine, Fact, RunCancelled
from agentflow.run import facts as facts_module
from tests.run.watching import Recorder
from tests.run.workflows import alone, line, nothing


async def give(state: Any) -> Any:
    return {"x": "content"}


@pytest.mark.rule("R330")
@pytest.mark.parametrize("place", ["engine", "run", "both"])
async def test_observers_of_the_engine_and_of_the_run_get_the_facts(place: str) -> None:
    seen = Recorder()
    engine = Engine(alone(give), observers=[seen] if place != "run" else [])
    await engine.run(observers=[seen] if place != "engine" else [])
    times = 2 if place == "both" else 1
    assert seen.kinds.count("node.started") == times
    assert seen.kinds.count("node.committed") == times


@pytest.mark.rule("R331")
async def test_metadata_is_observed_with_nothing_else_configured() -> None:
    kinds: list[str] = []

    def observe(fact: Fact) -> None:
        kinds.append(fact.kind)

    await alone(give).run(observers=[observe])
    assert kinds[0] == "run.started"
    assert kinds[-1] == "run.completed"


@pytest.mark.rule("R332", "R366")
async def test_an_observer_gets_the_kinds_that_it_accepts_and_no_others() -> None:
    seen = Recorder(kinds={"node.committed", "run.completed"})
    asked: list[tuple[str, bool]] = []

    class Picky(Recorder):
        def accepts(self, kind: str, content: bool) -> bool:
            asked.append((kind, content))
            return False

    picky = Picky()
    await alone(give).run(observers=[seen, picky])
    assert seen.kinds == ["node.committed", "run.completed"]
    assert picky.facts == []
    assert len(asked) == len(set(asked))


async def test_content_that_is_accepted_is_a_copy() -> None:
    seen = Recorder(content={"node.progress"})
    payload = {"steps": [1]}

    async def body(state: Any, ctx: Any) -> Any:
        ctx.report(payload=payload)
        return {"x": payload}

    def spoil(fact: Fact) -> None:
        fact.content["payload"]["steps"].append("spoilt")

    class Spoiler(Recorder):
        def event(self, fact: Fact) -> None:
            if fact.content is not None:
                spoil(fact)

    result = await alone(body).run(observers=[Spoiler(content={"node.progress"}), seen])
    assert result == {"x": {"steps": [1]}}
    assert seen.of("node.progress")[0].content == {"payload": {"steps": [1]}}
    assert payload == {"steps": [1]}


def broken(fact: Fact) -> None:
    raise LookupError("the observer is broken")


async def broken_later(fact: Fact) -> None:
    raise LookupError("the observer is broken")


class BrokenAnswer(Recorder):
    def accepts(self, kind: str, content: bool) -> bool:
        raise LookupError("the observer is broken")


class LateAnswer(Recorder):
    async def accepts(self, kind: str, content: bool) -> bool:  # type: ignore[override]
        return True


@pytest.mark.rule("R341")
@pytest.mark.parametrize(
    "observer", [broken, broken_later, BrokenAnswer(), LateAnswer()], ids=lambda one: str(one)[:30]
)
async def test_a_failing_observer_changes_nothing_and_is_counted(observer: Any) -> None:
    seen = Recorder()
    with structlog.testing.capture_logs() as logs:
        async with Engine(alone(give), observers=[observer, seen]).start() as run:
            assert await run.result() == {"x": "content"}
            assert run.status == "completed"
            assert run.bus is not None
            failures = run.bus.failures
    failed = seen.of("observer.failed")
    story = [fact.kind for fact in seen.facts if fact.kind != "observer.failed"]
    assert story[0] == "run.started"
    assert story[-1] == "run.completed"
    told = dict(failed[0].data)
    assert told.pop("error") in ("LookupError", "TypeError")
    assert "broken" in told["message"] or "must be synchronous" in told["message"]
    counts = [fact.data["failures"] for fact in failed]
    assert counts == sorted(set(counts))
    assert failures >= len(story) - 1
    assert logs[0]["event"] == "observer failed"
    if isinstance(observer, Recorder):
        assert observer.facts == []


async def test_an_observer_that_fails_is_told_of_once_a_fact_and_not_to_itself() -> None:
    told: list[str] = []

    def fail(fact: Fact) -> None:
        told.append(fact.kind)
        raise LookupError("the observer is broken")

    seen = Recorder(kinds={"node.started", "observer.failed"})
    with structlog.testing.capture_logs() as logs:
        await alone(give).run(observers=[fail, seen])
    assert "observer.failed" not in told
    assert [log["kind"] for log in logs] == told
    assert len(seen.of("observer.failed")) == len(told)


@pytest.mark.rule("R341")
async def test_the_failure_of_one_observer_does_not_overtake_the_fact_for_the_next() -> None:
    seen = Recorder()
    with structlog.testing.capture_logs():
        await alone(give).run(observers=[broken, seen])
    assert [fact.seq for fact in seen.facts] == list(range(1, len(seen.facts) + 1))


async def test_an_async_observer_is_awaited_in_order_and_to_the_end() -> None:
    taken: list[int] = []

    async def slow(fact: Fact) -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        taken.append(fact.seq)

    await line(give, nothing).run(observers=[slow])
    assert taken == list(range(1, 10))


async def test_a_slow_observer_does_not_hold_the_run_up() -> None:
    gate, finished = anyio.Event(), anyio.Event()

    async def wait(fact: Fact) -> None:
        await gate.wait()

    async def last(state: Any) -> None:
        finished.set()

    async with Engine(line(give, last), observers=[wait]).start() as run:
        with anyio.fail_after(10):
            await finished.wait()
        gate.set()
        await run.result()


@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize("deaf", [False, True])
async def test_a_stuck_observer_does_not_keep_the_run_from_ending(
    monkeypatch: pytest.MonkeyPatch, deaf: bool
) -> None:
    monkeypatch.setattr(facts_module, "_OBSERVER_GRACE", 0.001)
    release = anyio.Event()
    left: list[bool] = []

    async def stuck(fact: Fact) -> None:
        try:
            with anyio.CancelScope(shield=deaf):
                await release.wait()
        finally:
            left.append(True)

    async with Engine(alone(give), observers=[stuck]).start() as run:
        with anyio.fail_after(10):
            assert await run.result() == {"x": "content"}
    await wait_all_tasks_blocked()
    assert len(left) == (0 if deaf else 1)
    release.set()
    await wait_all_tasks_blocked()
    assert len(left) == 1


async def test_an_observer_may_cancel_the_run() -> None:
    engine = Engine(line(give, give), observers=[])

    def stop(fact: Fact) -> None:
        if fact.kind == "node.committed":
            engine.cancel("r", "the observer has seen enough")

    seen = Recorder()
    with pytest.raises(RunCancelled, match="the observer has seen enough"):
        await engine.run(run_id="r", observers=[stop, seen])
    assert seen.visited() == ["a"]
    assert seen.kinds[-1] == "run.cancelled"


@pytest.mark.parametrize("not_one", [5, "text", object(), None])
async def test_what_is_no_observer_is_refused(not_one: Any) -> None:
    with pytest.raises(TypeError, match="is no observer: give a function"):
        Engine(alone(give), observers=[not_one])
    with pytest.raises(TypeError, match="is no observer"):
        await Engine(alone(give)).run(observers=[not_one])


async def test_an_observer_object_without_both_methods_but_callable_is_a_plain_one() -> None:
    class Counter:
        count = 0

        def __call__(self, fact: Fact) -> None:
            self.count += 1

    counter = Counter()
    await alone(give).run(observers=[counter])
    assert counter.count == 6


@pytest.mark.rule("R341")
async def test_an_observer_whose_waiting_was_cancelled_changes_nothing() -> None:
    async def cancelled(fact: Fact) -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.sleep_forever()

    assert await alone(give).run(observers=[cancelled]) == {"x": "content"}


@pytest.mark.rule("R341")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_observer_that_raises_a_native_cancel_changes_nothing() -> None:
    def cancelled(fact: Fact) -> None:
        raise asyncio.CancelledError

    with structlog.testing.capture_logs():
        assert await alone(give).run(observers=[cancelled]) == {"x": "content"}
