"""Whether a conversation may be sent: whatever hooks have made of it, the vendors refuse what is not legal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow.errors import ContractError
from agentflow.messages.message import Message

__all__ = ["check_sendable"]


def check_sendable(messages: Sequence[Any], *, by: str) -> tuple[Message, ...]:
    """The same messages, if every tool call has its result right after it.

    Args:
        messages: What is to be sent.
        by: Who has made it, for the error.

    Raises:
        ContractError: It cannot be sent.
    """
    missing: dict[str, str] = {}
    for at, message in enumerate(messages):
        if not isinstance(message, Message):
            raise ContractError(
                f"{by} gave {type(message).__name__} as message {at}; give a Message"
            )
        if missing and message.role != "tool":
            raise ContractError(f"{by}: {_lacking(missing)}")
        missing.update((call.id, call.name) for call in message.tool_calls)
        for result in message.tool_results:
            if missing.pop(result.call_id, None) is None:
                raise ContractError(
                    f"{by} gave a result of the tool call {result.call_id!r}, which is not there"
                )
    if missing:
        raise ContractError(f"{by}: {_lacking(missing)}")
    return tuple(messages)


def _lacking(missing: dict[str, str]) -> str:
    listed = ", ".join(f"{name!r} ({id})" for id, name in missing.items())
    return f"the tool calls {listed} have no result"
