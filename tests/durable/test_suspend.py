"""A run that asks: it stops with its questions, and goes on with the answers to them and to no others."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial
from typing import Annotated, Any

import anyio
import pytest
from pydantic import AfterValidator, BaseModel

from agentflow import (
    ContractError,
    Engine,
    NodeContext,
    Request,
    ResumeConflict,
    Retry,
    RunCancelled,
    RunSuspended,
    StoreError,
    Workflow,
    define_workflow,
    field,
    node,
    route,
    subflow,
)
from agentflow.run.run import Run
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FixedClock, fake_context
from tests.durable.crashing import CrashingStore, FailingStore, process
from tests.durable.shelf import Place
from tests.run.watching import Recorder
from tests.run.workflows import alone, unchecked

Body = Callable[..., Any]


async def asked(workflow: Any, store: MemoryStore, **options: Any) -> tuple[Request, ...]:
    """Run a workflow until it is suspended, and tell what it asks."""
    run = await process(workflow, store, **options)
    assert run.status == "suspended", run._error
    return run.requests


async def answered(workflow: Any, store: Any, answers: Any, **options: Any) -> Run[Any]:
    """Answer a run in a process of its own."""
    async with (
        Engine(workflow, store=store) as engine,
        engine.reopen("r", answers, **options) as run,
    ):
        await run.settled()
    return run


def asking(*keys: str, **options: Any) -> Body:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": [await ctx.suspend(key, **options) for key in keys]}

    return body


@pytest.mark.case("T029")
async def test_a_suspended_run_says_what_it_waits_for() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        payload = {"amount": 3, "to": date(2030, 1, 2), "tags": {"a"}}
        return {"x": await ctx.suspend("pay?", payload, schema=bool)}

    store, seen = MemoryStore(), Recorder()
    async with Engine(alone(body), store=store, observers=[seen]) as engine:
        with pytest.raises(RunSuspended) as caught:
            await engine.run(run_id="r")
        assert engine.get("r") is None
    (request,) = caught.value.requests
    assert caught.value.run_id == "r"
    assert dataclasses.asdict(request) == {
        "id": request.id,
        "key": "pay?",
        "node_id": "only",
        "visit": 1,
        "run_id": "r",
        "payload": {"amount": 3, "to": date(2030, 1, 2), "tags": {"a"}},
        "schema": {"type": "boolean"},
        "due": None,
    }
    assert seen.kinds[-1] == "run.suspended"
    assert seen.data("run.suspended")["requests"] == [request.id]
    # In another process the same is told, and nothing runs.
    seen = Recorder()
    async with Engine(alone(body), store=store, observers=[seen]) as engine:
        async with engine.start(run_id="r") as run:
            await run.settled()
        assert (run.status, run.requests) == ("suspended", (request,))
        (info,) = await engine.runs("suspended")
        assert info.run_id == "r"
    assert "node.started" not in seen.kinds


@pytest.mark.case("P043")
async def test_what_was_done_before_the_question_is_not_done_again() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        before = await ctx.once("act", lambda: ctx.deps.act("act"))
        answer = await ctx.suspend("go on?", before)
        after = await ctx.once("after", lambda: ctx.deps.act("after"))
        return {"x": [before, answer, after]}

    store, place = MemoryStore(), Place()
    await asked(alone(body), store, deps=place)
    run = await answered(alone(body), store, "yes", deps=place)
    assert run.outcome() == {"x": ["did act", "yes", "did after"]}
    assert place.done == {"act": 1, "after": 1}


@pytest.mark.parametrize(
    "answer", [None, False, 0, 0.0, "", [], {}, {"a": 1}, {"approved": True}, ()]
)
async def test_any_bare_value_is_an_answer(answer: Any) -> None:
    store = MemoryStore()
    (request,) = await asked(alone(asking("k")), store)
    run = await answered(alone(asking("k")), store, answer)
    assert run.outcome() == {"x": [answer]}
    assert type(run.outcome()["x"][0]) is type(answer)
    store = MemoryStore()
    (request,) = await asked(alone(asking("k")), store)
    run = await answered(alone(asking("k")), store, {request.id: answer})
    assert run.outcome() == {"x": [answer]}


async def test_no_answer_is_none() -> None:
    """`None` may be an answer; saying nothing is no `None`."""
    store = MemoryStore()
    (request,) = await asked(alone(asking("k")), store)
    run = await answered_without(alone(asking("k")), store)
    assert (run.status, run.requests) == ("suspended", (request,))
    assert (await answered(alone(asking("k")), store, None)).outcome() == {"x": [None]}


async def answered_without(workflow: Any, store: MemoryStore) -> Run[Any]:
    async with Engine(workflow, store=store) as engine, engine.reopen("r") as run:
        await run.settled()
    return run


@pytest.mark.case("P040", "P064")
async def test_an_answer_is_for_one_visit_and_never_for_the_next() -> None:
    @node(
        provides=["n"],
        starts_round=True,
        routes=[route.to("turn", field("n") < 3), route.to("end")],
    )
    async def turn(state: Any, ctx: NodeContext) -> dict[str, Any]:
        said.append(await ctx.suspend("sure?", "the same each time"))
        return {"n": ctx.visit}

    @node(routes=[route.deliver("n")])
    async def end(state: Any) -> None: ...

    said: list[Any] = []
    workflow = define_workflow("w", nodes=[turn, end], max_rounds=3)
    store, ids = MemoryStore(), []
    (request,) = await asked(workflow, store)
    for number in range(1, 4):
        ids.append(request.id)
        run = await answered(workflow, store, {request.id: number})
        if number < 3:
            (request,) = run.requests
            # The old answer by its id, which is a mapping too, is not taken for the new one.
            late = await answered(workflow, store, {ids[0]: "stale"})
            with pytest.raises(ResumeConflict, match=f"waits no more for the answer to '{ids[0]}'"):
                late.outcome()
            again = await process(workflow, store)
            assert (again.status, again.requests) == ("suspended", (request,))
    assert run.outcome() == 3
    assert said == [1, 2, 3]
    assert len(set(ids)) == 3


@pytest.mark.case("P044")
async def test_ids_are_the_same_whenever_the_visit_is_made_again() -> None:
    store = MemoryStore()
    workflow = alone(asking("one", "two", payload={"set": {"a", "b", "c"}, 1: "x"}))
    (first,) = await asked(workflow, store)
    run = await answered(workflow, store, {first.id: 1})
    (second,) = run.requests
    # A process that dies after it was answered asks the same again.
    await answered(workflow, CrashingStore(store, 2, before=True), {second.id: 2})
    other = MemoryStore()
    assert await asked(workflow, other) == (first,)
    run = await process(workflow, store)
    assert run.outcome() == {"x": [1, 2]}


def several(order: str = "abc") -> Body:
    """Asks from several tasks at once, after an effect in each."""

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found: dict[str, Any] = {}

        async def one(key: str) -> None:
            shown = await ctx.once(f"show {key}", lambda: ctx.deps.act(key))
            found[key] = await ctx.suspend(key, shown)

        async with anyio.create_task_group() as group:
            for key in order:
                group.start_soon(one, key)
        return {"x": dict(sorted(found.items()))}

    return body


@pytest.mark.case("P061", "P062", "T025")
async def test_questions_of_several_tasks_are_asked_at_once_and_answered_by_id() -> None:
    store, place = MemoryStore(), Place()
    requests = await asked(alone(several()), store, deps=place)
    assert sorted(request.key for request in requests) == ["a", "b", "c"]
    assert len({request.id for request in requests}) == 3
    by_key = {request.key: request.id for request in requests}
    # Some of them: those are reported no more, and the rest still waits.
    run = await answered(alone(several("cab")), store, {by_key["b"]: 2}, deps=place)
    assert {request.key: request.id for request in run.requests} == {
        key: by_key[key] for key in ("a", "c")
    }
    run = await answered(alone(several()), store, {by_key["c"]: 3, by_key["a"]: 1}, deps=place)
    assert run.outcome() == {"x": {"a": 1, "b": 2, "c": 3}}
    assert place.done == {"a": 1, "b": 1, "c": 1}


async def test_an_effect_that_a_question_beside_it_cuts_short_is_done_again_under_its_key() -> None:
    keys: list[str] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found: dict[str, Any] = {}

        async def pay() -> None:
            async def slowly() -> str:
                keys.append(ctx.effect_key("pay"))
                if len(keys) == 1:
                    await anyio.sleep_forever()
                return "paid"

            found["paid"] = await ctx.once("pay", slowly)

        async with anyio.create_task_group() as group:
            group.start_soon(pay)
            await anyio.wait_all_tasks_blocked()
            found["said"] = await ctx.suspend("well?")
        return {"x": found}

    store = MemoryStore()
    await asked(alone(body), store)
    run = await answered(alone(body), store, "yes")
    assert run.outcome() == {"x": {"paid": "paid", "said": "yes"}}
    assert keys == ["r/only#1/pay"] * 2


WRONG: dict[str, tuple[Any, str]] = {
    "a bare value for several": ("yes", "which request is answered?"),
    "a mapping of other keys": ({"a": 1}, "no request waits for 'a'"),
    "one known and one unknown id": ({"KNOWN": True, "b": 1}, "no request waits for 'b'"),
    "an invalid one beside a valid one": ({"KNOWN": True, "OTHER": "x"}, "the answer to 'b'"),
    "nothing": ({}, "which request is answered?"),
    "None": (None, "which request is answered?"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_answer_leaves_everything_as_it_was(given: Any, said: str) -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        visits.append(ctx.visit)
        async with anyio.create_task_group() as group:
            for key in "ab":
                group.start_soon(partial(ctx.suspend, key, schema=bool))
        return {"x": 1}

    visits: list[int] = []
    store = MemoryStore()
    requests = await asked(alone(body), store)
    first, second = sorted(requests, key=lambda request: request.key)
    if isinstance(given, dict):
        names = {"KNOWN": first.id, "OTHER": second.id}
        given = {names.get(key, key): value for key, value in given.items()}
    before = await store.read("r", after=0)
    run = await answered(alone(body), store, given)
    with pytest.raises(ContractError, match=said):
        run.outcome()
    assert await store.read("r", after=0) == before
    assert visits == [1]
    run = await answered(alone(body), store, {first.id: True, second.id: False})
    assert run.outcome() == {"x": 1}


async def test_an_answer_that_cannot_be_stored_leaves_everything_as_it_was() -> None:
    store = MemoryStore()
    (request,) = await asked(alone(asking("k")), store)
    run = await answered(alone(asking("k")), store, object())
    with pytest.raises(ContractError, match=f"the answer to {request.id} cannot be stored"):
        run.outcome()
    assert (await answered(alone(asking("k")), store, 1)).outcome() == {"x": [1]}


async def test_there_is_nothing_to_answer_where_there_is_no_run() -> None:
    store = MemoryStore()
    run = await answered(alone(asking("k")), store, 1)
    with pytest.raises(ContractError, match="there is no run 'r'"):
        run.outcome()
    run = await answered_without(alone(asking("k")), store)
    with pytest.raises(ContractError, match="there is no run 'r'"):
        run.outcome()
    assert await store.find() == []


class Choice(BaseModel):
    name: str
    when: date
    parts: tuple[int, ...] = ()


SCHEMAS: list[tuple[Any, Any, Any, list[Any]]] = [
    (bool, True, True, [1, "yes", None]),
    (int | None, None, None, ["x", 1.5]),
    (
        Choice,
        {"name": "ada", "when": "2030-01-02", "parts": [1]},
        Choice(name="ada", when=date(2030, 1, 2), parts=(1,)),
        [{"name": "ada"}, "ada", {"name": 3, "when": "2030-01-02"}],
    ),
    (
        Choice,
        Choice(name="ada", when=date(2030, 1, 2)),
        Choice(name="ada", when=date(2030, 1, 2)),
        [],
    ),
    (tuple[int, ...], (1, 2), (1, 2), [("a",), 1]),
    (datetime, "2030-01-01T00:00:00Z", datetime(2030, 1, 1, tzinfo=UTC), [1, None]),
    ({"type": "string", "minLength": 2}, "ab", "ab", ["a", 1, None]),
    ({"enum": ["yes", "no"]}, "no", "no", ["maybe", None]),
    (None, {"any": "thing"}, {"any": "thing"}, []),
]


@pytest.mark.parametrize(("schema", "given", "got", "wrong"), SCHEMAS)
async def test_an_answer_is_checked_by_its_schema_before_anything_runs(
    schema: Any, given: Any, got: Any, wrong: list[Any]
) -> None:
    store = MemoryStore()
    workflow = alone(asking("k", schema=schema))
    await asked(workflow, store)
    before = await store.read("r", after=0)
    for answer in wrong:
        run = await answered(workflow, store, answer)
        with pytest.raises(ContractError, match="the answer to 'k'"):
            run.outcome()
        assert await store.read("r", after=0) == before
    assert (await answered(workflow, store, given)).outcome() == {"x": [got]}


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("it is odd")
    return number


async def test_an_answer_that_only_the_node_can_refuse_is_asked_for_again() -> None:
    """A validator is code, which no JSON Schema holds: its verdict comes when the visit is made again."""
    store = MemoryStore()
    workflow = alone(asking("k", schema=Annotated[int, AfterValidator(_even)]))
    (request,) = await asked(workflow, store)
    run = await answered(workflow, store, 3)
    with pytest.raises(ContractError, match=r"the answer to 'k': .*it is odd"):
        run.outcome()
    assert (await process(workflow, store)).requests == (request,)
    assert (await answered(workflow, store, 4)).outcome() == {"x": [4]}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "nonsense"}, "the schema of request 'k' is no JSON Schema"),
        ({"enum": {1, 2}}, "the schema of request 'k' is no JSON"),
        (Callable[[], int], "has no JSON Schema"),
        (MemoryStore, "has no JSON Schema"),
    ],
)
async def test_a_schema_that_is_none_is_refused_when_it_is_asked(schema: Any, said: str) -> None:
    run = await process(alone(asking("k", schema=schema)), MemoryStore())
    with pytest.raises(ContractError, match=said):
        run.outcome()
    assert run.status == "failed"


async def test_a_payload_that_cannot_be_stored_is_refused_when_it_is_asked() -> None:
    run = await process(alone(asking("k", payload=object())), MemoryStore())
    with pytest.raises(ContractError, match="the payload of request 'k' cannot be stored"):
        run.outcome()


async def test_without_a_store_there_is_nowhere_to_wait() -> None:
    with pytest.raises(ContractError, match=r"node 'only' suspends, but the run has no store"):
        await alone(asking("k")).run()
    with pytest.raises(ContractError, match="has no store"):
        await fake_context().suspend("k")


@pytest.mark.parametrize("engines", ["one", "two"])
async def test_of_two_that_answer_one_wins_and_nothing_runs_for_the_other(engines: str) -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        visits.append(1)
        return {"x": await ctx.suspend("k")}

    visits: list[int] = []
    store = MemoryStore()
    workflow = alone(body)
    await asked(workflow, store)
    found: list[Any] = []
    first = Engine(workflow, store=store)
    second = first if engines == "one" else Engine(workflow, store=store)

    async def answer(engine: Engine[Any], value: str) -> None:
        try:
            found.append(await engine.resume("r", value))
        except ResumeConflict:
            found.append("conflict")

    async with first, second, anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(answer, first, f"first {number}")
            group.start_soon(answer, second, f"second {number}")
    assert found.count("conflict") == 5
    assert len(visits) == 2
    kinds = [entry.kind for entry in await store.read("r", after=0)]
    assert kinds == ["started", "suspended", "resumed", "answered", "visit", "ended"]


async def test_an_answer_comes_too_late_when_the_run_has_ended_or_goes_on() -> None:
    store = MemoryStore()
    await asked(alone(asking("k")), store)
    await answered(alone(asking("k")), store, 1)
    run = await answered(alone(asking("k")), store, 2)
    with pytest.raises(ResumeConflict, match="does not wait for an answer: it is completed"):
        run.outcome()


class Lagging(CrashingStore):
    """Between the look at a run and the claim on it, somebody else answers, and the run asks anew."""

    def __init__(self, inner: MemoryStore, meanwhile: Callable[[], Any]) -> None:
        super().__init__(inner, 0, before=True)
        self.meanwhile: Callable[[], Any] | None = meanwhile

    async def claim(self, run_id: str, **options: Any) -> Any:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return await super().claim(run_id, **options)

    async def close(self) -> None: ...


async def test_an_answer_to_a_run_that_has_gone_on_and_asks_again_changes_nothing() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        first = await ctx.suspend("first")
        return {"x": [first, await ctx.suspend("second", timeout=60, default="late")]}

    store, clock = MemoryStore(), FixedClock()
    workflow = alone(body)
    (request,) = await asked(workflow, store, clock=clock)

    async def meanwhile() -> None:
        async with Engine(workflow, store=store, clock=clock) as engine:
            async with engine.reopen("r", {request.id: "theirs"}) as run:
                await run.settled()
            assert run.status == "suspended"

    run = await answered(workflow, Lagging(store, meanwhile), {request.id: "mine"})
    with pytest.raises(ResumeConflict, match="somebody else"):
        run.outcome()
    (info,) = await store.find()
    assert (info.status, info.due) == ("suspended", clock.now().replace(minute=1))
    clock.advance(61)
    async with Engine(workflow, store=store, clock=clock) as engine:
        runs = await engine.recover()
    assert runs["r"].outcome() == {"x": ["theirs", "late"]}


async def test_an_answer_that_comes_when_another_was_given_and_its_process_died_leaves_the_run_to_be_recovered() -> (
    None
):
    store, workflow = MemoryStore(), alone(asking("k"))
    (request,) = await asked(workflow, store)

    async def meanwhile() -> None:
        # The answer is written, and nothing after it.
        await answered(workflow, CrashingStore(store, 1, before=False), {request.id: "theirs"})

    run = await answered(workflow, Lagging(store, meanwhile), {request.id: "mine"})
    with pytest.raises(ResumeConflict, match="somebody else"):
        run.outcome()
    async with Engine(workflow, store=store) as engine:
        runs = await engine.recover()
    assert runs["r"].outcome() == {"x": ["theirs"]}


@pytest.mark.parametrize("done", [False, True], ids=["refused", "written"])
async def test_an_answer_of_which_nobody_knows_whether_it_was_written_is_used_or_can_be_given_again(
    done: bool,
) -> None:
    store, workflow = MemoryStore(), alone(asking("k"))
    (request,) = await asked(workflow, store)
    failing = FailingStore(store, "append", 1, done=done)
    async with Engine(workflow, store=failing) as engine:
        with pytest.raises(StoreError, match="the line was cut"):
            await engine.resume("r", {request.id: "once"})
        runs = await engine.recover()
        if done:
            assert runs["r"].outcome() == {"x": ["once"]}
        else:
            assert runs == {}
            assert await engine.resume("r", "twice") == {"x": ["twice"]}


@pytest.mark.parametrize("before", [True, False])
async def test_a_process_that_dies_when_it_is_answered_loses_no_answer_silently(
    before: bool,
) -> None:
    """Either the answer was taken, and counts; or it was not, and can be given again."""
    store = MemoryStore()
    workflow = alone(asking("k"))
    (request,) = await asked(workflow, store)
    run = await answered(workflow, CrashingStore(store, 1, before=before), {request.id: 1})
    assert run.status == "interrupted"
    assert [info.status for info in await store.find()] == ["interrupted"]
    run = await answered(workflow, store, {request.id: 2})
    if before:
        assert run.outcome() == {"x": [2]}
        return
    # The first answer is recorded, so the run does not wait any more: it goes on with it.
    with pytest.raises(ResumeConflict):
        run.outcome()
    assert (await process(workflow, store)).outcome() == {"x": [1]}


class Wrapped:
    """A node that asks, with something around the question."""

    def __init__(self, wrapper: str) -> None:
        self.wrapper = wrapper
        self.tried: list[int] = []

    def has(self, wrapper: str) -> bool:
        return self.wrapper in (wrapper, "all")

    async def ask(self, state: Any, ctx: NodeContext) -> dict[str, Any]:
        self.tried.append(ctx.attempt)
        if self.has("except"):
            try:
                return {"x": await ctx.suspend("k", state["n"])}
            except Exception as error:
                return {"x": f"swallowed {error!r}"}
        if self.has("group"):
            found = []

            async def one() -> None:
                found.append(await ctx.suspend("k", state["n"]))

            async with anyio.create_task_group() as outer, anyio.create_task_group() as group:
                group.start_soon(one)
                outer.start_soon(anyio.lowlevel.checkpoint)
            return {"x": found[0]}
        return {"x": await ctx.suspend("k", state["n"])}

    def ask_in_thread(self, state: Any, ctx: NodeContext) -> dict[str, Any]:
        self.tried.append(ctx.attempt)
        try:
            return {"x": ctx.sync.suspend("k", state["n"])}
        except Exception as error:
            return {"x": f"swallowed {error!r}"}

    async def mend(self, state: Any) -> dict[str, Any]:
        return {"x": "mended"}

    def workflow(self) -> Workflow[Any]:
        options: dict[str, Any] = {"requires": ["n"], "provides": ["x"]}
        if self.has("retry"):
            options["retry"] = Retry(3)
        if self.has("timeout"):
            options["timeout"] = 60
        if self.has("on_error"):
            options["on_error"] = "mend"
        ends = [route.deliver("x")]
        function = self.ask_in_thread if self.wrapper == "thread" else self.ask
        mend = node(self.mend, id="mend", provides=["x"], routes=ends)
        asks = node(function, id="ask", routes=ends, **options)
        inner = unchecked("w", nodes=[asks, mend], inputs=["n"])
        if not self.has("sub-workflow"):
            return inner
        into = subflow(
            *("into", inner),
            inputs={"n": "n"},
            outputs={"x": "$result"},
            retry=Retry(2),
            on_error="mend",
            routes=ends,
        )
        return unchecked("outer", nodes=[into, mend], inputs=["n"])


@pytest.mark.case("P067", "P068", "P047")
@pytest.mark.parametrize(
    "wrapper",
    ["retry", "timeout", "on_error", "except", "group", "sub-workflow", "thread", "all"],
)
async def test_a_suspension_passes_whatever_is_around_it(wrapper: str) -> None:
    wrapped = Wrapped(wrapper)
    workflow, store = wrapped.workflow(), MemoryStore()
    run = await process(workflow, store, {"n": 7})
    assert run.status == "suspended", run._error
    (request,) = run.requests
    # The visit gets its own input again, and not the answer in its place.
    assert (request.payload, request.key) == (7, "k")
    assert (await answered(workflow, store, "yes")).outcome() == "yes"
    assert wrapped.tried == [1, 1]


@pytest.mark.case("P070")
async def test_two_nodes_and_sub_workflows_of_one_name_ask_apart() -> None:
    async def ask(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.suspend("sure?", "the same")}

    inner = define_workflow(
        "inner", nodes=[node(ask, id="ask", provides=["x"], routes=[route.deliver("x")])]
    )
    outer = define_workflow(
        "outer",
        nodes=[
            subflow("one", inner, outputs={"a": "$result"}, routes=[route.to("two")]),
            subflow("two", inner, outputs={"b": "$result"}, routes=[route.finish(dict)]),
        ],
    )
    store = MemoryStore()
    (first,) = await asked(outer, store)
    run = await answered(outer, store, {first.id: 1})
    (second,) = run.requests
    assert first.id != second.id
    assert (first.run_id, second.run_id) == ("r/one#1", "r/two#1")
    assert (await answered(outer, store, {second.id: 2})).outcome() == {"a": 1, "b": 2}


@pytest.mark.case("P071", "T031")
async def test_an_answer_counts_whatever_context_the_run_goes_on_with() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        ctx.context["seen"] = [*ctx.context.get("seen", ()), "before"]
        answer = await ctx.suspend("k")
        return {"x": [answer, ctx.context["who"], ctx.identity, ctx.deps]}

    store = MemoryStore()
    await asked(alone(body), store, context={"who": "first"})
    context: dict[str, Any] = {"who": "second"}
    run = await answered(alone(body), store, "yes", context=context, identity="ada", deps=1)
    assert run.outcome() == {"x": ["yes", "second", "ada", 1]}
    assert context["seen"] == ["before"]


async def test_a_bail_beside_a_question_ends_the_run() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        async def leave() -> None:
            ctx.bail("enough")

        async with anyio.create_task_group() as group:
            group.start_soon(ctx.suspend, "k")
            group.start_soon(leave)
        return {"x": 1}

    run = await process(alone(body), MemoryStore())
    assert run.status == "completed"
    assert run.outcome() == "enough"


async def test_an_error_beside_a_question_waits_for_the_answer() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        async def fail() -> None:
            raise ValueError("beside")

        async with anyio.create_task_group() as group:
            group.start_soon(ctx.suspend, "k")
            group.start_soon(fail)
        return {"x": 1}

    store = MemoryStore()
    await asked(alone(body), store)
    run = await answered(alone(body), store, 1)
    assert run.status == "failed"


async def test_a_suspended_run_can_be_cancelled_by_its_id() -> None:
    store, workflow = MemoryStore(), alone(asking("k"))
    await asked(workflow, store)
    async with Engine(workflow, store=store) as engine:
        assert await engine.cancel("r", "not wanted")
        assert not await engine.cancel("r", "again")
        assert not await engine.cancel("unknown")
        with pytest.raises(RunCancelled, match="not wanted"):
            await engine.run(run_id="r")
        with pytest.raises(ResumeConflict, match="it is cancelled"):
            await engine.resume("r", 1)


@pytest.mark.parametrize("call", ["read", "append"])
async def test_a_cancel_that_the_store_did_not_take_leaves_the_run_as_it_was(call: str) -> None:
    store, workflow = MemoryStore(), alone(asking("k"))
    await asked(workflow, store)
    async with Engine(workflow, store=FailingStore(store, call, 1)) as engine:
        with pytest.raises(StoreError, match="the line was cut"):
            await engine.cancel("r", "not wanted")
        assert await engine.resume("r", "yes") == {"x": ["yes"]}


async def test_an_interrupted_run_can_be_cancelled_by_its_id() -> None:
    store, workflow = MemoryStore(), alone(asking("k"))
    await process(workflow, CrashingStore(store, 1, before=False))
    async with Engine(workflow, store=store) as engine:
        assert await engine.cancel("r", "not wanted")
        assert [info.status for info in await engine.runs()] == ["cancelled"]


async def test_a_request_is_read_as_it_was_asked() -> None:
    store = MemoryStore()
    (request,) = await asked(alone(asking("k", payload={"t": (1, {2})}, schema=Choice)), store)
    for due in (None, datetime(2030, 1, 1, 12, 30, tzinfo=UTC)):
        told = dataclasses.replace(request, due=due)
        assert Request.from_dict(json.loads(json.dumps(told.as_dict()))) == told
