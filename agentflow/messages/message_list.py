"""The message list: a conversation that knows of each message where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args, overload

from agentflow.graph.argument import one_of
from agentflow.messages.message import Message, Provenance, Role, as_messages, chars_of, system
from agentflow.messages.pairing import Pairing, pairing_of
from agentflow.messages.part import ToolCall, ToolResult
from agentflow.messages.sanitising import sanitise

__all__ = ["MessageList"]

_ROLE: Final = one_of(*get_args(Role))
_PROVENANCE: Final = one_of(*get_args(Provenance))
_NEW: Final[tuple[Provenance, ...]] = ("input", "model", "tool")


@dataclass(frozen=True, slots=True, init=False)
class MessageList(Sequence[Message]):
    """Messages in order, each with its provenance. It does not change: whatever adds to it gives another list.

    It goes wherever messages are asked for, such as `ctx.model.invoke`.

    Args:
        input: What `add` takes.

    Raises:
        TypeError: That is neither a text, nor a message, nor several of these.
    """

    messages: tuple[Message, ...]

    def __init__(self, input: str | Message | Iterable[str | Message] = ()) -> None:
        object.__setattr__(self, "messages", as_messages(input))

    def add(
        self,
        input: str | Message | Iterable[str | Message],
        *,
        provenance: Provenance | None = None,
    ) -> MessageList:
        """The list with more at its end.

        Args:
            input: A text, which is one of the user, a message, or several of either.
            provenance: Where all of it comes from, such as `memory` for what was recalled; default: what each message says
                of itself.

        Raises:
            TypeError: The input is something else.
        """
        added = as_messages(input)
        if provenance is not None:
            added = tuple(_from(provenance, message) for message in added)
        return MessageList((*self.messages, *added))

    def add_system(
        self, text: str, *, provenance: Provenance = "contributed", pinned: bool = False
    ) -> MessageList:
        """The list with an instruction at its end, and where that comes from."""
        return self.add(system(text, provenance=provenance, pinned=pinned))

    def by_provenance(self, *provenances: Provenance) -> MessageList:
        """The messages that come from one of these, in order. What a message says of its role does not count.

        Raises:
            ValueError: There is no such provenance.
        """
        for provenance in provenances:
            _PROVENANCE.check("provenance", provenance, of="by_provenance")
        return MessageList(
            message for message in self.messages if message.provenance in provenances
        )

    def by_role(self, *roles: Role) -> MessageList:
        """The messages of one of these roles, in order.

        Raises:
            ValueError: There is no such role.
        """
        for role in roles:
            _ROLE.check("role", role, of="by_role")
        return MessageList(message for message in self.messages if message.role in roles)

    @property
    def new(self) -> MessageList:
        """What a memory does not know yet: what the caller, the model and the tools have said.

        What was recalled is known; what host and application have put in, they put in again.
        """
        return self.by_provenance(*_NEW)

    @property
    def pairing(self) -> Pairing:
        """Which result belongs to which tool call."""
        return pairing_of(self.messages)

    @property
    def pending_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that have no result yet, in order."""
        return self.pairing.pending

    @property
    def orphan_results(self) -> tuple[ToolResult, ...]:
        """The results of tool calls that are not there, in order."""
        return tuple(result for _, result in self.pairing.orphans)

    @property
    def is_legal(self) -> bool:
        """Whether every vendor takes it as it is; `sanitise` makes of any list one that is."""
        return not sanitise(self.messages).repairs

    @property
    def chars(self) -> int:
        """The size of all messages, in characters."""
        return chars_of(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> MessageList: ...

    def __getitem__(self, index: int | slice) -> Message | MessageList:
        if isinstance(index, slice):
            return MessageList(self.messages[index])
        return self.messages[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)


def _from(provenance: Provenance, message: Message) -> Message:
    return message if message.provenance == provenance else replace(message, provenance=provenance)
