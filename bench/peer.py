"""The small protocol that every competitor's module follows."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

Program = Callable[[int], Awaitable[int]]
Hold = Callable[[], Awaitable[None]]
Stamp = Callable[[], None]
Started = tuple[Future[int], Callable[[], object]]


class Peer(Protocol):
    """What a competitor's module offers.

    A program is a definition made once, outside the timing. Running it takes the first value of the field `x` and gives its
    last one, so that every scenario can check that the work was really done.
    """

    __name__: str
    TITLE: str
    DISTRIBUTION: str | None
    """The distribution whose version is shown; `None` for the floor."""
    IMPORT: str
    """The statement of the import scenario."""
    LACKS: Mapping[str, str]
    """Scenario id to the reason why this competitor cannot take part."""
    FEWER: Mapping[str, int]
    """Scenario id to a smaller size, where the usual one takes minutes; costs per visit stay comparable."""

    def chain(self, nodes: int, *, yielding: bool = False) -> Program:
        """`nodes` nodes in a line; each adds 1 to `x`, and yields to the event loop when `yielding`."""

    def loop(self, rounds: int) -> Program:
        """One node that adds 1 to `x` and comes back to itself until `x` is `rounds`."""

    def branch(self, ways: int) -> Program:
        """A node whose routes choose one of `ways` nodes by `x`; that one adds `ways` to `x`."""

    def wide(self, fields: int, rounds: int, stamp: Stamp) -> Program:
        """The loop on a state of `fields` fields; each visit calls `stamp`, changes a field, appends one item to a list."""

    def waiting(self, hold: Hold) -> Program:
        """A node that adds 1 to `x`, then one that awaits `hold()`."""

    def fan(self, items: int, hold: Hold | None = None) -> Program:
        """Works on `items` items at the same time: each is `x`, awaits `hold()` if there is one, and adds 1; gives their sum."""

    def start(self, program: Program) -> Started:
        """Begin a run; gives its future, and what cancels it the way this competitor's users cancel."""

    def define(self, nodes: int) -> object:
        """Define a line of `nodes` nodes, from functions to something that can run."""

    def first(self) -> object:
        """Define a small graph of two nodes with one conditional route."""
