"""The names of tools as vendors take them: letters, digits, `_` and `-`, at most 64 of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from agentflow.messages.tool_spec import ToolSpec

__all__ = ["ToolNames"]

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64


class ToolNames:
    """Translates the ids of the offered tools, and back; ids that vendors take stay as they are."""

    __slots__ = ("_own", "_wire")

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        names = [tool.name for tool in tools]
        plain = {name for name in names if _plain(name) == name}
        self._wire = {name: name if name in plain else _marked(name) for name in names}
        self._own = {wire: own for own, wire in self._wire.items()}

    def wire(self, name: str) -> str:
        """The name for the vendor; also of a tool that is not offered, for the history."""
        known = self._wire.get(name)
        if known is not None:
            return known
        return name if _plain(name) == name else _marked(name)

    def own(self, wire: str) -> str:
        """The tool's id; a name that nobody offered stays as it is."""
        return self._own.get(wire, wire)


def _plain(name: str) -> str:
    return _OTHER.sub("_", name)[:_LONGEST] or "_"


def _marked(name: str) -> str:
    # Two ids that differ in what is replaced must not become one name.
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_plain(name)[: _LONGEST - 9]}-{digest}"
