"""Events: what a streamed answer is made of, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DONE", "Event", "body_of"]


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its data, and its name where the format names events."""

    data: Mapping[str, Any] | str
    name: str = ""

    def encode(self, quirks: frozenset[str] = frozenset()) -> bytes:
        """The event as it is sent. Text is not escaped, so that bytes of one character can come apart on the way."""
        comment = [": keep-alive", ""] if "keep-alive" in quirks else []
        name = [f"event: {self.name}"] if self.name else []
        data = self.data if isinstance(self.data, str) else _json(self.data)
        end = "\r\n" if "crlf" in quirks else "\n"
        lines = [*comment, *name, f"data: {data}", "", ""]
        return end.join(lines).encode("utf-8", "replace")


DONE = Event("[DONE]")
"""What ends a stream of OpenAI chat completions."""


def body_of(data: Mapping[str, Any]) -> bytes:
    """The body of an answer that is not streamed."""
    return _json(data).encode("utf-8", "replace")


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
