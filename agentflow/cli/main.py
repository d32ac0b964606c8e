"""The composition root of the shell: the commands, their names, and how the process ends."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

import agentflow
from agentflow.cli import (
    cancel,
    compat,
    explain,
    export,
    graph,
    mock_server,
    prune,
    replay,
    resume,
    run,
    runs,
    schema,
    serve,
    show,
    validate,
)

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    # Plain help: nothing has to be loaded to show it, and it reads the same everywhere.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("validate")(validate.validate)
app.command("explain")(explain.explain)
app.command("graph")(graph.graph)
app.command("run")(run.run)
app.command("runs")(runs.runs)
app.command("show")(show.show)
app.command("resume")(resume.resume)
app.command("cancel")(cancel.cancel)
app.command("prune")(prune.prune)
app.command("export")(export.export)
app.command("replay")(replay.replay)
app.command("mock-server")(mock_server.mock_server)
app.command("serve")(serve.serve)
app.command("compat")(compat.compat)
app.command("schema")(schema.schema)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agentflow {agentflow.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    """Prove what an agent may do, then run it."""


def main() -> None:
    """Run the command that the process was started with, and end the process with its exit code."""
    _open_missing_streams()
    try:
        app(prog_name="agentflow")
    except KeyboardInterrupt:
        # Outside of a run: a run takes the first Ctrl-C itself.
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read the answer has gone, as `head` does; there is nobody left to tell.
        sys.exit(1)
    finally:
        _silence()


def _open_missing_streams() -> None:
    """Give a process that was started without some of its streams ones that lead nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def _silence() -> None:
    """Send to stderr what is printed after the answer, by threads and exit handlers of users' modules."""
    try:
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        # One of the two is closed or no file: nothing can get between.
        return
