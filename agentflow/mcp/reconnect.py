"""How often a lost connection is made anew, and how long is waited before each time."""

from __future__ import annotations

from dataclasses import dataclass

from agentflow.graph.argument import WAIT, check_fields, whole

__all__ = ["Reconnect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnect:
    """What is done when a server is gone. A call that comes meanwhile waits for the outcome, within its own timeout.

    When all attempts have failed, calls fail; each of them makes one more attempt first.

    Args:
        attempts: How many times in a row it is tried; 0 for never.
        backoff: Seconds before the second of them, doubled for each later one; the first is made at once.
        longest: The longest such wait, in seconds.

    Raises:
        ValueError: One of them is negative, or no number.
    """

    attempts: int = 3
    backoff: float = 0.5
    longest: float = 8.0

    def __post_init__(self) -> None:
        check_fields(self, {"attempts": whole(0), "backoff": WAIT, "longest": WAIT})

    def delay(self, attempt: int) -> float:
        """Seconds to wait before attempt number `attempt`, from 1."""
        if attempt == 1:
            return 0.0
        return min(self.backoff * 2.0 ** min(attempt - 2, 100), self.longest)
