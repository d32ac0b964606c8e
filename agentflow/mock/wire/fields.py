"""The fields of a JSON body, read one by one; what is wrong with one is told by its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["BadRequest", "Fields"]

_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "an object",
}


class BadRequest(Exception):
    """The body is not what its format says.

    Args:
        message: What is wrong, and what to do.
        param: The place of it in the body.
        status: The HTTP status that tells so.
    """

    def __init__(self, message: str, param: str | None = None, status: int = 400) -> None:
        self.message = message
        self.param = param
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of the body, and its place, such as `messages[0]`; empty for the body itself."""

    data: Mapping[str, Any]
    place: str = ""

    def at(self, name: str) -> str:
        """The place of a field."""
        return f"{self.place}.{name}" if self.place else name

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.data.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A text; without a default it has to be there."""
        return str(self._read(name, str, default))

    def flag(self, name: str) -> bool:
        """A boolean; false when it is not there."""
        return bool(self._read(name, bool, False))

    def number(self, name: str) -> int | None:
        """A whole number, or `None` when it is not there."""
        return int(self._read(name, int, None)) if self.has(name) else None

    def object(self, name: str) -> Fields:
        """An object, which has to be there."""
        return Fields(self._read(name, dict, None), self.at(name))

    def objects(self, name: str, *, required: bool = False) -> list[Fields]:
        """A list of objects; none when it is not there."""
        given = self._read(name, list, None if required else [])
        return list(_objects(given, self.at(name)))

    def wrong(self, message: str, name: str | None = None) -> BadRequest:
        """The error that tells what is wrong with a field, or with the object."""
        place = self.place if name is None else self.at(name)
        return BadRequest(f"{place or 'the body'}: {message}", place or None)

    def _read(self, name: str, kind: type, default: Any) -> Any:
        value = self.data.get(name)
        if value is None:
            if default is None:
                raise self.wrong(f"it is missing; it is {_KINDS[kind]}", name)
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(f"it is not {_KINDS[kind]}", name)
        return value


def _objects(given: list[Any], place: str) -> Iterator[Fields]:
    for number, item in enumerate(given):
        if not isinstance(item, dict):
            raise BadRequest(f"{place}[{number}]: it is not an object", f"{place}[{number}]")
        yield Fields(item, f"{place}[{number}]")
