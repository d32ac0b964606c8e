"""Structured output beside tools: each answer of a loop is either tool calls, or the value that was asked for."""

from __future__ import annotations

from typing import Any

from agentflow.errors import OutputInvalid, StructuredOutputNotGenerated
from agentflow.messages.message import Message
from agentflow.models.transport import Preparation, structured

__all__ = ["StructuredStep", "as_structured", "bailed_with", "not_generated"]


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
        f"structured output was asked for, and after {_counted(steps)} {why} before the model gave it: "
        f"let the model give a final answer without tools (a larger max_steps, or on_max_steps='answer'), or split the work "
        f"into two calls, one with the tools and one for the structured output"
    )


def bailed_with(wanted: structured | None, value: Any, steps: int) -> Any:
    """What a tool has ended a loop with, as what was asked for.

    Args:
        wanted: What was asked for, if that is no text.
        value: What the tool gave.
        steps: How many steps the loop took.

    Raises:
        StructuredOutputNotGenerated: It is something else.
    """
    if wanted is None:
        return value
    try:
        return wanted.accept(value)
    except OutputInvalid as error:
        raise StructuredOutputNotGenerated(
            f"structured output was asked for, and after {_counted(steps)} a tool ended the loop with something else: {error}; "
            f"have the tool give a value of the type, or ask for the structured output in a call without that tool"
        ) from error


def _counted(steps: int) -> str:
    return f"{steps} step{'' if steps == 1 else 's'}"


def as_structured(output: Any) -> structured | None:
    """What was given as `output`: a type, or `structured(type, …)` for how often an invalid answer may be corrected."""
    if output is None or isinstance(output, structured):
        return output
    return structured(output)
