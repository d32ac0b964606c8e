"""A body in a task of its own, that can be cancelled, waited for, and, when it ignores its cancel, left behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from typing import Any, Final

import anyio

from agentflow.run.loop import Loop

__all__ = ["GRACE", "Detached"]

GRACE: Final = 0.05
"""Seconds that a cancelled body gets to clean up before it is left behind."""


class Detached:
    """Runs `body` at once in a task that belongs to nobody.

    Args:
        loop: Where it runs.
        body: What it does.
        context: The context variables that it sees and sets; default: a copy of the caller's.

    Attributes:
        value: What the body returned.
        error: What it raised, if anything; a cancel of its scope is no error.
        done: Opens when the body has ended.
    """

    __slots__ = ("_body", "_loop", "_scope", "_wanted", "done", "error", "value")

    def __init__(
        self, loop: Loop, body: Callable[[], Awaitable[Any]], *, context: Context | None = None
    ) -> None:
        self._loop = loop
        self._body: Callable[[], Awaitable[Any]] | None = body
        self._scope: anyio.CancelScope | None = None
        self._wanted = True
        self.value: Any = None
        self.error: BaseException | None = None
        self.done = loop.latch()
        loop.spawn(self._run, copy_context() if context is None else context)

    async def _run(self) -> None:
        body, self._body = self._body, None
        assert body is not None
        try:
            with self._loop.scope() as scope:
                self._scope = scope
                if not self._wanted:
                    scope.cancel()
                self.value = await body()
        except BaseException as error:
            # Nobody is above this task: whatever comes is for those who wait.
            self.error = error
        self.done.open()

    def cancel(self) -> None:
        """Interrupt the body at its next or present wait; from the loop's thread."""
        self._wanted = False
        if self._scope is not None:
            self._scope.cancel()

    def outcome(self) -> Any:
        """What the body returned; raises what it raised, for the only one who asks."""
        error, self.error = self.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # This frame stands in its traceback.
        return self.value

    async def leave(self) -> bool:
        """Cancel the body, let it clean up for a moment, and tell whether it has ended. Is not itself cancelled."""
        self.cancel()
        with anyio.move_on_after(GRACE, shield=True):
            await self.done.wait()
        return self.done.opened
