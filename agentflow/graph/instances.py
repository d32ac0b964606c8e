"""Instances of users' classes as their parts, and back: field by field, without calling anything of the class.

A class may have grown since: what it has more is filled with its defaults. What it has less is refused, for data would be lost.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from agentflow.graph.class_names import Unstorable, class_name, is_model, named_class

__all__ = [
    "factory_name",
    "named_factory",
    "read_dataclass",
    "read_enum",
    "read_model",
    "read_named_tuple",
    "write_dataclass",
    "write_enum",
    "write_model",
    "write_named_tuple",
]

Code = Callable[[Any], Any]
"""Encodes or decodes one value."""

_HEAP: Final = 1 << 9
"""The flag of a class that was made by a class statement."""


def write_enum(value: enum.Enum) -> list[Any]:
    """A member by name; members of a `Flag` that have none of their own, by number."""
    kind = type(value)
    if value.name in kind.__members__:
        return [class_name(kind), value.name]
    if isinstance(value, enum.Flag) and type(value.value) is int:
        return [class_name(kind), value.value]
    raise Unstorable(f"{value!r} is no member of {kind.__qualname__}")


def read_enum(name: Any, member: Any) -> Any:
    """The member of that name or number."""
    kind = named_class(name)
    if not isinstance(kind, enum.EnumMeta):
        raise Unstorable(f"{name} is no enum")
    if type(member) is int and issubclass(kind, enum.Flag):
        return kind(member)
    if member not in kind.__members__:
        raise Unstorable(f"{kind.__qualname__} has no member {member!r} any more")
    return kind.__members__[member]


def write_named_tuple(value: Any, encode: Code) -> list[Any]:
    """A named tuple by its fields."""
    kind = type(value)
    fields = getattr(kind, "_fields", None)
    if fields is None or len(fields) != len(value) or getattr(value, "__dict__", None):
        raise Unstorable(f"{kind.__qualname__}, a kind of tuple, has no stored form")
    parts = zip(fields, tuple.__iter__(value), strict=True)
    return [class_name(kind), {name: _part(kind, name, item, encode) for name, item in parts}]


def read_named_tuple(decode: Code, name: Any, parts: Mapping[str, Any]) -> Any:
    """The named tuple of such parts."""
    kind = named_class(name)
    fields: tuple[str, ...] = getattr(kind, "_fields", ())
    if not issubclass(kind, tuple) or not fields:
        raise Unstorable(f"{name} is no named tuple")
    _nothing_lost(kind, fields, parts)
    found = {field: decode(data) for field, data in parts.items()}
    for field in fields:
        if field not in found:
            found[field] = _new(kind, field, kind._field_defaults.get(field, _NOTHING), None)
    return tuple.__new__(kind, [found[field] for field in fields])


def write_dataclass(value: Any, encode: Code) -> list[Any]:
    """A dataclass instance by its fields, those that no argument sets included; and which of them are not set."""
    kind = type(value)
    _holds_fields_only(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    state = {
        name: _part(kind, name, getattr(value, name), encode)
        for name in fields
        if hasattr(value, name)
    }
    _nothing_besides(kind, set(getattr(value, "__dict__", ())) - set(fields))
    absent = [name for name in fields if name not in state]
    return [class_name(kind), state, *([absent] if absent else [])]


def read_dataclass(
    decode: Code, name: Any, state: Mapping[str, Any], absent: Iterable[str] = ()
) -> Any:
    """The instance of such parts; `__init__` and `__post_init__` are not called."""
    kind = named_class(name)
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        raise Unstorable(f"{name} is no dataclass")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    _nothing_lost(kind, fields, state)
    _holds_fields_only(kind)
    value = object.__new__(kind)
    for field, data in state.items():
        object.__setattr__(value, field, decode(data))
    for field in fields.keys() - state.keys() - set(absent):
        default, factory = fields[field].default, fields[field].default_factory
        default = _NOTHING if default is dataclasses.MISSING else default
        found = _new(kind, field, default, None if factory is dataclasses.MISSING else factory)
        object.__setattr__(value, field, found)
    return value


def write_model(value: Any, encode: Code) -> list[Any]:
    """A pydantic model by its fields, which of them were given, and what it holds beyond them."""
    kind = type(value)
    _holds_fields_only(kind)
    held = value.__dict__
    fields = kind.__pydantic_fields__
    state = {name: _part(kind, name, held[name], encode) for name in fields if name in held}
    _nothing_besides(kind, set(held) - set(fields))
    return [
        class_name(kind),
        state,
        sorted(value.__pydantic_fields_set__),
        _parts(kind, value.__pydantic_extra__, encode),
        _parts(kind, value.__pydantic_private__, encode),
    ]


def read_model(
    decode: Code, name: Any, state: Mapping[str, Any], given: list[str], extra: Any, private: Any
) -> Any:
    """The model of such parts; nothing is validated."""
    kind = named_class(name)
    if not is_model(kind):
        raise Unstorable(f"{name} is no pydantic model")
    fields = kind.__pydantic_fields__
    _nothing_lost(kind, fields, state)
    if extra and kind.model_config.get("extra") != "allow":
        raise Unstorable(f"{kind.__qualname__} takes no extra fields any more: {sorted(extra)}")
    _holds_fields_only(kind)
    found = {field: decode(data) for field, data in state.items()}
    for field in fields:
        if field not in found:
            info = fields[field]
            plain = not info.is_required() and info.default_factory is None
            default = info.get_default() if plain else _NOTHING
            found[field] = _new(kind, field, default, info.default_factory)
    value = object.__new__(kind)
    object.__setattr__(value, "__dict__", found)
    object.__setattr__(value, "__pydantic_fields_set__", set(given))
    if not kind.__pydantic_root_model__:
        # A root model has neither, and no place for them.
        object.__setattr__(value, "__pydantic_extra__", _read_parts(decode, extra))
        object.__setattr__(value, "__pydantic_private__", _read_parts(decode, private))
    return value


_FACTORIES: Final[frozenset[Any]] = frozenset(
    {
        *(bool, int, float, complex, str, bytes, bytearray),
        *(list, tuple, set, frozenset, dict, Counter, OrderedDict, deque),
    }
)


def factory_name(factory: Any) -> Any:
    """The name of the factory of a `defaultdict`: a builtin class, a dataclass or a pydantic model."""
    if factory is None:
        return None
    if not _is_factory(factory):
        called = getattr(factory, "__qualname__", repr(factory))
        raise Unstorable(
            f"the default_factory {called} has no stored form: take a builtin class such as list, "
            f"a dataclass or a pydantic model"
        )
    return class_name(factory)


def named_factory(name: Any) -> Any:
    """The factory of that name."""
    factory = None if name is None else named_class(name)
    if factory is not None and not _is_factory(factory):
        raise Unstorable(f"{name} is no default_factory")
    return factory


def _is_factory(kind: Any) -> bool:
    if not isinstance(kind, type):
        return False
    return kind in _FACTORIES or dataclasses.is_dataclass(kind) or is_model(kind)


class _Nothing(enum.Enum):
    NOTHING = "no default"


_NOTHING: Final = _Nothing.NOTHING


def _new(kind: Any, name: str, default: Any, factory: Any) -> Any:
    """The value of a field that the class did not have when the value was stored."""
    if default is not _NOTHING:
        return default
    if factory in _FACTORIES:
        return factory()
    raise Unstorable(f"{kind.__qualname__}.{name} is new, and has no default that is a plain value")


def _nothing_lost(kind: Any, fields: Iterable[str], state: Mapping[str, Any]) -> None:
    gone = set(state) - set(fields)
    if gone:
        raise Unstorable(f"{kind.__qualname__} has no {', '.join(sorted(gone))} any more")


def _nothing_besides(kind: Any, names: set[str]) -> None:
    extra = {
        name
        for name in names
        # What can be worked out again is no part of the value; what typing notes on an instance is none either.
        if name != "__orig_class__"
        and not isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)
    }
    if extra:
        raise Unstorable(f"{kind.__qualname__} holds {', '.join(sorted(extra))} besides its fields")


def _holds_fields_only(kind: type) -> None:
    # As for copying: the layout of an instance is that of the first base that no class statement made.
    layout = next(base for base in kind.__mro__ if not base.__flags__ & _HEAP)
    if layout is not object:
        raise Unstorable(
            f"{kind.__qualname__} is a kind of {layout.__name__} with fields, and has no stored form: "
            f"hold the {layout.__name__} in a field instead"
        )


def _part(kind: Any, name: str, value: Any, encode: Code) -> Any:
    try:
        return encode(value)
    except Unstorable as error:
        raise Unstorable(f"{kind.__qualname__}.{name}: {error}") from None


def _parts(kind: Any, values: Mapping[str, Any] | None, encode: Code) -> Any:
    if values is None:
        return None
    return {name: _part(kind, name, item, encode) for name, item in values.items()}


def _read_parts(decode: Code, parts: Any) -> Any:
    return None if parts is None else {name: decode(data) for name, data in parts.items()}
