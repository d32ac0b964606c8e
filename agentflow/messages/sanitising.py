"""Sanitising: any history as a sequence that every vendor takes; what is stored is not touched.

What vendors refuse, in our words: a call without a result directly after it, or a result without its call; two calls with one
id, or an id of other characters than letters, digits, `_` and `-`, or of more than 40 of them; an empty message or a blank
text; reasoning that nothing follows; a conversation that begins or ends with an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Literal

from agentflow.graph.argument import LIST
from agentflow.messages.call_id import CallIds
from agentflow.messages.fitting import fit
from agentflow.messages.legality import is_legal
from agentflow.messages.message import Message, all_messages, user
from agentflow.messages.pairing import pairing_of
from agentflow.messages.part import FilePart, Part, ReasoningPart, TextPart, ToolCall, ToolResult

__all__ = ["Repair", "RepairKind", "Sanitised", "prompted", "sanitise", "strip_dangling_reasoning"]

RepairKind = Literal[
    "call_dropped",
    "call_id_changed",
    "call_repeated",
    "internal_dropped",
    "message_changed",
    "message_dropped",
    "opening_added",
    "prompt_added",
    "reasoning_stripped",
    "result_dropped",
    "result_moved",
    "unreadable_dropped",
]
"""What was done to a history.

- `call_dropped`: a call had no result; `result_dropped`: a result had no call, or another one came after it
- `call_repeated`: one answer held the same call twice
- `result_moved`: a result was not directly after its answer, in the order of the calls
- `call_id_changed`: another call had the id, or no vendor takes it
- `unreadable_dropped`: the arguments of a call of an earlier turn could not be read; it went with its result
- `internal_dropped`: a call of an earlier turn was the framework's own; it went with its result
- `reasoning_stripped`: nothing followed it
- `message_changed`: blank or broken texts, readable arguments, or parts that have no place under its role
- `message_dropped`: nothing was left of it
- `opening_added`, `prompt_added`: a word of the host, because the conversation began or ended with an answer
"""

_OPENING: Final = user("(Here begins the conversation.)", provenance="notice")
_PROMPT: Final = user("Go on.", provenance="notice")


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was done to a history.

    Args:
        kind: What it was.
        at: The number of the message in the history; 0 of an opening, and the length of the history of a prompt.
        call_id: The id of the call that it is about.
    """

    kind: RepairKind
    at: int
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Sanitised:
    """A history as it can be sent.

    Args:
        messages: The legal sequence. A message that was legal is the same object.
        repairs: What was done, in the order of the history; none if it was legal.
    """

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]


def sanitise(messages: Iterable[Message], *, internal: Collection[str] = ()) -> Sanitised:
    """The history as a sequence that every vendor takes.

    It is a function of the history alone, and gives the same when it is applied again. The turn that is under way, which is
    all after the user's last word, keeps what its model has to see: the framework's own calls, and calls that could not be
    read, beside the error that tells so.

    Args:
        messages: The history, of any shape.
        internal: The ids of tools of the framework, such as those of a working memory, whose calls are nothing to replay.

    Raises:
        TypeError: Something in the history is no message, or `internal` is no list of ids.
    """
    history = all_messages(messages, of="sanitise")
    LIST.check("internal", internal, of="sanitise")
    if is_legal(history, internal=internal):
        return Sanitised(history, ())
    return _Sanitising(history, frozenset(internal)).done()


def strip_dangling_reasoning(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages without the reasoning at the end of an answer: some vendors refuse reasoning that nothing follows.

    An answer that was nothing else is left out.

    Raises:
        TypeError: One of them is no message.
    """
    return tuple(
        stripped
        for message in all_messages(messages, of="strip_dangling_reasoning")
        if (stripped := _stripped(message)).content or not message.content
    )


def prompted(messages: Sequence[Message]) -> list[Message]:
    """The messages, with a short word of the host after them if they end with an answer."""
    answered = bool(messages) and messages[-1].role == "assistant"
    return [*messages, _PROMPT] if answered else list(messages)


def _stripped(message: Message) -> Message:
    if message.role != "assistant":
        return message
    end = len(message.content)
    while end and isinstance(message.content[end - 1], ReasoningPart):
        end -= 1
    return _changed(message, message.content[:end])


@dataclass(frozen=True, slots=True)
class _Sent:
    """A call that is sent, what came of it, which message carries that, and the id that both are sent under."""

    call: ToolCall
    result: ToolResult
    source: int
    id: str

    def named(self) -> ToolResult:
        return replace(self.result, call_id=self.id, name=self.call.name)


class _Sanitising:
    """One history on its way."""

    def __init__(self, messages: tuple[Message, ...], internal: frozenset[str]) -> None:
        self._before = messages
        self._internal = internal
        self._repairs: list[Repair] = []
        self._messages = tuple(self._fitted(at) for at in range(len(messages)))
        self._sent: dict[int, list[_Sent]] = {}

    def done(self) -> Sanitised:
        self._pair()
        sent: list[Message] = []
        for at, message in enumerate(self._messages):
            answer = self._answer(at, message)
            if answer.content:
                sent.append(answer)
            elif not message.tool_results:
                self._tell("message_dropped", at)
            sent += self._results(at)
        sent = self._with_ends(sent)
        self._repairs.sort(key=lambda repair: repair.at)
        return Sanitised(tuple(sent), tuple(self._repairs))

    def _tell(self, kind: RepairKind, at: int, call_id: str | None = None) -> None:
        self._repairs.append(Repair(kind, at, call_id))

    def _fitted(self, at: int) -> Message:
        message = self._before[at]
        fitted = _changed(message, fit(message))
        if fitted is not message:
            self._tell("message_changed", at)
        return fitted

    def _pair(self) -> None:
        """Find the calls that are sent, and the ids that they are sent under."""
        pairing, ids, turn = pairing_of(self._messages), CallIds(), _turn_of(self._messages)
        for at, call in pairing.repeated:
            self._tell("call_repeated", at, call.id)
        for at, result in (*pairing.orphans, *pairing.replaced):
            self._tell("result_dropped", at, result.call_id)
        for pair in pairing.pairs:
            call = pair.call
            if pair.result is None or pair.result_at is None:
                self._tell("call_dropped", pair.at, call.id)
            elif pair.at < turn and call.name in self._internal:
                self._tell("internal_dropped", pair.at, call.id)
            elif pair.at < turn and call.error is not None:
                self._tell("unreadable_dropped", pair.at, call.id)
            else:
                id = ids.take(call.id)
                if id != call.id:
                    self._tell("call_id_changed", pair.at, call.id)
                sent = _Sent(call, pair.result, pair.result_at, id)
                self._sent.setdefault(pair.at, []).append(sent)

    def _answer(self, at: int, message: Message) -> Message:
        """The message without its results, and with those of its calls that are sent."""
        waiting = list(self._sent.get(at, ()))
        parts: list[Part] = []
        for part in message.content:
            match part:
                case ToolResult():
                    pass
                case ToolCall():
                    if waiting and waiting[0].call == part:
                        parts.append(replace(part, id=waiting.pop(0).id))
                case _:
                    parts.append(part)
        whole = _changed(message, tuple(parts))
        stripped = _stripped(whole)
        if stripped is not whole:
            self._tell("reasoning_stripped", at)
        return stripped

    def _results(self, at: int) -> list[Message]:
        """The results of the calls of a message, in the order of the calls."""
        calls = self._sent.get(at, [])
        found: list[Message] = []
        for source, group in groupby(calls, key=lambda sent: sent.source):
            message = _changed(self._messages[source], tuple(sent.named() for sent in group))
            found.append(message if message.role == "tool" else replace(message, role="tool"))
        if not self._are_in_place(at, calls):
            for sent in calls:
                self._tell("result_moved", sent.source, sent.call.id)
        for sent in calls:
            if sent.result.name != sent.call.name:
                self._tell("message_changed", sent.source, sent.call.id)
        return found

    def _are_in_place(self, at: int, calls: Sequence[_Sent]) -> bool:
        """Whether the results stand directly after their answer, in messages of their own, in the order of the calls."""
        results = [sent.result for sent in calls]
        end = max((sent.source for sent in calls), default=at) + 1
        come: list[Part] = []
        for message in self._messages[at + 1 : end]:
            found = [part for part in message.tool_results if part in results]
            if len(message.tool_results) < len(message.content) or (
                found and message.role != "tool"
            ):
                return False
            come += found
        return come == results

    def _with_ends(self, sent: list[Message]) -> list[Message]:
        start = next((at for at, message in enumerate(sent) if message.role != "system"), len(sent))
        if sent[start:] and sent[start].role == "assistant":
            self._tell("opening_added", 0)
            sent = [*sent[:start], _OPENING, *sent[start:]]
        if sent and (sent[-1].role == "assistant" or start == len(sent)):
            self._tell("prompt_added", len(self._before))
            sent = [*sent, _PROMPT]
        return sent


def _turn_of(messages: Sequence[Message]) -> int:
    """The number of the user's last word; what stands before it is over. Words of the host open no turn."""
    asked = [
        at
        for at, message in enumerate(messages)
        if message.role == "user"
        and message.provenance != "notice"
        and any(isinstance(part, TextPart | FilePart) for part in message.content)
    ]
    return asked[-1] if asked else 0


def _changed(message: Message, content: tuple[Part, ...]) -> Message:
    return message if content == message.content else replace(message, content=content)
