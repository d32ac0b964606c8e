"""Items of types: what comes out of a value when it is gone through, as a run goes through it."""

from __future__ import annotations

import collections
import enum
from collections.abc import AsyncIterator, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest
from annotated_types import MinLen

from agentflow.graph.fit.items import items_in


class Mood(enum.Enum):
    CALM = "calm"


class Pair(tuple[int, int], enum.Enum):
    """An enum whose members can be gone through."""

    __slots__ = ()

    ONE = (1, 2)


class Record(TypedDict):
    x: int


@dataclass
class Object:
    x: int


class Odd:
    @classmethod
    def __class_getitem__(cls, item: Any) -> Any:
        raise RuntimeError("odd")


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        (list[int], [int]),
        (tuple[int, ...], [int]),
        (tuple[int, str], [int, str]),
        (collections.deque[str], [str]),
        (Iterable[bytes], [bytes]),
        (Collection[int], [int]),
        (Annotated[list[int], MinLen(1)], [int]),
        (list[int] | tuple[str, ...], [int, str]),
        (list, [Any]),
        (Iterator[int], [int]),
        (Generator[int, None, None], [int]),
        (AsyncIterator[str], [str]),
    ],
)
def test_a_list_of_any_kind_tells_its_items(annotation: Any, found: list[Any]) -> None:
    told = items_in(annotation)
    assert (told.found, told.without, told.open, told.never) == (found, [], False, False)


@pytest.mark.parametrize(
    "annotation",
    [
        *(int, str, bytes, bool, None, float),
        *(dict[str, int], Mapping[str, int], Record),
        *(set[int], frozenset[int], collections.abc.Set[int]),
        *(Literal["a", "b"], Mood, Literal["a"] | None, int | str),
    ],
)
def test_what_has_no_order_or_no_items_is_no_list(annotation: Any) -> None:
    assert items_in(annotation).never


@pytest.mark.parametrize("annotation", [Any, object, Object, Odd, Pair, "nonsense", int | Object])
def test_what_is_not_known_may_be_a_list(annotation: Any) -> None:
    told = items_in(annotation)
    assert told.open
    assert not told.never


def test_a_union_with_a_list_in_it_may_be_one() -> None:
    told = items_in(list[int] | None)
    assert (told.found, told.without, told.never) == ([int], [type(None)], False)
