"""The port of a tool's arguments: what they must be, whoever says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from agentflow.tools.context import ToolContext

__all__ = ["ToolInput"]


class ToolInput(Protocol):
    """What a tool's arguments must be: a function's signature says so, or a JSON schema."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema that a model is shown."""
        ...

    def accept(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The validated arguments, defaults filled in.

        Raises:
            Exception: They do not satisfy the contract; its text says why.
        """
        ...

    def bind(
        self, arguments: Mapping[str, Any], context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        """Accepted arguments as the handler is called with them, by position and by name."""
        ...
