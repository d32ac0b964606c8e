"""Routes: the ordered ways out of a node. The first one that matches is taken, and exactly one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from agentflow.graph.condition import Condition, FieldPath, ready
from agentflow.graph.place import Place, calling_place
from agentflow.graph.slips import Slips, identifier

__all__ = ["Route", "RouteKind", "When", "route"]

RouteKind = Literal["to", "deliver", "finish"]
When = Condition | Callable[[Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way out of a node; make it with the functions of `route`.

    Args:
        kind: `to` enters `target`, `deliver` ends the run with the field `field`, `finish` ends it with what `function`
            computes from the state.
        when: The condition, as data or as a function `(state) -> bool`; `None` always matches.
        reads: The state fields that `when` or `function` look at, if the author told; `None` if not.
        label: A short text for drawings, where the condition's own would be clumsy.
        slips: What the author wrote that cannot be read.
    """

    kind: RouteKind
    target: str | None = None
    field: str | None = None
    function: Callable[[Any], Any] | None = None
    when: When | None = None
    reads: tuple[str, ...] | None = None
    label: str | None = None
    slips: tuple[str, ...] = ()
    place: Place | None = dataclasses.field(default=None, compare=False)

    @property
    def conditional(self) -> bool:
        """Whether the route may not match."""
        return self.when is not None

    def condition_text(self) -> str:
        """The condition in words, empty when the route always matches."""
        if self.when is None:
            return ""
        if self.label is not None:
            return self.label
        if isinstance(self.when, Condition):
            return str(self.when)
        return f"{getattr(self.when, '__name__', 'a function')}(state)"

    def __str__(self) -> str:
        match self.kind:
            case "to":
                way = f"to {self.target!r}"
            case "deliver":
                way = f"deliver {self.field!r}"
            case "finish":
                way = f"finish with {getattr(self.function, '__name__', 'a function')}"
        text = self.condition_text()
        return f"{way} when {text}" if text else way


class route:  # noqa: N801 - reads as a namespace: route.to(…)
    """The ways out of a node. None of these raises for an authoring mistake: `define_workflow` reports them all."""

    @staticmethod
    def to(target: str, when: When | None = None, *, reads: Iterable[str] | None = None) -> Route:
        """Enter the node `target`, if `when` holds."""
        return _route("to", target=target, when=when, reads=reads)

    @staticmethod
    def to_if(target: str, predicate: When, *, reads: Iterable[str] | None = None) -> Route:
        """Enter the node `target` if `predicate(state)` is true."""
        return _route("to", target=target, when=predicate, reads=reads)

    @staticmethod
    def to_if_equal(
        target: str, path: str, value: object, *, reads: Iterable[str] | None = None
    ) -> Route:
        """Enter the node `target` if the dotted `path` exists and equals `value`."""
        return _route("to", target=target, when=FieldPath(path) == value, reads=reads)

    @staticmethod
    def to_if_error(target: str, *, reads: Iterable[str] | None = None) -> Route:
        """Enter the node `target` if the state's field `error` exists and is not `None`.

        This looks at data that a node has provided. It catches no exception: `on_error` does.
        """
        return _route("to", target=target, when=ready("error"), reads=reads, label="error is set")

    @staticmethod
    def deliver(
        field: str, when: When | None = None, *, reads: Iterable[str] | None = None
    ) -> Route:
        """End the run with the value of `field`, which must exist (`None` counts)."""
        return _route("deliver", field=field, when=when, reads=reads)

    @staticmethod
    def deliver_if_ready(field: str, *, reads: Iterable[str] | None = None) -> Route:
        """End the run with the value of `field` if it exists and is not `None`; else try the next route."""
        when, label = ready(identifier(field)), f"{identifier(field)} is ready"
        return _route("deliver", field=field, when=when, reads=reads, label=label)

    @staticmethod
    def finish(
        function: Callable[[Any], Any],
        when: When | None = None,
        *,
        reads: Iterable[str] | None = None,
    ) -> Route:
        """End the run with `function(state)`, which is synchronous and pure."""
        return _route("finish", function=function, when=when, reads=reads)


def _route(
    kind: RouteKind,
    *,
    reads: Iterable[str] | None,
    target: str | None = None,
    field: str | None = None,
    function: Callable[[Any], Any] | None = None,
    when: When | None = None,
    label: str | None = None,
) -> Route:
    slips = Slips()
    return Route(
        kind=kind,
        target=identifier(target) if kind == "to" else None,
        field=slips.name("deliver", field) if kind == "deliver" else None,
        function=function,
        when=when,
        reads=None if reads is None else slips.names("reads", reads),
        label=label,
        slips=tuple(slips.found),
        place=calling_place(),
    )
