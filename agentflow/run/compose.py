"""Performs the node kinds that hold workflows: one, several at the same time, one for each item, the first to end.

Each branch is a frame of its own, so it has its own state, rounds and journal entries, and goes on without waiting for its
siblings. What they give is merged here into one update, in declared order, and committed by the visit like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.errors import AgentflowError, BudgetExceeded, ContractError
from agentflow.graph.frozen import lend
from agentflow.graph.kinds import RESULT, Branch, Kind, MapEach, Parallel, Race, Subflow
from agentflow.graph.reducer import append
from agentflow.run.branches import Branches, Key
from agentflow.run.effects import emit, emit_limit, performing
from agentflow.run.items import items_of

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.frame import Frame

__all__ = ["perform"]

Update = Mapping[str, Any]


async def perform(ctx: NodeContext, kind: Kind) -> dict[str, Any]:
    """Run the branches of a node, and return the update that they make together."""
    _go_deeper(ctx)
    match kind:
        case Subflow():
            updates: Iterable[Update] = await _subflow(ctx, kind)
        case Parallel():
            updates = await _parallel(ctx, kind)
        case MapEach():
            updates = await _map_each(ctx, kind)
        case Race():
            updates = await _race(ctx, kind)
    return _merged(ctx, updates)


def _go_deeper(ctx: NodeContext) -> None:
    depth = ctx.frame.depth + 1
    allowed = ctx.ledger.allowed("depth")
    if allowed is not None and depth > allowed:
        error = BudgetExceeded("depth", allowed, depth, where=f"node {ctx.node_id!r}")
        emit_limit(ctx, error)
        raise error


async def _subflow(ctx: NodeContext, kind: Subflow) -> list[Update]:
    branches = Branches(ctx, names=("",))
    ended = await branches.run("", kind.branch, _inputs(ctx, kind.branch))
    branches.settle()
    assert ended is not None
    return [_outputs(ctx, kind.branch, *ended)]


async def _parallel(ctx: NodeContext, kind: Parallel) -> list[Update]:
    branches = Branches(ctx, kind.on_branch_error, _names(kind))
    progress = _Progress(ctx, len(kind.branches))
    updates: dict[Key, Update] = {}

    async def work(branch: Branch) -> None:
        ended = await branches.run(branch.name, branch, _inputs(ctx, branch))
        if ended is not None:
            updates[branch.name] = _outputs(ctx, branch, *ended)
        progress.tell(branches, branch.name, ended)

    async with anyio.create_task_group() as group:
        for branch in kind.branches:
            group.start_soon(work, branch)
    branches.settle()
    return [*branches.in_order(updates), _failures(kind, branches)]


async def _map_each(ctx: NodeContext, kind: MapEach) -> list[Update]:
    branches = Branches(ctx, kind.on_branch_error)
    items = await items_of(ctx, kind)
    shared = _inputs(ctx, kind.branch)
    progress = _Progress(ctx, items.count)
    results: dict[Key, Any] = {}
    name = kind.branch.item
    assert name is not None

    # Told its own name: a function that held it would lead back to itself.
    async def work(again: Callable[..., Coroutine[Any, Any, None]], others: int) -> None:
        while not branches.stopped:
            try:
                taken = await items.take()
            except Exception as error:
                branches.fail("the items", error)
                return
            if taken is None:
                return
            if others:
                # Each worker begins the next one, and only when there was something to do: items that never wait need
                # a task for none of them, and as many are at work as there would be if all had begun at once.
                group.start_soon(again, again, others - 1)
                others = 0
            at, item = taken
            ended = await branches.run(at, kind.branch, {**shared, name: item})
            if ended is not None:
                results[at] = ended[1]
            progress.tell(branches, at, ended)

    try:
        async with anyio.create_task_group() as group:
            # Not in the visit's own task: which of the workers takes an item is chance, and what that task does has an order.
            group.start_soon(work, work, kind.concurrency - 1)
    finally:
        await items.close()
    branches.settle()
    (into,) = kind.branch.outputs
    return [{into: branches.in_order(results)}, _failures(kind, branches)]


async def _race(ctx: NodeContext, kind: Race) -> list[Update]:
    branches = Branches(ctx, kind.on_branch_error, _names(kind))
    key = ctx.effect_key("winner")
    decided = ctx.record.find(key)
    # What was decided before a crash stays so: the others have lost, however far they had come.
    running = [
        one for one in kind.branches if decided is None or one.name == decided.value["winner"]
    ]
    won: dict[str, Update] = {}

    async def work(branch: Branch) -> None:
        ended = await branches.run(branch.name, branch, _inputs(ctx, branch))
        if ended is None or branches.stopped:
            return
        won[branch.name] = _outputs(ctx, branch, *ended)
        branches.stop(f"branch {branch.name!r} of node {ctx.node_id!r} has won")

    async with anyio.create_task_group() as group:
        for branch in running:
            group.start_soon(work, branch)
    if not won:
        branches.settle()
        raise _all_failed(ctx, branches)
    ((winner, update),) = won.items()
    verdict = {"winner": winner, "failed": _failures(kind, branches)}
    async with performing(ctx, "race", key, None) as performance:
        if not performance.recorded:
            await performance.keep(verdict)
        verdict = performance.value
    named = {} if kind.winner is None else {kind.winner: winner}
    return [update, named, verdict["failed"]]


def _all_failed(ctx: NodeContext, branches: Branches) -> AgentflowError:
    """The failure of a race that nobody won."""
    found = [
        f"branch {failure['branch']!r}: {failure['error']}: {failure['message']}"
        for failure in branches.failures
    ]
    return AgentflowError(f"no branch of node {ctx.node_id!r} ended well; {'; '.join(found)}")


class _Progress:
    """Tells how many of the branches of a visit have ended, as they do."""

    def __init__(self, ctx: NodeContext, count: int | None) -> None:
        self._ctx = ctx
        self._count = count
        self._done = 0

    def tell(self, branches: Branches, key: Key, ended: tuple[Frame, Any] | None) -> None:
        """Count a branch that has ended well, or whose failure was collected; what was recorded was told of before."""
        collected = branches.collected(key)
        if ended is None and collected is None:
            return
        self._done += 1
        told = ended[0].redone if ended is not None else collected == "before"
        if not told:
            data = {"branch": key, "done": self._done, "of": self._count}
            emit(self._ctx, "node.progress", data=data)


def _names(kind: Parallel | Race) -> list[Key]:
    return [branch.name for branch in kind.branches]


def _failures(kind: Parallel | MapEach | Race, branches: Branches) -> Update:
    """The update that tells of the collected failures."""
    return {} if kind.errors is None else {kind.errors: branches.failures}


def _inputs(ctx: NodeContext, branch: Branch) -> dict[str, Any]:
    state = ctx.frame.state
    return {
        target: lend(dict.__getitem__(state, source))
        for target, source in branch.inputs.items()
        if source in state
    }


def _outputs(ctx: NodeContext, branch: Branch, frame: Frame, value: Any) -> Update:
    """What a branch gives to the surrounding fields.

    Raises:
        ContractError: A field that it is to give does not exist.
    """
    return {
        target: value if source == RESULT else _field(ctx, branch, frame, target)
        for target, source in branch.outputs.items()
    }


class _Deltas(list[Any]):
    """What a branch has added to a field that it was given, piece by piece."""


def _field(ctx: NodeContext, branch: Branch, frame: Frame, target: str) -> Any:
    source = branch.outputs[target]
    if source not in frame.state:
        where = f"node {ctx.node_id!r}" + (f", branch {branch.name!r}" if branch.name else "")
        raise ContractError(
            f"{where}: the sub-workflow {frame.plan.workflow.id!r} ended without the field {source!r}"
        )
    if frame.added is not None and branch.continues(target, ctx.frame.plan.schema):
        return _Deltas(frame.added[source])
    return lend(dict.__getitem__(frame.state, source))


def _merged(ctx: NodeContext, updates: Iterable[Update]) -> dict[str, Any]:
    """One update out of those of the branches, in their order; the plan has a field with a reducer take a list of deltas."""
    update: dict[str, Any] = {}
    for one in updates:
        for name, value in one.items():
            reducer = ctx.reducer_of(name)
            if reducer is None:
                update[name] = value
                continue
            deltas = value if isinstance(value, _Deltas) else [value]
            held = update.setdefault(name, [])
            for delta in deltas:
                if reducer is append:
                    held.extend(delta)
                else:
                    held.append(delta)
    return update
