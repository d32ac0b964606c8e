"""Answers to requests, as they are typed: JSON, plain text, and yes or no where those are asked for."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentflow.run.suspension import Request, Suspension

__all__ = ["answer_of", "answers_of", "choices_of", "wanted"]

_WORDS: Final[Mapping[str, bool]] = {"y": True, "yes": True, "n": False, "no": False}
_ID: Final = re.compile(r"[0-9a-f]{16}")
_LONGEST: Final = 200
"""How many characters of a schema are worth showing."""


def answers_of(words: Sequence[str], waiting: Suspension) -> dict[str, Any]:
    """The answers by request id that `ID=VALUE` words give, or one bare `VALUE` where one request waits.

    Raises:
        ContractError: A word is no answer to any request, or not what was asked for.
        ResumeConflict: It answers a request that waits no more.
    """
    from agentflow.errors import ContractError, ResumeConflict

    known = {request.id: request for request in waiting.requests}
    answers: dict[str, Any] = {}
    for word in words:
        id, equals, value = word.partition("=")
        if not (equals and (id in known or _ID.fullmatch(id))):
            if len(known) != 1 or len(words) != 1:
                listed = ", ".join(f"{each}=VALUE" for each in known)
                raise ContractError(
                    f"{word!r} does not say which request it answers; write {listed or 'ID=VALUE'}"
                )
            id, value = next(iter(known)), word
        if id in waiting.past:
            raise ResumeConflict(f"the run waits no more for the answer to {id}")
        if id not in known:
            listed = ", ".join(known)
            raise ContractError(f"no request {id} waits; there is {listed or 'none'}")
        if id in answers:
            raise ContractError(f"request {id} is answered twice")
        answers[id] = answer_of(value, known[id])
    return answers


def answer_of(text: str, request: Request) -> Any:
    """The answer that a text means: the first of its readings that the request takes.

    Raises:
        ContractError: It takes none.
    """
    from agentflow.errors import ContractError
    from agentflow.run.suspension import Suspension, answers_for

    waiting = Suspension((request,))
    refused: ContractError | None = None
    for value in _readings(text):
        try:
            answers_for(request.run_id, waiting, {request.id: value})
        except ContractError as error:
            refused = refused or error
        else:
            return value
    assert refused is not None
    raise refused


def _readings(text: str) -> Iterator[Any]:
    # JSON first, so that 3 is a number where both are welcome.
    with contextlib.suppress(ValueError, RecursionError):
        yield json.loads(text)
    yield text
    if text.strip().lower() in _WORDS:
        yield _WORDS[text.strip().lower()]


def wanted(schema: Any) -> str:
    """What a request takes for an answer, in words."""
    if not isinstance(schema, Mapping) or not schema:
        return "anything: JSON, or text"
    kinds = list(dict.fromkeys(_kind(part, schema) for part in _parts(schema)))
    return ", or ".join(kinds)


def choices_of(schema: Any) -> list[Any]:
    """The values that a request takes, where they can be counted; none otherwise."""
    if not isinstance(schema, Mapping):
        return []
    found: list[Any] = []
    for part in _parts(schema):
        options = _options(_followed(part, schema))
        if not options:
            return []
        found += options
    return found


def _parts(schema: Mapping[str, Any]) -> Iterable[Any]:
    whole = _followed(schema, schema)
    return whole.get("anyOf") or whole.get("oneOf") or [whole]


def _followed(part: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part of a schema, or the definition that it refers to."""
    if not isinstance(part, Mapping):
        return {}
    name = str(part.get("$ref", "")).rpartition("/")[2]
    found = root.get("$defs", {}).get(name, part)
    return found if isinstance(found, Mapping) else {}


def _options(part: Mapping[str, Any]) -> list[Any]:
    if "const" in part:
        return [part["const"]]
    options = part.get("enum")
    return list(options) if isinstance(options, list) else []


def _kind(part: Any, root: Mapping[str, Any]) -> str:
    followed = _followed(part, root)
    options = _options(followed)
    if options:
        return f"one of {', '.join(map(_shown, options))}" if len(options) > 1 else _shown(*options)
    kind = followed.get("type")
    words = {
        "boolean": "yes or no",
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "null": "null",
    }
    if isinstance(kind, str) and kind in words:
        return words[kind]
    text = json.dumps(followed, ensure_ascii=False)
    return "JSON" if len(text) > _LONGEST else f"JSON of the schema {text}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
