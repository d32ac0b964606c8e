"""Types as data: the simple ones by name, others by `module:Class`, compounds as a small part of JSON Schema.

What is read here becomes an ordinary type, so that the rest of the kernel knows no second kind of schema: a union, a
`Literal`, `list[…]`, `dict[str, …]`, or a TypedDict for objects with properties and for a state with fields.
"""

from __future__ import annotations

import copy
import functools
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, get_args, get_origin

import typing_extensions

from agentflow.graph.manifest import type_name
from agentflow.graph.private import private
from agentflow.graph.reducer import Reducer, add, append, merge, union
from agentflow.graph.schema import schema_of
from agentflow.graph.spec.names import Imports, NoName, name_of
from agentflow.graph.spec.pointer import below

__all__ = [
    "JSON_TYPES",
    "REDUCERS",
    "SIMPLE_TYPES",
    "data_of",
    "defaults_of",
    "hint_of",
    "state_data",
    "state_of",
]

SIMPLE_TYPES: Mapping[str, type] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "list": list,
    "dict": dict,
    "None": type(None),
}
JSON_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
}
REDUCERS: Mapping[str, Reducer] = {item.name: item for item in (append, add, merge, union)}

Find = Callable[[str, str], Any]
"""Finds what a name leads to; also told the JSON pointer of the name."""

_make_typeddict: Any = typing_extensions.TypedDict
_SOURCE = "__agentflow_data__"


def hint_of(data: Any, pointer: str, find: Find) -> Any:
    """The type that `data` describes; `find` is asked for what has to be imported."""
    match data:
        case str():
            return SIMPLE_TYPES[data] if data in SIMPLE_TYPES else find(data, pointer)
        case {"import": name}:
            return find(name, below(pointer, "import"))
        case {"enum": values}:
            return Literal[tuple(values)]
        case {"anyOf": parts}:
            return _union(
                hint_of(part, below(pointer, "anyOf", at), find) for at, part in enumerate(parts)
            )
        case {"type": "array"}:
            return list[hint_of(data.get("items", {}), below(pointer, "items"), find)]  # type: ignore[misc]
        case {"type": "object"}:
            return _object(data, pointer, find)
        case {"type": list(names)}:
            return _union(JSON_TYPES[name] for name in names)
        case {"type": name}:
            return JSON_TYPES[name]
    return Any


def _union(hints: typing.Iterable[Any]) -> Any:
    return functools.reduce(operator.or_, hints)


def _object(data: Mapping[str, Any], pointer: str, find: Find) -> Any:
    if "properties" not in data:
        values = data.get("additionalProperties", {})
        return dict[str, hint_of(values, below(pointer, "additionalProperties"), find)]  # type: ignore[misc]
    others = data.get("additionalProperties", True)
    required = data.get("required", ())
    inside = {**{name: {} for name in required}, **data["properties"]}
    fields = {
        name: (Required if name in required else NotRequired)[
            hint_of(inner, below(pointer, "properties", name), find)
        ]
        for name, inner in inside.items()
    }
    made = _make_typeddict("object", fields)
    # The name is what tells the type apart in manifests and fingerprints, so it says what is in it.
    parts = [
        f"{name}{'' if name in required else '?'}: {type_name(get_args(hint)[0])}"
        for name, hint in fields.items()
    ]
    made.__qualname__ = f"object({', '.join([*parts, '…'] if others else parts)})"
    made.__pydantic_config__ = {"extra": "allow" if others else "forbid"}
    setattr(made, _SOURCE, copy.deepcopy(dict(data)))
    return made


def state_of(data: Mapping[str, Any], pointer: str, find: Find, reducer: Find) -> Any:
    """The TypedDict of a state that is declared as data: `{"fields": {name: type}}`."""
    fields: dict[str, Any] = {}
    for name, field in data["fields"].items():
        where = below(pointer, "fields", name)
        hint = hint_of(field, where, find)
        more = field if isinstance(field, dict) else {}
        if "reducer" in more:
            hint = Annotated[hint, _reducer(more["reducer"], below(where, "reducer"), reducer)]
        if more.get("private"):
            hint = Annotated[hint, private]
        fields[name] = (NotRequired if more.get("optional") else Required)[hint]
    made = _make_typeddict("State", fields)
    setattr(made, _SOURCE, copy.deepcopy(dict(data)))
    return made


def _reducer(name: str, pointer: str, find: Find) -> Any:
    return REDUCERS[name] if name in REDUCERS else find(name, pointer)


def state_data(state: Any) -> dict[str, Any]:
    """The declarative form of a state schema.

    Raises:
        NoName: It was not declared as data, and cannot be imported.
    """
    declared: dict[str, Any] | None = _declared(state)
    if declared is not None:
        return declared
    try:
        name = name_of(state)
    except NoName as error:
        raise NoName(error.message, f"{error.hint}, or declare the state as data") from error
    return {"import": name, "defaults": defaults_of(state)}


def defaults_of(state: Any) -> list[str]:
    """The fields of a state that are there from the start."""
    return [spec.name for spec in schema_of(state).with_default()]


def data_of(hint: Any) -> Any:
    """The declarative form of a type, seen to lead back to it.

    Raises:
        NoName: It has none.
    """
    for name, simple in SIMPLE_TYPES.items():
        if hint is simple:
            return name
    data = _declared(hint)
    if data is None:
        data = _compound(hint)
    if data is None:
        return name_of(hint)
    if type_name(hint_of(data, "", _imported)) != type_name(hint):
        # Two spellings of one type have two names, and with them two fingerprints.
        raise NoName(
            f"the type {hint!r} has no declarative form in this spelling",
            "spell it with builtins and |, as in `list[str] | None`, or name a class",
        )
    return data


def _declared(hint: Any) -> Any:
    # Asked of the class itself: a class that is derived from it is another one.
    found = vars(hint).get(_SOURCE) if isinstance(hint, type) else None
    return copy.deepcopy(found)


def _imported(name: str, pointer: str) -> Any:
    del pointer
    return Imports().hint(name)


def _compound(hint: Any) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [data_of(part) for part in args]}
    if origin is Literal and all(type(value) in (str, int, bool, type(None)) for value in args):
        return {"enum": list(args)}
    if origin is list:
        return {"type": "array", "items": data_of(args[0])}
    if origin is dict and args[0] is str:
        return {"type": "object", "additionalProperties": data_of(args[1])}
    if hint is Any:
        return {}
    return None
