"""An answer as an OpenAI response, whole or in events.

After https://platform.openai.com/docs/api-reference/responses/object and /docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from agentflow.messages.chunk import Chunk
from agentflow.messages.formats.fields import Fields
from agentflow.messages.message import Message
from agentflow.messages.part import Part, ReasoningPart, TextPart
from agentflow.messages.proposal import read_call
from agentflow.mock.wire.asked import Asked
from agentflow.mock.wire.chat_answer import openai_usage
from agentflow.mock.wire.dialect import Answer, Stamp, Wrong
from agentflow.mock.wire.event import Event
from agentflow.mock.wire.gathering import Gathering, Growth, Item
from agentflow.mock.wire.openai_error import openai_error
from agentflow.mock.wire.responses_item import closing, finished, growing, opening, started
from agentflow.mock.wire.responses_request import asked_of

__all__ = ["ResponsesDialect"]

_KEPT = 1000
"""How many responses are kept for requests that go on from them."""

_CUT_SHORT = {"length": "max_output_tokens", "filter": "content_filter"}


class ResponsesDialect:
    """The format of `/v1/responses`. It keeps the latest conversations, for `previous_response_id`."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Message, ...]] = OrderedDict()

    def asked(self, body: Fields) -> Asked:
        return asked_of(body, self._kept.get)

    def answer(self, asked: Asked, stamp: Stamp) -> Answer:
        return ResponsesAnswer(asked, stamp, self._keep)

    def wrong(self, wrong: Wrong) -> Mapping[str, Any]:
        return {"error": openai_error(wrong)}

    def _keep(self, id: str, conversation: tuple[Message, ...]) -> None:
        self._kept[id] = conversation
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


class ResponsesAnswer:
    """One response."""

    def __init__(
        self, asked: Asked, stamp: Stamp, keep: Callable[[str, tuple[Message, ...]], None]
    ) -> None:
        self.gathered = Gathering()
        self._asked = asked
        self._stamp = stamp
        self._keep = keep
        self._sent = 0

    def begin(self) -> Iterable[Event]:
        for type in ("response.created", "response.in_progress"):
            yield self._event(type, {"response": self._response("in_progress", [])})

    def add(self, chunk: Chunk) -> Iterable[Event]:
        growth = self.gathered.add(chunk)
        if growth is not None:
            yield from self._grown(growth)

    def end(self) -> Iterable[Event]:
        yield from self._closed(len(self.gathered.items) - 1)
        response = self._done()
        yield self._event(f"response.{response['status']}", {"response": response})

    def whole(self) -> Mapping[str, Any]:
        return self._done()

    def failed(self, wrong: Wrong) -> Iterable[Event]:
        told = openai_error(wrong)
        code = told["code"] or told["type"]
        response = self._response("failed", [])
        response["error"] = {"code": code, "message": told["message"]}
        yield self._event("response.failed", {"response": response})

    def broken(self) -> Event:
        type = "response.output_text.delta"
        return Event(f'{{"type":"{type}","sequence_number":{self._sent},"del', type)

    def _grown(self, growth: Growth) -> Iterator[Event]:
        item = growth.item
        if growth.is_new:
            yield from self._closed(item.index - 1)
            yield self._event(
                "response.output_item.added",
                {"output_index": item.index, "item": started(item, self._stamp.number)},
            )
            yield from self._events(item, opening(item))
        if growth.piece:
            yield from self._events(item, growing(item, growth.piece))

    def _closed(self, index: int) -> Iterator[Event]:
        """The end of an item, which comes before the next one begins."""
        if index < 0:
            return
        item = self.gathered.items[index]
        yield from self._events(item, closing(item))
        yield self._event(
            "response.output_item.done",
            {"output_index": index, "item": finished(item, self._stamp.number)},
        )

    def _events(self, item: Item, told: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[Event]:
        id = started(item, self._stamp.number)["id"]
        for type, fields in told:
            yield self._event(type, {"item_id": id, "output_index": item.index, **fields})

    def _event(self, type: str, fields: Mapping[str, Any]) -> Event:
        event = Event({"type": type, "sequence_number": self._sent, **fields}, type)
        self._sent += 1
        return event

    def _done(self) -> dict[str, Any]:
        gathered = self.gathered
        reason = _CUT_SHORT.get(str(gathered.finish))
        output = [finished(item, self._stamp.number) for item in gathered.items]
        response = self._response("incomplete" if reason else "completed", output)
        if reason:
            response["incomplete_details"] = {"reason": reason}
        response["usage"] = openai_usage(
            gathered.figures,
            ("input_tokens", "output_tokens"),
            ("input_tokens_details", "output_tokens_details"),
        )
        if self._asked.parameters.get("store") is not False:
            self._keep(response["id"], (*self._said_before(), self._answer()))
        return response

    def _said_before(self) -> tuple[Message, ...]:
        # Instructions hold for one response only.
        messages = self._asked.messages
        return messages[1:] if self._asked.has_instructions else messages

    def _answer(self) -> Message:
        return Message("assistant", tuple(map(_part, self.gathered.items)), "model")

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        asked = self._asked
        given = asked.parameters
        return {
            "id": f"resp_mock_{self._stamp.number}",
            "object": "response",
            "created_at": self._stamp.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": asked.messages[0].text if asked.has_instructions else None,
            "max_output_tokens": asked.max_output_tokens,
            "metadata": given.get("metadata") or {},
            "model": asked.model,
            "output": output,
            "parallel_tool_calls": given.get("parallel_tool_calls", True),
            "temperature": given.get("temperature", 1.0),
            "tool_choice": asked.body.get("tool_choice") or "auto",
            "tools": asked.body.get("tools") or [],
            "top_p": given.get("top_p", 1.0),
            "text": asked.body.get("text") or {"format": {"type": "text"}},
            "previous_response_id": asked.body.get("previous_response_id"),
            "store": given.get("store") is not False,
            "usage": None,
        }


def _part(item: Item) -> Part:
    match item.kind:
        case "call":
            return read_call(item.id, item.name, item.text, item.vendor_data)
        case "reasoning":
            return ReasoningPart(item.text, item.vendor_data)
        case "text":
            return TextPart(item.text)
