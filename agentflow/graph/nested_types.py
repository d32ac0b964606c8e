"""The classes that types are made of, with what is in them: so that a definition is another one when they have changed.

Read, never instantiated, and without ever raising: a class of which nothing can be read is told by its name alone.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args, get_origin

import typing_extensions

from agentflow.graph.class_names import is_model
from agentflow.graph.typeddict import is_typeddict, presence

__all__ = ["Member", "members_of", "nested_types"]


class Member(NamedTuple):
    """One field of a class: its type, and whether it must be given; of an enum, a member by its value."""

    name: str
    hint: Any = None
    required: bool = True
    value: Any = None


def nested_types(hints: Iterable[Any]) -> list[tuple[Any, tuple[Member, ...]]]:
    """Every class with fields or members that some types are made of, however deep, in the order in which they are met."""
    found: dict[tuple[int, str], tuple[Any, tuple[Member, ...]]] = {}
    waiting = deque(part for hint in hints for part in _parts(hint))
    while waiting:
        kind = waiting.popleft()
        # Not by name, which two classes may share; a generic TypedDict with arguments is another object each time.
        key = id(get_origin(kind) or kind), repr(get_args(kind))
        if key not in found:
            members = members_of(kind)
            found[key] = kind, members
            waiting += (part for member in members for part in _parts(member.hint))
    return [(kind, members) for kind, members in found.values() if members]


def members_of(kind: Any) -> tuple[Member, ...]:
    """The fields of a TypedDict, a pydantic model, a dataclass or a named tuple, or the members of an enum; else none."""
    try:
        return tuple(_members(kind))
    except Exception:
        # Asking a class of the author's what it is runs code of theirs.
        return ()


def _members(kind: Any) -> Iterator[Member]:
    if isinstance(kind, typing_extensions.TypeAliasType):
        yield Member("=", kind.__value__)
    elif is_typeddict(kind):
        for name, hint, required in presence(kind):
            yield Member(name, hint, required)
    elif isinstance(kind, type):
        yield from _members_of_class(kind)


def _members_of_class(kind: Any) -> Iterator[Member]:
    if issubclass(kind, enum.Enum):
        for name, member in kind.__members__.items():
            yield Member(name, value=member.value)
    elif is_model(kind):
        for name, info in kind.__pydantic_fields__.items():
            yield Member(name, info.rebuild_annotation(), info.is_required())
    elif dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        for field in dataclasses.fields(kind):
            missing = field.default is field.default_factory is dataclasses.MISSING
            yield Member(field.name, hints.get(field.name, field.type), field.init and missing)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = _hints(kind)
        for name in kind._fields:
            yield Member(name, hints.get(name), name not in kind._field_defaults)


def _hints(kind: Any) -> dict[str, Any]:
    try:
        return typing_extensions.get_type_hints(kind, include_extras=True)
    except Exception:
        # One name that cannot be resolved hides all the others; as texts they still tell a change.
        return dict(getattr(kind, "__annotations__", {}))


def _parts(hint: Any) -> Iterator[Any]:
    """The classes and aliases that a type is made of; a class with arguments once without them."""
    if isinstance(hint, list | tuple):
        for part in hint:
            yield from _parts(part)
    elif isinstance(hint, typing.NewType):
        yield from _parts(hint.__supertype__)
    elif get_origin(hint) is typing.Annotated:
        yield from _parts(get_args(hint)[0])
    elif get_origin(hint) is not typing.Literal:
        made = hint if is_typeddict(hint) else get_origin(hint) or hint
        if isinstance(made, type | typing_extensions.TypeAliasType) or is_typeddict(made):
            yield made
        yield from _parts(get_args(hint))
