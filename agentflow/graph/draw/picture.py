"""Pictures: what of a workflow is to be seen, whatever it will be drawn with.

Every node is a figure, every sub-workflow a group, every way from one to another a line. The start, the ends and targets that do
not exist are figures too.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentflow.graph.calling import function_name
from agentflow.graph.codes import CODES
from agentflow.graph.findings import Finding, Severity, in_order
from agentflow.graph.kinds import MapEach, Parallel, Race, Subflow

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch
    from agentflow.graph.node import Node
    from agentflow.graph.route import Route
    from agentflow.graph.workflow import Workflow

__all__ = ["Figure", "FigureKind", "Group", "Line", "LineKind", "Picture", "picture_of"]

FigureKind = Literal["start", "node", "round", "end", "missing", "failure", "turn", "note"]
LineKind = Literal["route", "error", "limit", "note"]

_LONGEST_CONDITION = 60
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that cannot be seen, that turn the direction of writing, or that no file can hold."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing to be drawn.

    Args:
        name: What lines call it: unique in the picture, letters, digits and `_` only, no word of any drawing language.
        kind: `start` and `end` of a workflow, a `node`, a node that starts a `round`, a `missing` node, `failure` of any
            node, the `turn` of a sub-workflow that comes back to itself, a `note` about findings.
        lines: What is written in it.
        mark: The gravest severity of its findings.
    """

    name: str
    kind: FigureKind
    lines: tuple[str, ...]
    mark: Severity | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The node of a sub-workflow, with what is inside of it; lines come in at `first` and go out at `last`."""

    name: str
    lines: tuple[str, ...]
    items: tuple[Figure | Group, ...]
    first: str
    last: str
    mark: Severity | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A way from one figure or group to another."""

    source: str
    target: str
    kind: LineKind = "route"
    label: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is to be drawn, in the order in which it is to be written."""

    title: str
    items: tuple[Figure | Group, ...]
    lines: tuple[Line, ...]

    def groups(self) -> dict[str, Group]:
        """Every group by its name, however deep."""
        return {item.name: item for item in _all(self.items) if isinstance(item, Group)}


def _all(items: Iterable[Figure | Group]) -> Iterator[Figure | Group]:
    for item in items:
        yield item
        if isinstance(item, Group):
            yield from _all(item.items)


def _plain(*texts: str) -> tuple[str, ...]:
    """Texts of one line each, of characters that can be seen."""
    return tuple(_UNSEEN.sub("\ufffd", " ".join(text.split())) for text in texts)


def picture_of(workflow: Workflow[Any], findings: Iterable[Finding] = ()) -> Picture:
    """The picture of a workflow, valid or not, with the nodes marked that findings speak of."""
    marks: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in in_order(findings):
        marks.setdefault((finding.workflow, finding.node), []).append(finding)
    names, lines = _Names(), list[Line]()
    part = _Part(workflow, "", names, lines, marks)
    items = part.draw(("start", workflow.id))
    return Picture(_plain(workflow.id)[0], items, tuple(lines))


class _Names:
    """Gives out names that are unique and mean nothing in any drawing language."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def new(self, kind: str, text: str) -> str:
        plain = f"{kind}_{re.sub('[^A-Za-z0-9_]+', '_', text)}".rstrip("_")
        name, count = plain, 1
        while name in self._given:
            count += 1
            name = f"{plain}_{count}"
        self._given.add(name)
        return name


@dataclass(slots=True)
class _Part:
    """One workflow of the picture; `prefix` tells it apart from others with the same ids."""

    workflow: Workflow[Any]
    prefix: str
    names: _Names
    lines: list[Line]
    marks: dict[tuple[str, str | None], list[Finding]]
    nodes: dict[str, str] = field(default_factory=dict)
    others: dict[tuple[str, str], Figure] = field(default_factory=dict)
    notes: list[Figure] = field(default_factory=list)

    def draw(self, title: tuple[str, ...]) -> tuple[Figure | Group, ...]:
        workflow = self.workflow
        start = Figure(self._name("start", ""), "start", _plain(*title), self._mark(None))
        names = [self._name("n", node.id) for node in workflow.nodes]
        for node, name in zip(workflow.nodes, names, strict=True):
            self.nodes.setdefault(node.id, name)
        drawn = [self._node(node, name) for node, name in zip(workflow.nodes, names, strict=True)]
        if workflow.entry:
            self.lines.append(Line(start.name, self._target(workflow.entry)))
        for node, name in zip(workflow.nodes, names, strict=True):
            self._ways(node, name)
        if workflow.on_error is not None:
            self._failures(workflow.on_error)
        self._note(None, start.name)
        for id, name in self.nodes.items():
            self._note(id, name)
        return (start, *drawn, *self.others.values(), *self.notes)

    def last(self) -> str | None:
        """The first of its ends."""
        return next((item.name for item in self.others.values() if item.kind == "end"), None)

    def _name(self, kind: str, text: str) -> str:
        return self.names.new(kind, f"{self.prefix}{text}")

    def _mark(self, node_id: str | None) -> Severity | None:
        found = self.marks.get((self.workflow.id, node_id))
        return found[0].severity if found else None

    def _node(self, node: Node, name: str) -> Figure | Group:
        kind: FigureKind = "round" if node.starts_round else "node"
        lines = [node.id]
        if node.starts_round:
            most = 1 if self.workflow.max_rounds is None else self.workflow.max_rounds
            lines.append(f"starts a round, at most {most}")
        if node.kind is None:
            return Figure(name, kind, _plain(*lines), self._mark(node.id))
        mark = self._mark(node.id)
        match node.kind:
            case Subflow(branch):
                return self._group(name, f"{node.id}_", lines, branch, mark)
            case MapEach(branch, over, concurrency, max_items):
                items = over if isinstance(over, str) else function_name(over)
                limit = "" if max_items is None else f", {max_items} at most"
                lines.append(f"for each of {items}, {concurrency} at a time{limit}")
                lines += _failures(node.kind)
                return self._group(name, f"{node.id}_", lines, branch, mark)
            case Parallel(branches):
                lines += ["all at the same time", *_failures(node.kind)]
            case Race(branches):
                lines += ["the first to end well", *_failures(node.kind)]
        groups = tuple(self._branch(node, branch) for branch in branches)
        if not groups:
            return Figure(name, kind, _plain(*lines), mark)
        return Group(name, _plain(*lines), groups, groups[0].first, groups[-1].last, mark)

    def _branch(self, node: Node, branch: Branch) -> Group:
        within = f"{node.id}_{branch.name}"
        return self._group(self._name("b", within), f"{within}_", [branch.name], branch)

    def _group(
        self,
        name: str,
        prefix: str,
        lines: list[str],
        branch: Branch,
        mark: Severity | None = None,
    ) -> Group:
        inner = branch.workflow
        part = _Part(inner, f"{self.prefix}{prefix}", self.names, self.lines, self.marks)
        items = part.draw(("start",))
        first = items[0].name
        lines = [*lines, f"sub-workflow {inner.id}"]
        return Group(name, _plain(*lines), items, first, part.last() or first, mark)

    def _ways(self, node: Node, name: str) -> None:
        for at, route in enumerate(node.routes):
            label = _label(route, at, len(node.routes))
            match route.kind:
                case "to":
                    target = self._target(str(route.target))
                case "deliver":
                    target = self._other("end", f"deliver {route.field}")
                case "finish":
                    function = getattr(route.function, "__name__", "a function")
                    target = self._other("end", f"finish {function}")
            self._line(node, Line(name, target, label=label))
        if node.on_error is not None:
            self._line(node, Line(name, self._target(node.on_error), "error", "on error"))
        if node.starts_round and self.workflow.on_limit is not None:
            target = self._target(self.workflow.on_limit)
            self._line(node, Line(name, target, "limit", "rounds used up"))

    def _line(self, node: Node, line: Line) -> None:
        if node.kind is None or line.source != line.target:
            self.lines.append(line)
            return
        # No drawing language knows a way from a group to itself.
        turn = self._other("turn", f"{node.id} again")
        self.lines += (dataclasses.replace(line, target=turn), Line(turn, line.target, line.kind))

    def _failures(self, handler: str) -> None:
        """One figure for the failure of any node: a line from each would hide all others."""
        others = any(node.on_error is not None for node in self.workflow.nodes)
        source = self._other("failure", f"any {'other ' if others else ''}node fails")
        self.lines.append(Line(source, self._target(handler), "error", "on error"))

    def _target(self, id: str) -> str:
        return self.nodes.get(id) or self._other("missing", id, "no such node")

    def _other(self, kind: FigureKind, text: str, *more: str) -> str:
        """The figure of something that is no node, drawn once for all lines that lead to it."""
        if (kind, text) not in self.others:
            name = self._name(kind, text)
            mark: Severity | None = "error" if kind == "missing" else None
            self.others[kind, text] = Figure(name, kind, _plain(text, *more), mark)
        return self.others[kind, text].name

    def _note(self, node_id: str | None, name: str) -> None:
        found = self.marks.get((self.workflow.id, node_id), ())
        told = dict.fromkeys(f"{finding.code} {CODES[finding.code].title}" for finding in found)
        if told:
            note = Figure(self._name("note", node_id or ""), "note", tuple(told))
            self.notes.append(note)
            self.lines.append(Line(note.name, name, "note"))


def _failures(kind: Parallel | MapEach | Race) -> list[str]:
    """What a failing branch does, if it does not stop the others."""
    if kind.on_branch_error == "cancel":
        return []
    return [f"failures go to {kind.errors}" if kind.errors else "failures are passed over"]


def _label(route: Route, at: int, count: int) -> str:
    (text,) = _plain(route.condition_text())
    if len(text) > _LONGEST_CONDITION:
        text = f"{text[: _LONGEST_CONDITION - 1]}…"
    if count == 1:
        return text
    # Mermaid would take "1. …" for a list.
    return f"({at + 1}) {text or ('otherwise' if at else 'always')}"
