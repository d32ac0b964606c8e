"""The roster of an engine: which runs are under way here, and which only wait for what comes of another of the same id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from agentflow.errors import RunConflict

if TYPE_CHECKING:
    from agentflow.run.run import Run

__all__ = ["Roster"]

R = TypeVar("R")


class Roster(Generic[R]):
    """The runs of one engine that have begun and not ended."""

    def __init__(self) -> None:
        self._running: dict[str, Run[R]] = {}
        self._waiting: list[Run[R]] = []

    def get(self, run_id: str) -> Run[R] | None:
        """The run of that id, or `None`."""
        return self._running.get(run_id)

    def all(self) -> list[Run[R]]:
        """Every run, those that only wait first: none of them is to take over from a run that is stopped."""
        return [*self._waiting, *self._running.values()]

    def add(self, run: Run[R], *, stored: bool) -> None:
        """Take a run that begins.

        Args:
            run: The run.
            stored: Whether a store decides which of several of one id drives it.

        Raises:
            RunConflict: Another of its id is under way, and nobody decides between them.
        """
        if run.id not in self._running:
            self._running[run.id] = run
        elif stored:
            self._waiting.append(run)
        else:
            raise RunConflict(f"run {run.id!r} is under way; give another run_id, or wait for it")

    def remove(self, run: Run[R]) -> None:
        """Forget a run that has ended; one that waited for it takes its place."""
        if self._running.get(run.id) is not run:
            self._waiting.remove(run)
            return
        del self._running[run.id]
        if not self._waiting:
            return
        heir = next((other for other in self._waiting if other.id == run.id), None)
        if heir is not None:
            self._waiting.remove(heir)
            self._running[run.id] = heir
