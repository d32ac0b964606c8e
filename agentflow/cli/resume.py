"""`agentflow resume`: answers for a run that waits, and another start for one that was interrupted."""

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

__all__ = ["resume"]

_ANSWERS = "[ID=VALUE]... TARGET"


def resume(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.")],
    words: Annotated[
        list[str],
        typer.Argument(
            metavar=_ANSWERS,
            help="Answers by request id, JSON or text, or one VALUE where one request waits; then what holds the workflow.",
            show_default=False,
        ),
    ],
    private: PrivateOption = None,
    store: StoreOption = None,
    model: ModelOption = None,
    budget: BudgetOption = None,
    timeout: TimeoutOption = None,
    grace: GraceOption = GRACE,
    json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Answer a run that waits, or go on with an interrupted one.

    Answers are checked before anything runs; if one is not what was asked for, the run goes on waiting. Exit codes are
    those of `agentflow run`.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.job import perform
    from agentflow.cli.output import claimed_stdout
    from agentflow.cli.run_input import check_private, private_of
    from agentflow.cli.run_options import bound_engine, job_of

    *answers, target = words
    _refuse_answer(target)
    with claimed_stdout() as stdout, Imports() as imports:
        given = private_of(private)
        engine = bound_engine(target, imports, store=store, model=model, stored=True)
        check_private(engine.workflow, given)
        job = job_of(
            engine,
            _start(engine, run_id, answers, target),
            target=target,
            store=store,
            budget=budget,
            timeout=timeout,
            grace=grace,
            private=given,
        )
        code = perform(job, stdout, json=json, quiet=quiet, verbose=verbose)
    raise typer.Exit(code)


def _refuse_answer(target: str) -> None:
    import re

    if re.match(r"[0-9a-f]{16}=", target):
        message = f"{target!r} is an answer; the last word is the TARGET that holds the workflow"
        raise typer.BadParameter(message, param_hint=_ANSWERS)


def _start(engine: Engine[Any], run_id: str, words: list[str], target: str) -> Start:
    from agentflow.cli.store import found, refuse_other

    async def start(options: ResumeOptions) -> Run[Any]:
        assert engine.store is not None
        info = await found(engine.store, run_id)
        refuse_other(info, engine.workflow.id, target)
        if not words:
            note_driven([info])
            return engine.start(run_id=run_id, **options)
        return engine.reopen(run_id, await _answers(engine, info, words), **options)

    return start


async def _answers(engine: Engine[Any], info: RunInfo, words: list[str]) -> dict[str, Any]:
    """The answers that the words give; none of them is given to the run before all are known to be good."""
    from agentflow.cli.answer import answers_of
    from agentflow.cli.refusal import refuse
    from agentflow.errors import ContractError, ResumeConflict
    from agentflow.run.suspension import last_suspension

    assert engine.store is not None
    waiting = last_suspension(await engine.store.read(info.run_id, after=0))
    # A process that died before it could use an answer has left the run interrupted, and the question open.
    if info.status != "suspended" and not (info.status == "interrupted" and waiting.open):
        refuse(f"run {info.run_id!r} does not wait for an answer: it is {info.status}", 1)
    try:
        return answers_of(words, waiting)
    except ContractError as error:
        refuse(f"{error}; the run goes on waiting")
    except ResumeConflict as error:
        refuse(str(error), 1)
