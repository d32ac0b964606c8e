"""One check of something that keeps what agents remember."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["MakeMemory", "MemoryCheck", "check_in"]

MakeMemory = Callable[[], Any]
"""Makes an adapter that is ready. Each call within one check makes another one of the same data, which is empty at first."""


@dataclass(frozen=True, slots=True)
class MemoryCheck:
    """One thing that every adapter of a port must do; await it with a function that makes adapters.

    Raises:
        AssertionError: The adapter does not conform.
    """

    name: str
    promise: str
    perform: Callable[[MakeMemory], Awaitable[None]]

    async def __call__(self, make: MakeMemory) -> None:
        """Try an adapter."""
        await self.perform(make)

    def __str__(self) -> str:
        return self.name


def check_in(
    checks: list[MemoryCheck],
) -> Callable[[Callable[[MakeMemory], Awaitable[None]]], Callable[[MakeMemory], Awaitable[None]]]:
    """Puts a check into a list: its name is the function's, its promise the docstring."""

    def add(
        check: Callable[[MakeMemory], Awaitable[None]],
    ) -> Callable[[MakeMemory], Awaitable[None]]:
        name = getattr(check, "__name__", "check")
        checks.append(MemoryCheck(name, (check.__doc__ or "").strip(), check))
        return check

    return add
