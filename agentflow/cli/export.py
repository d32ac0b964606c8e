"""`agentflow export`: a stored run as one document, to be kept, sent, or replayed anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentflow.cli.store import StoreOption

if TYPE_CHECKING:
    from agentflow.run.ports import Store

__all__ = ["export"]


def export(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to; default: stdout."),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write a run with everything that was recorded of it, values included, as JSON.

    `agentflow replay` reads it. Exit code 2: there is no such run or store, or FILE cannot be written.
    """
    import json

    from agentflow.cli.output import claimed_stdout
    from agentflow.cli.refusal import refuse
    from agentflow.cli.store import asked

    document = asked(store, lambda opened: _document(opened, run_id))
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if output is None:
        with claimed_stdout() as stdout:
            stdout.write(text)
        return
    try:
        # A lone surrogate, as an error's message may hold one, is written as an escape.
        output.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        refuse(f"{output} cannot be written: {error.strerror}")


async def _document(store: Store, run_id: str) -> dict[str, Any]:
    from agentflow.cli.store import found
    from agentflow.run.export import exported

    info = await found(store, run_id)
    entries = await store.read(run_id, after=0)
    if not entries:
        raise typer.BadParameter(f"nothing is recorded of run {run_id!r} yet", param_hint="RUN")
    return exported(info, entries)
