"""Stored values as a person reads them, without the code that made them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["fields_text", "value_text"]

_TAG: Final = "~"
"""The only key of a stored value that is no JSON; what it holds is the kind and its parts."""


def fields_text(fields: Mapping[str, Any], room: int | None = None) -> str:
    """Fields and their stored values on one line, each cut to `room` characters."""
    return ", ".join(f"{name}={value_text(value, room)}" for name, value in fields.items())


def value_text(data: Any, room: int | None = None) -> str:
    """A stored value as Python would write it, or much like it; cut to `room` characters."""
    text = _text(data)
    return text if room is None or len(text) <= room else f"{text[: room - 1]}…"


def _text(data: Any) -> str:
    if isinstance(data, list):
        return f"[{_listed(data)}]"
    if not isinstance(data, dict):
        return repr(data)
    if data.keys() != {_TAG}:
        return f"{{{', '.join(f'{name!r}: {_text(item)}' for name, item in data.items())}}}"
    kind, *parts = data[_TAG]
    with contextlib.suppress(Exception):
        # Whatever a newer version may have written: it is shown in its stored form.
        return _SPELLINGS[kind](*parts)
    return _whole(data)


def _whole(data: Any) -> str:
    from agentflow.graph.codec import decoded

    try:
        value = decoded(data)
    except Exception:
        return json.dumps(data, ensure_ascii=False)
    return str(value) if _kind_of(data) in _PLAIN else repr(value)


def _kind_of(data: Any) -> str:
    return str(data[_TAG][0])


_PLAIN: Final = frozenset({"datetime", "date", "time", "delta", "decimal", "fraction", "uuid"})
"""Kinds whose text says all, so that their names would only be noise."""


def _listed(items: list[Any]) -> str:
    return ", ".join(map(_text, items))


def _pairs(pairs: list[Any]) -> str:
    return f"{{{', '.join(f'{_text(key)}: {_text(value)}' for key, value in pairs)}}}"


def _tuple(items: list[Any]) -> str:
    return f"({_text(items[0])},)" if len(items) == 1 else f"({_listed(items)})"


def _set(items: list[Any]) -> str:
    return f"{{{_listed(items)}}}" if items else "set()"


def _instance(name: Any, state: Mapping[str, Any], *_more: Any) -> str:
    return f"{_class(name)}({fields_text(state)})"


def _class(name: Any) -> str:
    """The name of a class as code that has imported it says it; of a generic one, without its arguments."""
    while isinstance(name, list):
        name = name[1]
    return str(name.partition(":")[2])


_SPELLINGS: Final[Mapping[str, Callable[..., str]]] = {
    "dict": _pairs,
    "counter": _pairs,
    "ordered": _pairs,
    "defaultdict": lambda _factory, pairs: _pairs(pairs),
    "deque": lambda items, _longest: f"[{_listed(items)}]",
    "tuple": _tuple,
    "set": _set,
    "frozenset": _set,
    "named": _instance,
    "dataclass": _instance,
    "model": _instance,
    "enum": lambda name, member: f"{_class(name)}.{member}",
}
