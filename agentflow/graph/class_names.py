"""The names of classes in stored values: found again among the classes that are loaded, never by importing or calling anything."""

from __future__ import annotations

import functools
import operator
import sys
import types
import typing
from typing import Any, Final, get_args, get_origin

__all__ = ["Unstorable", "class_name", "is_model", "named_class"]


class Unstorable(Exception):
    """A value that would not come back as it is; the message says where in it and why."""


_CONTAINERS: Final[dict[str, Any]] = {
    kind.__name__: kind for kind in (dict, frozenset, list, set, tuple, type)
}


def class_name(kind: Any) -> Any:
    """The name of a class as JSON data: module and path, or a generic pydantic model by its origin and arguments.

    Raises:
        Unstorable: The class could not be found again by it.
    """
    metadata = getattr(kind, "__pydantic_generic_metadata__", None)
    if metadata and metadata["origin"] is not None:
        name: Any = [
            "model",
            class_name(metadata["origin"]),
            list(map(_argument, metadata["args"])),
        ]
        if named_class(name) is not kind:
            raise Unstorable(f"{kind.__qualname__} cannot be made again from its arguments")
        return name
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _find(name) is not kind:
        raise Unstorable(
            f"{kind.__qualname__} cannot be found again as {name}: define it at the top of a module"
        )
    return name


def _argument(hint: Any) -> Any:
    if hint is None or hint is types.NoneType:
        return ["none"]
    if hint is Any:
        return ["any"]
    origin: Any = get_origin(hint)
    if origin is None and isinstance(hint, type):
        return class_name(hint)
    if origin is types.UnionType:
        return ["|", list(map(_argument, get_args(hint)))]
    if origin is typing.Union:
        return ["union", list(map(_argument, get_args(hint)))]
    name = getattr(origin, "__name__", "")
    if name and _CONTAINERS.get(name) is origin:
        parts = [["…"] if part is ... else _argument(part) for part in get_args(hint)]
        return ["container", name, parts]
    raise Unstorable(
        f"the type {hint!r} has no stored name: give the generic model a class instead"
    )


def named_class(name: Any) -> Any:
    """The class of a name that `class_name` made.

    Raises:
        Unstorable: It is not loaded, has gone, or the name is none.
    """
    if isinstance(name, str):
        found = _find(name)
        if found is None:
            module = name.partition(":")[0]
            raise Unstorable(
                f"{name} is not there: import {module} before the run is opened, or it has gone"
            )
        return found
    kind, *parts = name
    match kind:
        case "model":
            origin = named_class(parts[0])
            if not is_model(origin):
                raise Unstorable(f"{parts[0]} is no pydantic model")
            return origin[tuple(map(named_class, parts[1]))]
        case "|":
            # pydantic tells the two spellings of a union apart.
            return functools.reduce(operator.or_, map(named_class, parts[0]))
        case "union":
            return typing.Union[tuple(map(named_class, parts[0]))]  # noqa: UP007 - of as many as there are
        case "container":
            return _CONTAINERS[parts[0]][tuple(map(named_class, parts[1]))]
        case "none":
            return None
        case "any":
            return Any
        case "…":
            return ...
    raise Unstorable(f"{name!r} names no class")


def is_model(kind: Any) -> bool:
    """Whether it is a class of pydantic models."""
    # No class can be one before somebody has loaded pydantic.
    pydantic = sys.modules.get("pydantic.main")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def _find(name: str) -> type | None:
    module, _, path = name.partition(":")
    # Looked up in the namespaces themselves: asking an object for an attribute may run code, and import more of it.
    space: Any = _namespace(sys.modules.get(module))
    found: Any = None
    for part in path.split("."):
        found = space.get(part)
        if not isinstance(found, type):
            return None
        space = vars(found)
    return found if f"{found.__module__}:{found.__qualname__}" == name else None


def _namespace(module: Any) -> dict[str, Any]:
    if not isinstance(module, types.ModuleType):
        return {}
    namespace: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return namespace
