"""Starting a run of a competitor whose users cancel a run by cancelling its task."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.peer import Program, Started


async def awaited(program: Program) -> int:
    return await program(0)


def start_as_task(program: Program) -> Started:
    """Begin a run as a task; gives the task, and its `cancel`."""
    # Imported late: a fresh process that only defines a graph must not pay for asyncio here.
    from asyncio import ensure_future

    task = ensure_future(awaited(program))
    return task, task.cancel
