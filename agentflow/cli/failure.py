"""How a run that failed is told: what happened and where, with the author's lines and without the engine's."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from agentflow.cli.frames import is_authors, is_engine
from agentflow.cli.styled import Line
from agentflow.errors import AgentflowError, ModelError, RunCancelled, RunInterrupted

__all__ = ["failure_lines"]


def failure_lines(
    error: BaseException, *, run_id: str, workflow: str, verbose: bool
) -> Iterator[Line]:
    """The error of a run, for people.

    Args:
        error: What the run raised.
        run_id: The run.
        workflow: Its workflow's id.
        verbose: Show every frame of every error.
    """
    if isinstance(error, RunCancelled):
        yield ((f"cancelled: {error.reason or 'somebody asked for it'}", "warning"),)
    elif isinstance(error, RunInterrupted):
        yield ((f"interrupted: {error}", "warning"),)
    else:
        yield ((f"error: {_headline(error)}", "error"),)
    trace = traceback.TracebackException.from_exception(error, compact=True)
    notes = getattr(error, "__notes__", ())
    if not any(run_id in note for note in notes):
        notes = (*notes, f"in workflow {workflow!r}, run {run_id}")
    for note in notes:
        yield ((f"  {note}", "plain"),)
    if not verbose:
        trace = _trimmed(trace)
    if verbose or _has_lines(trace):
        yield ()
        for line in "".join(_without_notes(trace).format()).rstrip("\n").split("\n"):
            yield ((line, "quiet"),)


def _headline(error: BaseException) -> str:
    if isinstance(error, AgentflowError):
        return str(error)
    if isinstance(error, SystemExit):
        return f"the node ended with sys.exit({error.code!r})"
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _trimmed(trace: traceback.TracebackException) -> traceback.TracebackException:
    """The same without frames of the engine, in the errors behind it too."""
    trace.stack = traceback.StackSummary.from_list(
        [frame for frame in trace.stack if not is_engine(frame.filename)]
    )
    for inner in (trace.__cause__, trace.__context__, *(trace.exceptions or ())):
        if inner is not None:
            _trimmed(inner)
    if trace.exc_type is not None and issubclass(trace.exc_type, ModelError):
        # What a vendor's client went through is told by the message; a provider of the author's own is the author's code.
        _drop_foreign_cause(trace)
    # An error of the engine's own checks says what there is to say in its message.
    if trace.__cause__ is not None and not _has_lines(trace.__cause__):
        trace.__cause__ = None
        trace.__suppress_context__ = True
    if trace.__context__ is not None and not _has_lines(trace.__context__):
        trace.__context__ = None
    return trace


def _drop_foreign_cause(trace: traceback.TracebackException) -> None:
    inner = trace.__cause__
    while inner is not None:
        if any(is_authors(frame.filename) for frame in inner.stack):
            return
        inner = inner.__cause__ or inner.__context__
    trace.__cause__ = None
    trace.__suppress_context__ = True


def _has_lines(trace: traceback.TracebackException) -> bool:
    return bool(
        trace.stack
        or any(
            inner is not None and _has_lines(inner)
            for inner in (trace.__cause__, trace.__context__, *(trace.exceptions or ()))
        )
    )


def _without_notes(trace: traceback.TracebackException) -> traceback.TracebackException:
    trace.__notes__ = None
    return trace
