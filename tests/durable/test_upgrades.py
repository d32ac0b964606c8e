"""Stored runs meet a newer definition: those that fit go on, others are refused before anything runs, or are migrated once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

import pytest

from agentflow import (
    Engine,
    IncompatibleRun,
    Migration,
    NodeContext,
    Reducer,
    RunSuspended,
    Workflow,
    add,
    append,
    ask,
    define_workflow,
    node,
    route,
    subflow,
    wait,
)
from agentflow.run import journal
from agentflow.run.fitting import misfit
from agentflow.run.replay import replay
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock
from tests.durable.crashing import CrashingStore, process


def longest(current: str | None, piece: str) -> str:
    return max(current or "", piece, key=len)


Longest = Reducer(None, longest, "longest")


class State(TypedDict):
    n: int
    size: NotRequired[int]
    log: NotRequired[Annotated[list[str], append]]
    sum: NotRequired[Annotated[int, add]]
    word: NotRequired[Annotated[str, Longest]]
    ok: NotRequired[bool]
    out: NotRequired[str]


DONE: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    DONE.clear()


def begin(**options: Any) -> Any:
    async def begin(state: Any, ctx: NodeContext) -> dict[str, Any]:
        DONE.append("begin")
        return {"size": 3, "log": ["begun"], "sum": 2, "word": "one"}

    provides = ["size", "log", "sum", "word"]
    settings: dict[str, Any] = {"provides": provides, "routes": [route.to("act")]}
    return node(begin, **(settings | options))


def act(id: str = "act", **options: Any) -> Any:
    async def act(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("pay", lambda: DONE.append("pay"))
        ok = await ctx.suspend("ok?", {"size": state["size"]}, schema=bool)
        return {"ok": ok, "log": ["acted"], "sum": 5, "word": "three"}

    settings: dict[str, Any] = {
        "requires": ["size"],
        "provides": ["ok", "log", "sum", "word"],
        "routes": [route.to("end")],
    }
    return node(act, id=id, **(settings | options))


def end(**options: Any) -> Any:
    async def end(state: Any) -> dict[str, Any]:
        return {"out": f"{state['log']} {state['sum']} {state['word']}"}

    settings: dict[str, Any] = {
        "requires": ["log", "sum", "word"],
        "provides": ["out"],
        "routes": [route.deliver("out")],
    }
    return node(end, **(settings | options))


def flow(*nodes: Any, **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {"state": State, "inputs": ["n"]}
    return define_workflow("flow", nodes=nodes or (begin(), act(), end()), **(settings | options))


OUT = "['begun', 'acted'] 7 three"


async def suspended() -> MemoryStore:
    """A run of the old definition that has acted, and waits for an answer."""
    store = MemoryStore()
    run = await process(flow(), store, {"n": 1})
    assert (run.status, DONE) == ("suspended", ["begin", "pay"])
    return store


async def kinds(store: MemoryStore) -> list[str]:
    return [entry.kind for entry in await store.read("r", after=0)]


async def refused(workflow: Workflow[Any], store: MemoryStore, said: str) -> None:
    """Opening is refused, and leaves everything as it was."""
    (info,) = await store.find()
    before, done = await store.read("r", after=0), list(DONE)
    async with Engine(workflow, store=store) as engine:
        with pytest.raises(IncompatibleRun, match=said):
            await engine.resume("r", True)
    (after,) = await store.find()
    assert (after.status, after.due, after.last) == (info.status, info.due, info.last)
    assert (await store.read("r", after=0), DONE) == (before, done)


@pytest.mark.case("P059")
async def test_a_run_that_fits_goes_on_and_says_so_once() -> None:
    store = await suspended()
    newer = flow(begin(), act(), end(requires=["log", "sum"]))
    async with Engine(newer, store=store) as engine:
        assert await engine.resume("r", True) == OUT
    resumed = [entry for entry in await store.read("r", after=0) if entry.kind == "resumed"]
    assert f'"fingerprint":"{newer.fingerprint}"' in resumed[0].body
    assert DONE == ["begin", "pay"]


class Other(TypedDict):
    n: int
    size: NotRequired[str]
    log: NotRequired[Annotated[list[str], append]]
    sum: NotRequired[Annotated[int, add]]
    word: NotRequired[Annotated[str, Longest]]
    ok: NotRequired[bool]
    out: NotRequired[str]
    more: NotRequired[int]


class Unjoined(TypedDict):
    n: int
    size: NotRequired[int]
    log: NotRequired[list[str]]
    sum: NotRequired[Annotated[int, add]]
    word: NotRequired[Annotated[str, Longest]]
    ok: NotRequired[bool]
    out: NotRequired[str]


BREAKING: dict[str, tuple[Any, str]] = {
    "the node that it rests in is gone": (
        lambda: flow(begin(routes=[route.to("end")]), end()),
        "led to node 'act'; today it leads to node 'end'",
    ),
    "a field has another type": (
        lambda: flow(state=Other),
        "the stored value of field 'size' is none of its type any more",
    ),
    "a field is joined otherwise": (
        lambda: flow(state=Unjoined),
        "the reducer of field 'log' was append, and is None",
    ),
    "a field is missing further on": (
        lambda: flow(
            begin(provides=["size", "log", "sum", "word", "more"]),
            act(),
            end(requires=["log", "more"]),
            state=Grown,
        ),
        "from node act it would come to node end without the field 'more'",
    ),
    "another node is at its place": (
        lambda: flow(
            act(routes=[route.to("begin")]),
            begin(routes=[route.to("end")]),
            end(),
            inputs=["n", "size"],
        ),
        "lacks the field 'size'",
    ),
}


class Grown(State):
    more: NotRequired[int]


@pytest.mark.case("P059")
@pytest.mark.parametrize(("change", "said"), BREAKING.values(), ids=BREAKING.keys())
async def test_a_run_that_does_not_fit_is_refused_before_anything_runs(
    change: Any, said: str
) -> None:
    await refused(change(), await suspended(), said)


def asking(**options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {
        "prompt": lambda state: f"{state['n']} of them?",
        "answer": "ok",
        "schema": bool,
        "routes": [route.deliver("ok")],
    }
    return flow(ask("act", **(settings | options)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": bool | None}, "node act: the schema of its open question has changed"),
        ({"prompt": "how many?"}, "node act: the prompt of its open question has changed"),
    ],
)
async def test_an_open_question_that_has_changed_is_told(change: Any, said: str) -> None:
    store = MemoryStore()
    await process(asking(), store, {"n": 1})
    (info,) = await store.find()
    entries = await store.read("r")
    same = asking(prompt=lambda state: f"{state['n']} of them?", description="Other words.")
    assert await misfit(same, info, entries) is None
    await refused(asking(**change), store, said)


@pytest.mark.parametrize("inside", ["work", "later"])
async def test_a_workflow_inside_must_leave_what_is_taken_of_it(inside: str) -> None:
    def nested(*, taken: str) -> Workflow[Any]:
        async def work(state: Any, ctx: NodeContext) -> dict[str, Any]:
            return {"ok": await ctx.suspend("ok?") if inside == "work" else True}

        @node(provides=["out"], routes=[route.deliver("ok")])
        async def later(state: Any, ctx: NodeContext) -> dict[str, Any]:
            return {"out": await ctx.suspend("out?") if inside == "later" else "out"}

        given = ["ok", "size"] if taken == "size" else ["ok"]
        first = node(work, provides=given, routes=[route.to("later")])
        held = define_workflow("held", nodes=[first, later], state=State, inputs=["n"])
        outputs = {"size" if taken == "size" else "ok": taken}
        sub = subflow("sub", held, inputs={"n": "n"}, outputs=outputs, routes=[route.deliver("n")])
        return flow(sub)

    store = MemoryStore()
    await process(nested(taken="ok"), store, {"n": 1})
    (info,) = await store.find()
    reason = await misfit(nested(taken="size"), info, await store.read("r"))
    if inside == "work":
        # It has not given anything yet, and will give what today's node gives.
        assert reason is None
    else:
        assert (
            reason == "from node sub/later it would come to node sub/later without the field 'size'"
        )


# Migrations.


class New(TypedDict):
    count: int
    label: str
    log: NotRequired[Annotated[list[str], append]]
    sum: NotRequired[Annotated[int, add]]
    word: NotRequired[Annotated[str, Longest]]
    ok: NotRequired[bool]
    out: NotRequired[str]


CHANGES: list[dict[str, Any]] = []


def take_over(state: dict[str, Any]) -> Mapping[str, Any]:
    CHANGES.append(dict(state))
    kept: dict[str, Any] = {name: state[name] for name in ("log", "sum", "word") if name in state}
    return {**kept, "count": state["n"], "label": f"size {state['size']}", "size": state["size"]}


class Renamed(New):
    size: NotRequired[int]


def newer(change: Any = take_over, **options: Any) -> Workflow[Any]:
    settings: dict[str, Any] = {
        "state": Renamed,
        "inputs": ["count", "label"],
        "version": "2",
        "migrations": {"1": Migration(change, {"act": "approve"})},
    }
    nodes = (
        begin(routes=[route.to("approve")]),
        act("approve"),
        end(requires=["log", "sum", "word", "label"]),
    )
    return flow(*nodes, **(settings | options))


async def test_a_migration_takes_a_run_over_once_with_its_answer_and_its_effects() -> None:
    store = await suspended()
    CHANGES.clear()
    async with Engine(newer(), store=store) as engine:
        assert await engine.resume("r", True) == OUT
        ended = await engine.state_at("r", (await engine.runs())[0].last)
        assert ended["label"] == "size 3"
        before = await kinds(store)
        assert await engine.run(run_id="r") == OUT
    assert CHANGES == [{"n": 1, "size": 3, "log": ["begun"], "sum": 2, "word": "one"}]
    assert DONE == ["begin", "pay"]
    assert before == [
        *("started", "visit", "effect", "suspended", "resumed", "answered"),
        *("migrated", "visit", "visit", "ended"),
    ]


@pytest.mark.parametrize("snapshots", [False, True])
async def test_a_migrated_run_goes_on_after_every_crash_and_is_not_migrated_again(
    snapshots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if snapshots:
        monkeypatch.setattr(journal, "_LEAST_WEIGHT", 0)
    for at in range(1, 8):
        for before in (True, False):
            DONE.clear()
            store = await suspended()
            CHANGES.clear()
            dying = CrashingStore(store, at, before=before)
            async with Engine(newer(), store=dying) as engine, engine.reopen("r", True) as run:
                await run.settled()
            async with Engine(newer(), store=store) as engine:
                (info,) = await engine.runs()
                again = engine.reopen("r", True) if info.status == "suspended" else None
                if again is None:
                    try:
                        assert await engine.run(run_id="r") == OUT
                    except RunSuspended:
                        assert await engine.resume("r", True) == OUT
                else:
                    async with again as run:
                        assert await run.result() == OUT
            assert (await kinds(store)).count("migrated") == 1
            assert DONE == ["begin", "pay"]


async def test_a_migrated_run_can_be_forked_and_replayed() -> None:
    store = await suspended()
    async with Engine(newer(), store=store) as engine:
        await engine.resume("r", True)
        (info,) = await engine.runs()
        entries = await store.read("r", after=0)
        at = next(entry.number for entry in entries if entry.kind == "migrated")
        async with await engine.fork("r", at=at, new_id="f") as run:
            assert await run.result() == OUT
        assert (await replay(Engine(newer()), info, entries)).same
    assert DONE == ["begin", "pay"]


def failing(state: dict[str, Any]) -> Mapping[str, Any]:
    return {"label": state["gone"]}


FAILING: dict[str, tuple[Any, str]] = {
    "raises": (failing, "the migration from version '1' failed: KeyError: 'gone'"),
    "gives nothing": (lambda state: None, "returned NoneType; return a mapping of field to value"),
    "gives an unknown field": (
        lambda state: {**take_over(state), "other": 1},
        "gives the field 'other', which the state does not have",
    ),
    "gives a wrong value": (
        lambda state: {**take_over(state), "label": 3},
        "the migration from version '1', field 'label'",
    ),
    "leaves out what is needed": (
        lambda state: {"count": 1, "log": [], "sum": 1, "word": ""},
        "without the field 'size'; change the migration",
    ),
}


@pytest.mark.parametrize(("change", "said"), FAILING.values(), ids=FAILING.keys())
async def test_a_migration_that_fails_leaves_the_run_as_it_was(change: Any, said: str) -> None:
    await refused(newer(change), await suspended(), said)


async def test_a_node_that_is_gone_and_not_renamed_is_named() -> None:
    unnamed = newer(migrations={"1": take_over})
    await refused(unnamed, await suspended(), "the run rests before node 'act'.*nodes={'act'")


async def test_a_custom_reducer_must_stay_on_its_field() -> None:
    class Replaced(TypedDict):
        count: int
        label: str
        size: NotRequired[int]
        log: NotRequired[Annotated[list[str], append]]
        sum: NotRequired[Annotated[int, add]]
        word: NotRequired[str]
        ok: NotRequired[bool]
        out: NotRequired[str]

    said = "field 'word' was joined by tests.durable.test_upgrades:longest"
    await refused(newer(state=Replaced), await suspended(), said)


async def test_a_migration_of_another_version_is_none() -> None:
    other = newer(migrations={"0": take_over})
    await refused(other, await suspended(), r"migrations=\{'1': …\}")


async def test_a_run_that_waits_for_a_time_is_left_waiting_when_it_does_not_fit() -> None:
    def waiting(id: str) -> Workflow[Any]:
        return flow(wait(id, seconds=3600, routes=[route.deliver("n")]))

    store, clock = MemoryStore(), FixedClock()
    await process(waiting("rest"), store, {"n": 1}, clock=clock)
    (before,) = await store.find()
    assert before.due is not None
    clock.advance(3601)
    async with Engine(waiting("sleep"), store=store, clock=clock) as engine:
        with pytest.raises(IncompatibleRun, match="in the middle of node 'rest'"):
            await engine.run(run_id="r")
    (after,) = await store.find()
    assert (after.status, after.due) == ("suspended", before.due)


async def test_a_limit_of_rounds_that_was_reached_and_is_another_now_is_named() -> None:
    async def again(state: Any) -> dict[str, Any]:
        return {"n": 3}

    async def closing(state: Any) -> dict[str, Any]:
        return {"size": 3}

    def limited(rounds: int) -> Workflow[Any]:
        return flow(
            node(again, provides=["n"], starts_round=True, routes=[route.to("again")]),
            node(closing, provides=["size"], routes=[route.to("act")]),
            act(routes=[route.deliver("ok")]),
            on_limit="closing",
            max_rounds=rounds,
        )

    store = MemoryStore()
    assert (await process(limited(2), store, {"n": 1})).status == "suspended"
    told = (
        "visits node 'closing' where the definition of today visits 'again': workflow 'flow' has max_rounds=3, .*; "
        "when its rounds ran out, it had max_rounds=2"
    )
    await refused(limited(3), store, told)
    async with Engine(limited(2), store=store) as engine:
        assert await engine.resume("r", True) is True
