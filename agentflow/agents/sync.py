"""Waiting for an agent from code that is not async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from agentflow.run.loop import in_loop

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent

__all__ = ["waited"]

T = TypeVar("T")


def waited(
    agent: Agent, method: Callable[..., Awaitable[T]], input: Any, options: Mapping[str, Any]
) -> T:
    """What a method of the agent gives, in a loop of its own; the agent is opened for it, and closed after.

    Raises:
        RuntimeError: A loop is running in this thread already.
    """
    if in_loop():
        name = getattr(method, "__name__", "the method")
        raise RuntimeError(
            f"{name}_sync() was called where an event loop is already running, as in an async function or a notebook; "
            f"await {name}() there"
        )

    async def alone() -> T:
        async with agent:
            return await method(input, **options)

    return anyio.run(alone)
