"""The request as the rules of a mock model see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentflow.messages.message import Message
from agentflow.messages.part import FilePart, ToolResult
from agentflow.models.ports import ModelContext

__all__ = ["MockRequest"]


@dataclass(frozen=True, slots=True)
class MockRequest:
    """What a model was asked.

    Args:
        messages: The whole request, instructions included.
        context: What the provider was told besides.
    """

    messages: Sequence[Message]
    context: ModelContext

    @property
    def turn(self) -> int:
        """Which answer of the conversation is wanted, from 1: one more than the answers that are there."""
        return 1 + sum(message.role == "assistant" for message in self.messages)

    @property
    def news(self) -> tuple[Message, ...]:
        """What was said since the model's last answer, instructions left out."""
        messages = tuple(self.messages)
        last = max(
            (at for at, message in enumerate(messages) if message.role == "assistant"), default=-1
        )
        return tuple(message for message in messages[last + 1 :] if message.role != "system")

    @property
    def text(self) -> str:
        """The text of the news: what the user said, or what the tools gave; one line feed between messages."""
        return "\n".join(_text(message) for message in self.news)

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results among the news."""
        return tuple(result for message in self.news for result in message.tool_results)

    @property
    def files(self) -> tuple[FilePart, ...]:
        """The files among the news, those of tool results too."""
        found: list[FilePart] = []
        for message in self.news:
            found += (part for part in message.content if isinstance(part, FilePart))
            found += (file for result in message.tool_results for file in result.files)
        return tuple(found)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that are offered."""
        return tuple(tool.name for tool in self.context.tools)

    @property
    def forced_tool(self) -> str | None:
        """The tool that the answer has to call, when only one will do."""
        choice = self.context.tool_choice
        if choice == "required":
            return self.tools[0] if len(self.tools) == 1 else None
        return choice if choice in self.tools else None

    @property
    def model(self) -> str:
        """The model that was asked for by name; empty where nobody names one, as in process."""
        return str(self.context.parameters.get("model", ""))


def _text(message: Message) -> str:
    return message.text or "\n".join(result.content for result in message.tool_results)
