"""The timers of a visit: when a wait or a question is due is an effect like any other, so a restart goes on with it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import anyio

from agentflow.errors import ContractError
from agentflow.run.effects import effect

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Waits", "due_in"]


async def due_in(ctx: NodeContext, name: str, seconds: float) -> datetime:
    """The time `seconds` after the timer `name` of a visit was first asked for, however often it is asked again.

    Raises:
        Divergence: The key was recorded for something that is no timer.
    """
    clock = ctx.frame.run.clock

    async def start() -> datetime:
        return clock.now() + timedelta(seconds=seconds)

    # How long is no part of the request: what is computed from the time of day differs at every restart.
    due: datetime = await effect(ctx, "timer", ctx.effect_key(name), "timer", start)
    return due


class Waits:
    """The waits of one attempt that nobody has named: the first, the second, in the order of one task."""

    __slots__ = ("_count", "_task")

    def __init__(self) -> None:
        self._count = 0
        self._task: int | None = None

    def name(self, ctx: NodeContext) -> str:
        """The name of the next one.

        Raises:
            ContractError: Another task of the visit waits without a name too, so which is first would be chance.
        """
        task = anyio.get_current_task().id
        if self._count and task != self._task:
            raise ContractError(
                f"node {ctx.node_id!r} waits in several tasks: after a restart nobody could tell their waits apart; "
                f"name each of them, as in ctx.wait(60, key='first')"
            )
        self._task = task
        self._count += 1
        return f"wait.{self._count}"
