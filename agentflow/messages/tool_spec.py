"""The tool spec: what a model is told of a tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentflow.graph.argument import MAPPING, TEXT, check_fields
from agentflow.graph.frozen import freeze

__all__ = ["ToolSpec"]


_WANTED: Final = {"name": TEXT, "description": TEXT, "parameters": MAPPING}


class _Remembered:
    """Room for what is worked out once of a tool, beside its fields: every request that offers it asks."""

    __slots__ = ("_digest",)
    _digest: str


@dataclass(frozen=True, slots=True)
class ToolSpec(_Remembered):
    """A tool as a model sees it: a name, what it does, and the JSON schema of its arguments. No permit to call it.

    Raises:
        TypeError: One of them is of the wrong kind.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_fields(self, _WANTED)
        object.__setattr__(self, "parameters", freeze(_dict(self.parameters)))

    @property
    def digest(self) -> str:
        """A digest of how it is called, the same in every process; what it is said to do does not count."""
        try:
            return self._digest
        except AttributeError:
            said = json.dumps((self.name, self.parameters), sort_keys=True, default=repr)
            object.__setattr__(self, "_digest", hashlib.sha256(said.encode()).hexdigest())
            return self._digest


def _dict(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return mapping if isinstance(mapping, dict) else dict(mapping)
