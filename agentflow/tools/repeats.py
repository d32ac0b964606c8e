"""Repeats: a model that makes the same call again and again is told so, and stopped if that does not help.

How often a call was made is read from the conversation, so it is the same after a crash, and nothing is kept beside it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentflow.errors import BudgetExceeded
from agentflow.graph.argument import LIST, Wanted, check_fields, instance
from agentflow.messages.message import Message
from agentflow.messages.part import ToolCall

__all__ = ["RepeatLimit", "repeats"]


_WANTED: Final = {
    "warn": instance(int, "a whole number"),
    "stop": instance(int, "a whole number"),
    "free": Wanted(LIST.accepts, "a list of ids"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatLimit:
    """How often a model may make the same call: the same tool with the same arguments, since the last input.

    Args:
        warn: From this call on, each result carries a warning for the model.
        stop: This call is not made: the run ends with `BudgetExceeded`, whose `limit` is `repeats`.
        free: The ids of tools that are meant to be called again with the same arguments, such as one that asks whether something
            is done.

    Raises:
        TypeError: One of them is of the wrong kind.
        ValueError: `warn` is not at least 2, or `stop` is not above it.
    """

    warn: int = 3
    stop: int = 6
    free: Collection[str] = ()

    def __post_init__(self) -> None:
        check_fields(self, _WANTED)
        if not 2 <= self.warn < self.stop:
            raise ValueError(
                f"RepeatLimit(warn={self.warn}, stop={self.stop}): warn is at least 2, and stop is above it"
            )

    def warning(self, call: ToolCall, times: int) -> str | None:
        """What the model is told beside the result of a call that it makes for the time number `times`, if anything.

        Raises:
            BudgetExceeded: It must not be made.
        """
        if times < self.warn or call.name in self.free:
            return None
        if times >= self.stop:
            where = f"equal calls of tool {call.name!r}"
            raise BudgetExceeded("repeats", self.stop - 1, times, where=where)
        return (
            f"Warning: this is call {times} of {call.name!r} with the same arguments. Go on with what it gave, or try "
            f"something else; call {self.stop} ends the run."
        )


def repeats(history: Sequence[Message], calls: Sequence[ToolCall]) -> list[int]:
    """How often each of the calls was made before, itself counted.

    Args:
        history: The conversation before them; what comes after the last input counts.
        calls: The calls, in their order.
    """
    made: Counter[str] = Counter()
    for message in reversed(history):
        if message.role == "user" and message.provenance == "input":
            break
        made.update(map(_likeness, message.tool_calls))
    found: list[int] = []
    for call in calls:
        like = _likeness(call)
        made[like] += 1
        found.append(made[like])
    return found


def _likeness(call: ToolCall) -> str:
    """What equal calls have in common: the order of the arguments does not count."""
    asked: Any = call.arguments if call.error is None else {"": call.raw}
    return f"{call.name} {json.dumps(asked, sort_keys=True, default=repr)}"
