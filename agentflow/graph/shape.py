"""The graph of a workflow: every way from one node to another, and what follows from it alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.route import Route
    from agentflow.graph.workflow import Workflow

__all__ = ["Edge", "EdgeKind", "Shape"]

EdgeKind = Literal["route", "error", "limit"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One way from a node to another: by a route, by its failure, or because rounds ran out on arrival at `source`."""

    source: str
    target: str
    kind: EdgeKind
    route: Route | None = None


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Nodes by id (the first of each id), the edges between them, and the entry; dangling targets are left out."""

    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    entry: str
    out: Mapping[str, tuple[Edge, ...]] = field(repr=False)

    @classmethod
    def of(cls, workflow: Workflow[Any]) -> Shape:
        """The shape of a workflow, valid or not."""
        nodes: dict[str, Node] = {}
        for node in workflow.nodes:
            if isinstance(node.id, str):
                nodes.setdefault(node.id, node)
        edges = [edge for node in nodes.values() for edge in _edges(node, workflow, nodes)]
        out: dict[str, list[Edge]] = {id: [] for id in nodes}
        for edge in edges:
            out[edge.source].append(edge)
        return cls(
            nodes=nodes,
            edges=tuple(edges),
            entry=workflow.entry,
            out={id: tuple(found) for id, found in out.items()},
        )

    @cached_property
    def reachable(self) -> frozenset[str]:
        """The nodes that a run may visit, by routes, failures or limits."""
        if self.entry not in self.nodes:
            return frozenset()
        return self.reach((self.entry,), ("route", "error", "limit"))

    @cached_property
    def exits(self) -> frozenset[str]:
        """The nodes with a route that ends the run."""
        return frozenset(
            id
            for id, node in self.nodes.items()
            if any(route.kind != "to" for route in node.routes)
        )

    @cached_property
    def can_end(self) -> frozenset[str]:
        """The nodes from which some end can be reached without a failure."""
        into: dict[str, list[str]] = {}
        for edge in self.edges:
            if edge.kind != "error":
                into.setdefault(edge.target, []).append(edge.source)
        return _closure(self.exits, into)

    def reach(self, start: Iterable[str], kinds: Iterable[EdgeKind]) -> frozenset[str]:
        """The nodes that can be reached from `start` over edges of `kinds`, `start` included."""
        wanted = frozenset(kinds)
        ways = {
            id: [edge.target for edge in edges if edge.kind in wanted]
            for id, edges in self.out.items()
        }
        return _closure(start, ways)

    @cached_property
    def cyclic_parts(self) -> tuple[tuple[str, ...], ...]:
        """The groups of nodes that lie on cycles of routes with each other, in declared order."""
        return cyclic_parts(self.nodes, [edge for edge in self.edges if edge.kind == "route"])

    @cached_property
    def looping(self) -> frozenset[str]:
        """The nodes that a run may come back to, by routes, failures or limits."""
        parts = cyclic_parts(self.nodes, self.edges)
        return frozenset(id for part in parts for id in part)

    @cached_property
    def unbounded_cycles(self) -> tuple[tuple[str, ...], ...]:
        """A shortest cycle of routes for each group of nodes that can be walked without passing a round boundary."""
        plain = [
            edge
            for edge in self.edges
            if edge.kind == "route" and not self.nodes[edge.target].starts_round
        ]
        parts = cyclic_parts(self.nodes, plain)
        return tuple(shortest_cycle(part, plain) for part in parts)


def _edges(node: Node, workflow: Workflow[Any], nodes: Mapping[str, Node]) -> Iterable[Edge]:
    for route in node.routes:
        if route.target is not None and route.target in nodes:
            yield Edge(node.id, route.target, "route", route)
    handler = workflow.on_error if node.on_error is None else node.on_error
    if handler is not None and handler in nodes and handler != node.id:
        yield Edge(node.id, handler, "error")
    if node.starts_round and workflow.on_limit is not None and workflow.on_limit in nodes:
        yield Edge(node.id, workflow.on_limit, "limit")


def _closure(start: Iterable[str], ways: Mapping[str, Iterable[str]]) -> frozenset[str]:
    seen = set(start)
    waiting = deque(seen)
    while waiting:
        for target in ways.get(waiting.popleft(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return frozenset(seen)


def cyclic_parts(nodes: Iterable[str], edges: Iterable[Edge]) -> tuple[tuple[str, ...], ...]:
    """The strongly connected parts that hold a cycle, each and all in the order of `nodes`."""
    pairs = {(edge.source, edge.target) for edge in edges}
    if _acyclic(pairs):
        return ()
    # networkx is slow to load, and most small definitions have no cycle: so it is asked only here.
    import networkx

    order = {id: index for index, id in enumerate(nodes)}
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    # Given to the constructor they would be taken for a table first, and three packages be looked for.
    graph.add_edges_from(pairs)
    parts = [
        tuple(sorted(part, key=order.__getitem__))
        for part in networkx.strongly_connected_components(graph)
        if len(part) > 1 or any((id, id) in pairs for id in part)
    ]
    return tuple(sorted(parts, key=lambda part: order[part[0]]))


def _acyclic(pairs: set[tuple[str, str]]) -> bool:
    ways: dict[str, list[str]] = {}
    waiting_for: dict[str, int] = {}
    for source, target in pairs:
        ways.setdefault(source, []).append(target)
        waiting_for[target] = waiting_for.get(target, 0) + 1
        waiting_for.setdefault(source, 0)
    free = [id for id, count in waiting_for.items() if not count]
    done = 0
    while free:
        done += 1
        for target in ways.get(free.pop(), ()):
            waiting_for[target] -= 1
            if not waiting_for[target]:
                free.append(target)
    return done == len(waiting_for)


def shortest_cycle(part: tuple[str, ...], edges: Iterable[Edge]) -> tuple[str, ...]:
    """A shortest cycle through the first node of `part`, that node at both ends."""
    inside = frozenset(part)
    ways: dict[str, list[str]] = {}
    for edge in edges:
        if edge.source in inside and edge.target in inside:
            ways.setdefault(edge.source, []).append(edge.target)
    start = part[0]
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for target in ways[here]:
            if target == start:
                back = [start, here]
                while back[-1] != start:
                    back.append(came_from[back[-1]])
                return tuple(reversed(back)) if len(back) > 2 else (start, start)
            if target not in came_from:
                came_from[target] = here
                waiting.append(target)
    raise AssertionError(f"{part} is no part with a cycle")
