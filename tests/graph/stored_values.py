"""Classes of users whose values are stored: they must be found again, so they stand at the top of a module."""

from __future__ import annotations

import collections
import enum
import functools
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import pydantic
from pydantic import BaseModel, ConfigDict, Discriminator, Field, PrivateAttr, RootModel

T = TypeVar("T")

CALLS: list[str] = []
"""What was called of the classes here: reading a stored value calls nothing."""


class Colour(enum.Enum):
    RED = "red"
    CRIMSON = "red"  # noqa: PIE796 - an alias on purpose
    STRANGE = object()

    @classmethod
    def _missing_(cls, value: object) -> Any:
        CALLS.append(f"missing {value}")


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    YES = "yes"


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


class Point(NamedTuple):
    x: int
    y: Any = 0


Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclass
class Plain:
    name: str
    items: list[Any] = field(default_factory=list)
    seen: int = field(init=False)
    doubled: str = field(init=False, default="")
    kind: ClassVar[str] = "plain"
    factor: InitVar[int] = 2

    def __post_init__(self, factor: int) -> None:
        CALLS.append("post_init")
        self.seen = len(self.items)
        self.doubled = self.name * factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Slotted:
    value: Any
    note: str | None = None


@dataclass
class Late:
    value: int
    late: Any = field(init=False)


@dataclass
class Child(Plain):
    more: Any = None

    @functools.cached_property
    def loud(self) -> str:
        return self.name.upper()


@dataclass
class Box(Generic[T]):
    inside: T


@dataclass(order=True, unsafe_hash=True)
class Ranked:
    rank: int
    label: str = field(compare=False, default="")


class Peculiar(BaseModel):
    """Compares by its id alone."""

    def __init__(self, id: int, label: str) -> None:
        super().__init__(id=id, label=label)

    id: int
    label: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Peculiar) and other.id == self.id

    __hash__ = None  # type: ignore[assignment]


@pydantic.dataclasses.dataclass
class Checked:
    count: int


class Leaf(BaseModel):
    kind: Literal["leaf"] = "leaf"
    size: int


class Tree(BaseModel):
    kind: Literal["tree"] = "tree"
    parts: list[Annotated[Leaf | Tree, Discriminator("kind")]] = Field(default_factory=list)

    @functools.cached_property
    def total(self) -> int:
        return sum(part.size if isinstance(part, Leaf) else part.total for part in self.parts)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    x: int = 1
    _hidden: Any = PrivateAttr(default=None)
    _unset: int = PrivateAttr()


class Still(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str = Field(alias="Name")


class Numbers(RootModel[list[int]]):
    pass


class Crate(BaseModel, Generic[T]):
    content: T
    spare: T | None = None


class Loud(BaseModel):
    word: str

    def __init__(self, **data: Any) -> None:
        CALLS.append("init")
        super().__init__(**data)

    def model_post_init(self, context: Any) -> None:
        CALLS.append("model_post_init")


class Word2(str):
    """A text of its own kind."""

    __slots__ = ()


class Count2(int):
    """A number of its own kind."""


class Row(list[Any]):
    """A list of its own kind."""


class Table(dict[str, Any]):
    """A mapping of its own kind."""


class Trio3(tuple[Any, ...]):
    """A tuple of its own kind."""

    __slots__ = ()


@dataclass
class Registry(dict[str, int]):
    """A mapping that is a dataclass besides: its items are no fields."""

    name: str = ""


class Client:
    """A live object."""

    def __iter__(self) -> Iterator[int]:
        raise OSError("the line is cut")


@dataclass
class Holder:
    client: Any


class Held(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Any


def make_zero() -> int:
    return 0
