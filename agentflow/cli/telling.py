"""How the end of a run is told: its result on stdout; what went wrong, or what is to be done next, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from agentflow.cli.failure import failure_lines
from agentflow.cli.outcome import Outcome
from agentflow.cli.styled import Line, write_lines
from agentflow.cli.waiting import again, waiting_lines
from agentflow.errors import IncompatibleRun, PrivateFieldMissing

__all__ = ["Words", "tell"]

_CAN_GO_ON = ("suspended", "interrupted")


@dataclass(frozen=True, slots=True)
class Words:
    """How a shell names what it takes to go on with a run.

    Args:
        target: The TARGET, quoted.
        store: The store, if a command has to name it.
        lasting: Whether the store outlives this process.
    """

    target: str
    store: str | None = None
    lasting: bool = True


def tell(outcome: Outcome, stdout: TextIO, words: Words, *, json: bool, verbose: bool) -> None:
    """Tell how a run ended or where it stopped.

    Args:
        outcome: How.
        stdout: Where the result goes.
        words: What to name in what is to be typed next.
        json: Whether the result is the whole outcome, as one JSON document.
        verbose: Whether every frame of an error is shown.
    """
    write_lines(_lines(outcome, words, verbose=verbose), sys.stderr)
    if json:
        stdout.write(outcome.document() + "\n")
    elif outcome.status == "completed":
        stdout.write(outcome.result_text() + "\n")
    stdout.flush()


def _lines(outcome: Outcome, words: Words, *, verbose: bool) -> Iterator[Line]:
    run_id = outcome.run_id
    if outcome.error is not None:
        yield from failure_lines(
            outcome.error, run_id=run_id, workflow=outcome.workflow, verbose=verbose
        )
    # With the same code nothing would be gained by another start.
    if outcome.status not in _CAN_GO_ON or isinstance(outcome.error, IncompatibleRun):
        return
    if not words.lasting:
        yield (("  the run is gone with this process; give it a store that stays", "plain"),)
    elif outcome.status == "suspended":
        requests = [request.as_dict() for request in outcome.requests]
        yield from waiting_lines(
            run_id, requests, outcome.due, store=words.store, target=words.target
        )
    else:
        missing = isinstance(outcome.error, PrivateFieldMissing)
        option = "--private JSON" if missing else ""
        command = again(run_id, "", words.store, words.target, option)
        yield ("  go on with it: ", "quiet"), (command, "hint")
