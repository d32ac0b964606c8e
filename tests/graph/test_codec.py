"""What is stored comes back as the same type and value, or is refused before it is stored."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import enum
import fractions
import io
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import threading
import time
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from typing import Any

import pydantic
import pydantic_core
import pytest
from hypothesis import given, settings, strategies as st

from agentflow.graph.codec import Unstorable, decoded, encoded
from agentflow.graph.frozen import freeze
from agentflow.messages.message import Message, assistant, system, tool_result, user
from agentflow.messages.part import ToolCall
from tests.graph import stored_values as kit


def stored(value: Any) -> str:
    """The value as the text that a store keeps."""
    text = json.dumps(encoded(value), ensure_ascii=False, allow_nan=False)
    assert text.encode().decode() == text
    assert "\0" not in text
    return text


def returned(value: Any) -> Any:
    """The value after it was stored and read again."""
    return decoded(json.loads(stored(value)))


def look(value: Any) -> Any:  # noqa: C901 - one line for each kind of values
    """Everything that tells a value from another: its type, its parts, their order, and what `==` does not see."""
    kind = type(value)
    match value:
        case float() if math.isnan(value):
            return kind, "nan"
        case float():
            return kind, repr(value)
        case Decimal() | complex() | pathlib.PurePath():
            return kind, repr(value)
        case enum.Enum():
            return kind, value.name, value.value
        case dict():
            parts = [(look(key), look(item)) for key, item in value.items()]
            return kind, parts, getattr(value, "default_factory", None)
        case set() | frozenset():
            return kind, sorted(map(repr, map(look, value)))
        case list() | tuple():
            return kind, [look(item) for item in value]
        case deque():
            return kind, value.maxlen, [look(item) for item in value]
        case datetime.datetime() | datetime.time():
            zone = value.tzinfo
            named = value.tzname() if isinstance(value, datetime.datetime) else None
            return kind, value.isoformat(), value.fold, type(zone), str(zone), named
        case pydantic_core.TzInfo():
            return kind, value.utcoffset(None)
        case datetime.timezone():
            return kind, value.utcoffset(None), value.tzname(None)
        case pydantic.BaseModel():
            return (
                kind,
                look({name: value.__dict__[name] for name in type(value).model_fields}),
                value.model_fields_set,
                look(value.__pydantic_extra__),
                look(value.__pydantic_private__),
            )
    if dataclasses.is_dataclass(value):
        held = {
            field.name: look(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if hasattr(value, field.name)
        }
        return kind, held
    return kind, value


def assert_returns(value: Any) -> None:
    assert look(returned(value)) == look(value)


ZONES = st.one_of(
    st.none(),
    st.just(datetime.UTC),
    st.builds(
        datetime.timezone,
        st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)),
    ),
    st.builds(
        datetime.timezone,
        st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)),
        st.text("ABCü", min_size=1),
    ),
    st.sampled_from(["Europe/Berlin", "America/New_York", "UTC"]).map(zoneinfo.ZoneInfo),
    st.integers(-80_000, 80_000).map(pydantic_core.TzInfo),
)
TEXTS = st.text(st.characters(exclude_categories=[]), max_size=8)
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**62, 2**70),
    st.floats(),
    st.complex_numbers(),
    TEXTS,
    st.binary(max_size=8),
    st.binary(max_size=8).map(bytearray),
    st.decimals(),
    st.sampled_from(["sNaN", "-NaN12", "-0E+5", "-Infinity", "1.00"]).map(Decimal),
    st.fractions(),
    st.uuids(),
    st.dates(),
    st.datetimes(timezones=ZONES).flatmap(
        lambda when: st.sampled_from([when, when.replace(fold=1)])
    ),
    st.times(timezones=ZONES),
    st.timedeltas(),
    ZONES,
    st.builds(range, st.integers(), st.integers(), st.integers(1)),
    st.sampled_from([kit.Colour.RED, kit.Colour.STRANGE, kit.Level.HIGH, kit.Word.YES]),
    st.integers(0, 7).map(kit.Right),
    st.integers(0, 100).map(kit.Bits),
    st.text("ab/. ", max_size=8).map(pathlib.PurePosixPath),
    st.text("ab\\/.: ", max_size=8).map(pathlib.PureWindowsPath),
    st.sampled_from([re.compile("a+"), re.compile(b"x", re.IGNORECASE), re.compile("(?x) b")]),
)
KEYS = st.one_of(
    st.integers(),
    st.booleans(),
    TEXTS,
    st.just("~"),
    st.none(),
    st.tuples(st.integers(), TEXTS),
    st.frozensets(st.integers(), max_size=3),
    st.dates(),
    st.sampled_from(kit.Level),
    st.builds(kit.Point, st.integers(), TEXTS),
    st.builds(kit.Ranked, st.integers(), TEXTS),
)


def containers(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inside, max_size=4)
    dicts = st.dictionaries(KEYS, inside, max_size=4)
    return st.one_of(
        lists,
        dicts,
        st.dictionaries(TEXTS, inside, max_size=4),
        lists.map(tuple),
        dicts.map(OrderedDict),
        dicts.map(Counter),
        st.builds(defaultdict, st.sampled_from([None, int, list, dict, kit.Box, kit.Tree]), dicts),
        st.builds(deque, lists, st.one_of(st.none(), st.integers(0, 3))),
        st.sets(KEYS, max_size=4),
        st.frozensets(KEYS, max_size=4),
        st.builds(kit.Point, st.integers(), inside),
        st.builds(kit.Pair, inside, inside),
        st.builds(kit.Plain, TEXTS, lists),
        st.builds(kit.Child, TEXTS, lists, more=inside),
        st.builds(kit.Slotted, value=inside),
        st.builds(kit.Box, inside),
        st.builds(kit.Open, x=st.integers(), y=inside),
        st.builds(kit.Crate[Any], content=inside),
        st.builds(kit.Tree, parts=st.lists(st.builds(kit.Leaf, size=st.integers()), max_size=3)),
        st.builds(kit.Numbers, st.lists(st.integers(), max_size=3)),
    )


VALUES = st.recursive(ATOMS, containers, max_leaves=12)


@pytest.mark.case("P034", "P035", "P037")
@settings(max_examples=400)
@given(VALUES)
def test_every_value_comes_back_as_the_same_type_and_value(value: Any) -> None:
    assert_returns(value)


@given(VALUES)
def test_a_frozen_value_comes_back_as_the_plain_one(value: Any) -> None:
    assert look(returned(freeze(value))) == look(returned(value))


@given(VALUES)
def test_what_was_stored_twice_is_the_same_data(value: Any) -> None:
    assert encoded(returned(value)) == encoded(value)


@pytest.mark.parametrize("digits", [20, 5000])
def test_an_integer_of_any_size_comes_back(digits: int) -> None:
    assert_returns(-(10**digits))
    assert_returns(fractions.Fraction(10**digits, 3))


def test_equal_sets_are_stored_as_the_same_data() -> None:
    # Members whose hashes collide stand in the order in which they were put in.
    assert stored({0, 8}) == stored({8, 0})


@pytest.mark.case("P034")
def test_a_field_that_no_argument_sets_comes_back() -> None:
    value = kit.Plain("ab", [1, 2])
    value.seen = 99
    back = returned(value)
    assert (back.seen, back.doubled) == (99, "abab")


def test_a_field_that_was_never_set_stays_so() -> None:
    back = returned(kit.Late(1))
    with pytest.raises(AttributeError, match="late"):
        _ = back.late


def test_what_a_dataclass_works_out_once_is_no_part_of_it() -> None:
    value = kit.Child("ab")
    assert value.loud == "AB"
    assert_returns(value)
    assert returned(value).loud == "AB"


def test_what_a_model_works_out_once_is_no_part_of_it() -> None:
    value = kit.Tree(parts=[kit.Leaf(size=3), kit.Tree(parts=[kit.Leaf(size=4)])])
    assert value.total == 7
    assert_returns(value)


def test_an_instance_of_a_generic_dataclass_comes_back() -> None:
    assert_returns(kit.Box[int](3))


@pytest.mark.parametrize(
    "kind",
    [
        kit.Crate[int],
        kit.Crate[int | None],
        kit.Crate[list[dict[str, tuple[int, ...]]]],
        kit.Crate[Any],
        kit.Crate[kit.Crate[kit.Leaf]],
        kit.Crate[kit.Leaf | kit.Tree],
        kit.Crate[None],
    ],
    ids=str,
)
def test_a_generic_model_comes_back_as_the_same_class(kind: Any) -> None:
    value = kind.model_construct(content=None)
    assert type(returned(value)) is kind


def test_a_generic_model_without_arguments_comes_back() -> None:
    assert_returns(kit.Crate(content=[1]))


def test_a_generic_model_of_what_has_no_name_is_refused() -> None:
    from typing import Literal

    with pytest.raises(Unstorable, match="Literal"):
        encoded(kit.Crate[Literal["a"]](content="a"))


def test_a_model_keeps_what_was_given_what_is_private_and_what_is_extra() -> None:
    value = kit.Open(y=[1])
    value._hidden = {"a"}
    back = returned(value)
    assert back.model_fields_set == {"y"}
    assert back._hidden == {"a"}
    assert back.y == [1]
    assert back.model_copy(update={"x": 2}).x == 2
    with pytest.raises(AttributeError):
        _ = back._unset


def test_a_frozen_model_with_an_alias_comes_back_frozen() -> None:
    back = returned(kit.Still(Name="ada"))
    assert back == kit.Still(Name="ada")
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        back.name = "bob"


def test_a_pydantic_dataclass_comes_back() -> None:
    assert_returns(kit.Checked(3))


@pytest.mark.case("P035")
def test_a_deque_is_still_bounded_and_a_defaultdict_still_fills() -> None:
    last = returned(deque([1, 2, 3], maxlen=3))
    last.append(4)
    assert list(last) == [2, 3, 4]
    groups = returned(defaultdict(list, {"a": [1]}))
    groups["b"].append(2)
    assert groups == {"a": [1], "b": [2]}


def test_a_moment_that_happens_twice_keeps_its_side() -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    first, second = (datetime.datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=n) for n in (0, 1))
    assert returned(first).utcoffset() == datetime.timedelta(hours=2)
    assert returned(second).utcoffset() == datetime.timedelta(hours=1)


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (datetime.datetime, "2030-01-02T03:04:05Z"),
        (datetime.datetime, "2030-01-02T03:04:05.006+05:30"),
        (datetime.time, "03:04:05-02:00"),
        (pydantic.HttpUrl, "https://Example.com/a?b=c#d"),
        (pydantic.AnyUrl, "mailto:ada@example.com"),
        (pydantic.IPvAnyAddress, "10.0.0.1"),
        (pydantic.IPvAnyNetwork, "fe80::/10"),
        (pydantic.IPvAnyInterface, "10.0.0.1/24"),
        (pathlib.Path, "a/b"),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678"),
        (pydantic.ByteSize, "3"),
    ],
)
def test_what_pydantic_makes_of_a_text_comes_back_or_is_refused(hint: Any, text: str) -> None:
    value = pydantic.TypeAdapter(hint).validate_python(text)
    if hint is pydantic.ByteSize:
        with pytest.raises(Unstorable, match="ByteSize"):
            encoded(value)
        return
    back = returned(value)
    assert (type(back), str(back), repr(back)) == (type(value), str(value), repr(value))
    assert back == value


def test_a_secret_is_refused() -> None:
    with pytest.raises(Unstorable, match="SecretStr"):
        encoded(pydantic.SecretStr("x"))


def test_utc_is_the_one_object_that_code_asks_for() -> None:
    assert returned(datetime.datetime.now(datetime.UTC)).tzinfo is datetime.UTC


MESSAGES = [
    system("be brief"),
    user("hällo \ud800 \0", id="m1"),
    assistant(
        "on it", reasoning="hm", tool_calls=[ToolCall("c1", "look", {"a": [1, {"b": None}]})]
    ),
    assistant(tool_calls=[ToolCall("c2", "look", {}, error="no JSON", raw='{"a":')]),
    tool_result(ToolCall("c1", "look"), "nothing", is_error=True),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_comes_back(message: Message) -> None:
    # What a message remembers of itself is worked out again.
    assert message.chars >= 0
    back = returned(message)
    assert back == message
    assert (back.digest, back.chars) == (message.digest, message.chars)


def _closed_over() -> Any:
    @dataclasses.dataclass
    class Inside:
        x: int

    return Inside(1)


ZONE_FILE = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4) + bytes(6) + b"UTC\0"
"""The least file that tells of a zone."""

CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)

REFUSED: dict[str, tuple[Any, str]] = {
    "a live object": (threading.Lock(), "lock"),
    "a client in a list in a dict": ({"a": [kit.Client()]}, "Client"),
    "a client in a dataclass": (kit.Holder(kit.Client()), r"Holder\.client: .*Client"),
    "a client in a model": (kit.Held(client=kit.Client()), r"Held\.client: .*Client"),
    "a text of a kind of its own": (kit.Word2("x"), "Word2"),
    "a number of a kind of its own": (kit.Count2(1), "Count2"),
    "a list of a kind of its own": (kit.Row([1]), "Row"),
    "a mapping of a kind of its own": (kit.Table(a=1), "Table"),
    "a tuple of a kind of its own": (kit.Trio3((1, 2)), "Trio3"),
    "a dataclass that is a mapping besides": (kit.Registry("x"), "Registry is a kind of dict"),
    "a time of the machine": (time.gmtime(0), "struct_time"),
    "a class of a function": (_closed_over(), "top of a module"),
    "a function": (kit.make_zero, "function"),
    "a class": (kit.Plain, "type"),
    "a lambda as a factory": (defaultdict(lambda: 0), "default_factory .*<lambda>"),
    "a function as a factory": (defaultdict(kit.make_zero), "default_factory make_zero"),
    "a list that holds itself": (CIRCLE, "list holds itself"),
    "a view": (types.MappingProxyType({}), "mappingproxy"),
    "an error": (ValueError("x"), "ValueError"),
    "an iterator": (iter([1]), "list_iterator"),
}


@pytest.mark.parametrize(("value", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_would_not_come_back_is_refused(value: Any, said: str) -> None:
    with pytest.raises(Unstorable, match=said):
        encoded(value)


def test_a_zone_out_of_a_file_is_refused() -> None:
    found = zoneinfo.ZoneInfo.from_file(io.BytesIO(ZONE_FILE))
    with pytest.raises(Unstorable, match="give it a key"):
        encoded(datetime.datetime(2030, 1, 1, tzinfo=found))


def test_an_attribute_beside_the_fields_is_refused() -> None:
    value = kit.Plain("a")
    value.added = 1  # type: ignore[attr-defined]
    with pytest.raises(Unstorable, match="added besides its fields"):
        encoded(value)


HOSTILE: dict[str, Any] = {
    "a function as an enum": {"~": ["enum", "os:system", "true"]},
    "a class as an enum": {"~": ["enum", "subprocess:Popen", "true"]},
    "an unknown member": {"~": ["enum", "tests.graph.stored_values:Colour", "BLUE"]},
    "the value of a member": {"~": ["enum", "tests.graph.stored_values:Colour", "red"]},
    "a number for no flag": {"~": ["enum", "tests.graph.stored_values:Colour", 1]},
    "bits that a flag has not": {"~": ["enum", "tests.graph.stored_values:Right", 64]},
    "any class as a dataclass": {"~": ["dataclass", "subprocess:Popen", {"args": "true"}]},
    "any class as a model": {"~": ["model", "subprocess:Popen", {}, [], None, None]},
    "any class as a named tuple": {"~": ["named", "subprocess:Popen", {"args": "true"}]},
    "a function as a factory": {"~": ["defaultdict", "os:abort", []]},
    "any class as a factory": {"~": ["defaultdict", "subprocess:Popen", []]},
    "a module that is not loaded": {"~": ["dataclass", "antigravity:X", {}]},
    "a lazy name": {"~": ["dataclass", "agentflow:Engine", {}]},
    "a path into an object": {"~": ["dataclass", "sys:modules.os", {}]},
    "an attribute of a class": {"~": ["dataclass", "tests.graph.stored_values:Plain.__init__", {}]},
    "a method of a path": {"~": ["path", "os", "x"]},
    "another class of paths": {"~": ["path", "Path.home", "x"]},
    "an argument that is no class": {
        "~": [
            "model",
            ["model", "tests.graph.stored_values:Crate", ["os:system"]],
            {},
            [],
            None,
            None,
        ]
    },
    "an origin that is no model": {
        "~": ["model", ["model", "builtins:list", []], {}, [], None, None]
    },
    "a union as a dataclass": {"~": ["dataclass", ["union", ["builtins:int"]], {}]},
    "no name": {"~": ["dataclass", None, {}]},
    "an unknown kind": {"~": ["pickle", "gASVAAA="]},
    "a kind that cannot be looked up": {"~": [[], 1]},
    "nothing at all": {"~": []},
    "no list": {"~": 1},
    "too many parts": {"~": ["uuid", "a", "b", "c"]},
    "too few parts": {"~": ["datetime"]},
    "parts of other types": {"~": ["delta", [], {}, None]},
    "a set of lists": {"~": ["set", [[]]]},
    "digits that are none": {"~": ["int", "0x_"]},
    "no base64": {"~": ["bytes", "*"]},
    "a bad pattern": {"~": ["pattern", "(", 0]},
    "a class that is not told by its text": {"~": ["of", "ipaddress", "ip_address", "1.1.1.1"]},
    "a module of other classes": {"~": ["of", "subprocess", "Popen", "true"]},
    "an address that is none": {"~": ["of", "ipaddress", "IPv4Address", "x"]},
    "an offset of more than a day": {"~": ["offset", 100000]},
    "a zone outside of the database": {"~": ["region", "../../etc/passwd"]},
    "a number that is too large": {"~": ["delta", 10**12, 0, 0]},
    "a fraction of nothing": {"~": ["fraction", 1, 0]},
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_reading_what_nobody_wrote_makes_nothing(data: Any) -> None:
    loaded, called = set(sys.modules), len(kit.CALLS)
    with pytest.raises(Unstorable):
        decoded(json.loads(json.dumps({"a": [data]})))
    assert set(sys.modules) == loaded
    assert len(kit.CALLS) == called


def test_reading_calls_nothing_of_a_users_class() -> None:
    values = [kit.Plain("a"), kit.Loud(word="a"), kit.Colour.RED]
    texts = [stored(value) for value in values]
    called = len(kit.CALLS)
    assert [decoded(json.loads(text)) for text in texts] == values
    assert len(kit.CALLS) == called


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(max_size=6),
        st.sampled_from(["os:system", "tests.graph.stored_values:Plain", "builtins:int"]),
    ),
    lambda inside: st.one_of(
        st.lists(inside, max_size=4),
        st.dictionaries(st.text(max_size=4), inside, max_size=4),
        st.builds(
            lambda kind, parts: {"~": [kind, *parts]},
            st.sampled_from(["enum", "dataclass", "model", "named", "set", "dict", "int", "path"]),
            st.lists(inside, max_size=4),
        ),
    ),
    max_leaves=10,
)


@given(JSON)
def test_any_json_is_read_or_refused_by_name(data: Any) -> None:
    with contextlib.suppress(Unstorable):
        decoded(data)


class Grown:
    """Classes as they are after the code has changed; put in the place of the ones that were stored."""

    @dataclasses.dataclass
    class Filled:
        name: str
        items: list[Any]
        seen: int
        doubled: str
        count: int = 3
        tags: list[str] = dataclasses.field(default_factory=list)

    @dataclasses.dataclass
    class Needing:
        name: str
        items: list[Any]
        seen: int
        doubled: str
        owner: str

    @dataclasses.dataclass
    class Calling:
        name: str
        items: list[Any]
        seen: int
        doubled: str
        zero: int = dataclasses.field(default_factory=kit.make_zero)

    @dataclasses.dataclass
    class Shrunk:
        name: str


def replaced(monkeypatch: pytest.MonkeyPatch, name: str, kind: Any) -> None:
    kind.__module__, kind.__qualname__ = kit.__name__, name
    monkeypatch.setattr(kit, name, kind)


def test_a_dataclass_that_has_grown_is_filled_with_its_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = encoded(kit.Plain("a", [1]))
    replaced(monkeypatch, "Plain", Grown.Filled)
    assert decoded(data) == Grown.Filled("a", [1], 1, "aa", 3, [])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Grown.Needing, r"Plain\.owner is new"),
        (Grown.Calling, r"Plain\.zero is new"),
        (Grown.Shrunk, "Plain has no doubled, items, seen any more"),
    ],
)
def test_a_dataclass_that_would_be_another_value_is_refused(
    kind: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = encoded(kit.Plain("a", [1]))
    replaced(monkeypatch, "Plain", kind)
    with pytest.raises(Unstorable, match=said):
        decoded(data)


def test_a_model_that_has_changed_is_filled_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class More(pydantic.BaseModel):
        kind: str = "leaf"
        size: int
        tags: list[str] = pydantic.Field(default_factory=list)
        shade: str = "green"

    class Other(pydantic.BaseModel):
        size: int

    class Needing(pydantic.BaseModel):
        kind: str
        size: int
        owner: str

    data = encoded(kit.Leaf(size=3))
    replaced(monkeypatch, "Leaf", More)
    assert decoded(data) == More(size=3)
    assert decoded(data).tags is not decoded(data).tags
    replaced(monkeypatch, "Leaf", Needing)
    with pytest.raises(Unstorable, match=r"Leaf\.owner is new"):
        decoded(data)
    replaced(monkeypatch, "Leaf", Other)
    with pytest.raises(Unstorable, match="Leaf has no kind any more"):
        decoded(data)


def test_extra_fields_that_a_model_takes_no_more_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Closed(pydantic.BaseModel):
        x: int = 1

    data = encoded(kit.Open(y=2))
    replaced(monkeypatch, "Open", Closed)
    with pytest.raises(Unstorable, match=r"takes no extra fields any more: .*y"):
        decoded(data)


def test_a_named_tuple_is_read_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from typing import NamedTuple

    class Turned(NamedTuple):
        y: Any
        x: int
        z: int = 9

    class Renamed(NamedTuple):
        x: int
        w: int

    data = encoded(kit.Point(1, 2))
    replaced(monkeypatch, "Point", Turned)
    assert decoded(data) == Turned(y=2, x=1, z=9)
    replaced(monkeypatch, "Point", Renamed)
    with pytest.raises(Unstorable, match="Point has no y any more"):
        decoded(data)


def test_a_class_that_has_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(kit.Plain("a"))
    monkeypatch.delattr(kit, "Plain")
    with pytest.raises(Unstorable, match=r"tests\.graph\.stored_values:Plain is not there"):
        decoded(data)


def test_the_data_is_the_same_in_every_process() -> None:
    program = (
        "import json; from agentflow.graph.codec import encoded; "
        "print(json.dumps(encoded([{'a', 'b', 'c'}, frozenset('xyz'), {('a', 1): {'q', 'r'}}])))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1
