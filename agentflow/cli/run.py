"""`agentflow run`: one run of a workflow or an engine, watched from a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentflow.cli.run_options import (
    GRACE,
    BudgetOption,
    GraceOption,
    JsonOption,
    ModelOption,
    PrivateOption,
    QuietOption,
    TimeoutOption,
    VerboseOption,
    note_driven,
)
from agentflow.cli.store import StoreOption

if TYPE_CHECKING:
    from agentflow.cli.job import Start
    from agentflow.run.engine import Engine
    from agentflow.run.entries import RunInfo
    from agentflow.run.options import ResumeOptions
    from agentflow.run.run import Run

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
    private: PrivateOption = None,
    model: ModelOption = None,
    budget: BudgetOption = None,
    timeout: TimeoutOption = None,
    store: StoreOption = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run-id",
            metavar="ID",
            help="An id for the run. With a store, a run of that id goes on or tells how it ended.",
        ),
    ] = None,
    grace: GraceOption = GRACE,
    json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a workflow: progress on stderr, the result on stdout.

    With a store the run is durable: it survives its process, and may wait for answers, which are asked for on a terminal.

    The first Ctrl-C cancels the run, the second ends the process. SIGTERM cancels too; with a store it leaves the run
    where it can go on. Exit code 0: completed. 1: failed. 2: bad usage or input. 3: suspended. 130: cancelled. 143:
    interrupted.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.job import perform
    from agentflow.cli.output import claimed_stdout
    from agentflow.cli.run_input import check_private, input_of, private_of
    from agentflow.cli.run_options import bound_engine, job_of
    from agentflow.run import beginning

    with claimed_stdout() as stdout, Imports() as imports:
        # Stdin first: a module that reads it must not get what was meant for the run.
        given, apart = input_of(input), private_of(private)
        engine = bound_engine(target, imports, store=store, model=model)
        check_private(engine.workflow, apart)
        apart = beginning.private_of(engine.plan, given, apart)
        job = job_of(
            engine,
            _start(engine, given, apart, run_id),
            target=target,
            store=store,
            budget=budget,
            timeout=timeout,
            grace=grace,
            private=apart,
        )
        code = perform(job, stdout, json=json, quiet=quiet, verbose=verbose)
    raise typer.Exit(code)


def _start(
    engine: Engine[Any], given: dict[str, Any] | None, private: dict[str, Any], run_id: str | None
) -> Start:
    from agentflow.cli.run_input import check_input
    from agentflow.run.beginning import whole_input

    async def start(options: ResumeOptions) -> Run[Any]:
        known: list[RunInfo] = []
        if engine.store is not None and run_id is not None:
            known = await engine.store.find(run_id=run_id)
        # A run that is there already has its input.
        if not known:
            check_input(engine.workflow, whole_input(given, private))
        note_driven(known)
        return engine.start(given, run_id=run_id, **options)

    return start
