"""Transports: what a model is asked for besides the messages, and how its answer becomes a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from agentflow.errors import OutputInvalid
from agentflow.graph.excerpt import excerpt
from agentflow.graph.frozen import FrozenDict, freeze
from agentflow.messages.message import Message

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["MESSAGE", "TEXT", "Preparation", "Transport", "checked_transport", "structured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What a transport adds to one request.

    Args:
        instructions: What the model is told, after the caller's instructions.
        schema: The JSON schema that the answer must satisfy.
        in_words: The schema as an instruction, told where the provider has no better way to hold the model to it.
        parameters: Whatever else the provider understands, by name.
    """

    instructions: str | None = None
    schema: Mapping[str, Any] | None = None
    in_words: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=FrozenDict)


class Transport(Protocol):
    """A way to get a value out of a model.

    One that can be told what was wrong with an answer has `corrections`, a number: how often the model is asked again.
    """

    @property
    def name(self) -> str:
        """What facts call it."""
        ...

    def prepare(self) -> Preparation:
        """What it adds to a request; asked once a call."""
        ...

    def parse(self, answer: Message) -> Any:
        """The value of a whole answer.

        Raises:
            OutputInvalid: The answer does not keep the contract.
        """
        ...


def checked_transport(transport: Any) -> Transport:
    """The transport itself.

    Raises:
        TypeError: It is malformed: something is missing that every transport has.
    """
    lacking = [
        what
        for what, there in (
            ("a name", isinstance(getattr(transport, "name", None), str)),
            ("prepare()", callable(getattr(transport, "prepare", None))),
            ("parse(answer)", callable(getattr(transport, "parse", None))),
        )
        if not there
    ]
    if lacking:
        raise TypeError(
            f"{transport!r} is no transport: it lacks {' and '.join(lacking)}; "
            f"use 'text', structured(type), or an object with name, prepare() and parse(answer)"
        )
    checked: Transport = transport
    return checked


_NOTHING: Final = Preparation()


class _Text:
    """The answer's text."""

    name = "text"

    def prepare(self) -> Preparation:
        return _NOTHING

    def parse(self, answer: Message) -> str:
        return _text_only(answer, self.name)


class _WholeMessage:
    """The whole answer, tool proposals included; for code that carries them out."""

    name = "message"

    def prepare(self) -> Preparation:
        return _NOTHING

    def parse(self, answer: Message) -> Message:
        return answer


TEXT: Transport = _Text()
MESSAGE: Transport = _WholeMessage()


def _text_only(answer: Message, transport: str) -> str:
    if answer.tool_calls:
        names = ", ".join(repr(call.name) for call in answer.tool_calls)
        raise OutputInvalid(
            f"the model proposed tool calls ({names}), which the transport {transport!r} cannot carry out; nothing was "
            f"executed: call the model without tools, or with transport='message' and run the calls"
        )
    return answer.text


class structured:  # noqa: N801 - reads as what it makes: transport=structured(Report)
    """A transport whose value is of a type: the model is held to the JSON schema, and its answer is validated by pydantic.

    Args:
        type: Anything that pydantic can validate: a model class, a dataclass, a TypedDict, `dict`, `list[int]` …
        name: What facts call it; default: `structured`.
        corrections: How often an answer that is not valid goes back to the model, with what is wrong with it. Each time is
            a model call of its own, made only as long as the budget and the node's `uses` have one left.

    Raises:
        TypeError: No JSON schema can be made of the type.
        ValueError: `corrections` is no whole number of at least 0.
    """

    __slots__ = ("_accept", "_validate", "corrections", "name", "schema", "type")

    def __init__(self, type: Any, *, name: str = "structured", corrections: int = 1) -> None:
        from pydantic import TypeAdapter

        from agentflow.graph.typeddict import rebuilt

        if isinstance(corrections, bool) or not isinstance(corrections, int) or corrections < 0:
            raise ValueError(
                f"structured(corrections={corrections!r}): it is a whole number of at least 0"
            )
        self.type = type
        self.name = name
        self.corrections = corrections
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(rebuilt(type))
            self.schema: Mapping[str, Any] = freeze(adapter.json_schema())
        except Exception as error:
            # pydantic raises many kinds for a type that it cannot describe.
            reason = str(error).strip().partition("\n")[0]
            raise TypeError(
                f"structured({_named(type)}): no JSON schema can be made: {reason}"
            ) from error
        self._validate = adapter.validate_json
        self._accept = adapter.validate_python

    def prepare(self) -> Preparation:
        """The schema, and the same in words."""
        schema = json.dumps(self.schema, ensure_ascii=False)
        return Preparation(
            in_words=(
                "Answer with one JSON value that satisfies this JSON schema, and with nothing else: "
                f"no explanation, no code fence.\n{schema}"
            ),
            schema=self.schema,
        )

    def parse(self, answer: Message) -> Any:
        """The validated value."""
        from pydantic import ValidationError

        text = _without_fence(_text_only(answer, self.name))
        try:
            return self._validate(text)
        except ValidationError as error:
            reasons = _reasons(error)
            shown = text if len(text) <= 200 else f"{text[:197]}..."
            raise OutputInvalid(
                f"the model's answer is no {_named(self.type)}: {reasons} (answer: {shown!r})"
            ) from error

    def accept(self, value: Any) -> Any:
        """The validated value, of one that code of the application gives in place of the model's answer.

        Raises:
            OutputInvalid: It is not of the type.
        """
        from pydantic import ValidationError

        try:
            return self._accept(value)
        except ValidationError as error:
            raise OutputInvalid(
                f"{excerpt(value)} is no {_named(self.type)}: {_reasons(error)}"
            ) from error

    def __repr__(self) -> str:
        return f"structured({_named(self.type)})"


def _reasons(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) + ': ' if item['loc'] else ''}{item['msg']}"
        for item in error.errors(include_url=False, include_context=False)
    )


def _without_fence(text: str) -> str:
    """The text inside of a code fence, when the answer is nothing but one."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text[text.index("\n") + 1 : -3].strip()
    return text


def _named(type: Any) -> str:
    return getattr(type, "__name__", None) or repr(type)
