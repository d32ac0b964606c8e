"""The small protocol that every competitor's module of durable programs follows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from bench.durable.place import Place

Program = Callable[[int], Awaitable[int]]
Ask = Callable[[int], Awaitable[object]]
Stamp = Callable[[], None]


class Keeper(Protocol):
    """What a competitor's module offers.

    Every program commits each of its visits before the next begins. Running one takes the first value of the field `x` and gives
    its last one, so that every scenario can check that the work was really done. A store is whatever `storing` gives.
    """

    TITLE: str
    DISTRIBUTION: str | None
    LACKS: Mapping[str, str]
    """Scenario id to the reason why this competitor cannot take part."""
    FEWER: Mapping[str, int]
    """Scenario id to a smaller size, where the usual one takes minutes."""

    def storing(self, place: Place) -> AbstractAsyncContextManager[Any]:
        """The place as this competitor opens it, tables made."""

    async def loop(self, store: Any, rounds: int, stamp: Stamp) -> Program:
        """One node that calls `stamp`, adds 1 to `x`, and comes back to itself until `x` is `rounds`."""

    async def line(self, store: Any, nodes: int) -> Program:
        """`nodes` nodes in a line; each adds 1 to `x`."""

    async def talk(self, store: Any, turns: int, stamp: Stamp) -> Program:
        """The loop, and each visit adds one message of 200 characters to a list."""

    async def fan(self, store: Any, items: int) -> Program:
        """Works on `items` items at the same time, each of which is `x` and adds 1 to it; gives their sum."""

    async def asking(self, store: Any) -> Ask:
        """A node that adds 1 to `x`, then one that asks a person. Awaited until the run waits for the answer."""

    async def leave(self, place: Place, rounds: int, *, talking: bool) -> None:
        """Make `rounds` visits of a loop or a talk of one more, and leave the run there, unfinished."""

    async def go_on(self, place: Place, rounds: int, stamp: Stamp, *, talking: bool) -> int:
        """Open the place anew and go on with the run that was left there: one more visit, which calls `stamp`; gives `x`."""
