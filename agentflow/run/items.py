"""The items of a `map_each`: taken one at a time, from a field or from a function, and recorded where they come from outside."""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Iterable,
    Mapping,
    Sequence,
    Set,
)
from typing import TYPE_CHECKING, Any, Final

import anyio

from agentflow.errors import BudgetExceeded, ContractError
from agentflow.graph.frozen import freeze, lend
from agentflow.run.detached import GRACE
from agentflow.run.effects import emit_limit, performing

if TYPE_CHECKING:
    from agentflow.graph.kinds import MapEach
    from agentflow.run.context import NodeContext

__all__ = ["Items", "Made", "Stated", "items_of"]

_END: Final = object()


async def items_of(ctx: NodeContext, kind: MapEach) -> Items:
    """The items of a visit.

    Raises:
        ContractError: What is there is not a list of items.
        BudgetExceeded: There are more than the node says.
    """
    if isinstance(kind.over, str):
        given = dict.__getitem__(ctx.frame.state, kind.over)
        source, where = given, f"the field {kind.over!r}"
    else:
        journal = ctx.frame.run.journal
        given = kind.over(ctx.frame.state) if journal is None else journal.items(ctx, kind.over)
        source = await given if inspect.isawaitable(given) else given
        where = "its function over="
    where = f"node {ctx.node_id!r}: {where} gives {type(source).__name__}"
    if isinstance(source, Set):
        raise ContractError(f"{where}, which has no order; make it a list, sorted for instance")
    if not isinstance(kind.over, str) and isinstance(source, AsyncIterable):
        return Made(ctx, source, kind.max_items)
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
        raise ContractError(f"{where}; it must give a list of items, or an iterable of them")
    if not isinstance(kind.over, str):
        return Made(ctx, _slowly(source), kind.max_items)
    items = list(source)
    _check(ctx, len(items), kind.max_items)
    return Stated(items)


class Stated:
    """Items that stand in the state.

    Args:
        items: They.

    Attributes:
        count: How many there are.
    """

    def __init__(self, items: Sequence[Any]) -> None:
        self.count: int | None = len(items)
        self._items = enumerate(items)

    async def take(self) -> tuple[int, Any] | None:
        """The next item with its number, from 0; `None` when there is none left."""
        for at, item in self._items:
            return at, lend(item)
        return None

    async def close(self) -> None:
        """Nothing is held."""


class Made:
    """Items that a function makes; each is recorded, so that it is the same after a crash.

    Args:
        ctx: The visit.
        source: Where they come from.
        allowed: How many there may be.
    """

    count: int | None = None

    def __init__(self, ctx: NodeContext, source: AsyncIterable[Any], allowed: int | None) -> None:
        self._ctx = ctx
        self._source = aiter(source)
        self._allowed = allowed
        self._taken = 0
        self._turn = anyio.Lock()

    async def take(self) -> tuple[int, Any] | None:
        """The next item with its number, from 0; `None` when there is none left.

        Raises:
            BudgetExceeded: There are more than there may be.
            ContractError: It cannot be stored.
        """
        # One at a time: an async generator is not to be asked by two tasks, and the numbers are those of its order.
        async with self._turn:
            at, ctx = self._taken, self._ctx
            async with performing(ctx, "item", ctx.effect_key(f"item:{at}"), None) as performance:
                item = await anext(self._source, _END)
                # What was recorded goes before what the function gives today.
                if not performance.recorded:
                    if item is _END:
                        return None
                    _check(ctx, at + 1, self._allowed)
                    await performance.keep(item)
                self._taken += 1
                return at, lend(freeze(performance.value))

    async def close(self) -> None:
        """End the function that makes them, if it is a generator."""
        if isinstance(self._source, AsyncGenerator):
            # Also when the run is cancelled: a generator that is left open would clean up at some other time.
            with anyio.move_on_after(GRACE, shield=True):
                await self._source.aclose()


Items = Stated | Made


async def _slowly(items: Iterable[Any]) -> AsyncGenerator[Any]:
    for item in items:
        yield item


def _check(ctx: NodeContext, number: int, allowed: int | None) -> None:
    if allowed is not None and number > allowed:
        error = BudgetExceeded("items", allowed, number, where=f"node {ctx.node_id!r}")
        emit_limit(ctx, error)
        raise error
