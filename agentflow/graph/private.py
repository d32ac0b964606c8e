"""The mark of fields that are never recorded: `Annotated[str, private]`.

What a node writes to such a field is in the state of the run, and nowhere else. A run that goes on in another process has
it not, until somebody supplies it again.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args, get_origin

__all__ = ["Private", "is_marked", "private"]


class Private:
    """The kind of `private`, which is its only instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "private"


private: Final = Private()
"""The field is in no journal, snapshot, recorded input or fact: for passwords, tokens and what else must not be stored."""


def is_marked(hint: Any) -> bool:
    """Whether the mark stands anywhere in a type, as far as that is no class of its own."""
    if get_origin(hint) is Annotated:
        base, *extras = get_args(hint)
        return any(isinstance(extra, Private) for extra in extras) or is_marked(base)
    if isinstance(hint, list | tuple):
        return any(map(is_marked, hint))
    return any(map(is_marked, get_args(hint)))
