"""Stop conditions: when the loop ends although the model would go on."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from agentflow.agents.step import Step
from agentflow.errors import ContractError
from agentflow.graph.argument import NAME
from agentflow.run.options import check_most

__all__ = ["StopWhen", "as_conditions", "is_met", "step_count", "tool_called"]

StopWhen = Callable[[Sequence[Step]], bool | Awaitable[bool]]
"""Tells from the steps so far whether the loop is to end; asked after each step that would be followed by another."""


def tool_called(*names: str) -> StopWhen:
    """Stop after a step in which one of these tools was called, whatever came of the call.

    Raises:
        TypeError: The id of a tool is no text.
        ValueError: No tool is named.
    """
    if not names:
        raise ValueError("tool_called(): name the tools, as in tool_called('submit')")
    for name in names:
        NAME.check("name", name, of="tool_called")
    wanted = frozenset(names)

    def met(steps: Sequence[Step]) -> bool:
        return any(call.name in wanted for call in steps[-1].tool_calls)

    return met


def step_count(number: int) -> StopWhen:
    """Stop after so many steps.

    Raises:
        ValueError: It is no whole number of at least 1.
    """
    check_most("step_count", number)

    def met(steps: Sequence[Step]) -> bool:
        return len(steps) >= number

    return met


def as_conditions(given: Any) -> tuple[StopWhen, ...]:
    """What was given as `stop_when`: one condition, or several of which any stops the loop.

    Raises:
        TypeError: One of them cannot be called.
    """
    if given is None:
        return ()
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    found = tuple(given) if several else (given,)
    for condition in found:
        if not callable(condition):
            raise TypeError(
                f"stop_when={condition!r} is no condition: give a function of the steps, tool_called(…) or step_count(…)"
            )
    return found


async def is_met(conditions: Iterable[StopWhen], steps: Sequence[Step]) -> bool:
    """Whether one of the conditions says so.

    Raises:
        ContractError: One gave something that is neither `True` nor `False`.
    """
    for condition in conditions:
        verdict = condition(steps)
        if inspect.isawaitable(verdict):
            verdict = await verdict
        if not isinstance(verdict, bool):
            raise ContractError(
                f"stop_when {getattr(condition, '__name__', condition)!r} gave {verdict!r}; it tells True or False"
            )
        if verdict:
            return True
    return False
