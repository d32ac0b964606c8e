"""Private fields: in the state of the run and nowhere else, gone when it goes on, and there again if they are supplied."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import AfterValidator, BaseModel, Field

from agentflow import (
    ContractError,
    Engine,
    NodeContext,
    PrivateFieldMissing,
    Retry,
    RunConflict,
    RunSuspended,
    Workflow,
    append,
    ask,
    define_workflow,
    map_each,
    node,
    private,
    route,
    subflow,
)
from agentflow.run import journal
from agentflow.run.entries import Claim, Entry
from agentflow.run.replay import replay
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process

SECRET = "s3cr3t"
AGAIN = {"token": f"{SECRET} again"}
ACCEPTED = {"AF208": "whoever resumes supplies it again"}


def _short(value: str) -> str:
    if len(value) > 40:
        raise ValueError(f"{value} is too long")
    return value


class Order(TypedDict):
    order: str
    token: Annotated[str, private, AfterValidator(_short)]
    session: NotRequired[Annotated[str, private]]
    seen: NotRequired[Annotated[list[str], append, private]]
    agreed: NotRequired[bool]
    used: NotRequired[list[int]]


def order_flow(agree: Any = None, optional: Iterable[str] = ()) -> Workflow[Any]:
    """Logs in, asks, and pays; the result tells how long what it had was, and not what it was."""

    @node(requires=["token"], provides=["session", "seen"], routes=[route.to("agree")])
    async def log_in(state: Order) -> dict[str, Any]:
        return {"session": f"session for {state['token']}", "seen": [state["token"]]}

    @node(
        requires=["token", "agreed"],
        may_provide=["seen"],
        provides=["used"],
        routes=[route.deliver("used")],
    )
    async def pay(state: Order) -> dict[str, Any]:
        lengths = [len(state["token"]), len(state.get("session", "")), len(state.get("seen", ()))]
        return {"used": lengths, "seen": [state["token"]]}

    asking = ask("agree", prompt="Pay?", answer="agreed", schema=bool, routes=[route.to("pay")])
    return define_workflow(
        "order",
        nodes=[log_in, agree or asking, pay],
        state=Order,
        inputs=[name for name in ("order", "token") if name not in optional],
        optional_inputs=optional,
        waive={"AF201": "a test", "AF210": "a test", "AF212": "a test", **ACCEPTED},
    )


INPUT = {"order": "17", "token": SECRET}


class Listening:
    """An observer that keeps everything there is to see, content included."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def accepts(self, kind: str, content: bool) -> bool:
        return True

    def event(self, fact: Any) -> None:
        self.seen.append(fact)


class WatchedStore(CrashingStore):
    """Keeps the text of everything that is ever written."""

    def __init__(self, inner: MemoryStore, at: int = 0, texts: list[str] | None = None) -> None:
        super().__init__(inner, at, before=False)
        self.texts = [] if texts is None else texts

    async def append(self, claim: Claim, entries: Any, **options: Any) -> None:
        self.texts += [entry.body for entry in entries]
        await super().append(claim, entries, **options)


async def suspended(store: Any, workflow: Workflow[Any] | None = None, **options: Any) -> None:
    run = await process(workflow or order_flow(), store, INPUT, **options)
    assert run.status == "suspended"


# --- never written -----------------------------------------------------------------------------


@pytest.mark.parametrize("snapshots", [True, False], ids=["snapshots", "no snapshots"])
async def test_what_is_private_is_written_and_told_nowhere(
    snapshots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if snapshots:
        monkeypatch.setattr(journal, "_LEAST_WEIGHT", 0)
    listening = Listening()
    for at in range(1, 9):
        store = WatchedStore(MemoryStore(), at)
        await process(order_flow(), store, INPUT, observers=[listening])
        inner = WatchedStore(store.inner, 0, store.texts)
        async with Engine(order_flow(), store=inner) as engine:
            if await engine.runs("interrupted"):
                with pytest.raises(RunSuspended):
                    await engine.run(INPUT, run_id="r", observers=[listening])
            await engine.resume("r", True, private=AGAIN, observers=[listening])
            history = await engine.history("r")
            for record in history:
                state = await engine.state_at("r", record.number)
                assert state.keys() & {"token", "session", "seen"} == set()
        assert any('"order":"17"' in text for text in store.texts)
        assert not [text for text in store.texts if SECRET in text]
    assert any(fact.content == {"agreed": True} for fact in listening.seen)
    assert not [fact for fact in listening.seen if SECRET in repr(fact)]


async def _returns_what_is_no_text(state: Order) -> dict[str, Any]:
    return {"session": [state["token"]]}


async def _returns_what_is_no_list(state: Order) -> dict[str, Any]:
    return {"session": "x", "seen": {state["token"]: 1}}


async def _returns_both(state: Order) -> dict[str, Any]:
    return {"session": "x", "seen": []}


def broken(function: Any, end: Any) -> Workflow[Any]:
    only = node(function, id="only", requires=["token"], provides=["session", "seen"], routes=[end])
    return define_workflow(
        "order", nodes=[only], state=Order, inputs=["order", "token"], waive={"AF210": "a test"}
    )


END = route.finish(len)
BROKEN: dict[str, tuple[Workflow[Any], Any, str]] = {
    "an update of another type": (
        broken(_returns_what_is_no_text, END),
        INPUT,
        r"node 'only', field 'session': string_type \(the field is private\)",
    ),
    "an update of a growing field": (
        broken(_returns_what_is_no_list, END),
        INPUT,
        r"node 'only', field 'seen': list_type \(the field is private\)",
    ),
    "a condition that gives the secret": (
        broken(_returns_both, route.finish(len, lambda state: state["token"], reads=["token"])),
        INPUT,
        "the condition .* gave str; it must give True or False",
    ),
    "an input of another type": (
        order_flow(),
        {"order": "17", "token": [SECRET]},
        r"private field 'token' of workflow 'order': string_type \(the field is private\)",
    ),
    "an input that a validator of its own refuses": (
        order_flow(),
        {"order": "17", "token": SECRET * 10},
        r"private field 'token' of workflow 'order': value_error \(the field is private\)",
    ),
    "an input whose name is misspelt": (
        order_flow(),
        {"order": "17", "tokn": SECRET},
        "takes no input field 'tokn'",
    ),
    "an input that is no mapping": (order_flow(), [SECRET], "is list; give a mapping"),
}


@pytest.mark.parametrize(("workflow", "input", "told"), BROKEN.values(), ids=BROKEN.keys())
async def test_an_error_does_not_tell_what_is_private(
    workflow: Workflow[Any], input: Any, told: str
) -> None:
    store, listening = WatchedStore(MemoryStore()), Listening()
    run = await process(workflow, store, input, observers=[listening])
    with pytest.raises(ContractError, match=told) as caught:
        run.outcome()
    assert not [line for line in traceback.format_exception(caught.value) if SECRET in line]
    assert not [text for text in store.texts if SECRET in text]
    assert not [fact for fact in listening.seen if SECRET in repr(fact)]


async def test_what_is_private_need_have_no_stored_form() -> None:
    class Key:
        """A live object."""

    class State(TypedDict):
        key: Annotated[Any, private]
        found: NotRequired[bool]

    @node(requires=["key"], provides=["found"], routes=[route.deliver("found")])
    async def only(state: State) -> dict[str, Any]:
        return {"found": isinstance(state["key"], Key)}

    workflow = define_workflow("w", nodes=[only], state=State)
    assert (await process(workflow, MemoryStore(), {"key": Key()})).outcome() is True


# --- absent after a resume ---------------------------------------------------------------------


async def test_a_run_that_misses_a_private_field_stops_where_it_can_go_on() -> None:
    store = MemoryStore()
    await suspended(store)
    async with Engine(order_flow(), store=store) as engine:
        with pytest.raises(PrivateFieldMissing) as caught:
            await engine.resume("r", True)
        error = caught.value
        assert (error.run_id, error.node_id, error.field) == ("r", "pay", "token")
        assert str(error) == (
            "node 'pay' of run r needs the private field 'token', which is not recorded: "
            "supply it again, as in private={'token': …}"
        )
        assert [info.status for info in await engine.runs()] == ["interrupted"]
        # It is stopped, not failed: whoever has the token goes on with it. What it had logged in with is gone.
        assert await engine.run(run_id="r", private=AGAIN) == [len(AGAIN["token"]), 0, 0]
        assert [info.status for info in await engine.runs()] == ["completed"]


@pytest.mark.parametrize("where", ["at the node", "inside of it"])
async def test_neither_a_retry_nor_an_error_node_takes_it(where: str) -> None:
    entered: list[str] = []

    @node(routes=[route.finish(lambda state: "mended")])
    async def mend(state: Any) -> None:
        entered.append("mend")

    # An optional input is left out where its source is missing, and missed only inside.
    inner = order_flow(optional=["token"] if where == "inside of it" else [])

    class Outer(TypedDict):
        secret: Annotated[str, private]
        number: NotRequired[str]
        used: NotRequired[list[int]]

    workflow = define_workflow(
        "outer",
        nodes=[
            subflow(
                "inner",
                inner,
                inputs={"token": "secret", "order": "number"},
                outputs={"used": "$result"},
                on_error="mend",
                retry=Retry(3),
                routes=[route.deliver("used")],
            ),
            mend,
        ],
        state=Outer,
        inputs=["secret", "number"],
        waive=ACCEPTED if where == "at the node" else {"AF212": "a test"},
    )
    store = MemoryStore()
    run = await process(workflow, store, {"secret": SECRET, "number": "17"})
    assert run.status == "suspended"
    async with Engine(workflow, store=store) as engine:
        told = {
            "at the node": "node 'inner' of run r .*'secret'",
            "inside of it": "node 'pay' of run r/inner#1 .*'token'.* the field of the run that is mapped",
        }
        with pytest.raises(PrivateFieldMissing, match=told[where]):
            await engine.resume("r", True)
        # What is mapped from it is there in the sub-workflow, in the middle of which the run goes on.
        assert await engine.run(run_id="r", private={"secret": "12345"}) == [5, 0, 0]
    assert entered == []


async def test_a_field_that_nothing_needs_is_not_missed() -> None:
    @node(requires=["agreed"], routes=[route.finish(sorted)])
    async def pay(state: Order) -> None: ...

    asking = ask("agree", prompt="Pay?", answer="agreed", routes=[route.to("pay")])
    workflow = define_workflow(
        "order", nodes=[asking, pay], state=Order, inputs=["order", "token"], waive={"AF212": "x"}
    )
    store = MemoryStore()
    await suspended(store, workflow)
    async with Engine(workflow, store=store) as engine:
        assert await engine.resume("r", True) == ["agreed", "order"]


@pytest.mark.parametrize("at", [1, 2, 3])
async def test_a_crash_loses_it_as_well(at: int) -> None:
    store = MemoryStore()
    await process(order_flow(), CrashingStore(store, at, before=False), INPUT)
    async with Engine(order_flow(), store=store) as engine:
        if at == 1:
            with pytest.raises(PrivateFieldMissing, match="node 'log_in'"):
                await engine.run(run_id="r")
        with pytest.raises(RunSuspended):
            await engine.run(run_id="r", private=AGAIN)
        assert await engine.resume("r", True, private=AGAIN)


async def test_a_default_is_there_again_and_what_is_supplied_goes_before_it() -> None:
    class State(BaseModel):
        token: Annotated[str, private] = f"default {SECRET}"
        made: Annotated[str, private] = Field(default_factory=lambda: f"made {SECRET}")
        ok: bool = False

    @node(provides=["token"], routes=[route.to("who")])
    async def log_in(state: Any) -> dict[str, Any]:
        return {"token": SECRET}

    @node(requires=["token"], routes=[route.finish(lambda state: state["token"])])
    async def end(state: Any) -> None: ...

    workflow = define_workflow(
        "w",
        nodes=[log_in, ask("who", prompt="?", answer="ok", routes=[route.to("end")]), end],
        state=State,
    )
    for supplied, expected in (({"made": "x"}, f"default {SECRET}"), ({"token": "x"}, "x")):
        store = WatchedStore(MemoryStore())
        await process(subflow_of(workflow), store, run_id="outer")
        await process(workflow, store)
        assert not [text for text in store.texts if SECRET in text]
        async with Engine(workflow, store=store) as engine:
            assert await engine.resume("r", True, private=supplied) == expected


def subflow_of(workflow: Workflow[Any]) -> Workflow[Any]:
    """A workflow that does what another does."""
    inner = subflow("inner", workflow, outputs={"x": "$result"}, routes=[route.deliver("x")])
    return define_workflow("outer", nodes=[inner], inputs=[])


# --- supplied again ----------------------------------------------------------------------------


async def again_by_start(engine: Engine[Any]) -> Any:
    with pytest.raises(RunSuspended):
        await engine.run({"order": "17", **AGAIN}, run_id="r")
    return await engine.resume("r", True, private=AGAIN)


async def again_by_reopen(engine: Engine[Any]) -> Any:
    async with engine.reopen("r", True, private=AGAIN) as run:
        return await run.result()


async def again_by_input(engine: Engine[Any]) -> Any:
    with pytest.raises(PrivateFieldMissing):
        await engine.resume("r", True)
    async with engine.start({"order": "17", **AGAIN}, run_id="r") as run:
        return await run.result()


async def again_by_recover(engine: Engine[Any]) -> Any:
    with pytest.raises(PrivateFieldMissing):
        await engine.resume("r", True)
    return (await engine.recover(private=lambda run_id: {"r": AGAIN}[run_id]))["r"].outcome()


@pytest.mark.parametrize("way", [again_by_start, again_by_reopen, again_by_input, again_by_recover])
async def test_whoever_goes_on_with_a_run_may_supply_it_again(
    way: Callable[[Engine[Any]], Any],
) -> None:
    store = WatchedStore(MemoryStore())
    await suspended(store)
    async with Engine(order_flow(), store=store) as engine:
        assert (await way(engine))[0] == len(AGAIN["token"])
    assert not [text for text in store.texts if SECRET in text]


async def test_a_field_that_a_node_had_provided_may_be_supplied_too() -> None:
    store = MemoryStore()
    await suspended(store)
    supplied = {"token": "abc", "session": "12345", "seen": ["x"]}
    async with Engine(order_flow(), store=store) as engine:
        assert await engine.resume("r", True, private=supplied) == [3, 5, 1]


async def test_another_secret_is_no_other_input_and_another_order_is_one() -> None:
    store = MemoryStore()
    await suspended(store)
    for input in (INPUT, {"order": "17", "token": "other"}, {"order": "17"}, None):
        async with Engine(order_flow(), store=store) as engine:
            with pytest.raises(RunSuspended):
                await engine.run(input, run_id="r", private=AGAIN)
    async with Engine(order_flow(), store=store) as engine:
        with pytest.raises(RunConflict):
            await engine.run({**INPUT, "order": "18"}, run_id="r")


@pytest.mark.parametrize(
    ("supplied", "told"),
    [
        (
            {"token": [SECRET]},
            r"private field 'token' of workflow 'order': string_type \(the field is private\)",
        ),
        ({"order": "x"}, "workflow 'order' has no private field 'order'; there are: 'seen', 'sess"),
        ({"tokn": SECRET}, "has no private field 'tokn'"),
        (lambda run_id: SECRET, "the private fields of run 'r' are str; give a mapping"),
    ],
)
async def test_what_cannot_be_supplied_leaves_the_run_as_it_is(supplied: Any, told: str) -> None:
    store = WatchedStore(MemoryStore())
    await suspended(store)
    written = len(store.texts)
    async with Engine(order_flow(), store=store) as engine:
        for call in (
            engine.resume("r", True, private=supplied),
            engine.run(run_id="r", private=supplied),
        ):
            with pytest.raises(ContractError, match=told):
                await call
        assert [info.status for info in await engine.runs()] == ["suspended"]
        assert len(store.texts) == written
        # The answer was not used up.
        assert await engine.resume("r", True, private=AGAIN)


async def test_a_fork_gets_them_like_any_run_that_goes_on() -> None:
    store = WatchedStore(MemoryStore())
    await process(order_flow(_agrees), store, INPUT)
    async with Engine(order_flow(_agrees), store=store) as engine:
        for at, update in ((1, {"token": SECRET}), (2, {"session": SECRET})):
            with pytest.raises(ContractError, match=r"is private: supply it with private="):
                await engine.fork("r", at=at, update=update)
        async with await engine.fork("r", at=2, update={"order": "18"}) as missing:
            with pytest.raises(PrivateFieldMissing, match="'token'"):
                await missing.result()
        async with await engine.fork("r", at=1, update={"order": "18"}, private=AGAIN) as fork:
            assert (await fork.result())[0] == len(AGAIN["token"])
            assert fork.state["order"] == "18"
    assert not [text for text in store.texts if SECRET in text]


async def test_a_replay_needs_them_too() -> None:
    store = MemoryStore()
    await process(order_flow(_agrees), store, INPUT)
    (info,) = await store.find(run_id="r")
    entries = await store.read("r", after=0)
    engine = Engine(order_flow(_agrees))
    assert (await replay(engine, info, entries, private={"token": SECRET})).same
    found = await replay(engine, info, entries)
    assert found.difference is not None
    assert "lacks the field 'token'" in found.difference.got


async def test_items_of_a_private_list_are_private_in_each_branch() -> None:
    class One(TypedDict):
        token: Annotated[str, private]
        length: NotRequired[int]

    class All(TypedDict):
        tokens: Annotated[list[str], private]
        lengths: NotRequired[list[int]]

    @node(requires=["token"], provides=["length"], routes=[route.deliver("length")])
    async def measure(state: One, ctx: NodeContext) -> dict[str, Any]:
        await ctx.suspend("go on?")
        return {"length": len(state["token"])}

    inner = define_workflow("one", nodes=[measure], state=One, waive=ACCEPTED)
    each = map_each(
        "each",
        inner,
        over="tokens",
        item="token",
        into="lengths",
        routes=[route.deliver("lengths")],
    )
    workflow = define_workflow("all", nodes=[each], state=All, waive=ACCEPTED)
    store = WatchedStore(MemoryStore())
    run = await process(workflow, store, {"tokens": [SECRET, SECRET * 2]})
    answers = {request.id: True for request in run.requests}
    async with Engine(workflow, store=store) as engine:
        assert await engine.resume("r", answers, private={"tokens": ["a", "bb"]}) == [1, 2]
    assert not [text for text in store.texts if SECRET in text]


async def test_private_fields_may_be_fetched_for_each_run_by_its_id() -> None:
    async def fetch(run_id: str) -> Mapping[str, Any]:
        if run_id == "b":
            raise OSError("the vault is closed")
        return {"token": run_id * 7}

    store = MemoryStore()
    for run_id in ("a", "b", "c"):
        await process(order_flow(), CrashingStore(store, 1, before=False), INPUT, run_id=run_id)
    async with Engine(order_flow(), store=store) as engine:
        runs = await engine.recover(private=fetch)
        assert {id: run.status for id, run in runs.items()} == {
            "a": "suspended",
            "b": "failed",
            "c": "suspended",
        }
        with pytest.raises(OSError, match="the vault is closed"):
            runs["b"].outcome()
        # Nothing of it is recorded: the run has not been touched.
        assert [info.run_id for info in await engine.runs("interrupted")] == ["b"]
        assert (await engine.resume("a", True, private=fetch))[0] == 7


async def test_in_a_run_that_begins_they_are_a_part_of_the_input() -> None:
    workflow = order_flow(_agrees)
    expected = [len(SECRET), len(f"session for {SECRET}"), 1]
    apart: dict[str, Any] = {"private": {"token": SECRET}}
    assert await workflow.run(INPUT) == expected
    assert await workflow.run({"order": "17"}, **apart) == expected
    for store in (None, MemoryStore()):
        async with Engine(workflow, store=store) as engine:
            assert await engine.run({"order": "17"}, **apart) == expected
            with pytest.raises(ContractError, match="lacks the field 'order'"):
                await engine.run(**apart)
            with pytest.raises(ContractError, match="takes no input field 'session'"):
                await engine.run(INPUT, private={"session": "x"})
    with pytest.raises(TypeError, match="private= is str: it is a mapping, or a function"):
        Engine(workflow).start(INPUT, private=SECRET)  # type: ignore[arg-type]


@node(id="agree", provides=["agreed"], routes=[route.to("pay")])
async def _agrees(state: Any) -> dict[str, Any]:
    return {"agreed": True}


async def test_effects_and_questions_are_recorded_whatever_is_in_them() -> None:
    """What passes through `ctx` is the author's matter: nobody else knows what it holds."""

    @node(requires=["token"], provides=["agreed"], routes=[route.to("pay")])
    async def agree(state: Order, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("look", lambda: state["token"])
        return {"agreed": True}

    store = WatchedStore(MemoryStore())
    await process(order_flow(agree), store, INPUT)
    assert [entry for entry in await store.read("r", after=0) if SECRET in entry.body] == [
        Entry(3, "effect", store.texts[2])
    ]
