"""Points and steps: the values that the walk over all paths is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from agentflow.graph.condition import Condition
from agentflow.graph.proof.box import Box, Frozen, Picture

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.route import Route

__all__ = ["Expansion", "Lack", "LackKind", "Monitor", "Passage", "Place", "Point", "Step"]

LackKind = Literal[
    "requires",
    "condition",
    "raises",
    "reads",
    "deliver",
    "finish",
    "uncovered",
    "unproved",
    "violation",
]


class Point(NamedTuple):
    """A node on arrival, and all that decides what may follow.

    Attributes:
        node: Its id.
        box: What the fields that matter may hold.
        visited: The round boundaries that were visited before; `None` if merged, so that it may be any.
        handled: The error nodes that were entered in this round.
        failed: Whether this visit is that of an error node.
        limited: Whether rounds have run out and `on_limit` was entered.
        seen: What a monitor remembers.
    """

    node: str
    box: Frozen
    visited: frozenset[str] | None = frozenset()
    handled: frozenset[str] = frozenset()
    failed: bool = False
    limited: bool = False
    seen: int = 0


class Step(NamedTuple):
    """One way on from a point.

    Attributes:
        kind: By a route, by the node's failure, because rounds are out, or the end of the run.
        route: The route, if one is taken.
        box: What the fields may hold when it is taken.
        target: Where it leads; `None` at an end.
        opens: Whether arriving there opens a round.
        limit: Where it leads instead when rounds are out, if the workflow says.
        seen: What a monitor remembers when it is taken.
    """

    kind: Literal["route", "error", "limit", "end"]
    route: Route | None
    box: Frozen
    target: Point | None = None
    opens: bool = False
    limit: Point | None = None
    seen: int = 0


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that would go wrong at a point.

    Args:
        kind: What.
        name: The field concerned, if one is.
        route: The route concerned, if one is.
        box: What the fields may hold then.
        inside: In a sub-workflow of the node: the nodes on the way to it.
        beside: What has gone on at the same time and is needed for it, a line for each node that holds it.
    """

    kind: LackKind
    name: str = ""
    route: Route | None = None
    box: Frozen = ()
    inside: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expansion:
    """What may follow from a point, which routes match, whatever comes of it, and what may go wrong there."""

    steps: tuple[Step, ...]
    lacks: tuple[Lack, ...]
    taken: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Passage:
    """What a monitor says of a visit, or of all that a node holds.

    What it remembers is a number of which one end is the worse: whoever has got further that way breaks what it judges
    on every path on which another would. So the worst is all there is to say.

    Args:
        after: The worst that it remembers after success; `None` if there is none.
        failed: The worst after a failure, which may come at any time.
        objection: Whether it objects.
        merged: Whether paths were merged on the way, so that it may object without reason.
    """

    after: int | None
    failed: int
    objection: Lack | None = None
    merged: bool = False


class Monitor(Protocol):
    """Follows a path visit by visit, to judge it."""

    def visit(self, seen: int, node: Node, box: Box, picture: Picture) -> Passage:
        """Judge the visit of `node` in a state of `box`, after what was `seen` before."""
        ...

    def asks(self, node: str) -> Condition | None:
        """The condition that it looks at when `node` is visited, if any."""
        ...


Place = tuple[Point, int]
"""A point in a round."""
