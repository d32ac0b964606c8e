"""Whether runs are freed at once when nobody holds them any more, without the cyclic garbage collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio.lowlevel
import anyio.to_thread
import pytest

from agentflow.run.run import Run

__all__ = ["Made", "made_runs"]


class Made:
    """The runs that were made in a block, as far as they are still there."""

    def __init__(self) -> None:
        self._runs: list[weakref.ref[Run[Any]]] = []

    def note(self, run: Run[Any]) -> None:
        self._runs.append(weakref.ref(run))

    @property
    def count(self) -> int:
        return len(self._runs)

    async def left(self) -> int:
        """How many of them are still there, when all tasks that are about to end have ended."""
        # A thread keeps what it did last until it gets something else to do.
        await anyio.to_thread.run_sync(int)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        return sum(run() is not None for run in self._runs)


@contextmanager
def made_runs(patch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Look at all runs that are made in the block, in which nothing is collected."""
    made = Made()
    init = Run.__init__

    def noted(self: Run[Any], *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        made.note(self)

    with patch.context() as patched:
        patched.setattr(Run, "__init__", noted)
        gc.collect()
        gc.disable()
        try:
            yield made
        finally:
            gc.enable()
