"""The result of the agentic loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentflow.agents.step import Step, StepRecord, steps_of
from agentflow.graph.frozen import Lasting, freeze
from agentflow.messages.message import Message
from agentflow.messages.part import ToolCall

__all__ = ["FinishReason", "LoopResult"]

FinishReason = Literal["stop", "max_steps", "stop_when", "bail", "skipped"]
"""Why the loop ended: the model was done, the steps ran out before it was, a condition was met, a tool gave the
answer, or middleware did, and no model was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult(Lasting):
    """What an agentic loop has come to.

    Args:
        text: What the model said last; empty if it has said nothing yet. Of a loop that a tool has ended, what the tool gave.
        object: The structured output, if it was asked for; or the value of the tool that has ended the loop.
        messages: The whole conversation, the input included. Every tool call in it has its result.
        given: How many of them are the input.
        records: What is kept of each step.
        finish_reason: Why it ended.
        path: The names of the agents that the conversation was handed to, one after the other; the last of them has answered.
    """

    text: str
    object: Any = None
    messages: tuple[Message, ...]
    given: int
    records: tuple[StepRecord, ...]
    finish_reason: FinishReason
    path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "records", tuple(self.records))
        object.__setattr__(self, "path", tuple(self.path))

    @property
    def new_messages(self) -> tuple[Message, ...]:
        """What was said since the input."""
        return self.messages[self.given :]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The model calls, each with the tool calls that it brought and their results."""
        return steps_of(self.records, self.messages)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of all steps, in order."""
        return tuple(call for step in self.steps for call in step.tool_calls)

    @property
    def usage(self) -> Mapping[str, float]:
        """What the model calls used, added up, by name; a figure that was never reported is missing."""
        sums: dict[str, float] = {}
        for record in self.records:
            for name, amount in record.usage.items():
                sums[name] = sums.get(name, 0) + amount
        added: Mapping[str, float] = freeze(sums)
        return added
