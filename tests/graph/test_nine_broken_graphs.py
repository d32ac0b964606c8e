"""Nine kinds of broken graph that engines are known to accept: each is refused before anything runs."""

from __future__ import annotations

import itertools
from typing import Any, NotRequired, TypedDict

import pytest

from agentflow import (
    AgentflowError,
    DefinitionError,
    Node,
    Workflow,
    define_workflow,
    field,
    node,
    parallel,
    race,
    route,
    subflow,
)


class State(TypedDict):
    question: str
    left: NotRequired[str]
    right: NotRequired[str]
    count: NotRequired[int]
    answer: NotRequired[str]


def step(id: str, *routes: Any, **options: Any) -> Node:
    async def body(state: Any) -> None: ...

    return node(body, id=id, routes=routes, **options)


def refusal(*nodes: Node, **options: Any) -> set[str]:
    """The codes of the errors for which a definition is refused."""
    with pytest.raises(DefinitionError) as refused:
        define_workflow("broken", nodes=nodes, state=State, inputs=["question"], **options)
    return {finding.code for finding in refused.value.findings if finding.severity == "error"}


END = step("end", route.deliver("question"))


def test_1_a_node_that_nothing_leads_to() -> None:
    assert refusal(step("a", route.to("end")), END, step("island", route.to("end"))) == {"AF109"}


def test_2_a_dead_end() -> None:
    forked = step("a", route.to("stuck", field("question") == "x"), route.to("end"))
    assert refusal(forked, step("stuck"), END) == {"AF110"}


def test_3_a_cycle_without_any_exit() -> None:
    around = step("a", route.to("b"), starts_round=True), step("b", route.to("a"))
    assert "AF112" in refusal(*around, max_rounds=3)


def test_4_a_cycle_whose_exit_is_only_conditional_without_a_limit() -> None:
    around = step("a", route.to("end", field("question") == "x"), route.to("a"))
    assert refusal(around, END) == {"AF113", "AF114"}


def test_5_a_route_to_an_unknown_target() -> None:
    assert refusal(
        step("a", route.to("nowhere", field("question") == "x"), route.to("end")), END
    ) == {"AF106"}


def test_6_a_field_that_nobody_provides() -> None:
    assert refusal(step("a", route.deliver("answer"), requires=["answer"])) == {"AF201"}


def test_7_types_that_do_not_match() -> None:
    give = step("give", route.deliver("answer"), provides=["answer"])
    assert refusal(give, result=dict) == {"AF602"}


def child(name: str) -> Workflow[Any]:
    """A workflow that provides and delivers a field."""
    only = step("work", route.deliver(name), requires=["question"], provides=[name])
    return define_workflow(f"{name}-flow", nodes=[only], state=State, inputs=["question"])


def test_8_two_branches_that_write_one_field_at_the_same_time() -> None:
    both = {"left": child("answer"), "right": child("answer")}
    one = {name: subflow(name, held, **TAKING) for name, held in both.items()}
    fan = parallel("fan", one, routes=[route.to("end")])
    assert refusal(fan, END) == {"AF128"}


TAKING: dict[str, Any] = {"inputs": {"question": "question"}, "outputs": {"answer": "$result"}}


def test_8_is_not_declared_by_routes_either() -> None:
    # Exactly one route is taken; a second way out beside an unconditional one is refused.
    both = step("a", route.to("left"), route.to("right"))
    writers = [step(id, route.to("end"), provides=["answer"]) for id in ("left", "right")]
    assert refusal(both, *writers, END) == {"AF115"}


def test_9_a_join_that_only_one_of_its_branches_reaches() -> None:
    # A node that two ways lead to is no join: it is visited by whichever comes, and what it needs is proved.
    chosen = step("a", route.to("left", field("question") == "x"), route.to("right"))
    left = step("left", route.to("join"), provides=["left"])
    right = step("right", route.to("join"), provides=["right"])
    join = step("join", route.deliver("question"), requires=["left", "right"])
    assert "AF201" in refusal(chosen, left, right, join)


@pytest.mark.case("P004")
def test_9_a_join_that_waits_for_what_was_never_begun_cannot_be_declared() -> None:
    # What joins is the node that began the branches: there is no way to a join but through all of them, and no way out of a
    # branch but its own end. A route knows nodes of its own workflow only.
    inner = [step("work", route.to("join"), provides=["left"])]
    with pytest.raises(DefinitionError) as refused:
        define_workflow("left-flow", nodes=inner, state=State, inputs=["question"])
    assert {finding.code for finding in refused.value.findings} >= {"AF106"}


@pytest.mark.case("P004")
@pytest.mark.parametrize("make", [parallel, race])
async def test_9_a_join_is_passed_whatever_its_branches_come_to(make: Any) -> None:
    async def ends(state: Any) -> Any:
        return {"left": "l"}

    async def fails(state: Any) -> Any:
        raise ValueError("no")

    def flow(body: Any) -> Workflow[Any]:
        only = node(body, id="w", provides=["left"], routes=[route.deliver("left")])
        return define_workflow("f", nodes=[only], inputs=[])

    for bodies in itertools.product([ends, fails], repeat=2):
        held = {name: flow(body) for name, body in zip("ab", bodies, strict=True)}
        options: dict[str, Any] = {"on_branch_error": "collect", "errors": "bad"}
        joined = make("join", held, **options, routes=[route.finish(lambda state: "joined")])
        workflow = define_workflow("w", nodes=[joined], inputs=[])
        if make is race and bodies == (fails, fails):
            with pytest.raises(AgentflowError, match="no branch of node 'join' ended well"):
                await workflow.run({})
        else:
            assert await workflow.run({}) == "joined"
