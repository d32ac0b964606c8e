"""The languages that vendors speak: how a scenario looks in each, and the provider that understands it."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2
import openai
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from agentflow.models.ports import Provider
from agentflow.providers.anthropic_messages import AnthropicMessages
from agentflow.providers.openai_chat import OpenAIChat
from agentflow.providers.openai_responses import OpenAIResponses
from agentflow.providers.pydantic_ai_bridge import PydanticAIModel
from agentflow.testing import Scenario
from tests.providers.wires import Recorded, sse

__all__ = ["SPEAKERS", "Speaker", "pieces_of"]


def pieces_of(text: str, size: int = 3) -> Iterator[str]:
    """A text in small pieces, as models send it."""
    for at in range(0, len(text), size):
        yield text[at : at + size]


@dataclass(frozen=True, slots=True)
class Speaker:
    """One language.

    Args:
        name: What it is called.
        encode: A whole answer as bytes; of a scenario that is cut, fails or stalls, as far as it comes.
        failure: The frame by which it tells a failure in the middle of an answer.
        error: The body of an error with a status.
        provider: A provider on a transport.
    """

    name: str
    encode: Callable[[Scenario, Any], bytes]
    failure: bytes
    error: Callable[[str], Any]
    provider: Callable[[Recorded], Provider]

    def __str__(self) -> str:
        return self.name

    def wire(self, scenario: Scenario) -> Recorded:
        """The other side, which answers as the scenario says."""
        if scenario.refuses is not None:
            status, headers = STATUSES[scenario.refuses]
            body = self.error(scenario.refuses)
            return Recorded(lambda _: httpx2.Response(status, headers=headers, json=body))
        return Recorded(lambda request: self._answer(scenario, request), stalls=scenario.stalls)

    def _answer(self, scenario: Scenario, request: Any) -> bytes:
        sent = self.encode(scenario, request)
        return sent + self.failure if scenario.fails else sent


STATUSES: Mapping[str, tuple[int, dict[str, str]]] = {
    "denied": (401, {}),
    "limited": (429, {"retry-after": "7"}),
    "unavailable": (503, {}),
    "refused": (400, {}),
}


def chat_piece(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One chunk of chat completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "choices": [choice], **more}


def chat_usage(given: int, made: int) -> dict[str, Any]:
    figures = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    return {**chat_piece({}), "choices": [], "usage": figures}


def encode_chat(scenario: Scenario, request: Any = None) -> bytes:
    """A scenario as chat completions."""
    names = _names(scenario, request)
    bodies: list[Any] = [chat_piece({"role": "assistant", "content": ""})]
    bodies += [chat_piece({"reasoning_content": text}) for text in pieces_of(scenario.reasoning)]
    bodies += [chat_piece({"content": text}) for text in pieces_of(scenario.text)]
    for index, (name, arguments) in enumerate(scenario.calls):
        function = {"name": names(name), "arguments": ""}
        call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
        bodies.append(chat_piece({"tool_calls": [call]}))
        for text in pieces_of(json.dumps(arguments), 5):
            piece = {"index": index, "function": {"arguments": text}}
            bodies.append(chat_piece({"tool_calls": [piece]}))
    if scenario.cut or scenario.fails or scenario.stalls:
        return sse(*bodies)
    reason = "length" if scenario.length else "tool_calls" if scenario.calls else "stop"
    bodies.append(chat_piece({}, reason))
    if scenario.usage is not None:
        bodies.append(chat_usage(*scenario.usage))
    return sse(*bodies, end="[DONE]")


def _names(scenario: Scenario, request: Any) -> Callable[[str], str]:
    """The names of tools as the request spells them: the model repeats what it was offered."""
    offered = [] if request is None else [_name_of(tool) for tool in request.get("tools", ())]

    def name(own: str) -> str:
        close = [found for found in offered if found == own]
        close += [found for found in offered if found.startswith(own.replace(".", "_"))]
        # Of two that look alike, the one that was spelled differently.
        marked = (
            [found for found in close if found != own.replace(".", "_")] if "." in own else close
        )
        return next(itertools.chain(marked, close), own)

    return name


def _name_of(tool: Mapping[str, Any]) -> str:
    name: str = tool["function"]["name"] if "function" in tool else tool["name"]
    return name


def openai_client(transport: Recorded) -> openai.AsyncOpenAI:
    """The vendor's own client on a transport."""
    return openai.AsyncOpenAI(
        api_key="sk-test", max_retries=0, http_client=httpx2.AsyncClient(transport=transport)
    )


CHAT = Speaker(
    "chat",
    encode_chat,
    sse({"error": {"message": "the engine broke", "type": "server_error", "code": None}}),
    lambda why: {"error": {"message": f"it is {why}", "type": "x", "code": None}},
    lambda transport: OpenAIChat("m", client=openai_client(transport)),
)


class Responses:
    """Events of the Responses API."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.output: list[dict[str, Any]] = []

    def add(self, type: str, **more: Any) -> None:
        self.bodies.append({"type": type, **more})

    def begin(self) -> None:
        self.add("response.created", response={"id": "r", "status": "in_progress"})

    def reason(self, text: str) -> None:
        at = len(self.output)
        item: dict[str, Any] = {"id": f"rs_{at}", "type": "reasoning", "summary": []}
        self.add("response.output_item.added", output_index=at, item=item)
        for piece in pieces_of(text):
            self.add(
                "response.reasoning_summary_text.delta",
                output_index=at,
                item_id=item["id"],
                summary_index=0,
                delta=piece,
            )
        summary = [{"type": "summary_text", "text": text}]
        self._done(at, {**item, "summary": summary, "encrypted_content": "sealed"})

    def say(self, text: str) -> None:
        at = len(self.output)
        item = {"id": f"msg_{at}", "type": "message", "role": "assistant", "content": []}
        self.add("response.output_item.added", output_index=at, item=item)
        for piece in pieces_of(text):
            self.add(
                "response.output_text.delta",
                output_index=at,
                item_id=item["id"],
                content_index=0,
                delta=piece,
            )
        self.add("response.output_text.done", output_index=at, content_index=0, text=text)
        self._done(at, {**item, "content": [{"type": "output_text", "text": text}]})

    def call(self, name: str, arguments: str) -> None:
        at = len(self.output)
        item = {"id": f"fc_{at}", "type": "function_call", "call_id": f"call_{at}", "name": name}
        self.add("response.output_item.added", output_index=at, item={**item, "arguments": ""})
        for piece in pieces_of(arguments, 5):
            self.add("response.function_call_arguments.delta", output_index=at, delta=piece)
        self.add("response.function_call_arguments.done", output_index=at, arguments=arguments)
        self._done(at, {**item, "arguments": arguments})

    def _done(self, at: int, item: dict[str, Any]) -> None:
        self.output.append(item)
        self.add("response.output_item.done", output_index=at, item=item)

    def end(self, status: str = "completed", **more: Any) -> None:
        response = {"id": "r", "status": status, "output": self.output}
        self.add(f"response.{status}", response={**response, **more})

    def sent(self) -> bytes:
        return sse(*self.bodies, names=True)


def encode_responses(scenario: Scenario, request: Any = None) -> bytes:
    """A scenario as the Responses API."""
    names = _names(scenario, request)
    events = Responses()
    events.begin()
    if scenario.reasoning:
        events.reason(scenario.reasoning)
    if scenario.text:
        events.say(scenario.text)
    for name, arguments in scenario.calls:
        events.call(names(name), json.dumps(arguments))
    if scenario.cut or scenario.fails or scenario.stalls:
        return events.sent()
    usage = None
    if scenario.usage is not None:
        given, made = scenario.usage
        usage = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    if scenario.length:
        events.end("incomplete", usage=usage, incomplete_details={"reason": "max_output_tokens"})
    else:
        events.end(usage=usage)
    return events.sent()


RESPONSES = Speaker(
    "responses",
    encode_responses,
    sse({"type": "error", "code": "server_error", "message": "the engine broke"}, names=True),
    CHAT.error,
    lambda transport: OpenAIResponses("m", client=openai_client(transport)),
)


def encode_anthropic(scenario: Scenario, request: Any = None) -> bytes:
    """A scenario as the Messages API."""
    names = _names(scenario, request)
    given, made = scenario.usage or (None, None)
    usage = {} if given is None else {"input_tokens": given, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
    bodies: list[Any] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if scenario.reasoning:
        thoughts = [
            {"type": "thinking_delta", "thinking": text} for text in pieces_of(scenario.reasoning)
        ]
        thoughts.append({"type": "signature_delta", "signature": "signed"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, thoughts))
    if scenario.text:
        said = [{"type": "text_delta", "text": text} for text in pieces_of(scenario.text)]
        blocks.append(({"type": "text", "text": ""}, said))
    for number, (name, arguments) in enumerate(scenario.calls):
        texts = ["", *pieces_of(json.dumps(arguments), 5)] if arguments else [""]
        deltas = [{"type": "input_json_delta", "partial_json": text} for text in texts]
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": names(name), "input": {}}
        blocks.append((use, deltas))
    for index, (block, deltas) in enumerate(blocks):
        bodies.append({"type": "content_block_start", "index": index, "content_block": block})
        bodies += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        bodies.append({"type": "content_block_stop", "index": index})
    if scenario.cut or scenario.fails or scenario.stalls:
        return sse(*bodies, names=True)
    reason = "max_tokens" if scenario.length else "tool_use" if scenario.calls else "end_turn"
    bodies.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {} if made is None else {"output_tokens": made},
        }
    )
    return sse(*bodies, {"type": "message_stop"}, names=True)


def anthropic_client(transport: Recorded) -> anthropic.AsyncAnthropic:
    """The vendor's own client on a transport."""
    return anthropic.AsyncAnthropic(
        api_key="sk-test", max_retries=0, http_client=httpx2.AsyncClient(transport=transport)
    )


ANTHROPIC = Speaker(
    "anthropic",
    encode_anthropic,
    sse(
        {"type": "error", "error": {"type": "overloaded_error", "message": "the engine broke"}},
        names=True,
    ),
    lambda why: {"type": "error", "error": {"type": "x", "message": f"it is {why}"}},
    lambda transport: AnthropicMessages("m", client=anthropic_client(transport)),
)


def bridged(transport: Recorded) -> PydanticAIModel:
    """A model of pydantic-ai that speaks chat completions."""
    client = openai_client(transport)
    return PydanticAIModel(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)))


BRIDGE = dataclasses.replace(CHAT, name="bridge", provider=bridged)

SPEAKERS = [CHAT, RESPONSES, ANTHROPIC]
