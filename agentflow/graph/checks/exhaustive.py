"""Exhaustiveness: every value has a route, every comparison can be true, every route and node can be reached on some data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from agentflow.graph.checks.structure import same_route
from agentflow.graph.condition import AllOf, AnyOf, Condition, Not, Test
from agentflow.graph.findings import Finding
from agentflow.graph.fit.spelling import spelled
from agentflow.graph.proof.case import OTHER
from agentflow.graph.proof.story import details, nodes_on, situation

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.route import Route
    from agentflow.graph.workflow import Workflow


_PLENTY: Final = 1_000_000
"""A number of rounds that is never out, as far as data can tell."""


def never_true(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """Every comparison can be true for some value of the field's type."""
    for node in workflow.nodes:
        for route in node.routes:
            if not isinstance(route.when, Condition):
                continue
            for test in _assertions(route.when):
                if not walk.picture.masks(test)[1]:
                    yield Finding(
                        code="AF301",
                        message=f"node {node.id!r}: {test} can never be true",
                        hint=_possible(workflow, walk, test),
                        workflow=workflow.id,
                        node=node.id,
                        place=route.place or node.place,
                    )


def _possible(workflow: Workflow[Any], walk: Walk, test: Test) -> str:
    """What can be where a comparison looks, in words: the values where they can be listed, else the type."""
    name, *below = test.path
    domain = walk.picture.domain(name)
    choices = domain.choices(below)
    spec = workflow.schema.fields.get(name)
    if spec is None or (choices and not any(case.value is OTHER for case in domain.cases)):
        return f"{'.'.join(test.path)} can be {choices}"
    if not choices:
        return f"{name} is {spelled(spec.annotation)}, in which there is no {'.'.join(below)!r}"
    part = f"its {'.'.join(below)!r}" if below else "it"
    return f"{name} is {spelled(spec.annotation)}: compare {part} with what that can be"


def _assertions(condition: Condition, *, negated: bool = False) -> Iterator[Test]:
    """The tests that the author means to be true at times: a negated `is_none` only rules something out."""
    match condition:
        case Test(_, op):
            if not (negated and op == "is_none"):
                yield condition
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _assertions(part, negated=negated)
        case Not(part):
            yield from _assertions(part, negated=not negated)


def covered(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """Whatever a node leaves behind, one of its routes matches."""
    told: set[tuple[str, str]] = set()
    walk = walk.calm
    for lack, place in walk.lacks:
        node = walk.nodes[place[0].node]
        if lack.kind not in ("uncovered", "unproved") or (node.id, lack.kind) in told:
            continue
        if not node.routes:
            # A dead end, which has been said already.
            continue
        told.add((node.id, lack.kind))
        said = situation(walk.picture, node, lack.box)
        if lack.kind == "uncovered":
            code = "AF302"
            message = f"node {node.id!r}: no route matches when {said}"
            hint = "add a route for that case, or an unconditional one at the end"
        else:
            code = "AF304"
            message = f"node {node.id!r}: it cannot be proved that a route matches, since a function decides"
            hint = (
                "end with an unconditional route, or write the conditions as data with field('…')"
            )
        yield Finding(
            code=code,
            message=message,
            hint=hint,
            workflow=workflow.id,
            node=node.id,
            place=node.place,
            path=nodes_on(walk, place),
            details=details(walk, place),
        )


def taken(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """Every route of a visited node can be taken, and every node is visited on some data."""
    stuck = _stopped(walk).difference(id for id, _ in walk.taken)
    longer = _MoreRounds(workflow)
    for node in walk.nodes.values():
        if node.id in walk.reached:
            if node.id not in stuck:
                for at, route in enumerate(node.routes):
                    told = any(
                        same_route(route, other) or not other.conditional
                        for other in node.routes[:at]
                    )
                    if (node.id, at) not in walk.taken and not told and not _hopeless(walk, route):
                        yield _never_taken(workflow, walk, longer, node, at)
        elif node.id in workflow.shape.reachable:
            reason, hint = (
                "the conditions on the way exclude each other",
                "correct the conditions on the way",
            )
            if node.id in longer.walk.reached:
                reason = f"max_rounds={walk.rounds} is out before"
                hint = "raise max_rounds"
            elif node.id in longer.failures:
                failing = " or ".join(map(repr, longer.failures[node.id]))
                reason = (
                    f"only a failure of {failing} leads on to it, and what fails in an error node "
                    "goes to the caller"
                )
                hint = f"let a route of {failing} lead there"
            yield Finding(
                code="AF305",
                message=f"node {node.id!r} can be reached by no data: {reason}",
                hint=f"{hint}, or take the node out",
                workflow=workflow.id,
                node=node.id,
                place=node.place,
            )


def _stopped(walk: Walk) -> set[str]:
    """Nodes at which runs fail because something they need is missing: that has been said already."""
    kinds = ("requires", "reads", "raises", "deliver", "finish")
    return {place[0].node for lack, place in walk.lacks if lack.kind in kinds}


def _hopeless(walk: Walk, route: Route) -> bool:
    """Whether a comparison in the route can never be true: that has been said already."""
    if not isinstance(route.when, Condition):
        return False
    return any(not walk.picture.masks(test)[1] for test in _assertions(route.when))


class _MoreRounds:
    """What a workflow could do if its rounds were never out; worked out when first asked for."""

    def __init__(self, workflow: Workflow[Any]) -> None:
        self._workflow = workflow

    @cached_property
    def walk(self) -> Walk:
        from agentflow.graph.proof.explore import Walk

        return Walk(self._workflow, rounds=_PLENTY)

    @cached_property
    def failures(self) -> dict[str, list[str]]:
        """The nodes that nothing but failures of error nodes would lead on to, each with those error nodes."""
        # A node that lacks what it needs never comes to fail by itself: that has been said already.
        lacking = _stopped(self.walk)
        others: set[str] = set()
        failing: dict[str, list[str]] = {}
        for edge in self._workflow.shape.edges:
            if edge.source in self.walk.reached and edge.target not in self.walk.reached:
                if edge.kind == "error" and edge.source not in lacking:
                    failing.setdefault(edge.target, []).append(edge.source)
                else:
                    others.add(edge.target)
        others = self._onward(others)
        found: dict[str, list[str]] = {}
        for target, sources in failing.items():
            for id in self._onward({target}) - others:
                found.setdefault(id, []).extend(sources)
        return found

    def _onward(self, start: set[str]) -> set[str]:
        """Where ways lead on from nodes that are never visited, without passing any that is."""
        seen, waiting = set(start), list(start)
        while waiting:
            for edge in self._workflow.shape.out[waiting.pop()]:
                if edge.target not in seen and edge.target not in self.walk.reached:
                    seen.add(edge.target)
                    waiting.append(edge.target)
        return seen


def _never_taken(
    workflow: Workflow[Any], walk: Walk, longer: _MoreRounds, node: Node, at: int
) -> Finding:
    route = node.routes[at]
    reason = "those before it cover everything that is left"
    hint = "take it out, or correct its condition and those before it"
    if isinstance(route.when, Condition) and not _satisfiable(walk, route.when):
        reason = "its condition contradicts itself"
    elif (node.id, at) in longer.walk.taken:
        reason = f"max_rounds={walk.rounds} is out before"
        hint = "raise max_rounds, or take it out"
    return Finding(
        code="AF303",
        message=f"node {node.id!r}: the route {route} is never taken: {reason}",
        hint=hint,
        workflow=workflow.id,
        node=node.id,
        place=route.place or node.place,
    )


def _satisfiable(walk: Walk, condition: Condition) -> bool:
    box: dict[str, int] = {}
    for name in condition.reads():
        walk.picture.write(box, name, sure=False)
    return bool(walk.picture.split(condition, box, lambda _test, _box: None)[0])


def endable(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """From every visited node some end can be reached without a failure, on some data; told where the trap lies."""
    from agentflow.graph.proof.traps import Traps

    for group in Traps(walk).causes():
        if group[0] not in workflow.shape.can_end:
            # No way of the graph leads to an end, which has been said already.
            continue
        node = walk.nodes[next((id for id in group if _leads_out(walk.nodes[id], group)), group[0])]
        names = ", ".join(map(repr, group))
        what = f"node {names}" if len(group) == 1 else f"the loop of {names}"
        yield Finding(
            code="AF306",
            message=f"{what}: on no data can a run that visits it come to an end",
            hint="correct the conditions on the way to the ends",
            workflow=workflow.id,
            node=node.id,
            place=node.place,
        )


def _leads_out(node: Node, group: tuple[str, ...]) -> bool:
    return any(route.target not in group for route in node.routes)


PROOFS = (never_true, covered, taken, endable)
