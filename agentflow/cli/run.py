"""`agentflow run`: one run of a workflow or an engine, watched from a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentflow.cli.importing import Imports
    from agentflow.cli.job import Job

__all__ = ["run"]


def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="module:attribute, file.py, file.py:attribute, or a JSON or YAML file: a workflow or an engine.",
            show_default=False,
        ),
    ],
    input: Annotated[
        str | None,
        typer.Option(
            "--input",
            "-i",
            metavar="JSON|@FILE|-",
            help="The fields of the input, as a JSON object.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="provider:model, or module:attribute of a model object.",
        ),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            metavar="NAME=VALUE",
            help="A hard limit, such as model_calls=3; repeatable.",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="Cancel the run after so long."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="ID", help="An id for the run.")
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON document: result, status, ledger, run id."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every fact, and whole tracebacks.")
    ] = False,
) -> None:
    """Run a workflow: progress on stderr, the result on stdout.

    The first Ctrl-C cancels the run, the second ends the process. Exit code 0: completed. 1: failed. 2: bad usage or
    input. 130: cancelled.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.job import perform
    from agentflow.cli.output import claimed_stdout

    with claimed_stdout() as stdout, Imports() as imports:
        job = _job(
            target, imports, input=input, model=model, budget=budget, timeout=timeout, run_id=run_id
        )
        code = perform(job, stdout, json=json, quiet=quiet, verbose=verbose)
    raise typer.Exit(code)


def _job(
    target: str,
    imports: Imports,
    *,
    input: str | None,
    model: str | None,
    budget: list[str] | None,
    timeout: float | None,
    run_id: str | None,
) -> Job:
    """What to run, all of it looked at before anything begins."""
    from agentflow.cli.budget import budget_of
    from agentflow.cli.job import Job
    from agentflow.cli.loading import load
    from agentflow.cli.model import bind_model
    from agentflow.cli.run_input import check_input, input_of
    from agentflow.cli.single import single_engine
    from agentflow.cli.target import parse_target

    if timeout is not None and not timeout > 0:
        raise typer.BadParameter("it takes a number of seconds above 0", param_hint="--timeout")
    limits = budget_of(budget or ())
    # Stdin first: a module that reads it must not get what was meant for the run.
    given = input_of(input)
    engine = single_engine(load(parse_target(target), imports), target)
    check_input(engine.workflow, given)
    if model is not None:
        bind_model(engine, model, imports)
    return Job(engine, given, limits, timeout, run_id)
