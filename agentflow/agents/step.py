"""Steps: one model call each, with the tool calls that it brought and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentflow.graph.frozen import FrozenDict, Lasting, freeze
from agentflow.messages.message import Message
from agentflow.messages.part import ToolCall, ToolResult

__all__ = ["Step", "StepRecord", "message_id", "step_of", "steps_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord(Lasting):
    """What the state keeps of a step besides its messages, which are in the conversation.

    Args:
        number: Which step it is, from 1.
        at: Where in the conversation its answer is.
        model: The model that answered.
        finish_reason: Why the model stopped, as it says.
        usage: What the call has used, by name; a figure that was not told is missing.
        offered: The ids of the tools that the model was offered.
        closing: Whether it was the last word, for which no tool may be called.
    """

    number: int
    at: int
    model: str
    finish_reason: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    offered: tuple[str, ...] = ()
    closing: bool = False

    def __post_init__(self) -> None:
        if type(self.usage) is not FrozenDict:
            object.__setattr__(self, "usage", freeze(dict(self.usage)))
        object.__setattr__(self, "offered", tuple(self.offered))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model call, the tool calls that it proposed, and their results.

    Args:
        number: Which step it is, from 1.
        messages: The model's answer, then one message for each tool result that is there.
        model: The model that answered.
        finish_reason: Why the model stopped, as it says: `stop`, `tool_calls`, `length` …
        usage: What the call has used, by name; a figure that was not told is missing.
    """

    number: int
    messages: tuple[Message, ...]
    model: str
    finish_reason: str | None
    usage: Mapping[str, float]

    @property
    def text(self) -> str:
        """What the model said."""
        return self.messages[0].text

    @property
    def reasoning(self) -> str:
        """What the model said to itself."""
        return self.messages[0].reasoning

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that it proposed, in order."""
        return self.messages[0].tool_calls

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """What came of them, in the order of the calls."""
        return tuple(result for message in self.messages for result in message.tool_results)

    @property
    def items(self) -> tuple[Mapping[str, object], ...]:
        """What it is made of, without what was said: one entry for each text, reasoning, tool call and tool result."""
        return tuple(entry for message in self.messages for entry in _items(message))


def _items(message: Message) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    if message.reasoning:
        found.append({"kind": "reasoning", "chars": len(message.reasoning)})
    if message.text:
        found.append({"kind": "text", "chars": len(message.text)})
    found += [{"kind": "tool_call", "tool": c.name, "call_id": c.id} for c in message.tool_calls]
    found += [
        {"kind": "tool_result", "tool": r.name, "call_id": r.call_id, "is_error": r.is_error}
        for r in message.tool_results
    ]
    return found


def steps_of(records: Sequence[StepRecord], messages: Sequence[Message]) -> tuple[Step, ...]:
    """The steps of a conversation: each answer with the results that follow it.

    Args:
        records: What is kept of them, in order.
        messages: The conversation.
    """
    return tuple(step_of(record, messages) for record in records)


def step_of(record: StepRecord, messages: Sequence[Message]) -> Step:
    """One of them."""
    end = record.at + 1
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    return Step(
        number=record.number,
        messages=tuple(messages[record.at : end]),
        model=record.model,
        finish_reason=record.finish_reason,
        usage=record.usage,
    )


def message_id(run_id: str, number: int) -> str:
    """The id of the answer of a step, known before the model has said anything."""
    return f"{run_id}/step-{number}"
