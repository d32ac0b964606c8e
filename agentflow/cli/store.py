"""`--store`: where durable runs are kept, named by an option or by the environment."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar
from urllib.parse import unquote, urlsplit

import typer

from agentflow.cli.refusal import refuse

if TYPE_CHECKING:
    from agentflow.run.entries import RunInfo
    from agentflow.run.ports import Store

__all__ = [
    "VARIABLE",
    "StoreOption",
    "asked",
    "found",
    "make_store",
    "public_url",
    "refuse_missing",
    "refuse_other",
    "store_url",
]

VARIABLE: Final = "AGENTFLOW_STORE"
"""The environment variable that names the store where no option does."""

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help=f"Where runs are kept: sqlite:///runs.db, postgresql://…; default: ${VARIABLE}.",
    ),
]

T = TypeVar("T")


def store_url(option: str | None) -> str:
    """The store that a command is about.

    Raises:
        BadParameter: None is named.
    """
    url = option or os.environ.get(VARIABLE)
    if not url:
        raise _bad(f"name a store, such as sqlite:///runs.db, here or in ${VARIABLE}")
    return url


def make_store(url: str) -> Store:
    """The store of a URL, not yet opened.

    Raises:
        BadParameter: It names none.
        Exit: What it needs is not installed; told on stderr.
    """
    from agentflow.errors import StoreError
    from agentflow.run.registry import load_store

    try:
        store: Store = load_store(url)
    except ValueError as error:
        raise _bad(str(error)) from None
    except StoreError as error:
        refuse(str(error))
    return store


def asked(option: str | None, question: Callable[[Store], Awaitable[T]]) -> T:
    """What a store that is there already answers to a question.

    Args:
        option: The URL, as the user gave it.
        question: Asks the store, which is open meanwhile.

    Raises:
        BadParameter: No store is named.
        Exit: There is none, or it cannot answer; why is told on stderr, and the code is 2.
    """
    import anyio

    from agentflow.errors import StoreError

    url = store_url(option)
    store = make_store(url)
    refuse_missing(url)

    async def ask() -> T:
        await store.open()
        try:
            return await question(store)
        finally:
            await store.close()

    try:
        return anyio.run(ask)
    except StoreError as error:
        refuse(str(error))


async def found(store: Store, run_id: str) -> RunInfo:
    """What a store knows of a run.

    Raises:
        BadParameter: There is no such run.
    """
    import difflib

    for info in await store.find(run_id=run_id):
        return info
    others = [info.run_id for info in await store.find()]
    close = difflib.get_close_matches(run_id, others, n=1)
    meant = f"did you mean {close[0]!r}?" if close else "`agentflow runs` lists them"
    raise typer.BadParameter(f"the store has no run {run_id!r}; {meant}", param_hint="RUN")


def refuse_other(info: RunInfo, workflow_id: str, target: str) -> None:
    """See to it that a run is one of the workflow that a TARGET holds.

    Raises:
        BadParameter: It is one of another.
    """
    if info.workflow_id != workflow_id:
        message = f"run {info.run_id!r} is one of workflow {info.workflow_id!r}, but {target} holds {workflow_id!r}"
        raise typer.BadParameter(message, param_hint="TARGET")


def public_url(url: str) -> str:
    """A store's URL as it may be printed: without a password."""
    password = urlsplit(url).password
    return url if not password else url.replace(f":{password}@", ":***@", 1)


def refuse_missing(url: str) -> None:
    """Refuse a store that would only come to be by looking into it.

    Raises:
        BadParameter: It would go with this process.
        Exit: There is no such file; told on stderr.
    """
    kind, _, rest = url.partition(":")
    if kind == "memory":
        raise _bad(
            "a memory store goes with its process: name one that stays, as sqlite:///runs.db"
        )
    if kind == "sqlite":
        path = Path(unquote(rest.partition("?")[0].removeprefix("///")))
        if not path.exists():
            refuse(f"there is no store {str(path)!r}; `agentflow run --store {url}` would make it")


def _bad(message: str) -> Any:
    return typer.BadParameter(message, param_hint="--store")
