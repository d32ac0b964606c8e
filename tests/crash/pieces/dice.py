"""What draws pieces: a random number generator that knows how deep it is in the workflow that it draws."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from tests.crash.pieces.piece import Piece

__all__ = ["Dice", "Draw"]

T = TypeVar("T")

_OFTEN: Final = 3
"""How often what holds others is gone through at most: a run is to be as long as its tale can still be told."""


class Dice:
    """Draws pieces, and the numbers in them; the same ones for the same seed, in every process.

    Args:
        seed: What everything depends on.
        simple: Draws of pieces that hold no others.
        composite: Draws of pieces that hold others.
        depth: How many levels of composites may be drawn.

    Attributes:
        kinds: The kinds of pieces that were drawn.
    """

    def __init__(
        self,
        seed: object,
        simple: Sequence[Draw] = (),
        composite: Sequence[Draw] = (),
        depth: int = 0,
    ) -> None:
        self._random = random.Random(str(seed))
        self._simple = simple
        self._composite = composite
        self._depth = depth
        self._times = 1
        self.kinds: set[type[Piece]] = set()

    def number(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return self._random.randint(least, most)

    def chance(self, share: float) -> bool:
        """Yes, in so many of all cases."""
        return self._random.random() < share

    def one_of(self, choices: Sequence[T]) -> T:
        """One of several."""
        return self._random.choice(choices)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The same in another order."""
        return self._random.sample(items, len(items))

    def pieces(self, least: int = 1, most: int = 2, *, times: int = 1) -> tuple[Piece, ...]:
        """A row of pieces, one level deeper than what is being drawn.

        Args:
            least: How many at least.
            most: How many at most.
            times: How often they will be gone through; what is gone through often holds no others.
        """
        self._depth -= 1
        self._times *= times
        try:
            return tuple(self._piece() for _ in range(self.number(least, most)))
        finally:
            self._depth += 1
            self._times //= times

    def _piece(self) -> Piece:
        composite = self._depth > 0 and self._times <= _OFTEN and self.chance(0.35)
        piece = self.one_of(self._composite if composite else self._simple)(self)
        self.kinds.add(type(piece))
        return piece


Draw = Callable[[Dice], "Piece"]
