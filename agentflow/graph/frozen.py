"""Read-only values: what a state holds, so that nobody can change it behind the engine's back.

Containers are rebuilt once, when they enter the state, as subclasses of the builtin ones that refuse every change; reading
them costs what reading a builtin costs. Objects that cannot be made read-only (instances of users' classes) are copied on
their way in, and every reader is lent a copy of their own. Immutable values, frozen dataclasses of such among them, are shared.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import operator
import pathlib
import re
import types
import uuid
from collections.abc import (
    Callable,
    Collection,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    ValuesView,
)
from typing import Any, NoReturn, SupportsIndex

from agentflow.graph.containers import FrozenDict, FrozenList, FrozenSet, GrowingList

__all__ = [
    "FrozenDict",
    "FrozenList",
    "FrozenSet",
    "GrowingList",
    "Lasting",
    "State",
    "freeze",
    "lend",
    "shared",
    "snapshot_of",
    "thaw",
    "write",
]

_ATOMS: frozenset[type] = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis)),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID, re.Pattern),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath),
        *(type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
    }
)


class Lasting:
    """Room in a frozen dataclass for whether it may be shared: what it holds does not change, and is gone through once."""

    __slots__ = ("_is_shared",)
    _is_shared: bool


class _LendingList(FrozenList):
    """A frozen list with items that must not be shared: whoever looks at one is lent a copy."""

    __slots__ = ()

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        found = list.__getitem__(self, index)
        return [lend(item) for item in found] if isinstance(index, slice) else lend(found)

    def __iter__(self) -> Iterator[Any]:
        return map(lend, list.__iter__(self))

    def __reversed__(self) -> Iterator[Any]:
        return map(lend, list.__reversed__(self))

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __mul__(self, times: SupportsIndex) -> list[Any]:
        return [item for _ in range(int(times)) for item in self]

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> list[Any]:
        # Without it `[…] + state["items"]` would take the items themselves.
        return [*other, *self]

    def copy(self) -> list[Any]:
        return list(self)


class _LendingGrowingList(_LendingList, GrowingList):
    """A growing list whose items must not be shared."""

    __slots__ = ()


class _LendingDict(FrozenDict):
    """A frozen dict with values that must not be shared: whoever looks at one is lent a copy."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return lend(dict.__getitem__(self, key))

    def get(self, key: Any, default: Any = None) -> Any:
        return lend(dict.__getitem__(self, key)) if key in self else default

    def __iter__(self) -> Iterator[Any]:
        # Overridden on purpose: it makes `dict(x)`, `{**x}` and `x | y` go through `__getitem__`.
        return dict.__iter__(self)

    def keys(self) -> KeysView[Any]:  # type: ignore[override]
        return KeysView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return ValuesView(self)

    def items(self) -> ItemsView[Any, Any]:  # type: ignore[override]
        return ItemsView(self)

    def __or__(self, other: Any) -> dict[Any, Any]:
        return {**self, **other}

    def __ror__(self, other: Any) -> dict[Any, Any]:
        return {**other, **self}


class State(FrozenDict):
    """The data of a run as nodes see it: a read-only mapping of its fields.

    It is the live state of the run, so only the engine writes to it, by `write`.
    """

    __slots__ = ()
    _lending: type[State]

    @classmethod
    def with_attributes(cls, names: Iterable[str]) -> type[State]:
        """A state class that offers the fields `names` as attributes too."""
        fields = {
            name: property(_reader(name), *_keepers(name), doc=f"The field {name!r}.")
            for name in names
        }
        plain: type[State] = type("State", (State,), {"__slots__": (), **fields})
        plain._lending = type("State", (_LendingDict, State), {"__slots__": (), **fields})
        return plain


State._lending = type("State", (_LendingDict, State), {"__slots__": ()})


def snapshot_of(state: State) -> State:
    """A state as it is now, whose values nobody can change; what is written later does not show in it."""
    snapshot = type(state)()
    dict.update(snapshot, {name: freeze(value) for name, value in dict.items(state)})
    return snapshot


def write(state: State, values: dict[str, Any]) -> None:
    """Put validated, frozen values into a state. For the engine alone."""
    dict.update(state, values)
    for value in values.values():
        if type(value) not in _SHARED and not shared(value):
            state.__class__ = state._lending
            break


def _reader(name: str) -> Callable[[State], Any]:
    def read(state: State) -> Any:
        try:
            return state[name]
        except KeyError:
            raise AttributeError(f"the state has no field {name!r} yet") from None

    return read


def _keepers(name: str) -> tuple[Callable[[State, Any], None], Callable[[State], None]]:
    def refuse(_state: State, *_value: object) -> NoReturn:
        raise AttributeError(
            f"the state is read-only: the field {name!r} cannot be assigned or deleted; return the new value from the node"
        )

    return refuse, refuse


_SHARED = _ATOMS | {
    *(FrozenList, FrozenDict, FrozenSet, GrowingList),
    *(_LendingList, _LendingDict, _LendingGrowingList),
}


# What holds nothing that could still change; a growing list goes on growing inside of a frozen object, too.
_SETTLED = _SHARED - {GrowingList, _LendingGrowingList}


def shared(value: object) -> bool:
    """Whether a frozen value may be handed to everybody, because nobody can change it through what they hold."""
    kind = type(value)
    if kind in _SHARED:
        return True
    if isinstance(value, Lasting):
        known: bool | None = getattr(value, "_is_shared", None)
        if known is None:
            known = _holds_settled_parts(value)
            object.__setattr__(value, "_is_shared", known)
        return known
    if kind is not tuple and isinstance(value, (enum.Enum, type)):
        return True
    if isinstance(value, (tuple, frozenset)):
        return _SETTLED.issuperset(map(type, value)) or all(map(_settled, value))
    return _holds_settled_parts(value)


def _holds_settled_parts(value: object) -> bool:
    """Whether it is a frozen dataclass of nothing that could still change."""
    read = _reader_of_parts(type(value))  # type: ignore[arg-type]
    if read is None:
        return False
    try:
        parts = read(value)
    except AttributeError:
        return False  # It is not whole yet.
    return _SETTLED.issuperset(map(type, parts)) or all(
        _settled(part) for part in parts if type(part) not in _SETTLED
    )


def _all_shared(values: Collection[object]) -> bool:
    return _SHARED.issuperset(map(type, values)) or all(map(shared, values))


def _settled(part: object) -> bool:
    return type(part) in _SETTLED or (not isinstance(part, GrowingList) and shared(part))


@functools.lru_cache(maxsize=1024)
def _reader_of_parts(kind: type) -> Callable[[object], Iterable[object]] | None:
    """Reads the values of the fields of a frozen dataclass; `None` of every other class."""
    if not (dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        return None
    names = [field.name for field in dataclasses.fields(kind)]
    if len(names) < 2:
        # Then an attrgetter gives no tuple.
        return lambda value: [getattr(value, name) for name in names]
    return operator.attrgetter(*names)


def lend(value: Any) -> Any:
    """What a reader is given of a value in the state: the value itself, or a copy where it could be changed."""
    return value if type(value) in _SHARED or shared(value) else copy.deepcopy(value)


def freeze(value: Any) -> Any:
    """The value as a state may hold it: unchangeable containers, and own copies of everything else that can change.

    Raises:
        Exception: Whatever copying an object of a user's class raises (a lock or an open file cannot be copied).
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    freezer = _FREEZERS.get(kind)
    if freezer is not None:
        return freezer(value)
    if isinstance(value, tuple):
        return _rebuilt_tuple(value, freeze)
    return value if shared(value) else copy.deepcopy(value)


def thaw(value: Any) -> Any:
    """An ordinary value, equal to a frozen one and the reader's to change."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, FrozenList):
        return [thaw(item) for item in list.__iter__(value)]
    if isinstance(value, FrozenDict):
        return {key: thaw(item) for key, item in dict.items(value)}
    if isinstance(value, FrozenSet):
        return set(value)
    if isinstance(value, tuple):
        return _rebuilt_tuple(value, thaw)
    return lend(value)


def _frozen_list(value: Iterable[Any]) -> FrozenList:
    given = list(value)
    items = [freeze(item) for item in given]
    if _SHARED.issuperset(map(type, items)):
        return FrozenList(items)
    for new, old in zip(items, given, strict=True):
        # What was left as it is may be shared; a long walk through it is not made twice.
        if new is not old and not shared(new):
            return _LendingList(items)
    return FrozenList(items)


def _frozen_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    if _ATOMS.issuperset(map(type, value)) and _ATOMS.issuperset(map(type, dict.values(value))):
        # Nothing in it is to be rebuilt, as in most arguments of tools.
        return FrozenDict(value)
    if not _all_shared(value):
        return copy.deepcopy(dict(value))
    items = {key: freeze(item) for key, item in dict.items(value)}
    return FrozenDict(items) if _all_shared(items.values()) else _LendingDict(items)


def _frozen_set(value: set[Any]) -> set[Any]:
    # Members that can change cannot be lent one by one: they would not be found again.
    return FrozenSet(value) if all(map(shared, value)) else copy.deepcopy(value)


def _rebuilt_tuple(value: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    items = [change(item) for item in value]
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    if type(value) is tuple:
        return tuple(items)
    make: Callable[[Iterable[Any]], tuple[Any, ...]] | None = getattr(type(value), "_make", None)
    # Nobody knows how another subclass is made, so it stays an object that is lent.
    return copy.deepcopy(value) if make is None else make(items)


def growing(value: list[Any]) -> GrowingList:
    """A frozen list of its own that `extend` may lengthen."""
    return GrowingList(value) if all(map(shared, value)) else _LendingGrowingList(value)


def extend(target: GrowingList, items: list[Any]) -> None:
    """Lengthen a growing list in place by frozen items. For the engine alone."""
    list.extend(target, list.__iter__(items))
    if type(target) is not GrowingList or type(items) is FrozenList:
        return  # it lends already, or these are shared
    if not all(map(shared, list.__iter__(items))):
        target.__class__ = _LendingGrowingList


def _itself(value: Any) -> Any:
    return value


_FREEZERS: dict[type, Callable[[Any], Any]] = {
    list: _frozen_list,
    dict: _frozen_dict,
    set: _frozen_set,
    FrozenList: _itself,
    FrozenDict: _itself,
    FrozenSet: _itself,
    _LendingList: _itself,
    _LendingDict: _itself,
    # A growing list goes on growing where it is: elsewhere it is a value of its own.
    GrowingList: FrozenList,
    _LendingGrowingList: lambda value: _LendingList(list.__iter__(value)),
    State: _frozen_dict,
}
