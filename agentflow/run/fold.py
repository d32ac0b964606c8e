"""The state of a run, and of the workflows inside it, folded out of its journal alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentflow.errors import IncompatibleRun
from agentflow.graph.frozen import State, lend, write
from agentflow.graph.kinds import MapEach
from agentflow.run.beginning import began_with, defaults_key, inner_began_with
from agentflow.run.decide import join
from agentflow.run.entries import Entry
from agentflow.run.journal import restored
from agentflow.run.redo import accepted_again, edit

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan, PlanNode

__all__ = ["state_at"]


def state_at(plan: Plan, entries: Sequence[Entry], number: int, frame: str = "") -> State:
    """The state right after an entry of a whole journal, from the journal alone.

    Args:
        plan: The definition of today.
        entries: The journal.
        number: The number of the entry.
        frame: The path of the workflow inside whose state is wanted; default: the run's own.

    Raises:
        IncompatibleRun: The definition of today cannot read it.
        LookupError: The run has no entry of that number, or the workflow inside had not begun.
    """
    if not 1 <= number <= len(entries):
        raise LookupError(f"the run has {len(entries)} entries; there is no number {number}")
    inner = plan.inner(frame)
    if inner is None:
        raise IncompatibleRun(f"the definition of today has no workflow at {frame!r}")
    state = _first(plan, inner, entries, number, frame)
    for entry in entries[:number]:
        body = json.loads(entry.body)
        if body.get("frame") != frame:
            continue
        if entry.kind == "visit":
            _apply(inner, state, body)
        elif entry.kind == "edited":
            edit(inner, state, body["update"])
    return state


def _first(plan: Plan, inner: Plan, entries: Sequence[Entry], number: int, frame: str) -> State:
    """The state that a workflow began with."""
    if not frame:
        return began_with(plan, json.loads(entries[0].body))
    bodies = ((entry.number, json.loads(entry.body)) for entry in entries[:number])
    below = (f"{frame}/", frame)
    began = next((at for at, body in bodies if f"{body.get('frame', '')}/".startswith(below)), None)
    if began is None:
        raise LookupError(f"nothing is recorded of {frame!r} up to number {number}")
    inputs = _inputs(plan, entries, began - 1, frame)
    return inner_began_with(inner, inputs, _recorded_defaults(entries[:number], frame))


def _recorded_defaults(entries: Sequence[Entry], frame: str) -> dict[str, Any]:
    """The defaults of a workflow inside that were recorded, because they differ each time."""
    bodies = (json.loads(entry.body) for entry in entries if entry.kind == "effect")
    end = defaults_key(frame)
    found = (body["value"] for body in bodies if body["key"].endswith(f"/{end}"))
    return restored("the defaults", next(found, {}))  # type: ignore[no-any-return]


def _inputs(plan: Plan, entries: Sequence[Entry], number: int, frame: str) -> dict[str, Any]:
    """What a workflow inside was given by the state of the one around it."""
    outside, _, step = frame.rpartition("/")
    above = plan.inner(outside)
    branch = None if above is None else above.branch_at(step)
    assert above is not None
    assert branch is not None
    state = state_at(plan, entries, number, outside)
    inputs = {
        target: lend(dict.__getitem__(state, source))
        for target, source in branch.inputs.items()
        if source in state
    }
    if branch.item is not None:
        inputs[branch.item] = _item(above, state, entries, frame)
    return inputs


def _item(above: Plan, state: State, entries: Sequence[Entry], frame: str) -> Any:
    """The item that a workflow of a `map_each` works on: from the field, or as it was recorded."""
    outside, _, step = frame.rpartition("/")
    id, _, rest = step.partition("#")
    visit, at = rest.partition("[")[0].partition(".")[0], step.partition("[")[2].removesuffix("]")
    kind = above.nodes[id].kind
    assert isinstance(kind, MapEach)
    if isinstance(kind.over, str):
        return lend(list(dict.__getitem__(state, kind.over))[int(at)])
    end = f"{outside}/{id}#{visit}/item:{at}"
    bodies = (json.loads(entry.body) for entry in entries if entry.kind == "effect")
    found = next(body for body in bodies if body["key"].endswith(end))
    return restored(f"item {at}", found["value"])


def _apply(plan: Plan, state: State, body: Mapping[str, Any]) -> None:
    node: PlanNode | None = plan.nodes.get(body["node"])
    if node is None:
        raise IncompatibleRun(f"node {body['node']!r} is not in the definition any more")
    values: dict[str, Any] = {}
    for name, data in body["delta"].items():
        if name not in node.writes:
            raise IncompatibleRun(f"node {node.id!r} does not write the field {name!r} any more")
        values[name] = accepted_again(name, node.writes[name].delta, data)
    write(state, join(node, state, values) if node.reducing else values)
