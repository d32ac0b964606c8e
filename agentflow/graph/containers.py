"""Read-only containers: subclasses of the builtin ones that refuse every change, and cost what those do to read."""

from __future__ import annotations

import copy
from typing import Any, NoReturn

__all__ = ["FrozenDict", "FrozenList", "FrozenSet", "GrowingList"]


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    kind = type(self).__mro__[-2].__name__
    raise TypeError(
        f"the state is read-only: this {kind} cannot be changed in place; "
        f"return the new value from the node, or work on a copy ({kind}(…) or copy.copy)"
    )


class FrozenList(list[Any]):
    """A list that refuses every change; `copy()`, slices and `+` give ordinary lists."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(item, memo) for item in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class GrowingList(FrozenList):
    """A frozen list to which the engine itself appends, so that a growing field costs only what is new."""

    __slots__ = ()


class FrozenDict(dict[Any, Any]):
    """A dict that refuses every change; `copy()` and `|` give ordinary dicts."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    pop = popitem = clear = update = setdefault = _refuse

    def copy(self) -> dict[Any, Any]:
        return dict(self)

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {copy.deepcopy(key, memo): copy.deepcopy(self[key], memo) for key in self}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class FrozenSet(set[Any]):
    """A set that refuses every change; `copy()` and the set operators give ordinary sets."""

    __slots__ = ()
    __iand__ = __ior__ = __isub__ = __ixor__ = _refuse
    add = clear = discard = pop = remove = update = _refuse
    difference_update = intersection_update = symmetric_difference_update = _refuse

    def copy(self) -> set[Any]:
        return set(self)

    def __copy__(self) -> set[Any]:
        return set(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> set[Any]:
        return {copy.deepcopy(item, memo) for item in self}

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (set(self),)
