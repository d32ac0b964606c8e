"""Structured output beside tools: each answer of a loop is either tool calls, or the value that was asked for."""

from __future__ import annotations

from typing import Any

from agentflow.errors import StructuredOutputNotGenerated
from agentflow.messages.message import Message
from agentflow.models.transport import Preparation, structured

__all__ = ["StructuredStep", "as_structured", "not_generated"]


class StructuredStep:
    """A transport that asks for a structured answer and hands on whatever comes, for the loop to look at.

    Args:
        wanted: What is asked for.
    """

    __slots__ = ("name", "wanted")

    def __init__(self, wanted: structured) -> None:
        self.name = wanted.name
        self.wanted = wanted

    def prepare(self) -> Preparation:
        """The schema, and the same in words."""
        return self.wanted.prepare()

    def parse(self, answer: Message) -> Message:
        """The whole answer; `wanted.parse` reads the value, when the answer has no tool calls."""
        return answer


def not_generated(steps: int, why: str) -> StructuredOutputNotGenerated:
    """The error of a loop that ended without the value.

    Args:
        steps: How many steps it took.
        why: What ended it.
    """
    return StructuredOutputNotGenerated(
        f"structured output was asked for, and after {steps} step{'' if steps == 1 else 's'} {why} before the model gave it: "
        f"let the model give a final answer without tools (a larger max_steps, or on_max_steps='answer'), or split the work "
        f"into two calls, one with the tools and one for the structured output"
    )


def as_structured(output: Any) -> structured | None:
    """What was given as `output`: a type, or `structured(type, …)` for how often an invalid answer may be corrected."""
    if output is None or isinstance(output, structured):
        return output
    return structured(output)
