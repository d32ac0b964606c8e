"""`agentflow cancel`: the end of a run that waits or was interrupted, without its code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agentflow.cli.store import StoreOption

if TYPE_CHECKING:
    from agentflow.run.entries import RunInfo
    from agentflow.run.ports import Store

__all__ = ["cancel"]


def cancel(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.")],
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Cancel a run that waits, or that was interrupted.

    Exit code 0: it is cancelled. 1: it has ended, or a process that is alive drives it. 2: there is no such run or store.
    """
    from agentflow.cli.refusal import refuse
    from agentflow.cli.store import asked, found
    from agentflow.run import archive
    from agentflow.run.entries import ENDED

    async def end(opened: Store) -> tuple[bool, RunInfo]:
        before = await found(opened, run_id)
        done = before.status not in ENDED and await archive.cancel(opened, run_id, reason)
        return done, await found(opened, run_id)

    done, info = asked(store, end)
    if done:
        sys.stdout.write(f"run {run_id} is cancelled\n")
    elif info.status in ENDED:
        refuse(f"run {run_id!r} has ended: it is {info.status}", 1)
    else:
        refuse(
            f"run {run_id!r} is driven by a process that is alive; cancel it there, with Ctrl-C or engine.cancel",
            1,
        )
