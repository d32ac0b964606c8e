"""The small protocol that every competitor's module of agents follows, and the script that all of their models follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from bench.peer import Hold, Program

INSTRUCTIONS: Final = "Add until it is enough."


def wanted(said: str, steps: int) -> int | None:
    """What the model calls `add` with after it was told `said`, a number; `None` when it says that number as its answer."""
    number = int(said)
    return number if number < steps - 1 else None


def adding(hold: Hold | None) -> Callable[[int], object]:
    """The one tool: it adds 1, and awaits `hold()` before if there is one."""

    async def add(number: int) -> int:
        """Add 1 to a number."""
        if hold is not None:
            await hold()
        return number + 1

    return add


class Worker(Protocol):
    """What a competitor's module offers.

    The agent is made once, outside the timing, in the words of its users, without telemetry. Its model answers at once, in this
    process, as `wanted` says: a step is one answer, and the tool call that it asks for.
    """

    __name__: str
    TITLE: str
    DISTRIBUTION: str | None
    IMPORT: str
    """The statement of the import scenario."""
    LACKS: Mapping[str, str]
    """Scenario id to the reason why this competitor cannot take part."""
    FEWER: Mapping[str, int]
    """Scenario id to a smaller size."""

    def agent(self, steps: int, hold: Hold | None = None) -> Program:
        """An agent with the tool `adding(hold)`; asked with 0, it gives what its model answers in the last step."""
