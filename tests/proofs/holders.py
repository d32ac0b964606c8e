"""Random workflows most of whose nodes hold workflows, one in the other, and a policy about what is inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from agentflow import (
    Node,
    Policy,
    Retry,
    Route,
    Uses,
    Workflow,
    at_most,
    field,
    map_each,
    must_pass,
    never_after,
    node,
    only_if,
    parallel,
    race,
    route,
    subflow,
)
from agentflow.graph.kinds import step_of
from agentflow.graph.workflow import assemble
from tests.proofs.children import SMALL
from tests.proofs.choices import Choices, choices
from tests.proofs.graphs import answering, body, some_items, told

__all__ = ["Holding", "holders"]

_GIVEN = field("x").exists()


class Holding:
    """A random workflow of two nodes that hold others and one that ends it; `repr` tells it."""

    def __init__(self, made: bytes) -> None:
        self._choices = Choices(made)
        self._small = SMALL
        self.workflow = self._workflow()

    def __repr__(self) -> str:
        return told(self.workflow)

    def _workflow(self) -> Workflow[Any]:
        choose = self._choices
        back = [route.to("k", answering(()))] if choose.chance(40) else []
        nodes = [
            self._holder("k", [route.to("l")], starts_round=True),
            self._holder("l", [*back, route.to("m")])
            if choose.chance(50)
            else self._plain("l", [*back, route.to("m")]),
            self._plain("m", [route.finish(dict, reads=[])]),
        ]
        names = [name for one in nodes for name in _names(one, "")]
        return assemble(
            "holding",
            nodes,
            place=None,
            inputs=[],
            optional_inputs=["x"],
            max_rounds=choose.pick((2, 3)) if back else None,
            policies=[self._policy(names)],
        )

    def _plain(self, id: str, routes: list[Route], **options: Any) -> Node:
        return node(body(id), id=id, routes=routes, uses=Uses(model_calls=1), **options)

    def _holder(self, id: str, routes: list[Route], **options: Any) -> Node:
        choose = self._choices
        options |= {
            "routes": routes,
            "retry": Retry(2) if choose.chance(25) else None,
            "on_error": "m" if choose.chance(25) else None,
        }
        if choose.chance(40):
            options |= {"on_branch_error": "collect", "errors": "failed"}
        match choose.pick(("parallel", "map_each", "race")):
            case "map_each":
                inner = self._inner()
                return map_each(
                    id,
                    inner,
                    over=some_items,
                    item="x",
                    into=f"{id}_results",
                    concurrency=choose.pick((1, 2)),
                    max_items=choose.pick((2, 1, 3, None, 0) if inner in SMALL else (2, 1)),
                    **options,
                )
            case "race":
                return race(id, self._branches(), **options)
        return parallel(id, self._branches(), **options)

    def _branches(self) -> dict[str, Node]:
        given = {"x": "x"}
        return {name: subflow(name, self._inner(), inputs=given) for name in ("x", "y")}

    def _inner(self) -> Workflow[Any]:
        """A small workflow, or, once in a while, one with a node that holds others, and small ones beside it."""
        if self._small is not SMALL or not self._choices.chance(25):
            return self._choices.pick(self._small)
        self._small = SMALL[:2]
        kept = self._holder("r", [route.finish(dict, reads=[])])
        return assemble(
            "deep",
            [kept if kept.on_error is None else self._plain("r", list(kept.routes))],
            place=None,
            inputs=[],
            optional_inputs=["x"],
        )

    def _policy(self, names: list[str]) -> Policy:
        choose = self._choices
        one, other = choose.pick(names), choose.pick(names)
        match choose.pick(("must_pass", "never_after", "only_if", "at_most")):
            case "must_pass":
                return must_pass(one, before=other)
            case "never_after":
                return never_after(one, other)
            case "only_if":
                return only_if(one, _GIVEN)
        return at_most(one, choose.pick((1, 2, 3, 4, 0, 5, 6)))


def _names(one: Node, above: str) -> Iterator[str]:
    """Whatever may name a node, or one inside of it."""
    yield one.id
    yield f"{above}{one.id}"
    for branch in one.branches:
        for inner in branch.workflow.nodes:
            yield from _names(inner, f"{above}{step_of(one, branch)}/")


def holders() -> st.SearchStrategy[Holding]:
    """Random workflows of that kind."""
    return choices().map(Holding)
