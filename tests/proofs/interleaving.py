"""Interleavings: everything that may happen inside a node that holds workflows, visit by visit, in every order.

A process is one run of a workflow: on its arrival at a node, or in the middle of a visit. What a node holds are processes that
move one at a time, any of them next. A visit is two moves, its beginning and its end, so that siblings move in between. Nothing
is summed up and nothing is left out; so it is slow, and true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from agentflow import Node, Workflow
from agentflow.graph.condition import Condition
from agentflow.graph.kinds import Branch, MapEach, Race, step_of
from tests.proofs.explorer import Explorer, Place

__all__ = ["Held", "Interleaving", "Move", "Path", "Process", "Result"]

Path = tuple[str, ...]
"""The steps that lead to a workflow: each a node, with the branch that is meant."""
Result = Literal["ended", "failed"]


class Process(NamedTuple):
    """A run of a workflow: where it is, and in the middle of a visit what the node holds, if anything."""

    path: Path
    place: Place
    visiting: bool = False
    held: Held | None = None


class Held(NamedTuple):
    """What a node holds in one attempt.

    Attributes:
        attempt: Which attempt.
        processes: The branches, each a process, a result, or `None` before it begins; of a `map_each` the items under way.
        left: How many items may begin yet; `None` for any number.
    """

    attempt: int
    processes: tuple[Process | Result | None, ...]
    left: int | None = None


class Move(NamedTuple):
    """What may happen next.

    Attributes:
        then: What comes of it; `gone` if the whole run ends.
        entered: The node that is entered, with the path to its workflow and the place.
        left: The nodes that are left well, each with the path to its workflow.
        opens: How many rounds are opened.
        at: The path to the workflow of which they are.
    """

    then: Process | Held | Result | Literal["gone"]
    entered: tuple[Path, Place] | None = None
    left: tuple[tuple[Path, str], ...] = ()
    opens: int = 0
    at: Path = ()


@dataclass(eq=False)
class Interleaving:
    """Everything that may happen inside the nodes of a workflow; `asked` are conditions besides those of routes.

    Args:
        workflow: The workflow around it all.
        asked: The conditions.
        path: The steps that lead to the workflow itself.
        items: How many items there may be where a node does not say; `None` for any number.
    """

    workflow: Workflow[Any]
    asked: tuple[Condition, ...] = ()
    path: Path = ()
    items: int | None = None
    _explorers: dict[Path, Explorer] = field(default_factory=dict)

    def explorer(self, path: Path) -> Explorer:
        """The explorer of the workflow at a path."""
        found = self._explorers.get(path)
        if found is None:
            workflow = self.workflow
            for step in path[len(self.path) :]:
                nodes = {node.id: node for node in workflow.nodes}
                node = nodes[step.partition("[")[0]]
                named = {step_of(node, branch): branch for branch in node.branches}
                workflow = named[step].workflow
            found = self._explorers[path] = Explorer(workflow, self.asked)
        return found

    def is_endless(self, path: Path) -> bool:
        """Whether a workflow is that of an item of which there may be any number, or inside of one."""
        steps = enumerate(path[len(self.path) :], len(self.path))
        nodes = (self.explorer(path[:at]).nodes[step.partition("[")[0]] for at, step in steps)
        return any(getattr(node.kind, "max_items", 0) is None for node in nodes)

    def node(self, path: Path, place: Place) -> Node:
        """The node at a place."""
        return self.explorer(path).nodes[place[0].node]

    # One process.

    def moves(self, process: Process) -> Iterator[Move]:
        """Whatever a process may do next."""
        path, place, visiting, held = process
        node = self.node(path, place)
        if not visiting:
            begun = process._replace(visiting=True, held=self.begin(node))
            yield Move(begun, entered=(path, place))
        elif held is None:
            yield from self._leave(process, "ended")
            yield from self._leave(process, "failed")
        else:
            for move in self.moves_inside(path, node, held):
                if isinstance(move.then, Held):
                    yield move._replace(then=process._replace(held=move.then))
                elif move.then == "gone":
                    yield move
                else:
                    for after in self._leave(process, move.then):  # type: ignore[arg-type]
                        opens = after.opens + move.opens
                        yield after._replace(left=(*move.left, *after.left), opens=opens)

    def _leave(self, process: Process, result: Result) -> Iterator[Move]:
        """Every way on after a visit that ended well, or failed."""
        path, place = process.path, process.place
        left = ((path, place[0].node),) if result == "ended" else ()
        for way, after in self.explorer(path).onward(place):
            fails = way.kind == "error" or (
                way.problem is not None and way.problem.kind == "raised"
            )
            if fails != (result == "failed"):
                continue
            if after is not None:
                # At `on_limit` no round is opened.
                opens = int(after[1] > place[1])
                yield Move(Process(path, after), left=left, opens=opens, at=path)
            elif way.kind == "end":
                yield Move("ended", left=left)
            else:
                yield Move("failed" if fails else "gone", left=left)

    # What a node holds.

    def begin(self, node: Node, attempt: int = 1) -> Held | None:
        """What a node holds at the beginning of an attempt."""
        if isinstance(node.kind, MapEach):
            most = self.items if node.kind.max_items is None else node.kind.max_items
            return Held(attempt, (), most)
        return Held(attempt, (None,) * len(node.branches)) if node.branches else None

    def moves_inside(self, path: Path, node: Node, held: Held) -> Iterator[Move]:
        """Whatever may happen next in what a node holds; the results are those of the visit."""
        attempts = 1 if node.retry is None else node.retry.attempts
        last = held.attempt >= attempts
        for move in self._held_moves(path, node, held):
            if move.then == "failed" and not last:
                again = self.begin(node, held.attempt + 1)
                assert again is not None
                yield move._replace(then=again)
            else:
                yield move

    def _held_moves(self, path: Path, node: Node, held: Held) -> Iterator[Move]:
        # A node may fail at any time, when its time is up for instance.
        yield Move("failed")
        if isinstance(node.kind, MapEach):
            yield from self._items(path, node, node.kind, held)
            return
        for at, branch in enumerate(node.branches):
            process = held.processes[at]
            if process is None:
                yield from (
                    self._with(held, at, first) for first in self._firsts(path, node, branch)
                )
            elif isinstance(process, Process):
                for move in self.moves(process):
                    yield self._settled(node, held, at, move)

    def _firsts(self, path: Path, node: Node, branch: Branch) -> Iterator[Move]:
        inside = (*path, step_of(node, branch))
        for start in self.explorer(inside).starts():
            yield Move(Process(inside, (start, 1)), opens=1, at=inside)

    def _with(self, held: Held, at: int, move: Move) -> Move:
        processes: list[Any] = list(held.processes)
        processes[at] = move.then
        return move._replace(then=held._replace(processes=tuple(processes)))

    def _settled(self, node: Node, held: Held, at: int, move: Move) -> Move:
        """A move of a branch, with what it does to its siblings."""
        assert node.kind is not None
        if move.then == "gone":
            return move
        cancels = getattr(node.kind, "on_branch_error", "cancel") == "cancel"
        if move.then == "failed" and cancels:
            return move
        if move.then == "ended" and isinstance(node.kind, Race):
            return move
        after = self._with(held, at, move)
        assert isinstance(after.then, Held)
        results = after.then.processes
        if all(result in ("ended", "failed") for result in results):
            lost = isinstance(node.kind, Race)
            return after._replace(then="failed" if lost else "ended")
        return after

    def _items(self, path: Path, node: Node, kind: MapEach, held: Held) -> Iterator[Move]:
        """The moves of items; there may be any number of them, up to the largest."""
        if not held.processes:
            yield Move("ended")
        if held.left != 0 and len(held.processes) < kind.concurrency:
            left = None if held.left is None else held.left - 1
            for first in self._firsts(path, node, kind.branch):
                yield self._put(held._replace(left=left), held.processes, first)
        for at, process in enumerate(held.processes):
            assert isinstance(process, Process)
            others = (*held.processes[:at], *held.processes[at + 1 :])
            for move in self.moves(process):
                if isinstance(move.then, Process):
                    yield self._put(held, others, move)
                elif move.then == "ended" or (
                    move.then == "failed" and kind.on_branch_error == "collect"
                ):
                    yield move._replace(then=held._replace(processes=others))
                else:
                    yield move

    def _put(self, held: Held, others: tuple[Any, ...], move: Move) -> Move:
        # Items are alike: which of them is which makes no difference.
        processes = tuple(sorted((*others, move.then), key=hash))
        return move._replace(then=held._replace(processes=processes))
