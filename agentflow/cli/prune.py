"""`agentflow prune`: the end of what a store keeps of old runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agentflow.cli.status import Status
from agentflow.cli.store import StoreOption
from agentflow.graph.counted import counted

if TYPE_CHECKING:
    from agentflow.run.ports import Store

__all__ = ["prune"]


def prune(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than",
            metavar="DURATION",
            help="Runs that were last written so long ago: 30d, 12h, 1w3d.",
            show_default=False,
        ),
    ],
    status: Annotated[
        list[Status] | None,
        typer.Option("--status", help="Runs of this status; repeatable. Default: all that ended."),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Delete old runs with everything that belongs to them.

    Exit code 2: there is no store, or it cannot be written.
    """
    from datetime import UTC, datetime

    from agentflow.cli.moment import duration_of
    from agentflow.cli.store import asked
    from agentflow.run import archive
    from agentflow.run.entries import ENDED

    age = duration_of(older_than, "--older-than")
    if Status.running in (status or ()):
        raise typer.BadParameter(
            "running runs are not deleted; cancel them first", param_hint="--status"
        )
    statuses = [each.value for each in status] if status else sorted(ENDED)

    async def delete(opened: Store) -> int:
        return await archive.prune(opened, datetime.now(UTC), age, statuses)  # type: ignore[arg-type]

    number = asked(store, delete)
    sys.stdout.write(f"{counted(number, 'run')} deleted\n")
