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
import importlib
import math
import pathlib
import re
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from agentflow.graph import instances
from agentflow.graph.class_names import Unstorable, is_model
from agentflow.graph.frozen import FrozenDict, FrozenList, FrozenSet

__all__ = ["Unstorable", "decoded", "encoded"]

_TAG: Final = "~"


def encoded(value: Any) -> Any:
    """The value as JSON data.

    Raises:
        Unstorable: It, or something in it, would not come back as the same type and value.
    """
    try:
        return _encode(value)
    except Unstorable:
        raise
    except RecursionError:
        raise Unstorable(
            f"{type(value).__qualname__} holds itself, or is nested too deep"
        ) from None
    except Exception as error:
        # Looking at an object of somebody else's class may raise anything.
        raise Unstorable(f"it cannot be read: {type(error).__name__}: {error}") from error


def decoded(data: Any) -> Any:
    """The value of JSON data that `encoded` made.

    Raises:
        Unstorable: It names a class that is not loaded or has changed its shape, or is nothing that `encoded` makes.
    """
    try:
        return _decode(data)
    except Unstorable:
        raise
    except Exception as error:
        raise Unstorable(
            f"the stored data is damaged, or of another version: {type(error).__name__}: {error}"
        ) from error


def _encode(value: Any) -> Any:
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
        return _tagged("dataclass", *instances.write_dataclass(value, _encode))
    if is_model(kind):
        return _tagged("model", *instances.write_model(value, _encode))
    late = _late_writer(kind)
    if late is not None:
        return late(value)
    raise Unstorable(
        f"{kind.__module__}.{kind.__qualname__} has no stored form: make it a dataclass or a pydantic model, "
        f"or give live objects as deps"
    )


def _decode(data: Any) -> Any:
    if isinstance(data, list):
        return [_decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() != {_TAG}:
        return {key: _decode(item) for key, item in data.items()}
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
    if _is_plain(value):
        return value
    return _tagged("text", _write_bytes(value.encode("utf-8", "surrogatepass")))


def _is_plain(text: str) -> bool:
    if "\0" in text:
        return False
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # Lone surrogates are legal in Python and in no encoding of a database.
            return False
    return True


def _write_bytes(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode()


def _read_bytes(data: str) -> bytes:
    return base64.b64decode(data, validate=True)


def _write_int(value: int) -> Any:
    # Beyond 64 bits, JSON readers of other makers lose digits; in base 16, because Python limits the length in base 10.
    return value if -(2**63) <= value < 2**63 else _tagged("int", f"{value:x}")


def _write_float(value: float) -> Any:
    return value if math.isfinite(value) else _tagged("float", repr(value))


def _write_dict(value: dict[Any, Any]) -> Any:
    if _TAG not in value and all(type(key) is str and _is_plain(key) for key in dict.keys(value)):
        return {key: _encode(item) for key, item in dict.items(value)}
    return _tagged("dict", _pairs(value))


def _pairs(value: dict[Any, Any]) -> list[Any]:
    return [[_encode(key), _encode(item)] for key, item in dict.items(value)]


def _read_pairs(pairs: list[Any]) -> list[Any]:
    return [(_decode(key), _decode(item)) for key, item in pairs]


def _items(values: Any) -> list[Any]:
    return [_encode(item) for item in values]


def _write_set(kind: str) -> Callable[[Any], Any]:
    def write(value: Any) -> Any:
        # Sorted by their form, so that equal sets have equal forms.
        return _tagged(kind, sorted(_items(value), key=repr))

    return write


def _write_tuple(value: tuple[Any, ...]) -> Any:
    if type(value) is tuple:
        return _tagged("tuple", _items(value))
    return _tagged("named", *instances.write_named_tuple(value, _encode))


def _write_moment(value: datetime.datetime | datetime.time) -> Any:
    kind = type(value).__name__
    zone = value.tzinfo
    plain = value.replace(tzinfo=None, fold=0).isoformat()
    if zone is None:
        return _tagged(kind, plain, value.fold)
    return _tagged(kind, plain, value.fold, _encode(zone))


def _read_moment(kind: Any) -> Callable[..., Any]:
    def read(text: str, fold: int, zone: Any = None) -> Any:
        return kind.fromisoformat(text).replace(fold=fold, tzinfo=_decode(zone))

    return read


def _write_zone(value: datetime.timezone) -> Any:
    offset = value.utcoffset(None)
    name = value.tzname(None)
    parts = [offset.days, offset.seconds, offset.microseconds]
    return _tagged(
        "zone", *parts, *([] if name == datetime.timezone(offset).tzname(None) else [name])
    )


def _read_zone(days: int, seconds: int, microseconds: int, *name: str) -> datetime.timezone:
    offset = datetime.timedelta(days, seconds, microseconds)
    # The zone of no offset at all is one object, which some code asks for.
    return datetime.timezone(offset, *name) if offset or name else datetime.UTC


def _write_region(value: Any) -> Any:
    if value.key is None:
        raise Unstorable("a time zone that was read from a file has no stored form: give it a key")
    return _tagged("region", value.key)


def _read_region(key: str) -> Any:
    import zoneinfo

    return zoneinfo.ZoneInfo(key)


def _write_offset(value: Any) -> Any:
    return _tagged("offset", int(value.utcoffset(None).total_seconds()))


def _read_offset(seconds: int) -> Any:
    import pydantic_core

    return pydantic_core.TzInfo(seconds)


_TEXTS: Final[Mapping[str, Collection[str]]] = {
    "ipaddress": tuple(
        f"IPv{version}{what}" for version in (4, 6) for what in ("Address", "Interface", "Network")
    ),
    "pydantic.networks": (
        *("AnyUrl", "AnyHttpUrl", "HttpUrl", "FileUrl", "FtpUrl"),
        *("AnyWebsocketUrl", "WebsocketUrl"),
    ),
}
"""Classes whose instances are told by their text, by module: what pydantic makes of texts."""


def _write_text_of(value: Any) -> Any:
    kind = type(value)
    return _tagged("of", kind.__module__, kind.__name__, str(value))


def _read_text_of(module: str, name: str, text: str) -> Any:
    if name not in _TEXTS[module]:
        raise Unstorable(f"{module}.{name} is not told by its text")
    return getattr(importlib.import_module(module), name)(text)


def _late_writer(kind: type) -> Callable[[Any], Any] | None:
    """The writer of a class that most programs never load, so that it is looked for only where somebody has."""
    module = sys.modules.get(kind.__module__)
    if getattr(module, kind.__name__, None) is not kind:
        return None
    if kind.__name__ in _TEXTS.get(kind.__module__, ()):
        return _write_text_of
    return _LATE.get((kind.__module__, kind.__name__))


_LATE: Final = {
    ("zoneinfo", "ZoneInfo"): _write_region,
    # The zone of a time that pydantic has read from a text.
    ("pydantic_core._pydantic_core", "TzInfo"): _write_offset,
}

_PATHS: Final = {
    kind.__name__: kind
    for kind in (
        *(pathlib.PurePosixPath, pathlib.PureWindowsPath),
        *(pathlib.PosixPath, pathlib.WindowsPath),
    )
}


def _write_path(value: pathlib.PurePath) -> Any:
    return _tagged("path", type(value).__name__, _write_str(str(value)))


_WRITERS: dict[type, Callable[[Any], Any]] = {
    str: _write_str,
    int: _write_int,
    float: _write_float,
    complex: lambda value: _tagged("complex", repr(value)),
    bytes: lambda value: _tagged("bytes", _write_bytes(value)),
    bytearray: lambda value: _tagged("bytearray", _write_bytes(value)),
    range: lambda value: _tagged("range", *map(_write_int, (value.start, value.stop, value.step))),
    datetime.datetime: _write_moment,
    datetime.date: lambda value: _tagged("date", value.isoformat()),
    datetime.time: _write_moment,
    datetime.timedelta: lambda value: _tagged(
        "delta", value.days, value.seconds, value.microseconds
    ),
    datetime.timezone: _write_zone,
    decimal.Decimal: lambda value: _tagged("decimal", str(value)),
    fractions.Fraction: lambda value: _tagged(
        "fraction", _write_int(value.numerator), _write_int(value.denominator)
    ),
    uuid.UUID: lambda value: _tagged("uuid", str(value)),
    re.Pattern: lambda value: _tagged("pattern", _encode(value.pattern), value.flags),
    Counter: lambda value: _tagged("counter", _pairs(value)),
    OrderedDict: lambda value: _tagged("ordered", _pairs(value)),
    defaultdict: lambda value: _tagged(
        "defaultdict", instances.factory_name(value.default_factory), _pairs(value)
    ),
    deque: lambda value: _tagged("deque", _items(value), value.maxlen),
    list: _items,
    dict: _write_dict,
    set: _write_set("set"),
    frozenset: _write_set("frozenset"),
    tuple: _write_tuple,
    **dict.fromkeys(_PATHS.values(), _write_path),
}

_FAMILIES: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (enum.Enum, lambda value: _tagged("enum", *instances.write_enum(value))),
    # The items as they are held: what looks at them is lent copies.
    (FrozenList, lambda value: _items(list.__iter__(value))),
    (FrozenDict, _write_dict),
    (FrozenSet, _write_set("set")),
    (tuple, _write_tuple),
)

_READERS: dict[str, Callable[..., Any]] = {
    "text": lambda data: _read_bytes(data).decode("utf-8", "surrogatepass"),
    "int": lambda digits: int(digits, 16),
    "float": float,
    "complex": complex,
    "bytes": _read_bytes,
    "bytearray": lambda data: bytearray(_read_bytes(data)),
    "range": lambda *parts: range(*map(_decode, parts)),
    "datetime": _read_moment(datetime.datetime),
    "date": datetime.date.fromisoformat,
    "time": _read_moment(datetime.time),
    "delta": datetime.timedelta,
    "zone": _read_zone,
    "region": _read_region,
    "offset": _read_offset,
    "of": _read_text_of,
    "decimal": decimal.Decimal,
    "fraction": lambda *parts: fractions.Fraction(*map(_decode, parts)),
    "uuid": uuid.UUID,
    "pattern": lambda pattern, flags: re.compile(_decode(pattern), flags),
    "path": lambda name, text: _PATHS[name](_decode(text)),
    "counter": lambda pairs: Counter(dict(_read_pairs(pairs))),
    "ordered": lambda pairs: OrderedDict(_read_pairs(pairs)),
    "defaultdict": lambda name, pairs: defaultdict(
        instances.named_factory(name), _read_pairs(pairs)
    ),
    "deque": lambda items, maxlen: deque(map(_decode, items), maxlen),
    "dict": lambda pairs: dict(_read_pairs(pairs)),
    "set": lambda items: set(map(_decode, items)),
    "frozenset": lambda items: frozenset(map(_decode, items)),
    "tuple": lambda items: tuple(map(_decode, items)),
    "named": lambda *parts: instances.read_named_tuple(_decode, *parts),
    "enum": instances.read_enum,
    "dataclass": lambda *parts: instances.read_dataclass(_decode, *parts),
    "model": lambda *parts: instances.read_model(_decode, *parts),
}
