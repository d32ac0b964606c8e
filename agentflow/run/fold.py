"""The state of a run, folded out of its journal alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentflow.errors import IncompatibleRun
from agentflow.graph.frozen import State, write
from agentflow.run.decide import first_state, join
from agentflow.run.entries import Entry
from agentflow.run.journal import restored
from agentflow.run.redo import accepted_again

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan, PlanNode

__all__ = ["state_at"]


def state_at(plan: Plan, entries: Sequence[Entry], number: int) -> State:
    """The state of a run right after one of its entries, from its journal alone.

    Raises:
        IncompatibleRun: The definition of today cannot read it.
        LookupError: The run has no entry of that number.
    """
    if not 1 <= number <= len(entries):
        raise LookupError(f"the run has {len(entries)} entries; there is no number {number}")
    started = json.loads(entries[0].body).get("input")
    state = first_state(plan, None if started is None else restored("the input", started))
    for entry in entries[:number]:
        body = json.loads(entry.body)
        if entry.kind == "visit" and not body["frame"]:
            _apply(plan, state, body)
    return state


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
