"""The fields of JSON from outside, read one by one; what is wrong with one is told by its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.errors import ContractError

__all__ = ["Fields", "FormatError", "objects_of"]

_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "an object",
}


class FormatError(ContractError):
    """Something is not what its format says.

    Args:
        message: What is wrong, and what to do, with its place.
        place: The place of it, such as `messages[0].role`; `None` for the whole.
    """

    code = "format"

    def __init__(self, message: str, place: str | None = None) -> None:
        self.message = message
        self.place = place
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
        return list(objects_of(given, self.at(name)))

    def wrong(self, message: str, name: str | None = None) -> FormatError:
        """The error that tells what is wrong with a field, or with the object."""
        place = self.place if name is None else self.at(name)
        return FormatError(f"{place or 'the body'}: {message}", place or None)

    def _read(self, name: str, kind: type, default: Any) -> Any:
        value = self.data.get(name)
        if value is None:
            if default is None:
                raise self.wrong(f"it is missing; it is {_KINDS[kind]}", name)
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(f"it is not {_KINDS[kind]}", name)
        return value


def objects_of(given: Sequence[Any], place: str) -> Iterator[Fields]:
    """The objects of a list, each with its place.

    Raises:
        FormatError: One is none.
    """
    for number, item in enumerate(given):
        if not isinstance(item, dict):
            raise FormatError(f"{place}[{number}]: it is not an object", f"{place}[{number}]")
        yield Fields(item, f"{place}[{number}]")
