"""The options that `run` and `resume` share, and the job that they make."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from agentflow.cli.importing import Imports
    from agentflow.cli.job import Job, Start
    from agentflow.run.engine import Engine
    from agentflow.run.entries import RunInfo

__all__ = [
    "GRACE",
    "BudgetOption",
    "GraceOption",
    "JsonOption",
    "ModelOption",
    "PrivateOption",
    "QuietOption",
    "TimeoutOption",
    "VerboseOption",
    "bound_engine",
    "job_of",
    "note_driven",
]

GRACE: Final = 5.0
"""Seconds that the visit under way gets after SIGTERM: fewer than those who send it are used to wait."""

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="provider:model, or module:attribute of a model object.",
    ),
]
BudgetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAME=VALUE",
        help="A hard limit, such as model_calls=3; repeatable.",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", help="Cancel the run after so long."),
]
GraceOption = Annotated[
    float,
    typer.Option(
        "--grace",
        metavar="SECONDS",
        min=0,
        help="With a store: how long the visit under way may go on after SIGTERM.",
    ),
]
PrivateOption = Annotated[
    str | None,
    typer.Option(
        "--private",
        metavar="JSON|@FILE|-",
        help="Fields that are marked private, as a JSON object; they are not stored, so a run that goes on needs them again.",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document: result, status, ledger, run id."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every fact, and whole tracebacks.")
]


def bound_engine(
    target: str,
    imports: Imports,
    *,
    store: str | None,
    model: str | None,
    stored: bool = False,
) -> Engine[Any]:
    """The engine that a target leads to, bound to the store and the model that the user names.

    Args:
        target: The TARGET.
        imports: What imports it.
        store: The store's URL, as an option gives it.
        model: The model, as an option gives it.
        stored: Whether there must be a store, and be there already.

    Raises:
        BadParameter: The target holds several, or the store or the model is none.
        Exit: The target cannot be loaded, or was refused; why is told on stderr.
    """
    import os

    from agentflow.cli.loading import load
    from agentflow.cli.model import bind_model
    from agentflow.cli.single import single_engine
    from agentflow.cli.store import VARIABLE, make_store, refuse_missing, store_url
    from agentflow.cli.target import parse_target

    engine = single_engine(load(parse_target(target), imports), target)
    # What the author has bound an engine to counts more than what the environment says of all.
    named = store or (os.environ.get(VARIABLE) if engine.store is None else None)
    if stored and engine.store is None:
        named = store_url(store)
    if named:
        engine.store = make_store(named)
        if stored:
            refuse_missing(named)
    if model is not None:
        bind_model(engine, model, imports)
    return engine


def note_driven(infos: Iterable[RunInfo]) -> None:
    """Tell whoever asks for a run that a process drives it already, so that they know what they wait for."""
    import sys

    for info in infos:
        if info.status == "running":
            sys.stderr.write(f"run {info.run_id} is driven by another process; waiting for it\n")


def job_of(
    engine: Engine[Any],
    start: Start,
    *,
    target: str,
    store: str | None,
    budget: list[str] | None,
    timeout: float | None,
    grace: float,
    private: Mapping[str, Any],
) -> Job:
    """The job of such options.

    Raises:
        BadParameter: The budget or the timeout is none.
    """
    from agentflow.cli.budget import budget_of
    from agentflow.cli.job import Job
    from agentflow.cli.store import public_url
    from agentflow.cli.telling import Words
    from agentflow.stores.memory import MemoryStore

    if timeout is not None and not timeout > 0:
        raise typer.BadParameter("it takes a number of seconds above 0", param_hint="--timeout")
    words = Words(
        shlex.quote(target),
        None if store is None else public_url(store),
        lasting=not isinstance(engine.store, MemoryStore),
    )
    return Job(engine, start, words, budget_of(budget or ()), timeout, grace, private)
