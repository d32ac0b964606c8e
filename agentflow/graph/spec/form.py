"""The form of a document: everything in which it does not satisfy the schema, said as a person would.

JSON Schema says of a choice only that no branch fits. So the branch that the author meant is found, and what is wrong in it is
told; where that cannot be guessed, what would fit is listed.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.graph.json_schema import Data
from agentflow.graph.spec.pointer import below
from agentflow.graph.spec.schema import workflow_schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

__all__ = ["Flaw", "flaws"]

_Path = tuple[str | int, ...]
_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing in which a document is not what the schema says: where, what, and what to do."""

    path: _Path
    message: str
    hint: str = ""

    @property
    def pointer(self) -> str:
        """The JSON pointer of the place."""
        return below("", *self.path)


def flaws(data: Any, schema: Callable[[], Data] = workflow_schema) -> list[Flaw]:
    """Every flaw of a document, in the order of its parts.

    Args:
        data: The document.
        schema: Makes its schema, whose definitions are among those of workflows.
    """
    found = dict.fromkeys(
        flaw for error in _validator(schema).iter_errors(data) for flaw in _flaws(error)
    )
    order = _order(data)
    return sorted(
        found, key=lambda flaw: [order(flaw.path[: at + 1]) for at in range(len(flaw.path))]
    )


def _order(data: Any) -> Any:
    """Where a part stands among its siblings, so that flaws come in the order in which the author reads."""

    def rank(path: _Path) -> int:
        inside = data
        for step in path[:-1]:
            inside = inside[step]
        last = path[-1]
        return last if isinstance(last, int) else list(inside).index(last)

    return rank


@functools.cache
def _validator(schema: Callable[[], Data]) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


@functools.cache
def _definitions() -> dict[str, Any]:
    found: dict[str, Any] = workflow_schema()["$defs"]
    return found


def _flaws(error: ValidationError) -> Iterator[Flaw]:
    path = tuple(error.absolute_path)
    match error.validator:
        case "anyOf" | "oneOf":
            yield from _choice(error, path)
        case "required":
            for name in _wrong_keys(error):
                yield Flaw(path, f"{name!r} is missing", _told(error.schema, name))
        case "additionalProperties":
            schema: Any = error.schema
            known = schema["properties"]
            for name in _wrong_keys(error):
                hint = _close(name, known) or f"known here: {_listed(known)}"
                yield Flaw((*path, name), f"{name!r} is no property of {_title(schema)}", hint)
        case _:
            yield Flaw(path, _message(error), _hint(error))


def _wrong_keys(error: ValidationError) -> list[str]:
    """The keys that are missing, or that should not be there."""
    schema: Any = error.schema
    given: Any = error.instance
    match error.validator:
        case "required":
            return [name for name in schema["required"] if name not in given]
        case "additionalProperties":
            return [name for name in given if name not in schema["properties"]]
    return []


def _message(error: ValidationError) -> str:
    shown = _shown(error.instance)
    match error.validator:
        case "type":
            wanted: Any = error.validator_value
            kinds = [wanted] if isinstance(wanted, str) else wanted
            return f"{shown} is not {' or '.join(_KINDS[kind] for kind in kinds)}"
        case "enum" | "const":
            return f"{shown} is none of {_listed(_allowed(error))}"
        case "pattern":
            return f"{shown} is not {_title(error.schema)}"
        case "minLength" | "minItems":
            return f"{shown} is empty"
        case "not":
            return f"{error.path[-1]!r} has no place here"
    return error.message


def _hint(error: ValidationError) -> str:
    match error.validator:
        case "type" if error.validator_value == "string" and isinstance(
            error.instance, int | float
        ):
            return "put it in quotes"
        case "type" if error.validator_value == "object":
            return _example(error)
        case "enum" | "const":
            return _close(error.instance, _allowed(error))
    return ""


def _example(error: ValidationError) -> str:
    """How an object with what it must have is written where another value is; in a spelling that JSON and YAML share."""
    schema: Any = error.schema
    if not schema.get("required"):
        return ""
    inside = ", ".join(f"{json.dumps(name)}: …" for name in schema["required"])
    last = error.absolute_path[-1] if error.absolute_path else None
    key = f"{json.dumps(last)}: " if isinstance(last, str) else ""
    return f"write {key}{{{inside}}}"


def _choice(error: ValidationError, path: _Path) -> Iterator[Flaw]:
    branches: Any = error.validator_value
    given: Any = error.instance
    if all(list(branch) == ["required"] for branch in branches):
        keys = [branch["required"][0] for branch in branches]
        yield from _exactly_one(path, _title(error.schema), keys, given)
        return
    meant = _meant(error)
    if len(meant) == 1:
        (errors,) = meant.values()
        for inner in errors:
            yield from _flaws(inner)
        return
    yield _one_place(meant) or Flaw(
        path,
        f"{_shown(error.instance)} is not {_either(_title(branches[at]) for at in meant or range(len(branches)))}",
        _close(error.instance, (value for found in meant.values() for value in _values(found))),
    )


def _exactly_one(path: _Path, what: str, keys: list[str], given: Any) -> Iterator[Flaw]:
    # What is no object at all satisfies each `required`; that it is none is told elsewhere.
    if isinstance(given, dict):
        there = [key for key in keys if key in given]
        told = f"both {there[0]!r} and {there[1]!r} are there" if there else "none is there"
        yield Flaw(path, f"{what} has exactly one of {_listed(keys)}: {told}")


_Branches = dict[int, list["ValidationError"]]


def _meant(error: ValidationError) -> _Branches:
    """The errors of the branch that was meant, by its index; of several when that cannot be told."""
    branches: _Branches = {}
    for inner in error.context or ():
        branches.setdefault(int(inner.relative_schema_path[0]), []).append(inner)
    scores = {at: _strangeness(errors) for at, errors in branches.items()}
    least = min(scores.values())
    # A branch for another kind of value was not meant, be it the only one.
    return {} if least[0] else {at: branches[at] for at in branches if scores[at] == least}


def _strangeness(errors: list[ValidationError]) -> tuple[int, ...]:
    """How unlike a branch a value is: another kind, another value, other keys, other values below."""
    here = [error.validator for error in errors if not error.relative_path]
    return (
        here.count("type"),
        sum(validator in ("const", "enum", "pattern") for validator in here),
        sum(len(_wrong_keys(error)) for error in errors if not error.relative_path),
        sum(bool(error.relative_path and _allowed(error)) for error in errors),
    )


def _one_place(meant: _Branches) -> Flaw | None:
    """One flaw for several branches that differ only in what they allow in one place."""
    errors = [error for branch in meant.values() for error in branch]
    if len({tuple(error.absolute_path) for error in errors}) != 1 or not all(map(_allowed, errors)):
        return None
    allowed, first = _values(errors), errors[0]
    return Flaw(
        tuple(first.absolute_path),
        f"{_shown(first.instance)} is none of {_listed(allowed)}",
        _close(first.instance, allowed),
    )


def _values(errors: Iterable[ValidationError]) -> list[Any]:
    return list(dict.fromkeys(value for error in errors for value in _allowed(error)))


def _either(words: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(words))


def _close(given: Any, allowed: Iterable[Any]) -> str:
    names = [value for value in allowed if isinstance(value, str)]
    close = difflib.get_close_matches(given, names, n=1) if isinstance(given, str) else []
    return f"did you mean {close[0]!r}?" if close else ""


def _allowed(error: ValidationError) -> list[Any]:
    value: Any = error.validator_value
    match error.validator:
        case "enum":
            return list(value)
        case "const":
            return [value]
        case "anyOf":
            return [value for inner in error.context or () for value in _allowed(inner)]
    return []


def _title(schema: Any) -> str:
    """What a part is called, following references."""
    if isinstance(schema, dict) and "title" not in schema and "$ref" in schema:
        return _title(_definitions()[schema["$ref"].rpartition("/")[2]])
    return (
        str(schema.get("title", "what is known")) if isinstance(schema, dict) else "what is known"
    )


def _told(schema: Any, name: str) -> str:
    """What the schema says of a property, as a hint to give it."""
    about = schema.get("properties", {}).get(name)
    return (
        f"add it: {about['description']}"
        if isinstance(about, dict) and "description" in about
        else ""
    )


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(
        repr(value) if isinstance(value, str) else json.dumps(value) for value in values
    )


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
