"""Nodes that hold workflows: one, several at the same time, one for each item, or several of which the first counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.graph.excerpt import excerpt
from agentflow.graph.kinds import (
    RESULT,
    Branch,
    Kind,
    MapEach,
    OnBranchError,
    Parallel,
    Race,
    Subflow,
)
from agentflow.graph.node import Node, make_node
from agentflow.graph.place import calling_place
from agentflow.graph.slips import ID_RULE, Slips, is_id

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["map_each", "parallel", "race", "subflow"]


def subflow(
    id: str,
    workflow: Workflow[Any],
    *,
    inputs: Mapping[str, str] | None = None,
    outputs: Mapping[str, str] | None = None,
    **options: Any,
) -> Node:
    """A node that runs `workflow` on a state of its own and takes over what it delivers.

    The sub-workflow shares the run's ledger, context and deps; its signal is derived from the run's, and it counts its
    own rounds. A visit is one run of it, with an id below that of the run.

    Args:
        id: The node's id.
        workflow: The workflow to run.
        inputs: Its input fields, each with the surrounding field that the value is taken from. A source that does not
            exist is left out, so that an optional input stays optional.
        outputs: The surrounding fields to set, each with the field of the sub-workflow's end state that the value is
            taken from, or `"$result"` for what it delivered. A source that does not exist is a contract error. Where both
            fields have a reducer and the sub-workflow was given the surrounding value, what it has added is taken.
        options: `routes`, `requires`, `retry` and whatever else `node` takes, but no function. What `inputs` and `outputs`
            need is added to `requires` and `provides` by itself.
    """
    slips = Slips()
    branch = _branch("", workflow, slips, inputs, outputs)
    return _holding(
        id,
        Subflow(branch),
        slips,
        options,
        provides=branch.outputs,
        description=str(getattr(workflow, "description", "")),
    )


def parallel(
    id: str,
    branches: Mapping[str, Workflow[Any] | Node],
    *,
    on_branch_error: OnBranchError = "cancel",
    errors: str | None = None,
    **options: Any,
) -> Node:
    """A node that runs several workflows at the same time and commits what they give as one update when all have ended.

    Each branch goes on by itself, on a state of its own; none waits for another before the join. What they give is merged
    in the order of `branches`, whichever ended first. Two branches may give the same field only where it has a reducer.

    Args:
        id: The node's id.
        branches: The workflows by name. A plain workflow takes its inputs from the fields of the same names, and what it
            delivers goes to the field called like the branch; for other mappings give `subflow(…)`.
        on_branch_error: `"cancel"`: a failing branch cancels and awaits its siblings, and the node fails with its error.
            `"collect"`: the others go on, and the failure is put into the field `errors`.
        errors: The field that gets a list of failures, each a mapping `{"branch": name, "error": type, "message": text}`,
            in the order of `branches`.
        options: `routes`, `requires`, `retry` and whatever else `node` takes, but no function.
    """
    slips = Slips()
    held = _branches(branches, slips, lambda name: {name: RESULT})
    given = [target for branch in held for target in branch.outputs]
    collects = _collecting(slips, on_branch_error, errors)
    return _holding(
        id,
        Parallel(held, on_branch_error, errors),
        slips,
        options,
        provides=collects or given,
        may_provide=given if collects else (),
    )


def map_each(
    id: str,
    workflow: Workflow[Any],
    *,
    over: str | Callable[[Any], Any],
    item: str,
    into: str,
    inputs: Mapping[str, str] | None = None,
    concurrency: int = 10,
    max_items: int | None = None,
    on_branch_error: OnBranchError = "cancel",
    errors: str | None = None,
    **options: Any,
) -> Node:
    """A node that runs `workflow` once for each item, some at a time, and commits the list of what they deliver.

    The results stand in the order of the items, whichever ended first. Without an item the list is empty.

    Args:
        id: The node's id.
        workflow: The workflow to run for each item.
        over: The field that holds the items; or a function of the state that gives them, as an iterable or an async
            iterable, of which no more is taken than there is room for. What a function gives is recorded item by item.
        item: The input field of `workflow` that takes the item.
        into: The field that gets the list.
        inputs: Further input fields of `workflow`, each with the surrounding field that the value is taken from.
        concurrency: How many items are worked on at the same time.
        max_items: How many items there may be; one more is a `BudgetExceeded`. Without it no worst case can be proved.
        on_branch_error: `"cancel"`: a failing item cancels and awaits the others, and the node fails with its error.
            `"collect"`: the others go on, the failure is put into the field `errors`, and the item has no result.
        errors: The field that gets a list of failures, each a mapping `{"branch": index, "error": type, "message": text}`.
        options: `routes`, `requires`, `retry` and whatever else `node` takes, but no function.
    """
    slips = Slips()
    branch = _branch("", workflow, slips, inputs, {into: RESULT}, item=item)
    for name, number, least in (("concurrency", concurrency, 1), ("max_items", max_items, 0)):
        wrong = not isinstance(number, int) or isinstance(number, bool) or number < least
        if wrong and not (name == "max_items" and number is None):
            slips.note(f"{name}={excerpt(number)}: it takes a whole number of at least {least}")
    if isinstance(over, Node) and over.run is not None:
        # As in a route: of a node its function is taken.
        over = over.run
    given: object = over
    if not isinstance(given, str) and not callable(given):
        slips.note(
            f"over={excerpt(over)}: it takes the name of a field, or a function of the state"
        )
    return _holding(
        id,
        MapEach(branch, over, concurrency, max_items, on_branch_error, errors),
        slips,
        options,
        requires=(over,) if isinstance(over, str) else (),
        provides=(*branch.outputs, *_collecting(slips, on_branch_error, errors)),
        description=str(getattr(workflow, "description", "")),
    )


def race(
    id: str,
    branches: Mapping[str, Workflow[Any] | Node],
    *,
    into: str | None = None,
    winner: str | None = None,
    on_branch_error: OnBranchError = "cancel",
    errors: str | None = None,
    **options: Any,
) -> Node:
    """A node that runs several workflows at the same time and commits what the first gives; the others are cancelled.

    Which branch won is recorded, so that a run that is resumed does not change its mind.

    Args:
        id: The node's id.
        branches: The workflows by name; a plain workflow takes its inputs from the fields of the same names, for other
            mappings give `subflow(…)`.
        into: The field that gets what the winner delivered, where it is a plain workflow.
        winner: The field that gets the name of the winner.
        on_branch_error: `"cancel"`: a branch that fails before another has won cancels and awaits its siblings, and the
            node fails with its error. `"collect"`: the others go on, and the node fails when all have.
        errors: The field that gets a list of the failures before the first success, each a mapping
            `{"branch": name, "error": type, "message": text}`.
        options: `routes`, `requires`, `retry` and whatever else `node` takes, but no function.
    """
    slips = Slips()
    held = _branches(branches, slips, lambda _name: {} if into is None else {into: RESULT})
    if errors is not None:
        _collecting(slips, on_branch_error, errors)
    elif on_branch_error not in ("cancel", "collect"):
        slips.note(_WRONG_MODE.format(excerpt(on_branch_error)))
    every = [target for branch in held for target in branch.outputs]
    sure = [name for name in every if all(name in branch.outputs for branch in held)]
    told = [name for name in (winner, errors) if name is not None]
    return _holding(
        id,
        Race(held, winner, on_branch_error, errors),
        slips,
        options,
        provides=(*sure, *told),
        may_provide=[name for name in every if name not in sure],
    )


_WRONG_MODE = "on_branch_error={}: it takes 'cancel' or 'collect'"


def _collecting(slips: Slips, mode: object, errors: str | None) -> tuple[str, ...]:
    """The field of the failures where they are collected; nothing where they are not."""
    if mode not in ("cancel", "collect"):
        slips.note(_WRONG_MODE.format(excerpt(mode)))
    elif mode == "collect" and errors is None:
        slips.note("on_branch_error='collect' wants errors='…', the field that the failures go to")
    elif mode == "cancel" and errors is not None:
        slips.note(
            "errors= wants on_branch_error='collect': otherwise the first failure ends the node"
        )
    return (errors,) if mode == "collect" and errors is not None else ()


def _branches(
    given: object, slips: Slips, outputs: Callable[[str], Mapping[str, str]]
) -> tuple[Branch, ...]:
    """The branches of a mapping; `outputs` says what is taken of a plain workflow."""
    if not isinstance(given, Mapping) or not given:
        slips.note(f"branches={excerpt(given)}: it takes a mapping of name to workflow, not empty")
        return ()
    return tuple(_each(given, slips, outputs))


def _each(
    given: Mapping[Any, Any], slips: Slips, outputs: Callable[[str], Mapping[str, str]]
) -> Iterator[Branch]:
    for name, held in given.items():
        if not isinstance(name, str) or not is_id(name):
            slips.note(f"the branch name {excerpt(name)} is none: {ID_RULE}")
        elif not isinstance(held, Node):
            branch = _branch(name, held, slips, None, outputs(name))
            fields = (
                (*branch.workflow.inputs, *branch.workflow.optional_inputs)
                if _is_workflow(held)
                else ()
            )
            yield dataclasses.replace(branch, inputs={field: field for field in fields})
        elif isinstance(held.kind, Subflow):
            for slip in held.slips:
                slips.note(f"branch {name!r}: {slip}")
            more = [f"{option}=" for option in _OF_THE_NODE if getattr(held, option)]
            if more:
                slips.note(
                    f"branch {name!r} takes a workflow and its mappings; give {', '.join(more)} to the node around it"
                )
            yield dataclasses.replace(held.kind.branch, name=name)
        else:
            slips.note(f"branch {name!r} is {excerpt(held)}; give a workflow, or subflow(…)")


_OF_THE_NODE = (
    "routes",
    "starts_round",
    "on_error",
    "timeout",
    "retry",
    "uses",
    "metadata",
    "waive",
)
"""What a node is given and a branch is not."""


def _branch(
    name: str,
    workflow: Workflow[Any],
    slips: Slips,
    inputs: object,
    outputs: object,
    *,
    item: str | None = None,
) -> Branch:
    if not _is_workflow(workflow):
        slips.note(f"workflow={excerpt(workflow)} is no workflow; make it with define_workflow")
    taken, given = slips.pairs("inputs", inputs), slips.pairs("outputs", outputs)
    if item in taken:
        slips.note(f"the input {item!r} takes the item, and inputs maps it too")
    return Branch(name, workflow, taken, given, item)


def _is_workflow(workflow: object) -> bool:
    from agentflow.graph.workflow import Workflow

    return isinstance(workflow, Workflow)


def _holding(
    id: str,
    kind: Kind,
    slips: Slips,
    options: dict[str, Any],
    *,
    requires: Iterable[str] = (),
    provides: Iterable[str] = (),
    may_provide: Iterable[str] = (),
    description: str = "",
) -> Node:
    """The node of a kind; what its mappings need is added to what the author declared."""
    made = make_node(None, id=id, place=calling_place(), **options)
    provides, may_provide = tuple(dict.fromkeys(provides)), tuple(dict.fromkeys(may_provide))
    if not slips.found:
        _given_by_none(slips, made, provides, may_provide)
    needed = [source for branch in kind.branches for source in _needed(branch)]
    sure = dict.fromkeys((*provides, *made.provides))
    return dataclasses.replace(
        made,
        description=made.description or description,
        requires=tuple(dict.fromkeys((*requires, *needed, *made.requires))),
        provides=tuple(sure),
        may_provide=tuple(
            name for name in dict.fromkeys((*may_provide, *made.may_provide)) if name not in sure
        ),
        kind=kind,
        slips=(*made.slips, *slips.found),
    )


def _given_by_none(
    slips: Slips, made: Node, provides: tuple[str, ...], may_provide: tuple[str, ...]
) -> None:
    """Note what an author says that the node provides, and that nothing in it gives."""
    for name in made.provides:
        if name not in provides:
            given = "only at times" if name in may_provide else "by no output"
            slips.note(f"provides names {name!r}, which is given {given}")
    for name in made.may_provide:
        if name not in (*provides, *may_provide):
            slips.note(f"may_provide names {name!r}, which is given by no output")


def _needed(branch: Branch) -> Iterator[str]:
    optional = branch.workflow.optional_inputs if _is_workflow(branch.workflow) else ()
    return (source for target, source in branch.inputs.items() if target not in optional)
