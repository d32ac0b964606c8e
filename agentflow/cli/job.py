"""One run from its start to its exit code."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

import anyio

from agentflow.cli.failure import failure_lines
from agentflow.cli.interrupt import interrupts
from agentflow.cli.outcome import Outcome
from agentflow.cli.styled import write_lines
from agentflow.errors import RunCancelled
from agentflow.graph.limits import Budget
from agentflow.observers import console_progress
from agentflow.run.engine import Engine
from agentflow.run.facts import Fact
from agentflow.run.signal import CancelSignal

__all__ = ["Job", "perform"]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run.

    Args:
        engine: The engine that runs it.
        input: The fields of its input.
        budget: Limits besides the engine's.
        timeout: Seconds after which it is cancelled.
        run_id: An id for it.
    """

    engine: Engine[Any]
    input: dict[str, Any] | None
    budget: Budget | None = None
    timeout: float | None = None
    run_id: str | None = None


def perform(job: Job, stdout: TextIO, *, json: bool, quiet: bool, verbose: bool) -> int:
    """Run it, show how it goes, tell how it ended, and return the exit code."""

    async def main() -> int:
        with _progress(job, quiet=quiet, verbose=verbose) as progress:
            outcome = await _followed(job, progress)
        _tell(outcome, stdout, json=json, verbose=verbose)
        if outcome.abandoned:
            _leave(outcome.exit_code, stdout)
        return outcome.exit_code

    return anyio.run(main)


def _progress(job: Job, *, quiet: bool, verbose: bool) -> AbstractContextManager[Any]:
    if quiet:
        return nullcontext()
    return console_progress(job.engine.workflow, budget=job.budget, every=verbose)


class _Abandoned:
    """An observer that notices whether code was left behind that did not stop."""

    def __init__(self) -> None:
        self.seen = False

    def accepts(self, kind: str, content: bool) -> bool:
        return kind == "thread.abandoned" and not content

    def event(self, _fact: Fact) -> None:
        self.seen = True


async def _followed(job: Job, progress: Any) -> Outcome:
    interrupted = CancelSignal()
    signals = [interrupted, *([CancelSignal.after(job.timeout)] if job.timeout else [])]
    abandoned = _Abandoned()
    observers = [abandoned, *([progress] if progress is not None else [])]
    workflow = job.engine.workflow
    value, error = None, None
    with interrupts(interrupted, progress.note if progress is not None else _note):
        async with (
            job.engine as engine,
            engine.start(
                job.input,
                run_id=job.run_id,
                signal=CancelSignal.any(*signals),
                budget=job.budget,
                observers=observers,
            ) as run,
        ):
            try:
                value = await run.result()
            except (Exception, SystemExit) as raised:
                error = raised
    if isinstance(error, RunCancelled) and job.timeout and not interrupted.fired:
        error = RunCancelled(f"timed out after {job.timeout:g} s")
    return Outcome(
        run_id=run.id,
        workflow=workflow.id,
        version=workflow.version,
        status=run.status,
        value=value,
        error=error,
        used=run.ledger.as_dict(),
        allowed=dict(run.ledger.budget.limits()),
        abandoned=abandoned.seen,
    )


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _tell(outcome: Outcome, stdout: TextIO, *, json: bool, verbose: bool) -> None:
    if outcome.error is not None:
        lines = failure_lines(
            outcome.error, run_id=outcome.run_id, workflow=outcome.workflow, verbose=verbose
        )
        write_lines(lines, sys.stderr)
    if json:
        stdout.write(outcome.document() + "\n")
    elif outcome.error is None:
        stdout.write(outcome.result_text() + "\n")
    stdout.flush()


def _leave(code: int, stdout: TextIO) -> NoReturn:
    """End the process without waiting for code that does not stop: it would keep the interpreter for as long as it likes."""
    stdout.flush()
    sys.stderr.flush()
    os._exit(code)
