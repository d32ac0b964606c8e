"""Recorded runs that a command is about: in the store, in files, in folders of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agentflow.cli.refusal import refuse
from agentflow.errors import SpecError
from agentflow.run.export import imported

if TYPE_CHECKING:
    from agentflow.run.entries import Entry, RunInfo
    from agentflow.run.ports import Store

__all__ = ["Recorded", "recorded_runs"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run with its whole journal."""

    info: RunInfo
    entries: Sequence[Entry]

    def before(self, node: str) -> int:
        """The number of the last record before the first visit of a node.

        Raises:
            BadParameter: The run did not visit it, outside of sub-workflows.
        """
        last, reached = 1, ""
        visited: list[str] = []
        for entry in self.entries:
            if entry.kind not in ("visit", "failed"):
                continue
            body: dict[str, Any] = json.loads(entry.body)
            if body["frame"]:
                continue
            visited.append(body["node"])
            if node in (body["node"], reached):
                return last
            last, reached = entry.number, body.get("to") or ""
        if node == reached:
            return last
        listed = ", ".join(map(repr, dict.fromkeys(visited))) or "none"
        message = f"run {self.info.run_id!r} did not visit {node!r}; it visited {listed}"
        raise typer.BadParameter(message, param_hint="--from")


def recorded_runs(
    words: Sequence[str], store: str | None, workflow_id: str, target: str
) -> list[Recorded]:
    """The runs that words name: files, folders, and ids of the store.

    Raises:
        BadParameter: There is no such run, or it is one of another workflow.
        Exit: A file cannot be read, or there is no store; why is told on stderr.
    """
    from agentflow.cli.store import refuse_other

    found: list[Recorded] = []
    for word in words:
        path = Path(word)
        if path.is_dir():
            files = sorted(path.rglob("*.json"))
            if not files:
                refuse(f"{word} holds no exported run (*.json)")
            found += map(_of_file, files)
        elif path.is_file() or path.suffix == ".json":
            found.append(_of_file(path))
        else:
            found.append(_of_store(word, store))
    for one in found:
        refuse_other(one.info, workflow_id, target)
    return found


def _of_file(path: Path) -> Recorded:
    try:
        document = json.loads(path.read_text("utf-8"))
        return Recorded(*imported(document))
    except OSError as error:
        refuse(f"{path} cannot be read: {error.strerror}")
    except ValueError as error:
        refuse(f"{path} is no JSON: {error}")
    except SpecError as error:
        refuse(f"{path}: {error}")


def _of_store(run_id: str, url: str | None) -> Recorded:
    from agentflow.cli.store import asked, found

    async def read(store: Store) -> Recorded:
        info = await found(store, run_id)
        return Recorded(info, await store.read(run_id, after=0))

    return asked(url, read)
