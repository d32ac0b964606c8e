"""Input tokens of OpenAI's models, counted here by `tiktoken`.

By the vendor's published recipe, "How to count tokens with tiktoken" of its cookbook, for what that speaks of: texts, and
tools with flat parameters. Of everything else nothing is guessed: the vendor's own count is `OpenAIResponses(…).count`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentflow.errors import ContractError
from agentflow.messages.message import Message
from agentflow.messages.part import ReasoningPart, TextPart
from agentflow.messages.tool_spec import ToolSpec

try:
    import tiktoken
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "counting tokens needs the package 'tiktoken': pip install 'agentflow[tiktoken]'",
        name=error.name,
    ) from error

__all__ = ["TiktokenCounter"]

_MESSAGE: Final = 3
_ANSWER: Final = 3
"""What every message, and the beginning of the answer, cost besides their texts."""

_TOOL: Final = 7
_PROPERTIES: Final = 3
_PROPERTY: Final = 3
_ENUM: Final = -3
_ENUM_ITEM: Final = 3
_TOOLS: Final = 12
"""What tools cost besides their texts, from `gpt-4o` on."""

_FLAT: Final = frozenset({"type", "description", "enum", "title", "default"})


class TiktokenCounter:
    """Counts the input tokens of requests: `Model(provider, counter=TiktokenCounter("gpt-4o"))`.

    Args:
        model: The model whose encoding is used, or an encoding. An encoding is read from the network when it is first used
            on a machine.

    Raises:
        ValueError: `tiktoken` knows no such model.
    """

    __slots__ = ("_encoding",)

    def __init__(self, model: str | tiktoken.Encoding) -> None:
        if isinstance(model, tiktoken.Encoding):
            self._encoding = model
            return
        try:
            self._encoding = tiktoken.encoding_for_model(model)
        except KeyError as error:
            raise ValueError(
                f"tiktoken knows no model {model!r}: give an encoding, such as tiktoken.get_encoding('o200k_base')"
            ) from error

    def __call__(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """How many tokens a request has.

        Raises:
            ContractError: It holds something of which the vendor does not tell how it is counted.
        """
        counted = _ANSWER + sum(map(self._message, messages))
        return counted + (_TOOLS + sum(map(self._tool, tools)) if tools else 0)

    def _message(self, message: Message) -> int:
        for part in message.content:
            if not isinstance(part, TextPart | ReasoningPart):
                raise _unknown(f"a {part.type.replace('_', ' ')} in a message")
        return _MESSAGE + self._text(message.role) + self._text(message.text)

    def _tool(self, tool: ToolSpec) -> int:
        described = f"{tool.name}:{tool.description.rstrip('.')}"
        properties = tool.parameters.get("properties", {})
        count = _TOOL + self._text(described) + (_PROPERTIES if properties else 0)
        return count + sum(self._property(tool, name, told) for name, told in properties.items())

    def _property(self, tool: ToolSpec, name: str, told: Mapping[str, Any]) -> int:
        if told.keys() - _FLAT or not isinstance(told.get("type"), str):
            raise _unknown(f"the parameter {name!r} of tool {tool.name!r}, which is not flat")
        options = told.get("enum", ())
        count = _PROPERTY + (_ENUM if options else 0)
        count += sum(_ENUM_ITEM + self._text(str(option)) for option in options)
        described = f"{name}:{told['type']}:{told.get('description', '').rstrip('.')}"
        return count + self._text(described)

    def _text(self, text: str) -> int:
        # A text that looks like a mark of the vendor's is an ordinary text in a message.
        return len(self._encoding.encode(text, disallowed_special=()))


def _unknown(what: str) -> ContractError:
    return ContractError(
        f"tiktoken cannot count {what}: the vendor does not tell how it is counted, and nothing is guessed; let the vendor "
        f"count: Model(…, counter=OpenAIResponses(…).count)"
    )
