"""Ids of tool calls as every vendor takes them: letters, digits, `_` and `-`, at most 40 of them, and each once."""

from __future__ import annotations

import hashlib
import re
from itertools import count
from typing import Final

__all__ = ["CallIds", "is_fit"]

# Anthropic's Messages API takes these characters; OpenAI's chat completions take 40 of them, its Responses API 64.
_FIT: Final = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 40


def is_fit(id: str) -> bool:
    """Whether every vendor takes the id."""
    return _FIT.match(id) is not None


class CallIds:
    """The ids of one conversation, given out in the order of its calls."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, id: str) -> str:
        """The id for the next call: its own one, where vendors take it and no call before has it."""
        found = fitting = id if is_fit(id) else _marked(id)
        if found in self._taken:
            numbered = (f"{fitting[: _LONGEST - 9]}-{number}" for number in count(2))
            found = next(each for each in numbered if each not in self._taken)
        self._taken.add(found)
        return found


def _marked(id: str) -> str:
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_OTHER.sub('_', id)[: _LONGEST - 9]}-{digest}"
