"""How many steps an agent may take: one place that decides."""

from __future__ import annotations

from typing import Final

__all__ = ["ANY_NUMBER", "default_steps", "resolve_steps"]

ANY_NUMBER: Final = 1_000
"""Steps of a loop that a condition of its author's ends: a number, because a loop without one could not be proved to end."""

_DEFAULT: Final = 10
_WORKSPACE: Final = 100


def default_steps(*, workspace: bool = False, sub_agents: int = 0) -> int:
    """The steps of an agent that nobody has said a number for.

    Args:
        workspace: Whether it has a toolkit that works on a workspace, which takes many small steps.
        sub_agents: How many agents it can hand tasks to.
    """
    if workspace:
        return _WORKSPACE
    return _DEFAULT * max(1, sub_agents)


def resolve_steps(
    *, call: int | None = None, agent: int | None = None, default: int = _DEFAULT, stops: bool
) -> int:
    """The steps that hold: what the call says, then what the agent says, then the default.

    Args:
        call: The number given with the call.
        agent: The number given to the agent.
        default: What holds where neither says anything.
        stops: Whether there is a `stop_when`, which takes the place of a default, but not of a number that was given.
    """
    if call is not None:
        return call
    if agent is not None:
        return agent
    return ANY_NUMBER if stops else default
