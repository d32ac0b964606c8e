"""Toolkits: tools that belong together, with what a model must know to use them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentflow.tools.tool import Tool

__all__ = ["Toolkit"]


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Tools that belong together, and what a model must know to use them.

    Args:
        tools: The tools.
        instructions: A text for the model, said once, beside the tools' own descriptions.
        name: What errors call it.
    """

    tools: tuple[Tool, ...]
    instructions: str = ""
    name: str = ""

    def __init__(self, tools: Iterable[Tool], instructions: str = "", *, name: str = "") -> None:
        object.__setattr__(self, "tools", tuple(tools))
        object.__setattr__(self, "instructions", instructions)
        object.__setattr__(self, "name", name)
