"""How often a model call is tried again, and how long is waited before each further try."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from agentflow.errors import ModelUnavailable

__all__ = ["Retries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The further tries of a call at one model, made only after a `ModelUnavailable` and before anything was delivered.

    Args:
        count: How many there may be.
        backoff: Seconds before the first of them, doubled for each later one, less up to a half by chance.
        longest: The longest such wait, in seconds.
        heed: The longest wait that a provider's own `retry_after` gets, in seconds; it takes the place of the backoff.

    Raises:
        ValueError: One of them is negative, or no number.
    """

    count: int = 2
    backoff: float = 0.5
    longest: float = 8.0
    heed: float = 60.0

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 0:
            raise ValueError(f"Retries(count={self.count!r}): it is a whole number of at least 0")
        for name in ("backoff", "longest", "heed"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ValueError(f"Retries({name}={value!r}): it is seconds, of at least 0")

    def delay(self, failed: int, error: ModelUnavailable, seed: str) -> float:
        """Seconds to wait after try number `failed` (from 1) of the call that `seed` names."""
        if error.retry_after is not None:
            return min(max(0.0, error.retry_after), self.heed)
        full = min(self.backoff * 2.0 ** min(failed - 1, 100), self.longest)
        return full * (1 - _chance(f"{seed}/{failed}") / 2)


def _chance(seed: str) -> float:
    # By the call's own key: calls that failed together come back apart, and a test sees the same delay every time.
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6]) / 2**48
