"""Rules files: a mock model as JSON or YAML, for those who start a server from a shell."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.messages.chunk import UsageChunk
from agentflow.mock.chunking import Chunking
from agentflow.mock.fault import Refused
from agentflow.mock.form import check_form, flawed
from agentflow.mock.generator import GENERATORS
from agentflow.mock.model import MockModel
from agentflow.mock.reply import MockCall, MockReply, object_reply
from agentflow.mock.request import MockRequest
from agentflow.mock.rule import Rule
from agentflow.mock.server.mock_server import MockServer
from agentflow.mock.usage import Usage, word_usage
from agentflow.mock.wire.quirk import Quirk
from agentflow.run.ports import Clock

if TYPE_CHECKING:
    from agentflow.graph.spec.document import Document

__all__ = ["RulesFile", "read_rules"]

_Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesFile:
    """What a rules file says.

    Args:
        model: The model with its rules.
        names: Under which names a server lists it.
        blocks: How a server cuts the bytes of answers.
        quirks: What a server does that the formats do not say.
    """

    model: MockModel
    names: tuple[str, ...]
    blocks: Chunking | None = None
    quirks: tuple[Quirk, ...] = ()

    def server(self, **options: Any) -> MockServer:
        """A server as the file describes it; `options` are those of `MockServer`."""
        described = {
            "names": self.names,
            "blocks": self.blocks,
            "quirks": self.quirks,
            "usage": None,
        }
        return MockServer(self.model, **{**described, **options})


def read_rules(
    source: Mapping[str, Any] | str | os.PathLike[str], *, clock: Clock | None = None
) -> RulesFile:
    """The model that a JSON or YAML file describes, or a mapping of the same form.

    Args:
        source: The path of the file, or the mapping.
        clock: What replies with a `delay` or a `pace` wait by.

    Raises:
        SpecError: It cannot be read, or is not what `agentflow schema mock-rules` prints; the message lists all that is wrong.
    """
    # What reads files of workflows reads these too; nobody else has to wait until it is loaded.
    from agentflow.graph.spec.document import document_of
    from agentflow.mock.rules_schema import rules_schema

    document = document_of(source, wanted="the list 'rules'")
    check_form(document, rules_schema)
    return _read(document, clock)


def _read(document: Document, clock: Clock | None) -> RulesFile:
    from agentflow.graph.spec.pointer import below

    data = document.data
    wrong: list[tuple[str, str]] = []

    def made(make: Callable[..., Any], *steps: str | int) -> Any:
        """What a part becomes; what is wrong with it is noted by its place."""
        part: Any = data
        for step in steps:
            part = part[step]
        try:
            return make(part)
        except (TypeError, ValueError, re.error) as error:
            wrong.append((below("", *steps), str(error)))
            return None

    blocks = made(_blocks, "blocks") if "blocks" in data else None
    chunking = made(_chunking, "chunking") if "chunking" in data else None
    rules = [made(_rule, "rules", number) for number in range(len(data["rules"]))]
    if wrong:
        raise flawed(document, wrong)
    name = data.get("name", "mock")
    model = MockModel(
        rules, name=name, usage=_usage(data.get("usage", "words")), chunking=chunking, clock=clock
    )
    return RulesFile(
        model=model,
        names=tuple(data.get("models", [name])),
        blocks=blocks,
        quirks=tuple(data.get("quirks", ())),
    )


def _chunking(data: _Data) -> Chunking:
    return Chunking(**data)


def _blocks(data: _Data) -> Chunking:
    return Chunking(**{"by": "bytes", **data})


def _usage(data: Any) -> Usage:
    if data == "words":
        return word_usage
    return None if data == "none" else UsageChunk(**data)


def _rule(data: _Data) -> Rule:
    when = data.get("when")
    return Rule(
        reply=_answer(data),
        when=re.compile(when["pattern"]) if isinstance(when, dict) else when,
        turn=data.get("turn"),
        tools=data.get("tools", ()),
        name=data.get("name", ""),
    )


def _answer(data: _Data) -> Any:
    if "generator" in data:
        return GENERATORS[data["generator"]]
    if "replies" in data:
        return [_reply(each) for each in data["replies"]]
    return _reply(data["reply"])


def _reply(data: Any) -> Any:
    if isinstance(data, str):
        return data
    options = {
        name: data[name]
        for name in ("text", "reasoning", "finish", "delay", "pace", "fault")
        if name in data
    }
    if "usage" in data:
        options["usage"] = UsageChunk(**data["usage"])
    if "refuse" in data:
        refusal = dict(data["refuse"])
        options["error"] = Refused(refusal.pop("status"), **refusal)
    options["calls"] = tuple(MockCall(**call) for call in data.get("calls", ()))
    if "object" not in data:
        return MockReply(**options)
    if options["calls"] or "text" in options:
        raise ValueError("a reply has either an object, or text and calls")
    return _object_reply(data["object"], options)


def _object_reply(value: Any, options: dict[str, Any]) -> Callable[[MockRequest], MockReply]:
    """An object is said in one way or another, which the request decides."""
    del options["calls"]
    # Made once now, so that what is wrong with the options is told when the file is read.
    MockReply(**options)

    def reply(request: MockRequest) -> MockReply:
        made = object_reply(value, forced=request.forced_tool)
        return dataclasses.replace(made, **options)

    return reply
