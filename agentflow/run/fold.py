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
from agentflow.run.places import is_below
from agentflow.run.redo import accepted_again, edit
from agentflow.run.stored import restored

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
    known = list(zip(entries, _names(entries[:number], frame), strict=False))
    migrations = [at for at, (entry, _) in enumerate(known) if entry.kind == "migrated"]
    if migrations and not frame:
        # It says what the state is, whatever came before.
        state = plan.state_class()
        edit(plan, state, json.loads(entries[migrations[-1]].body)["state"])
        known = known[migrations[-1] + 1 :]
    else:
        state = _first(plan, inner, entries, known, frame)
    for entry, name in known:
        body = json.loads(entry.body)
        if body.get("frame") != name:
            continue
        if entry.kind == "visit":
            _apply(inner, state, body)
        elif entry.kind == "edited":
            edit(inner, state, body["update"])
    return state


def _names(entries: Sequence[Entry], frame: str) -> list[str]:
    """What a workflow was called when each entry was written: a migration may have renamed the node that it is in."""
    names = []
    for entry in reversed(entries):
        names.append(frame)
        if entry.kind == "migrated" and frame:
            old, new = json.loads(entry.body)["under_way"]
            frame = old + frame.removeprefix(new) if is_below(frame, new) else frame
    return names[::-1]


def _first(
    plan: Plan,
    inner: Plan,
    entries: Sequence[Entry],
    known: Sequence[tuple[Entry, str]],
    frame: str,
) -> State:
    """The state that a workflow began with."""
    if not frame:
        return began_with(plan, json.loads(entries[0].body))
    began = next((entry.number for entry, name in known if _is_inside(entry, name)), None)
    if began is None:
        raise LookupError(f"nothing is recorded of {frame!r} up to number {len(known)}")
    # What it goes on with after a migration is what that has made of the state around it.
    migrated = [entry.number for entry, _ in known if entry.kind == "migrated"]
    inputs = _inputs(plan, entries, max([began - 1, *migrated]), frame)
    return inner_began_with(inner, inputs, _recorded_defaults(known))


def _is_inside(entry: Entry, frame: str) -> bool:
    inside = json.loads(entry.body).get("frame", "")
    return inside == frame or str(inside).startswith(f"{frame}/")


def _recorded_defaults(known: Sequence[tuple[Entry, str]]) -> dict[str, Any]:
    """The defaults of a workflow inside that were recorded, because they differ each time."""
    for entry, name in known:
        if entry.kind == "effect":
            body = json.loads(entry.body)
            if body["key"].endswith(f"/{defaults_key(name)}"):
                return restored("the defaults", body["value"])  # type: ignore[no-any-return]
    return {}


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
