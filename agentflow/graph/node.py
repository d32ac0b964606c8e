"""Nodes: the units of work of a workflow, and the decorator that makes them from functions."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from agentflow.graph.limits import Retry, Uses
from agentflow.graph.place import Place, calling_place
from agentflow.graph.route import Route
from agentflow.graph.slips import Slips, identifier

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch, Kind

__all__ = ["Node", "node"]

NodeFunction = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Node:
    """One unit of work; still callable as the function it was made from.

    What the author wrote is kept as it is, slips included: `define_workflow` checks it and reports everything at once.
    """

    id: str
    description: str = ""
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    may_provide: tuple[str, ...] = ()
    run: NodeFunction | None = None
    routes: tuple[Route, ...] = ()
    starts_round: bool = False
    on_error: str | None = None
    timeout: float | None = None
    retry: Retry | None = None
    uses: Uses | None = None
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    waive: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    kind: Kind | None = None
    slips: tuple[str, ...] = ()
    place: Place | None = None

    def __repr__(self) -> str:
        return f"<Node {self.id!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function the node was made from, without an engine."""
        if self.run is None:
            raise TypeError(f"node {self.id!r} holds a sub-workflow; it has no function to call")
        return self.run(*args, **kwargs)

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The workflows that the node holds."""
        return () if self.kind is None else self.kind.branches

    @property
    def may_write(self) -> frozenset[str]:
        """Every field that an update of this node may name."""
        return frozenset((*self.provides, *self.may_provide))


@overload
def node(
    fn: NodeFunction,
    *,
    id: str | None = None,
    description: str | None = None,
    requires: Iterable[str] = (),
    provides: Iterable[str] = (),
    may_provide: Iterable[str] = (),
    routes: Iterable[Route] = (),
    starts_round: bool = False,
    on_error: str | None = None,
    timeout: float | None = None,
    retry: Retry | None = None,
    uses: Uses | None = None,
    metadata: Mapping[str, Any] | None = None,
    waive: Mapping[str, str] | None = None,
) -> Node: ...
@overload
def node(
    fn: None = None,
    *,
    id: str | None = None,
    description: str | None = None,
    requires: Iterable[str] = (),
    provides: Iterable[str] = (),
    may_provide: Iterable[str] = (),
    routes: Iterable[Route] = (),
    starts_round: bool = False,
    on_error: str | None = None,
    timeout: float | None = None,
    retry: Retry | None = None,
    uses: Uses | None = None,
    metadata: Mapping[str, Any] | None = None,
    waive: Mapping[str, str] | None = None,
) -> Callable[[NodeFunction], Node]: ...
def node(fn: NodeFunction | None = None, **options: Any) -> Node | Callable[[NodeFunction], Node]:
    """Make a node from a function `(state)` or `(state, ctx)`, async or plain; returns a new `Node` each time.

    Used bare, with arguments, or as a call: `@node`, `@node(provides=["x"])`, `node(fn, id="y")`. A plain function runs in
    a worker thread. It never raises for an authoring mistake; `define_workflow` reports them all.

    Args:
        fn: The function; it returns the fields it changes, as a mapping, or `None`. Of a node its function is taken, and
            none of its declarations.
        id: Letters, digits and `_ - .`, starting with a letter or `_`; default: the function's name.
        description: What the node does; default: the first line of the function's docstring.
        requires: Fields that must exist before the function runs.
        provides: Fields that every update must hold.
        may_provide: Fields that an update may hold besides.
        routes: The ways out, in the order in which they are tried.
        starts_round: Whether coming back here opens the next round.
        on_error: The node that is entered when this one fails; default: the workflow's.
        timeout: Seconds that one attempt may take.
        retry: How often the function may be tried inside one visit.
        uses: What one visit may spend on model and tool calls, attempts included.
        metadata: Anything the author wants to find again in the manifest.
        waive: Codes of findings that are accepted at this node, each with the reason.
    """
    place = calling_place()
    if fn is None:
        return lambda function: make_node(function, place=place, **options)
    return make_node(fn, place=place, **options)


def make_node(
    fn: NodeFunction | Node | None,
    *,
    place: Place,
    id: str | None = None,
    description: str | None = None,
    requires: Iterable[str] = (),
    provides: Iterable[str] = (),
    may_provide: Iterable[str] = (),
    routes: Iterable[Route] = (),
    starts_round: bool = False,
    on_error: str | None = None,
    timeout: float | None = None,
    retry: Retry | None = None,
    uses: Uses | None = None,
    metadata: Mapping[str, Any] | None = None,
    waive: Mapping[str, str] | None = None,
    **unknown: Any,
) -> Node:
    """A node with its declarations in normal form, and the slips that could not be brought into it."""
    slips = Slips()
    if unknown:
        slips.unknown(unknown, of=make_node)
    function = fn.run if isinstance(fn, Node) else fn
    return Node(
        id=identifier(getattr(function, "__name__", "") if id is None else id),
        description=_first_line(function)
        if description is None
        else slips.text("description", description),
        requires=slips.names("requires", requires),
        provides=slips.names("provides", provides),
        may_provide=slips.names("may_provide", may_provide),
        run=function,
        routes=slips.items("routes", routes, Route, made="make it with route.to(…) or its kin"),
        starts_round=slips.flag("starts_round", starts_round),
        on_error=None if on_error is None else identifier(on_error),
        timeout=timeout,
        retry=retry,
        uses=uses,
        metadata=slips.mapping("metadata", metadata),
        waive=slips.mapping("waive", waive),
        slips=tuple(slips.found),
        place=place,
    )


def _first_line(function: object) -> str:
    text = inspect.getdoc(function) if inspect.isroutine(function) else None
    return text.strip().partition("\n")[0].strip() if text else ""
