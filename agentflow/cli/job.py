"""One run from its start to its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

import anyio

from agentflow.cli.asking import answers_from_terminal, can_ask
from agentflow.cli.interrupt import interrupts
from agentflow.cli.outcome import Outcome
from agentflow.cli.refusal import refuse
from agentflow.cli.telling import Words, tell
from agentflow.errors import AgentflowError, RunCancelled, RunSuspended
from agentflow.graph.limits import Budget
from agentflow.observers import console_progress
from agentflow.run.engine import Engine
from agentflow.run.facts import Fact
from agentflow.run.options import ResumeOptions
from agentflow.run.run import Run
from agentflow.run.signal import CancelSignal

__all__ = ["Job", "Start", "perform"]

Start = Callable[[ResumeOptions], Awaitable[Run[Any]]]
"""Makes a run that has not begun, when its engine is open; or ends the command."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run.

    Args:
        engine: The engine that runs it.
        start: Makes the run.
        words: How a shell names what it takes to go on with it.
        budget: Limits besides the engine's.
        timeout: Seconds after which it is cancelled.
        grace: Seconds that the visit under way gets when the process is asked to terminate.
        private: The private fields of the run, which it needs again whenever it goes on.
    """

    engine: Engine[Any]
    start: Start
    words: Words
    budget: Budget | None
    timeout: float | None
    grace: float
    private: Mapping[str, Any]


def perform(job: Job, stdout: TextIO, *, json: bool, quiet: bool, verbose: bool) -> int:
    """Run it, show how it goes, ask what it asks, tell how it ended, and return the exit code."""

    async def main() -> int:
        async with job.engine:
            outcome = await _until_it_stops(job, quiet=quiet, verbose=verbose)
        tell(outcome, stdout, job.words, json=json, verbose=verbose)
        if outcome.abandoned:
            _leave(outcome.exit_code, stdout)
        return outcome.exit_code

    try:
        return anyio.run(main)
    except AgentflowError as error:
        # What a run meets is told as its end; this stood in the way before or after it, as a store or a server of tools may.
        refuse(str(error))


async def _until_it_stops(job: Job, *, quiet: bool, verbose: bool) -> Outcome:
    """Follow the run, and let it go on with whatever somebody at the terminal answers."""
    start = job.start
    while True:
        with _progress(job, quiet=quiet, verbose=verbose) as progress:
            outcome = await _followed(job, start, progress)
        if not outcome.requests or not can_ask():
            return outcome
        answers = answers_from_terminal(outcome.requests)
        if not answers:
            return outcome
        start = _answering(job.engine, outcome.run_id, answers)


def _answering(engine: Engine[Any], run_id: str, answers: dict[str, Any]) -> Start:
    async def start(options: ResumeOptions) -> Run[Any]:
        return engine.reopen(run_id, answers, **options)

    return start


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


async def _followed(job: Job, start: Start, progress: Any) -> Outcome:
    interrupted, stopping = CancelSignal(), CancelSignal()
    signals = [interrupted, *([CancelSignal.after(job.timeout)] if job.timeout else [])]
    abandoned = _Abandoned()
    options = ResumeOptions(
        signal=CancelSignal.any(*signals),
        budget=job.budget,
        private=job.private,
        observers=[abandoned, *([progress] if progress is not None else [])],
    )
    value, error = None, None
    stop = None if job.engine.store is None else stopping
    note = progress.note if progress is not None else _note
    with interrupts(interrupted, note, stop=stop):
        async with await start(options) as run, anyio.create_task_group() as group:
            group.start_soon(_drain, job, stopping)
            try:
                value = await run.result()
            except RunSuspended:
                # That is no error: what it waits for is in the run.
                pass
            except (Exception, SystemExit) as raised:
                error = raised
            group.cancel_scope.cancel()
    if isinstance(error, RunCancelled) and job.timeout and not interrupted.fired:
        error = RunCancelled(f"timed out after {job.timeout:g} s")
    return _outcome(run, value, error, abandoned=abandoned.seen)


async def _drain(job: Job, stopping: CancelSignal) -> None:
    await stopping.wait()
    await job.engine.drain(job.grace)


def _outcome(run: Run[Any], value: Any, error: BaseException | None, *, abandoned: bool) -> Outcome:
    return Outcome(
        run_id=run.id,
        workflow=run.workflow.id,
        version=run.workflow.version,
        status=run.status,
        value=value,
        error=error,
        used=run.ledger.as_dict(),
        allowed=dict(run.ledger.budget.limits()),
        abandoned=abandoned,
        requests=run.requests,
        due=run.due,
    )


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _leave(code: int, stdout: TextIO) -> NoReturn:
    """End the process without waiting for code that does not stop: it would keep the interpreter for as long as it likes."""
    stdout.flush()
    sys.stderr.flush()
    os._exit(code)
