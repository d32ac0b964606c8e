"""Drift: how a request differs from those that were recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentflow.errors import AgentflowError
from agentflow.mock.cassette.tape import Exchange

__all__ = ["CassetteDrifted", "RepliesUnused", "drift_of", "is_same", "title_of"]

_MOST = 12
"""How many differences are told."""

_LONGEST = 80
"""How much of a value is shown."""

_BEFORE = 20
"""How much of a long text is shown before the first difference."""

_ABSENT = object()


class CassetteDrifted(AgentflowError):
    """A request is not the one that was recorded; the message tells where they differ, and `differences` all of it."""

    code = "cassette_drifted"

    def __init__(self, message: str, differences: Sequence[str] = ()) -> None:
        self.differences = tuple(differences)
        super().__init__(message)


class RepliesUnused(AgentflowError):
    """Recorded replies were not asked for; the message lists the requests that they belong to."""

    code = "replies_unused"


def is_same(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether a request is the one that was recorded."""
    return next(_differences(recorded, asked, ""), None) is None


def drift_of(asked: Mapping[str, Any], unused: Sequence[Exchange], total: int) -> CassetteDrifted:
    """The error for a request that no unused exchange answers.

    Args:
        asked: The request.
        unused: The exchanges that are left.
        total: How many the cassette holds.
    """
    if not unused:
        return CassetteDrifted(
            f"all {total} recorded replies are used up, and one more is asked for:\n  {title_of(asked)}"
        )
    compared = [list(_differences(exchange.request, asked, "")) for exchange in unused]
    nearest = min(compared, key=len)
    exchange = unused[compared.index(nearest)]
    shown = "".join(f"\n  {difference}" for difference in nearest[:_MOST])
    more = f"\n  and {len(nearest) - _MOST} more" if len(nearest) > _MOST else ""
    return CassetteDrifted(
        f"no recorded request is the one that is asked; the nearest of {len(unused)} that are left is\n"
        f"  {title_of(exchange.request)}\nand differs in{shown}{more}\n"
        f"record the cassette again if the change is meant",
        nearest,
    )


def title_of(request: Mapping[str, Any]) -> str:
    """What a request is called: how long its conversation is, and how that ends."""
    messages = request["messages"]
    last = messages[-1] if messages else {"role": "nobody", "content": ""}
    number = f"{len(messages)} message{'' if len(messages) == 1 else 's'}"
    return f"{number}, the last by {last['role']}: {_shown(last['content'])}"


def _differences(recorded: Any, asked: Any, place: str) -> Iterator[str]:
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        for name in dict.fromkeys((*recorded, *asked)):
            yield from _differences(
                recorded.get(name, _ABSENT), asked.get(name, _ABSENT), f"{place}/{name}"
            )
    elif isinstance(recorded, list) and isinstance(asked, list):
        for number in range(max(len(recorded), len(asked))):
            yield from _differences(
                recorded[number] if number < len(recorded) else _ABSENT,
                asked[number] if number < len(asked) else _ABSENT,
                f"{place}/{number}",
            )
    elif recorded is _ABSENT:
        yield f"{place}: {_shown(asked)} was not there"
    elif asked is _ABSENT:
        yield f"{place}: {_shown(recorded)} is gone"
    # True is 1 in Python, and not in JSON.
    elif recorded != asked or isinstance(recorded, bool) is not isinstance(asked, bool):
        before, now = _apart(recorded, asked)
        yield f"{place}: {before} was recorded, {now} is asked"


def _apart(recorded: Any, asked: Any) -> tuple[str, str]:
    """Two values, long texts from where they begin to differ."""
    if not (isinstance(recorded, str) and isinstance(asked, str)):
        return _shown(recorded), _shown(asked)
    same = next(
        (at for at, (one, other) in enumerate(zip(recorded, asked, strict=False)) if one != other),
        min(len(recorded), len(asked)),
    )
    start = max(0, same - _BEFORE) if max(len(recorded), len(asked)) > _LONGEST else 0
    head = "…" if start else ""
    return _shown(f"{head}{recorded[start:]}"), _shown(f"{head}{asked[start:]}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
