"""The result of the agentic loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agentflow.graph.frozen import freeze
from agentflow.messages.message import Message

__all__ = ["FinishReason", "LoopResult"]

FinishReason = Literal["stop", "max_steps"]
"""Why the loop ended: the model was done, or the steps ran out before it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """What an agentic loop has come to.

    Args:
        text: What the model said last; empty if it has said nothing yet.
        messages: The whole conversation, the input included. Every tool call in it has its result.
        steps: How many model calls were made, each with the tool calls that it brought.
        finish_reason: Why it ended.
        usage: What the model calls used, added up, by name; a figure that was never reported is missing.
    """

    text: str
    messages: tuple[Message, ...]
    steps: int
    finish_reason: FinishReason
    usage: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "usage", freeze(dict(self.usage)))
