"""Waiting for an agent from code that is not async."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.run.loop import in_loop

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent

__all__ = ["Turn", "waited"]

_held: ContextVar[tuple[Turn, ...]] = ContextVar("held", default=())


class Turn:
    """Whose turn it is to have the store of an agent open; other threads wait.

    Args:
        name: The name of the agent.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._before: Token[tuple[Turn, ...]] | None = None

    def __enter__(self) -> None:
        if self in _held.get():
            # Whoever is asked by a tool of its own would wait for itself.
            raise RuntimeError(
                f"agent {self._name!r} has a store, and is asked from inside of one of its own calls; use as_tool() for that"
            )
        self._lock.acquire()
        self._before = _held.set((*_held.get(), self))

    def __exit__(self, *error: object) -> None:
        assert self._before is not None
        _held.reset(self._before)
        self._lock.release()


def waited(agent: Agent, name: str, input: Any, options: Mapping[str, Any]) -> Any:
    """What a method of the agent gives, in a loop of its own.

    Any number of threads may wait for one agent: each has an engine of its own, which is opened for the call, and closed after. Where
    there is a store, which only one of them can have open, one waits for the other.

    Raises:
        RuntimeError: A loop is running in this thread already; or the agent has a store, and is open in another loop.
    """
    if in_loop():
        raise RuntimeError(
            f"{name}_sync() was called where an event loop is already running, as in an async function or a notebook; "
            f"await {name}() there"
        )

    async def alone(apart: Agent) -> Any:
        async with apart:
            return await getattr(apart, name)(input, **options)

    with agent.apart() as apart:
        return anyio.run(alone, apart)
