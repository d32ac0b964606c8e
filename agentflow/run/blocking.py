"""Waiting for a run from code that is not async."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from agentflow.run.loop import in_loop

__all__ = ["wait_for"]


def wait_for(function: Callable[..., Any], input: Any, options: dict[str, Any]) -> Any:
    """What an async function gives, in a loop of its own.

    Raises:
        RuntimeError: A loop is running here already.
    """
    if in_loop():
        raise RuntimeError(
            "run_sync() was called where an event loop is already running, as in an async function or a notebook; "
            "await run() there"
        )
    return anyio.run(_call, function, input, options)


async def _call(function: Callable[..., Any], input: Any, options: dict[str, Any]) -> Any:
    return await function(input, **options)
