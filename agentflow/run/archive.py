"""What a store knows of an engine's runs: which there are, what happened in one, and what its state was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.errors import IncompatibleRun, RunCancelled
from agentflow.graph.frozen import State, freeze, write
from agentflow.run.attach import end_body
from agentflow.run.decide import first_state, join
from agentflow.run.entries import Claim, Entry
from agentflow.run.journal import restored

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan, PlanNode
    from agentflow.run.engine import Engine
    from agentflow.run.ports import Store
    from agentflow.run.run import Run

__all__ = ["JournalRecord", "cancel", "history", "recover", "state_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One thing that happened in a durable run, values included.

    Args:
        number: Its number in the run, from 1.
        kind: `started`, `visit`, `failed`, `attempt`, `effect`, `suspended`, `answered`, `resumed` or `ended`.
        frame: The sub-workflow that it happened in, as a path of visits; empty for the run itself.
        node_id: The node concerned, if one is.
        visit: Which visit of it.
        data: What the entry holds, values in their stored form.
    """

    number: int
    kind: str
    frame: str = ""
    node_id: str | None = None
    visit: int | None = None
    data: Mapping[str, Any]


def history(entries: Sequence[Entry]) -> list[JournalRecord]:
    """The entries of a journal as records."""
    found = []
    for entry in entries:
        body = json.loads(entry.body)
        found.append(
            JournalRecord(
                number=entry.number,
                kind=entry.kind,
                frame=body.get("frame", ""),
                node_id=body.get("node"),
                visit=body.get("visit"),
                data=body,
            )
        )
    return found


def state_at(plan: Plan, entries: Sequence[Entry], number: int) -> State:
    """The state of a run right after one of its entries, from its journal alone.

    Raises:
        IncompatibleRun: The definition of today cannot read it.
        LookupError: The run has no entry of that number.
    """
    if not 1 <= number <= len(entries):
        raise LookupError(f"the run has {len(entries)} entries; there is no number {number}")
    started = json.loads(entries[0].body)["input"]
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
        spec = node.writes.get(name)
        value = restored(f"field {name!r}", data)
        values[name] = freeze(value) if spec is None else spec.delta.accept(value)
    write(state, join(node, state, values) if node.reducing else values)


async def cancel(store: Store, run_id: str, reason: object) -> bool:
    """Cancel a stored run that nobody drives; tells whether it was waiting or interrupted."""
    claim = await store.claim(run_id, suspended=True)
    if not isinstance(claim, Claim):
        return False
    body = end_body(None, RunCancelled(reason))
    entry = Entry(claim.info.last + 1, "ended", json.dumps(body, ensure_ascii=False))
    await store.append(claim, [entry], status="cancelled")
    return True


async def recover(engine: Engine[Any], store: Store, at_once: int) -> dict[str, Run[Any]]:
    """Go on with the runs of an engine's workflow that nobody drives, and wait until they have stopped."""
    interrupted = await store.find(status="interrupted")
    due = await store.find(due=engine.clock.now())
    runs: dict[str, Run[Any]] = {}
    places = anyio.CapacityLimiter(at_once)

    async def go_on(run_id: str) -> None:
        async with places, engine.start(run_id=run_id) as run:
            runs[run_id] = run
            await run.settled()

    async with anyio.create_task_group() as group:
        for info in (*interrupted, *due):
            if info.workflow_id == engine.workflow.id and engine.get(info.run_id) is None:
                group.start_soon(go_on, info.run_id)
    return runs
