"""The tool spec: what a model is told of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentflow.graph.argument import MAPPING, TEXT, check_fields
from agentflow.graph.frozen import freeze

__all__ = ["ToolSpec"]


_WANTED: Final = {"name": TEXT, "description": TEXT, "parameters": MAPPING}


@dataclass(frozen=True, slots=True)
class ToolSpec:
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


def _dict(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return mapping if isinstance(mapping, dict) else dict(mapping)
