"""Agreement: what the explorer says a report must hold, beside what it holds.

A report is read as everybody reads it: codes, nodes and messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from agentflow import Finding, Report, Route, Workflow
from agentflow.graph.condition import AllOf, AnyOf, Condition, Not, Test
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.traps import Traps
from tests.proofs.explorer import Explorer
from tests.proofs.values import ask
from tests.proofs.visits import Failing

__all__ = [
    "SPOKEN",
    "Saying",
    "expected",
    "found_in",
    "is_exact",
    "is_proved",
    "saying_of",
    "sayings",
]


class Saying(NamedTuple):
    """One thing that a report says: the code, the node, and what about it (a field, a route, a comparison)."""

    code: str
    node: str
    subject: str = ""


SPOKEN = {
    "AF201": r" requires '(.*?)'",
    "AF202": r" requires '(.*?)'",
    "AF203": r" delivers '(.*?)'",
    "AF204": r"the route (.*) reads '(.*?)'",
    "AF205": r"the condition (.*) looks at '(.*?)'",
    "AF207": r"the condition (.*) raises when",
    "AF301": r": (.*) can never be true",
    "AF302": "()",
    "AF303": r"the route (.*) is never taken",
    "AF304": "()",
    "AF305": "()",
    "AF306": "()",
}
"""The codes that the explorer speaks of, each with where its message names the subject."""


def is_proved(report: Report) -> bool:
    """Whether the declaration and the structure were sound, so that the paths were walked."""
    return not any(finding.code < "AF2" for finding in report.errors)


def is_exact(workflow: Workflow[Any]) -> bool:
    """Whether no paths were merged: of those that run, and of those that would go on with more rounds."""
    walk = Walk(workflow)
    Traps(walk)
    return not walk.merged


def found_in(report: Report) -> set[Saying]:
    """What a report says, as far as the explorer speaks of it."""
    return sayings(report.findings)


def sayings(findings: Iterable[Finding]) -> set[Saying]:
    """What some findings say, as far as the explorer speaks of it."""
    found = set()
    for finding in findings:
        if finding.code in SPOKEN:
            match = re.search(SPOKEN[finding.code], finding.message)
            assert match is not None, finding.message
            assert finding.node is not None
            found.add(Saying(finding.code, finding.node, " ".join(match.groups())))
    return found


def expected(workflow: Workflow[Any], explorer: Explorer) -> set[Saying]:
    """What a report has to say, as far as the explorer speaks of it."""
    problems = explorer.problems("requires", *_CODES)
    return {
        *(saying_of(explorer, id, problem) for id, problem in problems),
        *_impossible(workflow, explorer),
        *_unused(workflow, explorer),
    }


_CODES = {
    "deliver": "AF203",
    "reads": "AF204",
    "finish": "AF204",
    "condition": "AF205",
    "raises": "AF207",
    "uncovered": "AF302",
    "unproved": "AF304",
}


def saying_of(explorer: Explorer, id: str, problem: Failing) -> Saying:
    """What a report says of a problem that the explorer came to at a node."""
    route = explorer.nodes[id].routes[problem.route] if problem.route >= 0 else None
    match problem.kind:
        case "requires":
            return Saying("AF202" if problem.failed else "AF201", id, problem.field)
        case "reads" | "finish" | "condition":
            return Saying(_CODES[problem.kind], id, f"{route} {problem.field}")
        case "raises":
            return Saying("AF207", id, str(route))
    return Saying(_CODES.get(problem.kind, ""), id, problem.field)


def _impossible(workflow: Workflow[Any], explorer: Explorer) -> Iterator[Saying]:
    """Comparisons that are true of no value: all but a negated `is_none`, which only rules something out."""
    for node in workflow.nodes:
        for route in node.routes:
            for test in _meant(route.when, negated=False):
                if _never_true(explorer, test):
                    yield Saying("AF301", node.id, str(test))


def _never_true(explorer: Explorer, test: Test) -> bool:
    name = test.path[0]
    return not any(ask(test, name, value) is True for value in explorer.samples[name])


def _meant(condition: object, *, negated: bool) -> Iterator[Test]:
    if isinstance(condition, Test):
        if not (negated and condition.op == "is_none"):
            yield condition
    elif isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from _meant(part, negated=negated)
    elif isinstance(condition, Not):
        yield from _meant(condition.part, negated=not negated)


def _unused(workflow: Workflow[Any], explorer: Explorer) -> Iterator[Saying]:
    """Nodes and routes that no run comes to, and nodes from which none ends; but for what has been said already."""
    reached, taken = explorer.reached, explorer.taken
    shape = workflow.shape
    stopped = {
        id for id, _ in explorer.problems("requires", "reads", "raises", "deliver", "finish")
    }
    for node in workflow.nodes:
        if node.id not in reached:
            if node.id in shape.reachable:
                yield Saying("AF305", node.id)
        elif node.id not in stopped - {id for id, _ in taken}:
            for at, route in enumerate(node.routes):
                asked = _meant(route.when, negated=False)
                impossible = any(_never_true(explorer, test) for test in asked)
                twice = any(_same(route, other) for other in node.routes[:at])
                if (node.id, at) not in taken and not impossible and not twice:
                    yield Saying("AF303", node.id, str(route))
    for group in explorer.traps:
        if group & shape.can_end:
            told = [node for node in workflow.nodes if node.id in group]
            out = [node for node in told if any(way.target not in group for way in node.routes)]
            yield Saying("AF306", (out or told)[0].id)


def _same(route: Route, other: Route) -> bool:
    """Whether a route stands twice, which is said apart."""
    if (route.kind, route.target, route.field) != (other.kind, other.target, other.field):
        return False
    if route.function is not other.function:
        return False
    mine, theirs = route.when, other.when
    if isinstance(mine, Condition) and isinstance(theirs, Condition):
        return bool(mine == theirs)
    return mine is theirs
