"""Types: what is delivered satisfies the result contract, and what sub-workflows are given and give back fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentflow.graph.annotated import returned_type
from agentflow.graph.calling import function_name, is_async
from agentflow.graph.findings import Finding
from agentflow.graph.fit import filled, reading, relation, spelled, taken
from agentflow.graph.kinds import RESULT, Branch, place_of
from agentflow.graph.node import Node
from agentflow.graph.proof.domain import OTHER, closed_values, either, members
from agentflow.graph.proof.story import details, nodes_on

if TYPE_CHECKING:
    from agentflow.graph.proof.explore import Walk
    from agentflow.graph.proof.points import Place, Step
    from agentflow.graph.route import Route
    from agentflow.graph.workflow import Workflow


def results(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No end gives what the result contract can only refuse."""
    if workflow.result is None:
        return
    for node in workflow.nodes:
        for route in node.routes:
            given = _given(workflow, route)
            if relation(given, workflow.result) == "never fits":
                what = f"delivers {route.field!r}, which is {spelled(given)}"
                if route.kind == "finish":
                    what = f"finishes with {function_name(route.function)}, which gives {spelled(given)}"
                yield Finding(
                    code="AF602",
                    message=f"node {node.id!r} {what}; the result is to be {spelled(workflow.result)}",
                    hint="end with a value of that type, or change result=",
                    workflow=workflow.id,
                    node=node.id,
                    place=route.place or node.place,
                )


def mappings(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Sub-workflows are given what their inputs take, and give back what the surrounding fields take."""
    for node in workflow.nodes:
        if node.slips:
            continue
        for branch in node.branches:
            for problem, hint in (*_inputs(workflow, branch), *_outputs(workflow, branch)):
                yield Finding(
                    code="AF605",
                    message=f"{place_of(node, branch)}: {problem}",
                    hint=hint,
                    workflow=workflow.id,
                    node=node.id,
                    place=node.place,
                )


def _inputs(workflow: Workflow[Any], branch: Branch) -> Iterator[tuple[str, str]]:
    child = branch.workflow
    for target, source in branch.inputs.items():
        given, spec = _held(workflow, source), child.schema.fields.get(target)
        if spec is not None:
            wanted = taken(child.schema, target, spec.value.annotation)
            if relation(given, wanted) == "never fits":
                what = f"the input {target!r} of {child.id!r} is {spelled(wanted)}"
                yield (
                    f"{what}, and {source!r} is {spelled(given)}",
                    f"map another field to {target!r}, or convert {source!r} in a node before",
                )


def _outputs(workflow: Workflow[Any], branch: Branch) -> Iterator[tuple[str, str]]:
    child = branch.workflow
    for target, source in branch.outputs.items():
        spec = workflow.schema.fields.get(target)
        if spec is None:
            continue
        given = _results_of(child) if source == RESULT else [_held(child, source)]
        wanted = taken(workflow.schema, target, spec.delta.annotation)
        if branch.item is not None:
            # Without an item any list would do.
            fitting = [filled(_list_of(one), wanted) for one in given]
        else:
            fitting = [relation(one, wanted) for one in given]
        if given and all(one == "never fits" for one in fitting):
            what = f"{'its result' if source == RESULT else repr(source)} of {child.id!r} is"
            hint = f"take another field of {child.id!r}, or give {target!r} that type"
            if branch.item is not None:
                what, hint = (
                    f"gets the results of {child.id!r}, a list of",
                    f"make {target!r} a list",
                )
            kinds = " or ".join(dict.fromkeys(map(spelled, given)))
            yield f"the output {target!r} takes {spelled(wanted)}, and {what} {kinds}", hint


def _list_of(item: Any) -> Any:
    return list[item]


def _held(workflow: Workflow[Any], name: str) -> Any:
    spec = workflow.schema.fields.get(name)
    return Any if spec is None else spec.annotation


def _results_of(workflow: Workflow[Any]) -> list[Any]:
    """The types of what a workflow may end with."""
    if workflow.result is not None:
        return [workflow.result]
    return [
        _given(workflow, route)
        for node in workflow.nodes
        for route in node.routes
        if route.kind != "to"
    ]


def _given(workflow: Workflow[Any], route: Route) -> Any:
    """The type of what a route ends the run with; `Any` if it does not end it, or does not tell."""
    if route.kind == "deliver":
        return _held(workflow, route.field or "")
    function: Any = route.function
    if isinstance(function, Node):
        function = function.run
    if route.kind != "finish" or not callable(function) or is_async(function):
        return Any
    return returned_type(function)


class _Split(NamedTuple):
    """A type, cut into what a result contract always refuses and what it may take.

    Attributes:
        listed: Every value that the type lists.
        refused: Those that are always refused.
        open: The parts of the type that list no values.
        closed: Those of them that are always refused.
        hollow: Those of which nothing is taken but what is empty.
    """

    listed: list[Any]
    refused: list[Any]
    open: list[Any]
    closed: list[Any]
    hollow: list[Any]

    @classmethod
    def of(cls, given: Any, result: Any) -> _Split:
        parts = members(given)
        listed = [value for part in parts for value in closed_values(part) or ()]
        open = [part for part in parts if closed_values(part) is None]
        never = [part for part in open if relation(part, result) == "never fits"]
        return cls(
            listed,
            [value for value in listed if relation(_only(value), result) == "never fits"],
            open,
            never,
            [part for part in open if filled(part, result) != relation(part, result)],
        )


def _only(value: Any) -> Any:
    return None if value is None else Literal[value]


def delivered(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """On no path does a run end with a value that the result contract always refuses."""
    if workflow.result is None:
        return
    splits: dict[int, _Split] = {}
    told: set[tuple[int, str, str]] = set()
    for step, place in walk.ends:
        route = step.route
        if route is None or route.kind != "deliver":
            continue
        given = _given(workflow, route)
        if relation(given, workflow.result) != "may fit":
            continue
        split = splits.setdefault(id(route), _Split.of(given, workflow.result))
        for code, said in _refused(workflow, walk, step, split):
            if (id(route), code, said) not in told:
                told.add((id(route), code, said))
                yield _at_end(workflow, walk, step, place, code, said)


def _refused(
    workflow: Workflow[Any], walk: Walk, step: Step, split: _Split
) -> Iterator[tuple[str, str]]:
    """The codes of what is wrong at an end, each with what the field may be there."""
    assert step.route is not None
    name = step.route.field or ""
    domain = walk.picture.domain(name)
    if domain.coarse:
        return
    mask = dict(step.box).get(name, 0) & domain.present
    if mask == domain.none and relation(None, workflow.result) == "never fits":
        yield "AF602", "is None"
        return
    here = [case for at, case in enumerate(domain.cases) if mask & 2 << at]
    listed = [case for case in here if _among(case.value, split.listed)]
    other = [type(case.value) for case in here if not _among(case.value, split.listed)]
    open = [
        part
        for part in split.open
        if any(kind is type(OTHER) or reading(kind, part) != "never fits" for kind in other)
    ]
    values = [case.text for case in listed if _among(case.value, split.refused)]
    kinds = [spelled(part) for part in open if _is_one(part, split.closed)]
    if here and len(values) == len(listed) and len(kinds) == len(open):
        yield "AF602", f"is {either([*values, *kinds])}"
        return
    if values:
        yield "AF602", f"may be {either(values)}"
    if kinds:
        yield "AF603", f"may be {either(kinds)}"
    for part in open:
        if _is_one(part, split.hollow):
            yield "AF603", f"may be {spelled(part)}, of which only an empty one will do"


def _is_one(part: Any, parts: list[Any]) -> bool:
    # Never by comparing: a class of the author's may raise when it is compared.
    return any(part is one for one in parts)


def _among(value: Any, values: list[Any]) -> bool:
    return any(value is one or (type(value) is type(one) and value == one) for one in values)


def _at_end(
    workflow: Workflow[Any], walk: Walk, step: Step, place: Place, code: str, said: str
) -> Finding:
    route, node = step.route, walk.nodes[place[0].node]
    assert route is not None
    hint = "let the result be of that type too, or have the field hold only what the result may be"
    if said.endswith(" None"):
        hint = (
            f"use route.deliver_if_ready({route.field!r}) with a route for the other case, "
            f"or let the result be None too"
        )
    elif code == "AF602":
        hint = f"ask field({route.field!r}) on the way, or let the result be that too"
    return Finding(
        code=code,
        message=f"node {node.id!r} delivers {route.field!r}, which {said}; "
        f"the result is to be {spelled(workflow.result)}",
        hint=hint,
        workflow=workflow.id,
        node=node.id,
        place=route.place or node.place,
        path=nodes_on(walk, place),
        details=details(walk, place),
    )


CHECKS = (results, mappings)
PROOFS = (delivered,)
