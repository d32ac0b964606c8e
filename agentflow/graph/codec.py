"""Values as JSON data and back, to the same type and the same value, or not at all.

What is JSON already stays as it is. Everything else is an object with the single key `~`, which holds the kind and the parts.
Never pickle: reading makes only values of known kinds, and instances of classes that are loaded already, field by field,
without calling anything of theirs.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import re
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Final

__all__ = ["Unstorable", "decoded", "encoded"]

_TAG: Final = "~"


class Unstorable(Exception):
    """A value that would not come back as it is; the message says where in it and why."""


def encoded(value: Any) -> Any:
    """The value as JSON data.

    Raises:
        Unstorable: It, or something in it, would not come back as the same type and value.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    writer = _WRITERS.get(kind)
    if writer is not None:
        return writer(value)
    for base, write in _FAMILIES:
        if isinstance(value, base):
            return write(value)
    if dataclasses.is_dataclass(kind):
        return _write_dataclass(value)
    if hasattr(kind, "__pydantic_fields__"):
        return _write_model(value)
    raise Unstorable(
        f"{kind.__module__}.{kind.__qualname__} has no stored form: make it a dataclass or a pydantic model, "
        f"or give live objects as deps"
    )


def decoded(data: Any) -> Any:
    """The value of JSON data that `encoded` made.

    Raises:
        Unstorable: It names a class that is not loaded or has changed its shape, or is nothing that `encoded` makes.
    """
    if isinstance(data, list):
        return [decoded(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() != {_TAG}:
        return {key: decoded(item) for key, item in data.items()}
    kind, *parts = data[_TAG]
    reader = _READERS.get(kind)
    if reader is None:
        raise Unstorable(
            f"stored data of the unknown kind {kind!r}: was it written by a newer version?"
        )
    return reader(*parts)


def _tagged(kind: str, *parts: Any) -> dict[str, Any]:
    return {_TAG: [kind, *parts]}


def _write_str(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        # Lone surrogates are legal in Python and in no encoding of a database.
        return _tagged("text", base64.b64encode(value.encode("utf-8", "surrogatepass")).decode())
    return _tagged("text", base64.b64encode(value.encode()).decode()) if "\0" in value else value


def _write_int(value: int) -> Any:
    # Beyond 64 bits, JSON readers of other makers lose digits.
    return value if -(2**63) <= value < 2**63 else _tagged("int", str(value))


def _write_float(value: float) -> Any:
    return value if math.isfinite(value) else _tagged("float", repr(value))


def _write_dict(value: dict[Any, Any]) -> Any:
    items = dict.items(value)
    if _TAG not in value and all(type(key) is str for key in value) and all(map(_plain, value)):
        return {key: encoded(item) for key, item in items}
    return _tagged("dict", [[encoded(key), encoded(item)] for key, item in items])


def _plain(text: str) -> bool:
    return type(_write_str(text)) is str


def _items(values: Any) -> list[Any]:
    return [encoded(item) for item in values]


def _write_set(kind: str) -> Callable[[Any], Any]:
    def write(value: Any) -> Any:
        # Sorted by their form, so that equal sets have equal forms.
        return _tagged(kind, sorted(_items(value), key=repr))

    return write


def _write_tuple(value: tuple[Any, ...]) -> Any:
    if type(value) is tuple:
        return _tagged("tuple", _items(value))
    if hasattr(value, "_fields"):
        return _tagged("named", _class_name(type(value)), _items(value))
    raise Unstorable(f"{type(value).__qualname__}, a kind of tuple, has no stored form")


def _write_enum(value: enum.Enum) -> Any:
    return _tagged("enum", _class_name(type(value)), encoded(value.value))


def _write_defaultdict(value: defaultdict[Any, Any]) -> Any:
    factory = value.default_factory
    name = None if factory is None else _class_name(factory)
    return _tagged("defaultdict", name, [[encoded(k), encoded(v)] for k, v in value.items()])


def _write_dataclass(value: Any) -> Any:
    state = {}
    for field in dataclasses.fields(value):
        if hasattr(value, field.name):
            state[field.name] = _part(value, field.name, getattr(value, field.name))
    extra = set(getattr(value, "__dict__", ())) - set(state)
    if extra:
        raise Unstorable(
            f"{type(value).__qualname__} holds {sorted(extra)}, which are no fields of it"
        )
    return _tagged("dataclass", _class_name(type(value)), state)


def _write_model(value: Any) -> Any:
    state = {name: _part(value, name, item) for name, item in value.__dict__.items()}
    extra = value.__pydantic_extra__ or {}
    private = value.__pydantic_private__ or {}
    return _tagged(
        "model",
        _class_name(type(value)),
        state,
        sorted(value.__pydantic_fields_set__),
        {name: _part(value, name, item) for name, item in extra.items()},
        {name: _part(value, name, item) for name, item in private.items()},
    )


def _part(owner: Any, name: str, value: Any) -> Any:
    try:
        return encoded(value)
    except Unstorable as error:
        raise Unstorable(f"{type(owner).__qualname__}.{name}: {error}") from None


def _class_name(kind: Any) -> Any:
    """A class by module and name, or a generic pydantic model by its origin and arguments."""
    metadata = getattr(kind, "__pydantic_generic_metadata__", None)
    if metadata and metadata["origin"] is not None:
        return [_class_name(metadata["origin"]), [_class_name(arg) for arg in metadata["args"]]]
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _find(name) is not kind:
        raise Unstorable(
            f"{kind.__qualname__} cannot be found again as {name}: define it at the top of a module"
        )
    return name


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _class(name: Any) -> Any:
    if isinstance(name, list):
        origin, args = name
        return _class(origin)[tuple(_class(arg) for arg in args)]
    found = _find(name)
    if found is None:
        module = name.partition(":")[0]
        raise Unstorable(
            f"{name} is not there: import {module} before the run is opened, or it has gone"
        )
    return found


def _read_enum(name: Any, value: Any) -> Any:
    return _class(name)(decoded(value))


def _read_dataclass(name: Any, state: dict[str, Any]) -> Any:
    kind = _class(name)
    fields = {field.name for field in dataclasses.fields(kind)}
    _same_shape(kind, fields, state)
    value = object.__new__(kind)
    for field, data in state.items():
        object.__setattr__(value, field, decoded(data))
    return value


def _read_model(
    name: Any, state: dict[str, Any], given: list[str], extra: Any, private: Any
) -> Any:
    kind = _class(name)
    _same_shape(kind, set(kind.model_fields), state)
    value = kind.__new__(kind)
    object.__setattr__(value, "__dict__", {key: decoded(data) for key, data in state.items()})
    object.__setattr__(value, "__pydantic_fields_set__", set(given))
    more = {key: decoded(data) for key, data in extra.items()}
    allowed = kind.model_config.get("extra") == "allow"
    object.__setattr__(value, "__pydantic_extra__", more if allowed else None)
    hidden = {key: decoded(data) for key, data in private.items()}
    object.__setattr__(
        value, "__pydantic_private__", hidden or ({} if kind.__private_attributes__ else None)
    )
    return value


def _same_shape(kind: Any, fields: set[str], state: dict[str, Any]) -> None:
    gone = set(state) - fields
    if gone:
        raise Unstorable(f"{kind.__qualname__} has no {sorted(gone)} any more")


_WRITERS: dict[type, Callable[[Any], Any]] = {
    str: _write_str,
    int: _write_int,
    float: _write_float,
    complex: lambda value: _tagged("complex", repr(value)),
    bytes: lambda value: _tagged("bytes", base64.b64encode(value).decode()),
    bytearray: lambda value: _tagged("bytearray", base64.b64encode(value).decode()),
    range: lambda value: _tagged("range", value.start, value.stop, value.step),
    datetime.datetime: lambda value: _tagged("datetime", _aware(value), value.fold),
    datetime.date: lambda value: _tagged("date", value.isoformat()),
    datetime.time: lambda value: _tagged("time", _aware(value), value.fold),
    datetime.timedelta: lambda value: _tagged(
        "delta", value.days, value.seconds, value.microseconds
    ),
    datetime.timezone: lambda value: _tagged("zone", value.utcoffset(None).total_seconds()),
    decimal.Decimal: lambda value: _tagged("decimal", str(value)),
    fractions.Fraction: lambda value: _tagged("fraction", str(value)),
    uuid.UUID: lambda value: _tagged("uuid", str(value)),
    re.Pattern: lambda value: _tagged("pattern", encoded(value.pattern), value.flags),
    Counter: lambda value: _tagged("counter", [[encoded(k), encoded(v)] for k, v in value.items()]),
    OrderedDict: lambda value: _tagged(
        "ordered", [[encoded(k), encoded(v)] for k, v in value.items()]
    ),
    defaultdict: _write_defaultdict,
    deque: lambda value: _tagged("deque", _items(value), value.maxlen),
    list: _items,
    dict: _write_dict,
    set: _write_set("set"),
    frozenset: _write_set("frozenset"),
    tuple: _write_tuple,
}


def _aware(value: datetime.datetime | datetime.time) -> str:
    zone = value.tzinfo
    if zone is not None and type(zone) is not datetime.timezone:
        raise Unstorable(
            f"the time zone {zone!r} has no stored form: use a fixed offset, such as UTC"
        )
    return value.isoformat()


def _frozen_family() -> list[tuple[Any, Callable[[Any], Any]]]:
    from agentflow.graph.frozen import FrozenDict, FrozenList, FrozenSet

    return [
        (enum.Enum, _write_enum),
        (FrozenList, lambda value: [encoded(item) for item in list.__iter__(value)]),
        (FrozenDict, _write_dict),
        (FrozenSet, _write_set("set")),
        (pathlib.PurePath, lambda value: _tagged("path", type(value).__name__, str(value))),
        (tuple, _write_tuple),
    ]


_FAMILIES = _frozen_family()

_READERS: dict[str, Callable[..., Any]] = {
    "text": lambda data: base64.b64decode(data).decode("utf-8", "surrogatepass"),
    "int": int,
    "float": float,
    "complex": complex,
    "bytes": base64.b64decode,
    "bytearray": lambda data: bytearray(base64.b64decode(data)),
    "range": range,
    "datetime": lambda text, fold: datetime.datetime.fromisoformat(text).replace(fold=fold),
    "date": datetime.date.fromisoformat,
    "time": lambda text, fold: datetime.time.fromisoformat(text).replace(fold=fold),
    "delta": datetime.timedelta,
    "zone": lambda seconds: datetime.timezone(datetime.timedelta(seconds=seconds)),
    "decimal": decimal.Decimal,
    "fraction": fractions.Fraction,
    "uuid": uuid.UUID,
    "pattern": lambda pattern, flags: re.compile(decoded(pattern), flags),
    "path": lambda name, text: getattr(pathlib, name)(text),
    "counter": lambda items: Counter({decoded(k): decoded(v) for k, v in items}),
    "ordered": lambda items: OrderedDict((decoded(k), decoded(v)) for k, v in items),
    "defaultdict": lambda name, items: defaultdict(
        None if name is None else _class(name), {decoded(k): decoded(v) for k, v in items}
    ),
    "deque": lambda items, maxlen: deque(map(decoded, items), maxlen),
    "dict": lambda items: {decoded(k): decoded(v) for k, v in items},
    "set": lambda items: set(map(decoded, items)),
    "frozenset": lambda items: frozenset(map(decoded, items)),
    "tuple": lambda items: tuple(map(decoded, items)),
    "named": lambda name, items: _class(name)._make(map(decoded, items)),
    "enum": _read_enum,
    "dataclass": _read_dataclass,
    "model": _read_model,
}
