"""Whose turn it is: one task at a time, in the order in which they came."""

from __future__ import annotations

from collections import deque

from agentflow.run.loop import Latch, current_loop, wait_out

__all__ = ["Turn"]


class Turn:
    """The right to do something alone. A cancel takes it from nobody, neither from who has it nor from who waits for it.

    A lock, but for two things: whoever finds it free has it without a word to the loop, and waiting for it is shielded.
    """

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[Latch] = deque()

    def take_at_once(self) -> bool:
        """Take it if it is free; tells whether it was."""
        if self._taken:
            return False
        self._taken = True
        return True

    async def take(self) -> None:
        """Take it as soon as everybody has passed it on who was here before."""
        if self.take_at_once():
            return
        latch = current_loop().latch()
        self._waiting.append(latch)
        await wait_out(latch)

    def pass_on(self) -> None:
        """Let the next one have it, if anybody waits."""
        if self._waiting:
            self._waiting.popleft().open()
        else:
            self._taken = False
