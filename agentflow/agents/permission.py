"""Permission: whether whoever asks an agent may, judged before anything of theirs is read."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentflow.errors import AgentflowError

__all__ = ["AgentDenied", "Asked", "Permission", "permit"]


class AgentDenied(AgentflowError):
    """Whoever asked may not ask this agent; nothing was read and no model was called."""

    code = "agent_denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a permission is judged by.

    Args:
        agent: The agent's name.
        identity: Who asks, as the host says.
        context: The caller's own map.
        run_id: The run that is asked for by its id; `None` for a new one.
    """

    agent: str
    identity: Any
    context: Mapping[str, Any]
    run_id: str | None


Permission = Callable[[Asked], bool | Awaitable[bool]]
"""Tells whether a call may be made; plain or async. Anything but `True` is a no, and so is an error."""


async def permit(permission: Permission | None, asked: Asked) -> None:
    """Let a call pass, or not.

    Raises:
        AgentDenied: The permission said no, gave no bool, or raised.
    """
    if permission is None:
        return
    try:
        verdict = permission(asked)
        if inspect.isawaitable(verdict):
            verdict = await verdict
    except Exception as error:
        raise AgentDenied(
            f"agent {asked.agent!r}: the permission raised {type(error).__name__}: {error}"
        ) from error
    if verdict is not True:
        said = "said no" if verdict is False else f"gave {verdict!r}, which is not True"
        raise AgentDenied(f"agent {asked.agent!r}: the permission {said}")
