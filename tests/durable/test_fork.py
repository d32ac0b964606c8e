"""Forks: a new run from any record of another, with an edited state if wanted; the other stays as it is."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import pytest

from agentflow import (
    ContractError,
    Engine,
    RunConflict,
    RunSuspended,
    Workflow,
    append,
    define_workflow,
    field,
    map_each,
    node,
    parallel,
    route,
    subflow,
)
from agentflow.stores.memory import MemoryStore
from tests.durable.abreast import BUDGET, INPUT, Paced, abreast


class State(TypedDict):
    amount: int
    large: NotRequired[bool]
    answer: NotRequired[str]
    log: NotRequired[Annotated[list[str], append]]


def refund(done: list[str]) -> Workflow[Any]:
    """Judges an amount, asks about large ones, and pays."""

    @node(
        requires=["amount"],
        provides=["large", "log"],
        routes=[route.to("approve", field("large") == True), route.to("pay")],  # noqa: E712
    )
    async def judge(state: State, ctx: Any) -> dict[str, Any]:
        await ctx.once("look", lambda: done.append("look"))
        return {"large": state["amount"] > 100, "log": ["judged"]}

    @node(requires=["amount"], provides=["answer"], routes=[route.to("pay")])
    async def approve(state: State, ctx: Any) -> dict[str, Any]:
        return {"answer": await ctx.suspend("ok?", state["amount"], schema=str)}

    @node(requires=["log"], provides=["log"], routes=[route.finish(dict)])
    async def pay(state: State, ctx: Any) -> dict[str, Any]:
        await ctx.once("pay", lambda: done.append(ctx.effect_key("pay")))
        return {"log": [f"paid, {state.get('answer', 'unasked')}"]}

    return define_workflow("refund", nodes=[judge, approve, pay], state=State, inputs=["amount"])


async def records(engine: Engine[Any], run_id: str, kind: str) -> list[int]:
    return [record.number for record in await engine.history(run_id) if record.kind == kind]


async def approved(engine: Engine[Any], answer: str = "fine") -> None:
    with pytest.raises(RunSuspended):
        await engine.run({"amount": 120}, run_id="r")
    await engine.resume("r", answer)


async def test_a_fork_goes_on_from_the_record_and_the_other_run_stays_as_it_is() -> None:
    done: list[str] = []
    async with Engine(refund(done), store="memory:") as engine:
        await engine.run({"amount": 7}, run_id="r")
        before = await engine.history("r")
        (judged, _) = await records(engine, "r", "visit")
        async with await engine.fork("r", at=judged, new_id="f") as run:
            found = await run.result()
        assert found["log"] == ["judged", "paid, unasked"]
        assert await engine.history("r") == before
        started = (await engine.history("f"))[0]
    # What was done up to the record is not done again; what comes after it is, under keys of the fork.
    assert done == ["look", "r/pay#1/pay", "f/pay#1/pay"]
    assert started.data["forked"] == {"run": "r", "at": judged}


async def test_routes_after_an_edited_state_are_chosen_anew() -> None:
    async with Engine(refund([]), store="memory:") as engine:
        await engine.run({"amount": 7}, run_id="r")
        (judged, _) = await records(engine, "r", "visit")
        async with await engine.fork("r", at=judged, update={"large": True}, new_id="f") as run:
            with pytest.raises(RunSuspended):
                await run.result()
        assert (await engine.resume("f", "yes"))["log"] == ["judged", "paid, yes"]
        edited = (await records(engine, "f", "edited"))[0]
        assert (await engine.state_at("f", edited))["large"] is True


@pytest.mark.case("P040")
async def test_what_was_approved_after_the_fork_is_asked_again() -> None:
    store = MemoryStore()
    async with Engine(refund([]), store=store) as engine:
        await approved(engine)
        (judged, *_) = await records(engine, "r", "visit")
        async with await engine.fork("r", at=judged, new_id="f") as run:
            with pytest.raises(RunSuspended) as caught:
                await run.result()
        (request,) = caught.value.requests
        assert (await engine.resume("f", {request.id: "no"}))["answer"] == "no"


async def test_a_fork_at_the_question_itself_asks_it_as_its_own() -> None:
    async with Engine(refund([]), store="memory:") as engine:
        await approved(engine)
        (asked,) = await records(engine, "r", "suspended")
        async with await engine.fork("r", at=asked, new_id="f") as run:
            with pytest.raises(RunSuspended) as caught:
                await run.result()
        assert caught.value.requests[0].run_id == "f"
        assert (await engine.resume("f", "later"))["answer"] == "later"


async def test_a_fork_after_the_answer_keeps_it() -> None:
    async with Engine(refund([]), store="memory:") as engine:
        await approved(engine)
        (answered,) = await records(engine, "r", "answered")
        async with await engine.fork("r", at=answered, new_id="f") as run:
            assert (await run.result())["answer"] == "fine"


async def test_the_input_itself_may_be_edited() -> None:
    async with Engine(refund([]), store="memory:") as engine:
        await engine.run({"amount": 7}, run_id="r")
        async with await engine.fork("r", at=1, update={"amount": 8}) as run:
            assert (await run.result())["amount"] == 8


@pytest.mark.parametrize(
    ("at", "update", "error", "said"),
    [
        (9, None, LookupError, "has 6 records; there is no number 9"),
        (0, None, LookupError, "there is no number 0"),
        (6, None, LookupError, "ended with its record 6"),
        (2, {"large": True}, ContractError, "record 2 of run 'r' is 'effect', which leaves no"),
        (3, {"larg": True}, ContractError, "workflow 'refund' has no such field"),
        (3, {"large": "perhaps"}, ContractError, "the update of field 'large'"),
        (1, {"amount": "much"}, ContractError, "input 'amount'"),
    ],
)
async def test_what_cannot_be_forked_is_refused_and_leaves_nothing(
    at: int, update: Any, error: type[Exception], said: str
) -> None:
    async with Engine(refund([]), store="memory:") as engine:
        await engine.run({"amount": 7}, run_id="r")
        assert len(await engine.history("r")) == 6
        with pytest.raises(error, match=said):
            await engine.fork("r", at=at, update=update)
        assert [info.run_id for info in await engine.runs()] == ["r"]


async def test_an_id_that_is_taken_and_a_run_of_another_workflow_are_refused() -> None:
    store = MemoryStore()
    async with Engine(refund([]), store=store) as engine:
        await engine.run({"amount": 7}, run_id="r")
        before = await engine.history("r")
        with pytest.raises(RunConflict, match="there is a run 'r' already"):
            await engine.fork("r", at=1, new_id="r")
        assert await engine.history("r") == before
        with pytest.raises(LookupError, match="there is no run 'x'"):
            await engine.fork("x", at=1)

    @node(routes=[route.finish(dict)])
    async def only(state: Any) -> None: ...

    async with Engine(define_workflow("other", nodes=[only]), store=store) as engine:
        with pytest.raises(RunConflict, match="is one of workflow 'refund'"):
            await engine.fork("r", at=1)


def nested() -> Workflow[Any]:
    @node(requires=["x"], provides=["y"], routes=[route.to("tell")])
    async def double(state: Any) -> dict[str, Any]:
        return {"y": state["x"] * 2}

    @node(requires=["y"], provides=["said"], routes=[route.deliver("said")])
    async def tell(state: Any) -> dict[str, Any]:
        return {"said": f"{state['x']}->{state['y']}"}

    inner = define_workflow("inner", nodes=[double, tell], inputs=["x"])
    return define_workflow(
        "outer",
        nodes=[
            subflow(
                "sub", inner, inputs={"x": "n"}, outputs={"s": "$result"}, routes=[route.to("each")]
            ),
            map_each("each", inner, over="ns", item="x", into="m", routes=[route.to("fan")]),
            parallel(
                "fan",
                {"a": subflow("a", inner, inputs={"x": "n"}, outputs={"f": "$result"})},
                routes=[route.finish(dict)],
            ),
        ],
        inputs=["n", "ns"],
    )


@pytest.mark.case("P041")
@pytest.mark.parametrize(
    ("frame", "changed"),
    [("/sub#1", "s"), ("/each#1[1]", "m"), ("/fan#1[a]", "f")],
)
async def test_a_fork_inside_of_a_workflow_inside_goes_on_from_there(
    frame: str, changed: str
) -> None:
    async with Engine(nested(), store="memory:") as engine:
        whole = await engine.run({"n": 1, "ns": [5, 6]}, run_id="r")
        history = await engine.history("r")
        at = next(
            record.number
            for record in history
            if record.frame == frame and record.node_id == "double"
        )
        assert (await engine.state_at("r", at, frame))["y"] == {"s": 2, "m": 12, "f": 2}[changed]
        async with await engine.fork("r", at=at) as run:
            assert await run.result() == whole
        async with await engine.fork("r", at=at, update={"y": 99}) as run:
            found = await run.result()
    expected = {"s": "1->99", "m": ["5->10", "6->99"], "f": "1->99"}[changed]
    assert found == {**whole, changed: expected}


@pytest.mark.case("P052")
async def test_an_edit_while_a_workflow_inside_waits_keeps_what_that_one_and_the_one_around_it_have() -> (
    None
):
    @node(provides=["draft", "notes"], routes=[route.to("ask")])
    async def write(state: Any) -> dict[str, Any]:
        return {"draft": f"about {state['topic']}", "notes": "mine"}

    @node(requires=["draft"], provides=["verdict"], routes=[route.finish(dict)])
    async def ask(state: Any, ctx: Any) -> dict[str, Any]:
        return {"verdict": await ctx.suspend("ok?", state["draft"], schema=str)}

    @node(provides=["plan"], routes=[route.to("sub")])
    async def plan(state: Any) -> dict[str, Any]:
        return {"plan": "long"}

    inner = define_workflow("inner", nodes=[write, ask], inputs=["topic"])
    sub = subflow(
        "sub",
        inner,
        inputs={"topic": "topic"},
        outputs={"done": "$result"},
        routes=[route.finish(dict)],
    )
    outer = define_workflow("outer", nodes=[plan, sub], inputs=["topic"])
    async with Engine(outer, store="memory:") as engine:
        with pytest.raises(RunSuspended):
            await engine.run({"topic": "tea"}, run_id="r")
        (asked,) = await records(engine, "r", "suspended")
        with pytest.raises(ContractError, match="fork with an update at a record of the kind"):
            await engine.fork("r", at=asked, update={"plan": "short"})
        async with await engine.fork("r", at=asked - 1, update={"draft": "better"}) as run:
            with pytest.raises(RunSuspended):
                await run.result()
        edited = await engine.resume(run.id, "fine")
        untouched = await engine.resume("r", "fine")
    kept = {"topic": "tea", "notes": "mine", "verdict": "fine"}
    assert edited == {"topic": "tea", "plan": "long", "done": {**kept, "draft": "better"}}
    assert untouched == {"topic": "tea", "plan": "long", "done": {**kept, "draft": "about tea"}}


async def test_every_record_of_a_run_with_branches_can_be_forked_and_ends_alike() -> None:
    world = Paced(3)
    async with Engine(abreast(), store="memory:", budget=BUDGET) as engine:
        result = await engine.run(INPUT, run_id="r", deps=world)
        history = await engine.history("r")
        for record in history[:-1]:
            forked = await engine.fork("r", at=record.number, deps=Paced(record.number))
            async with forked as run:
                assert _without_ids(await run.result()) == _without_ids(result)


def _without_ids(result: Any) -> Any:
    return {**result, "log": sorted(result["log"])}
