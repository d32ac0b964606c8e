"""The results of the tool calls of one answer, while they come in: whatever happens, there is one for each call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from agentflow.errors import ContractError
from agentflow.graph.argument import LIST
from agentflow.graph.excerpt import excerpt
from agentflow.messages.message import Message, tool_result
from agentflow.messages.part import FilePart, ToolCall
from agentflow.tools.output import ToolOutput

__all__ = ["CallResults", "files_of", "result_text"]


class CallResults:
    """What came of the calls of one answer so far.

    A conversation in which a call has no result is refused by the vendors of models. Where the calls were cut short, by a cancel,
    a limit or a bail, `messages` gives one for each all the same:

    ::

        results = CallResults(answer.tool_calls)
        try:
            await run_calls(ctx, results)
        finally:
            told = results.messages("the run was cancelled")

    Args:
        calls: The calls, in the order in which the model has made them.

    Raises:
        TypeError: Something among them is no tool call.
        ContractError: Two calls have the same id.
    """

    __slots__ = ("_begun", "_results", "_warnings", "calls")

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        LIST.check("calls", calls, of="CallResults")
        self.calls = tuple(calls)
        self._results: dict[str, Message] = {}
        self._begun: set[str] = set()
        self._warnings: dict[str, str] = {}
        seen: set[str] = set()
        for call in self.calls:
            if not isinstance(call, ToolCall):
                raise TypeError(f"CallResults([{excerpt(call)}]): give answer.tool_calls")
            if call.id in seen:
                raise ContractError(f"two tool calls of one answer have the id {call.id!r}")
            seen.add(call.id)

    def warn(self, call: ToolCall, warning: str) -> None:
        """Have something said beside the result of a call, whatever that will be."""
        self._warnings[call.id] = f"\n\n{warning}"

    def begin(self, call: ToolCall) -> None:
        """Say that a call is being made."""
        self._begun.add(call.id)

    def succeed(self, call: ToolCall, value: Any) -> None:
        """Say what a call gave."""
        files = files_of(value)
        text = f"{result_text(value)}{self._warnings.get(call.id, '')}"
        self._results[call.id] = tool_result(call, text, files=files)

    def fail(self, call: ToolCall, text: str) -> None:
        """Say why a call gave nothing."""
        self._results[call.id] = _failed(call, f"{text}{self._warnings.get(call.id, '')}")

    @property
    def open(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return tuple(call for call in self.calls if call.id not in self._results)

    @property
    def failed(self) -> tuple[ToolCall, ...]:
        """The calls that have failed, or were refused; those that were cut short are not among them."""
        return tuple(
            call
            for call in self.calls
            if call.id in self._results
            and any(result.is_error for result in self._results[call.id].tool_results)
        )

    def messages(self, reason: str = "the call was not made") -> list[Message]:
        """One result for each call, in their order.

        Args:
            reason: What has cut short the calls that have no result, for the model to read. One that had begun is told from one
                that never did: it may have taken effect.
        """
        return [self._results.get(call.id) or self._cut_short(call, reason) for call in self.calls]

    def _cut_short(self, call: ToolCall, reason: str) -> Message:
        if call.id in self._begun:
            return _failed(call, f"{reason} while it was at work; it may have taken effect or not")
        return _failed(call, f"{reason}; nothing was executed")


def _failed(call: ToolCall, text: str) -> Message:
    return tool_result(call, f"Error: {text}", is_error=True)


def result_text(value: Any) -> str:
    """A tool's value as a model gets to read it: text as it is, of files what they are called, everything else as JSON."""
    match value:
        case str():
            return value
        case FilePart():
            return value.name or value.media_type
        case ToolOutput() if value.text:
            return value.text
        case ToolOutput(data=None):
            return ", ".join(map(result_text, value.files))
        case ToolOutput():
            return result_text(value.data)
    text: str = _json_writer()(value, fallback=repr).decode()
    return text


@cache
def _json_writer() -> Any:
    # Only now: a definition that has tools does not load what carries them out.
    from pydantic_core import to_json

    return to_json


def files_of(value: Any) -> tuple[FilePart, ...]:
    """The files that a tool's value is, or has, for a model to see."""
    match value:
        case FilePart():
            return (value,)
        case ToolOutput():
            return value.files
        case _:
            return ()
