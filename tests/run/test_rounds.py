"""Rounds: counted at boundaries, never by visits, and checked before anything else of a visit."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Budget, BudgetExceeded, Engine, field, node, route
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, line, nothing, unchecked


async def count(state: Any) -> Any:
    return {"n": state["n"] + 1}


def loop(until: int, *, max_rounds: int, **options: Any) -> Any:
    """One node that comes back to itself until `n` has reached `until`."""
    again = route.to("turn", field("n") < until)
    turn = node(
        count,
        id="turn",
        requires=["n"],
        provides=["n"],
        starts_round=True,
        routes=[again, route.deliver("n")],
    )
    more = options.pop("more", ())
    return unchecked("loop", nodes=[turn, *more], max_rounds=max_rounds, **options)


def rounds(seen: Recorder) -> list[int | None]:
    return [fact.round for fact in seen.of("node.started")]


@pytest.mark.rule("R274", "R275", "R277")
async def test_a_straight_line_costs_one_round_however_long() -> None:
    seen = Recorder()
    await line(nothing, nothing, nothing, nothing, nothing, max_rounds=1).run(observers=[seen])
    assert rounds(seen) == [1, 1, 1, 1, 1]
    assert len(seen.of("round.started")) == 1


@pytest.mark.rule("R276")
async def test_each_return_to_a_boundary_opens_the_next_round() -> None:
    seen = Recorder()
    assert await loop(3, max_rounds=3).run({"n": 0}, observers=[seen]) == 3
    assert rounds(seen) == [1, 2, 3]
    assert [fact.round for fact in seen.of("round.started")] == [1, 2, 3]


@pytest.mark.rule("R276", "R278")
@pytest.mark.case("P016")
@pytest.mark.parametrize("allowed", [1, 2, 5])
async def test_rounds_run_out_exactly_at_the_limit_and_before_the_body(allowed: int) -> None:
    ran: list[int] = []

    async def body(state: Any) -> Any:
        ran.append(state["n"])
        return {"n": state["n"] + 1}

    turn = node(
        body,
        id="turn",
        provides=["n"],
        starts_round=True,
        routes=[route.to("turn", field("n") >= 0), END],
    )
    workflow = unchecked("w", nodes=[turn], max_rounds=allowed)
    async with Engine(workflow).start({"n": 0}) as run:
        with pytest.raises(BudgetExceeded) as caught:
            await run.result()
        assert dict(run.state) == {"n": allowed}
    assert (caught.value.limit, caught.value.allowed) == ("rounds", allowed)
    assert caught.value.used == allowed + 1
    assert ran == list(range(allowed))


@pytest.mark.rule("R276")
async def test_the_round_is_checked_before_what_the_node_requires() -> None:
    back = node(
        nothing,
        id="a",
        requires=["n"],
        starts_round=True,
        routes=[route.to("b")],
    )
    workflow = unchecked(
        "w", nodes=[node(nothing, id="b", routes=[route.to("a")]), back], entry="b", max_rounds=1
    )
    seen = Recorder()
    with pytest.raises(Exception, match="requires the field 'n'"):
        await workflow.run(observers=[seen])
    with pytest.raises(BudgetExceeded):
        await workflow.run({"n": 1})


@pytest.mark.rule("R356")
async def test_a_first_arrival_at_a_boundary_costs_nothing() -> None:
    nodes = [
        node(nothing, id="a", routes=[route.to("b")]),
        node(nothing, id="b", starts_round=True, routes=[END]),
    ]
    seen = Recorder()
    await unchecked("w", nodes=nodes, max_rounds=1).run(observers=[seen])
    assert rounds(seen) == [1, 1]


@pytest.mark.rule("R277")
async def test_query_review_answer_in_a_line_is_one_round() -> None:
    seen = Recorder()
    await line(nothing, nothing, nothing).run(observers=[seen])
    assert rounds(seen) == [1, 1, 1]


@pytest.mark.rule("R278")
async def test_a_review_that_always_fails_ends_by_its_rounds() -> None:
    seen = Recorder()
    nodes = [
        node(nothing, id="draft", starts_round=True, routes=[route.to("review")]),
        node(nothing, id="review", routes=[route.to("draft", lambda state: True), END]),
    ]
    with pytest.raises(BudgetExceeded) as caught:
        await unchecked("w", nodes=nodes, max_rounds=4).run(observers=[seen])
    assert caught.value.limit == "rounds"
    assert seen.visited() == ["draft", "review"] * 4


@pytest.mark.case("T007")
async def test_the_body_of_a_loop_sees_the_round_and_the_visit() -> None:
    seen: list[tuple[int, int]] = []

    async def body(state: Any, ctx: Any) -> Any:
        seen.append((ctx.round, ctx.visit))
        return {"n": state["n"] + 1}

    turn = node(
        body,
        id="turn",
        provides=["n"],
        starts_round=True,
        routes=[route.to("turn", field("n") < 3), END],
    )
    await unchecked("w", nodes=[turn], max_rounds=3).run({"n": 0})
    assert seen == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.case("T007")
async def test_visits_of_a_node_inside_a_loop_are_counted_one_by_one() -> None:
    visits: list[int] = []

    async def inner(state: Any, ctx: Any) -> Any:
        visits.append(ctx.visit)
        return {"n": state["n"] + 1}

    nodes = [
        node(nothing, id="a", starts_round=True, routes=[route.to("b")]),
        node(inner, id="b", provides=["n"], routes=[route.to("a", field("n") < 4), END]),
    ]
    await unchecked("w", nodes=nodes, max_rounds=9).run({"n": 0})
    assert visits == [1, 2, 3, 4]


@pytest.mark.rule("R274")
async def test_the_rounds_of_the_budget_are_counted_besides_those_of_the_workflow() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        await loop(9, max_rounds=9).run({"n": 0}, budget=Budget(rounds=2))
    assert (caught.value.limit, caught.value.allowed, caught.value.used) == ("rounds", 2, 3)


@pytest.mark.rule("R274")
async def test_a_budget_without_rounds_stops_before_the_first_node() -> None:
    seen = Recorder()
    with pytest.raises(BudgetExceeded, match="rounds"):
        await alone(nothing).run(budget=Budget(rounds=0), observers=[seen])
    assert seen.kinds == ["run.started", "limit.reached", "run.failed"]


class TestOnLimit:
    """One node may deliver what there is when rounds run out."""

    def looping(self, last: Any, *, max_rounds: int = 2, **options: Any) -> Any:
        return loop(
            99,
            max_rounds=max_rounds,
            on_limit="last",
            more=[node(last, id="last", may_provide=["n"], **options)],
        )

    @pytest.mark.case("P097")
    async def test_the_node_delivers_what_there_is(self) -> None:
        seen = Recorder()
        workflow = self.looping(nothing, routes=[route.deliver("n")])
        assert await workflow.run({"n": 0}, observers=[seen]) == 2
        assert seen.visited() == ["turn", "turn", "last"]
        assert rounds(seen) == [1, 2, 2]
        assert seen.of("limit.reached")[0].node_id == "turn"
        assert seen.data("limit.reached") == {
            "limit": "rounds",
            "allowed": 2,
            "used": 3,
            "handler": "last",
        }

    @pytest.mark.case("P097")
    async def test_it_is_entered_once(self) -> None:
        seen = Recorder()
        workflow = self.looping(nothing, routes=[route.to("turn")])
        with pytest.raises(BudgetExceeded):
            await workflow.run({"n": 0}, observers=[seen])
        assert seen.visited() == ["turn", "turn", "last"]
        assert [fact.data["handler"] for fact in seen.of("limit.reached")] == ["last", None]

    async def test_it_has_the_checks_of_any_node(self) -> None:
        workflow = self.looping(nothing, requires=["absent"], routes=[route.deliver("n")])
        workflow = unchecked(
            "w", nodes=list(workflow.nodes), max_rounds=2, on_limit="last", entry="turn"
        )
        with pytest.raises(Exception, match="node 'last' requires the field 'absent'"):
            await workflow.run({"n": 0})

    async def test_the_rounds_of_a_budget_are_a_hard_limit_that_it_does_not_take_over(self) -> None:
        workflow = self.looping(nothing, max_rounds=50, routes=[route.deliver("n")])
        with pytest.raises(BudgetExceeded) as caught:
            await workflow.run({"n": 0}, budget=Budget(rounds=3))
        assert (caught.value.limit, caught.value.allowed) == ("rounds", 3)

    async def test_other_limits_are_none_of_its_business(self) -> None:
        workflow = self.looping(nothing, max_rounds=50, routes=[route.deliver("n")])
        with pytest.raises(BudgetExceeded) as caught:
            await workflow.run({"n": 0}, budget=Budget(visits=3))
        assert caught.value.limit == "visits"
