"""Conditions as JSON data, in the form that manifests have; values keep their type on the way there and back.

JSON has text, numbers, booleans, null, lists and objects. A member of an enum is written as `{"$member": "module:Class.NAME"}`;
every other value is refused, because something else would come back.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from typing import Any

from agentflow.graph.condition import PRESENCE, AllOf, AnyOf, Condition, Not, Test
from agentflow.graph.spec.names import NoName, name_of
from agentflow.graph.spec.pointer import below

__all__ = ["MEMBER", "condition_data", "condition_of", "json_value"]

MEMBER = "$member"

Find = Callable[[str, str], Any]


def condition_of(data: Mapping[str, Any], pointer: str, find: Find) -> Condition:
    """The condition that `data` describes; `find` is asked for the enum member of a name at a JSON pointer."""

    def parts(key: str) -> tuple[Condition, ...]:
        return tuple(
            condition_of(part, below(pointer, key, at), find) for at, part in enumerate(data[key])
        )

    if "all" in data:
        return AllOf(parts("all"))
    if "any" in data:
        return AnyOf(parts("any"))
    if "not" in data:
        return Not(condition_of(data["not"], below(pointer, "not"), find))
    path, op = tuple(data["field"].split(".")), data["op"]
    if op in PRESENCE:
        return Test(path, op)
    value = _value_of(data["value"], below(pointer, "value"), find)
    return Test(path, op, tuple(value) if op == "is_in" else value)


def _value_of(data: Any, pointer: str, find: Find) -> Any:
    if _is_member(data):
        return find(data[MEMBER], below(pointer, MEMBER))
    if isinstance(data, dict):
        return {name: _value_of(item, below(pointer, name), find) for name, item in data.items()}
    if isinstance(data, list):
        return [_value_of(item, below(pointer, at), find) for at, item in enumerate(data)]
    return data


def _is_member(data: Any) -> bool:
    return isinstance(data, dict) and list(data) == [MEMBER] and isinstance(data[MEMBER], str)


def condition_data(condition: Condition) -> dict[str, Any]:
    """The declarative form of a condition.

    Raises:
        NoName: A value in it has none.
    """
    match condition:
        case AllOf(parts):
            return {"all": [condition_data(part) for part in parts]}
        case AnyOf(parts):
            return {"any": [condition_data(part) for part in parts]}
        case Not(part):
            return {"not": condition_data(part)}
        case Test(path, op, value):
            data: dict[str, Any] = {"field": ".".join(path), "op": op}
            if op not in PRESENCE:
                data["value"] = json_value(list(value) if op == "is_in" else value, members=True)
            return data
    raise NoName(
        f"a condition of the class {type(condition).__name__} is no data",
        "combine comparisons of fields with & | ~, or write a function at the top of a module",
    )


def json_value(value: Any, *, members: bool = False) -> Any:
    """A copy of `value` as JSON data that reads back as the same value.

    Args:
        value: The value.
        members: Whether members of enums may be in it.

    Raises:
        NoName: It would read back as something else.
    """
    kind = type(value)
    if kind in (str, int, bool, type(None)) or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [json_value(item, members=members) for item in value]
    plain = kind is dict and all(type(name) is str for name in value)
    if plain and not (members and _is_member(value)):
        return {name: json_value(item, members=members) for name, item in value.items()}
    if members and isinstance(value, enum.Enum):
        return {MEMBER: f"{name_of(kind)}.{value.name}"}
    raise NoName(
        f"{value!r} is a {kind.__name__}; as JSON it would read back as something else",
        "use text, finite numbers, booleans, None, lists, and dicts with text keys",
    )
