"""What a long run stores, and what it costs to go on with it: in proportion to what is new."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import pytest

from agentflow import Engine, Workflow, append, define_workflow, field, node, route
from agentflow.graph.codec import decoded
from agentflow.run import journal
from agentflow.run.entries import SNAPSHOT, Claim, Entry
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process
from tests.run.workflows import unchecked


class Talk(TypedDict):
    n: int
    big: str
    turn: NotRequired[int]
    messages: NotRequired[Annotated[list[str], append]]
    notes: NotRequired[dict[str, Any]]


def talk(turns: int, *, size: int = 200) -> Workflow[Any]:
    """A loop that adds a message at each turn, beside a large field that stays as it is."""

    @node(
        requires=["n", "big"],
        provides=["turn", "messages", "big", "notes"],
        starts_round=True,
        routes=[route.to("say", field("turn") < turns), route.to("end")],
    )
    async def say(state: Talk) -> dict[str, Any]:
        turn = state.get("turn", 0) + 1
        message = f"{turn:06}".ljust(size, ".")
        # Made anew, and equal: it must not be stored again.
        return {
            "turn": turn,
            "messages": [message],
            "big": state["big"][:] + "",
            "notes": {"k": [1]},
        }

    @node(routes=[route.deliver("turn")])
    async def end(state: Talk) -> None: ...

    return define_workflow(
        "talk", nodes=[say, end], state=Talk, inputs=["n", "big"], max_rounds=turns + 1
    )


class CountingStore(CrashingStore):
    """Counts what is written, in bytes, and what is read."""

    def __init__(self, inner: MemoryStore, at: int = 0) -> None:
        super().__init__(inner, at, before=False)
        self.sizes: list[int] = []
        self.snapshots: list[int] = []
        self.read_entries = 0

    async def append(self, claim: Claim, entries: Any, **options: Any) -> None:
        for entry in entries:
            kept = self.snapshots if entry.kind == SNAPSHOT else self.sizes
            kept.append(len(entry.body.encode()))
        await super().append(claim, entries, **options)

    async def read(self, run_id: str, *, after: int | None = None) -> list[Entry]:
        found = await super().read(run_id, after=after)
        self.read_entries += len(found)
        return found


@pytest.mark.case("P056")
async def test_a_thousand_steps_store_little_more_than_what_they_add() -> None:
    store = CountingStore(MemoryStore())
    big = "x" * 80_000
    async with Engine(talk(1_000), store=store) as engine:
        assert await engine.run({"n": 1, "big": big}, run_id="r") == 1_000
    added = 1_000 * 200
    kept = sum(store.sizes) + store.snapshots[-1]
    assert kept - 2 * len(big) < 3 * added
    # All that was ever written, replaced snapshots included.
    assert (
        sum(store.sizes) + sum(store.snapshots) - (1 + len(store.snapshots)) * len(big) < 4 * added
    )
    steps = store.sizes[3:-2]
    assert max(steps) - min(steps) < 50
    assert 1 <= len(store.snapshots) < 10


async def test_a_step_costs_the_same_at_the_end_as_at_the_start() -> None:
    """Counted in calls of functions, which do not depend on the machine."""
    import sys

    calls: list[int] = []
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    class Watching(MemoryStore):
        async def append(self, claim: Claim, entries: Any, **options: Any) -> None:
            sys.setprofile(None)
            nonlocal count
            if all(entry.kind == "visit" for entry in entries):
                calls.append(count)
            await super().append(claim, entries, **options)
            count = 0
            sys.setprofile(profile)

    async with Engine(talk(600), store=Watching()) as engine:
        try:
            await engine.run({"n": 1, "big": ""}, run_id="r")
        finally:
            sys.setprofile(None)
    early, late = sorted(calls[10:110]), sorted(calls[-110:-10])
    assert late[50] <= early[50] * 1.1


async def test_a_run_is_opened_from_its_last_snapshot() -> None:
    inner = MemoryStore()
    workflow = talk(1_000)
    run = await process(workflow, CrashingStore(inner, 900, before=False), {"n": 1, "big": ""})
    assert run.status == "interrupted"
    store = CountingStore(inner)
    async with Engine(workflow, store=store) as engine:
        async with engine.start(run_id="r") as run:
            assert await run.result() == 1_000
        assert [len(text) for text in run.state["messages"]] == [200] * 1_000
        assert [int(text[:6]) for text in run.state["messages"]] == list(range(1, 1_001))
        assert run.ledger.used("visits") == 1_001
        assert run.ledger.used("rounds") == 1_000
    assert store.read_entries < 600


async def test_after_a_snapshot_the_run_still_counts_rounds_and_error_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a snapshot has to hold besides the state: an error node is entered once a round, `on_limit` once a run."""
    monkeypatch.setattr(journal, "_LEAST_WEIGHT", 0)

    @node(provides=["x"], starts_round=True, on_error="mend", routes=[route.to("again")])
    async def work(state: Any, ctx: Any) -> dict[str, Any]:
        raise ValueError(f"visit {ctx.visit}")

    @node(may_provide=["x"], routes=[route.to("work_more")])
    async def mend(state: Any) -> None: ...

    @node(provides=["x"], on_error="mend", routes=[route.to("again")])
    async def work_more(state: Any, ctx: Any) -> dict[str, Any]:
        raise ValueError(f"more {ctx.visit}")

    @node(routes=[route.to("work")])
    async def again(state: Any) -> None: ...

    workflow = unchecked("w", nodes=[work, mend, work_more, again], max_rounds=3)
    calm = await process(workflow, MemoryStore())
    assert isinstance(calm._error, ValueError)
    for at in range(1, 12):
        inner = MemoryStore()
        await process(workflow, CrashingStore(inner, at, before=False))
        async with Engine(workflow, store=inner) as engine:
            async with engine.start(run_id="r") as run:
                await run.settled()
            assert run.ledger.as_dict() | {"seconds": 0} == calm.ledger.as_dict() | {"seconds": 0}
            history = await engine.history("r")
            assert history[-1].data["message"] == "more 1"


@pytest.mark.rule("R259")
async def test_the_state_after_every_record_can_be_told() -> None:
    store = MemoryStore()
    async with Engine(talk(5, size=10), store=store) as engine:
        await engine.run({"n": 1, "big": "b"}, run_id="r")
        history = await engine.history("r")
        assert [record.kind for record in history] == ["started", *["visit"] * 6, "ended"]
        assert [record.number for record in history] == [1, 2, 3, 4, 5, 6, 7, 8]
        assert [(record.node_id, record.visit) for record in history[1:3]] == [
            ("say", 1),
            ("say", 2),
        ]
        assert decoded(history[1].data["delta"]["messages"]) == ["000001...."]
        states = [await engine.state_at("r", record.number) for record in history]
        assert dict(states[0]) == {"n": 1, "big": "b"}
        assert [len(state.get("messages", ())) for state in states] == [0, 1, 2, 3, 4, 5, 5, 5]
        # Each is a state of its own, although a list grows in place.
        assert len(states[1]["messages"]) == 1
        for number in (0, 9):
            with pytest.raises(LookupError, match=f"no number {number}"):
                await engine.state_at("r", number)
        with pytest.raises(LookupError):
            await engine.state_at("unknown", 1)
        assert await engine.history("unknown") == []


async def test_a_route_error_is_in_the_state_that_is_told() -> None:
    @node(provides=["x"], routes=[route.deliver("x", when=lambda state: False, reads=["x"])])
    async def lost(state: Any) -> dict[str, Any]:
        return {"x": 1}

    store = MemoryStore()
    workflow = define_workflow("w", nodes=[lost])
    run = await process(workflow, store)
    assert run.status == "failed"
    async with Engine(workflow, store=store) as engine:
        history = await engine.history("r")
        assert [record.kind for record in history] == ["started", "visit", "ended"]
        assert history[1].data["route"] is None
        assert "no route matches" in history[1].data["error"]
        assert dict(await engine.state_at("r", 2)) == {"x": 1}
