"""Joins: what a node makes of what its branches give. Each field is given once, or joined; nothing is added a second time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agentflow.graph.findings import Finding
from agentflow.graph.fit import filled, spelled, taken
from agentflow.graph.fit.annotation import meaning
from agentflow.graph.fit.meaning import Keyed, Many, Record
from agentflow.graph.kinds import RESULT, Branch, MapEach, Race, Subflow, place_of
from agentflow.graph.proof.domain import either
from agentflow.graph.reducer import merge, union

if TYPE_CHECKING:
    from agentflow.graph.kinds import Kind
    from agentflow.graph.node import Node
    from agentflow.graph.workflow import Workflow


class NamedFailure(TypedDict):
    """What is told of a branch that has failed."""

    branch: str
    error: str
    message: str


class NumberedFailure(TypedDict):
    """What is told of an item that has failed."""

    branch: int
    error: str
    message: str


def given_once(workflow: Workflow[Any]) -> Iterator[Finding]:
    """No field is given by several at the same time, unless it has a reducer."""
    for node in _holders(workflow):
        for name, givers in _givers(node).items():
            spec = workflow.schema.fields.get(name)
            if len(givers) < 2 or (spec is not None and spec.reducer is not None):
                continue
            yield _at(
                workflow,
                node,
                "AF128",
                f"node {node.id!r}: {' and '.join(givers)} give {name!r}, and only the last would stay",
                f"let each give a field of its own, or declare how {name!r} is joined: {_joined_by(workflow, name)}",
            )


def _givers(node: Node) -> dict[str, list[str]]:
    """Who gives each field in one update, in words."""
    found: dict[str, list[str]] = {}
    kind = node.kind
    for branch in node.branches:
        for target in branch.outputs:
            who = f"branch {branch.name!r}" if branch.name else "the results"
            if isinstance(kind, Race):
                # Only one of them wins.
                found[target] = ["the winner"]
            else:
                found.setdefault(target, []).append(who)
    for option in ("winner", "errors"):
        name = getattr(kind, option, None)
        if name is not None:
            found.setdefault(name, []).append(f"{option}=")
    return found


def _joined_by(workflow: Workflow[Any], name: str) -> str:
    spec = workflow.schema.fields.get(name)
    match None if spec is None else meaning(spec.annotation):
        case Keyed() | Record():
            return "Annotated[…, merge] joins mappings by their keys"
        case Many(kind) if issubclass(kind, set | frozenset):
            return "Annotated[…, union] joins sets"
        case Many():
            return "Annotated[…, append] puts lists together"
    return "Annotated[…, append] puts lists together, merge joins mappings, add adds numbers"


def added_once(workflow: Workflow[Any]) -> Iterator[Finding]:
    """What a branch was given of a field does not come back as if the branch had added it."""
    for node in _holders(workflow):
        for branch in () if isinstance(node.kind, MapEach) else node.branches:
            if branch.workflow.doubts:
                # It is not known which of its fields have reducers.
                continue
            for target, source in branch.outputs.items():
                spec = workflow.schema.fields.get(target)
                if spec is None or spec.reducer is None:
                    continue
                alone = len(_givers(node)[target]) < 2
                if spec.reducer == union or (spec.reducer == merge and alone):
                    continue
                whole = _comes_back(workflow, branch, target, source)
                if whole is not None:
                    what, hint = whole
                    yield _at(
                        workflow,
                        node,
                        "AF214",
                        f"{place_of(node, branch)}: {branch.workflow.id!r} is given {target!r}, and {what} comes back "
                        f"as a whole: {spec.reducer} would add what was there before a second time",
                        hint,
                    )


def _comes_back(
    workflow: Workflow[Any], branch: Branch, target: str, source: str
) -> tuple[str, str] | None:
    """What of a branch holds all that it was given of a field, and what to do about it."""
    child = branch.workflow
    given = [name for name, outer in branch.inputs.items() if outer == target]
    if source == RESULT:
        routes = [route for node in child.nodes for route in node.routes]
        delivered = {route.field for route in routes if route.kind == "deliver"}
        back = [name for name in given if name in delivered]
        return ("its result", _hint(workflow, branch, target, back[0])) if back else None
    if source not in given or branch.continues(target, workflow.schema):
        return None
    return repr(source), _hint(workflow, branch, target, source)


def _hint(workflow: Workflow[Any], branch: Branch, target: str, name: str) -> str:
    reducer = workflow.schema.fields[target].reducer
    child = branch.workflow
    steps = []
    spec = child.schema.fields.get(name)
    if spec is None or spec.reducer != reducer:
        steps.append(f"declare {name!r} with {reducer} in the state of {child.id!r} too")
    if branch.outputs[target] != name:
        steps.append(f"take the field: outputs={{{target!r}: {name!r}}}")
    return (
        f"{', and '.join(steps)}, so that only what it adds is taken; or do not give it {target!r}"
    )


def reported(workflow: Workflow[Any]) -> Iterator[Finding]:
    """The fields for the failures and for the winner take what a node puts there."""
    for node in _holders(workflow):
        for name, problem in _misfits(workflow, node.kind):
            spec = workflow.schema.fields[name]
            yield _at(
                workflow,
                node,
                "AF605",
                f"node {node.id!r}: {name!r} is {spelled(spec.annotation)}, and {problem}",
                f"give {name!r} that type, or use another field",
            )


def _misfits(workflow: Workflow[Any], kind: Kind | None) -> Iterator[tuple[str, str]]:
    """The fields that do not take what a node itself puts there, and what that is."""
    if kind is None or isinstance(kind, Subflow):
        return
    if kind.errors is not None:
        failure: Any = NumberedFailure if isinstance(kind, MapEach) else NamedFailure
        if _refuses(workflow, kind.errors, list[failure]):
            yield (
                kind.errors,
                "errors= puts a list of {'branch': …, 'error': …, 'message': …} there",
            )
    if isinstance(kind, Race) and kind.winner is not None:
        # Any of them may win.
        names = [repr(one.name) for one in kind.branches if _refuses(workflow, kind.winner, Literal[one.name])]  # fmt: skip
        if names:
            yield kind.winner, f"winner= may put {either(names)} there"


def _refuses(workflow: Workflow[Any], name: str, given: Any) -> bool:
    """Whether a field never takes a value of a type, empty ones aside."""
    spec = workflow.schema.fields.get(name)
    if spec is None:
        return False
    return filled(given, taken(workflow.schema, name, spec.delta.annotation)) == "never fits"


def _holders(workflow: Workflow[Any]) -> Iterator[Node]:
    return (node for node in workflow.nodes if node.branches and not node.slips)


def _at(workflow: Workflow[Any], node: Node, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, message=message, hint=hint, workflow=workflow.id, node=node.id, place=node.place
    )


CHECKS = (given_once, added_once)
CLAIMS = (reported,)
