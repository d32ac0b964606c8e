"""What a durable run holds is stored as it is, or refused when it is committed, and by name."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import ContractError, Engine, NodeContext, append, define_workflow, node, route
from agentflow.graph.frozen import thaw
from agentflow.messages.message import Message, assistant, user
from agentflow.messages.part import ToolCall
from agentflow.run import journal
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process
from tests.graph import stored_values as kit
from tests.run.workflows import alone, line


def nested(depth: int) -> Any:
    value: Any = "the innermost"
    for _ in range(depth):
        value = (value,)
    return value


VALUES: dict[str, Callable[[], Any]] = {
    "nothing, which is a value": lambda: None,
    "a dataclass with fields that no argument sets": lambda: kit.Plain("ab", [1, {2}]),
    "counters, defaultdicts and bounded deques": lambda: [
        Counter("abca"),
        defaultdict(list, {1: [2]}),
        deque([1, 2, 3], maxlen=3),
    ],
    "a mapping with keys of any kind": lambda: {1: "a", "1": "b", None: "c", (1, "x"): {2: {3: 4}}},
    "models in models": lambda: kit.Tree(parts=[kit.Leaf(size=1), kit.Tree()]),
    "what a database cannot hold as it is": lambda: [
        "\ud800",
        "a\0b",
        10**1000,
        float("-inf"),
        -0.0,
    ],
    "numbers and moments": lambda: (
        Decimal("sNaN"),
        datetime(2030, 1, 1, tzinfo=UTC),
        1.0,
        1,
        True,
    ),
    "the escapes of one character": lambda: ["\ud83c\udf78", "🍸"],
    "a conversation": lambda: [user("hi"), assistant(tool_calls=[ToolCall("c", "t", {"a": [1]})])],
    "what is nested deep": lambda: nested(100),
    "enums and flags": lambda: [kit.Colour.STRANGE, kit.Right.READ | kit.Right.RUN, kit.Level.LOW],
}


def _plain(value: Any) -> Any:
    """A text that tells values apart, their types included; models and dataclasses tell theirs."""
    return repr(thaw(value))


@pytest.mark.case("P034", "P035", "P037", "P136")
@pytest.mark.parametrize("snapshots", [False, True], ids=["whole", "snapshot"])
@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES.keys())
async def test_a_value_is_the_same_in_the_next_process(
    make: Callable[[], Any], snapshots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if snapshots:
        monkeypatch.setattr(journal, "_LEAST_WEIGHT", 0)
    found: list[Any] = []

    async def first(state: Any) -> dict[str, Any]:
        return {"x": make()}

    async def second(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found.append([_plain(state["x"]), _plain(state["given"])])
        return {"y": await ctx.once("make", make)}

    store = MemoryStore()
    workflow = line(first, second)
    # Dies once before the second node, and once right after it.
    await process(workflow, CrashingStore(store, 2 + snapshots, before=False), {"given": make()})
    await process(workflow, CrashingStore(store, 3, before=False))
    run = await process(workflow, store)
    told = _plain(make())
    result = run.outcome()
    assert [_plain(result[name]) for name in ("x", "y", "given")] == [told] * 3
    assert found
    assert all(seen == [told, told] for seen in found)


class Client:
    """A live object."""


class Held(BaseModel):
    model_config = {"arbitrary_types_allowed": True}

    client: Any


@pytest.mark.case("P038")
@pytest.mark.parametrize(
    ("value", "type_named"),
    [
        (Client(), r"test_values\.Client has no stored form"),
        ([{"a": Client()}], r"test_values\.Client has no stored form"),
        (Held(client=Client()), r"Held\.client: .*Client has no stored form"),
        (defaultdict(lambda: 0), "default_factory .*lambda"),
    ],
)
async def test_a_value_that_cannot_be_stored_is_refused_at_its_commit(
    value: Any, type_named: str
) -> None:
    """Of ten fields, the one is named, with its type and its node; nothing of the update is committed."""

    async def first(state: Any) -> dict[str, Any]:
        return {"x": 1}

    async def second(state: Any) -> dict[str, Any]:
        return {"x": 2, "y": value}

    store = MemoryStore()
    run = await process(line(first, second), store)
    with pytest.raises(
        ContractError, match=rf"node 'b', field 'y' cannot be stored: .*{type_named}"
    ):
        run.outcome()
    assert run.status == "failed"
    assert dict(run.state) == {"x": 1}
    kinds = [entry.kind for entry in await store.read("r", after=0)]
    assert kinds == ["started", "visit", "ended"]
    # Without a store nothing is stored, so nothing is refused.
    async with Engine(line(first, second)) as engine:
        await engine.run()


async def test_a_delta_that_cannot_be_stored_leaves_the_list_as_it_was() -> None:
    class State(TypedDict):
        items: NotRequired[Annotated[list[Any], append]]

    @node(provides=["items"], routes=[route.to("b")])
    async def a(state: State) -> dict[str, Any]:
        return {"items": [1]}

    @node(provides=["items"], routes=[route.deliver("items")])
    async def b(state: State) -> dict[str, Any]:
        return {"items": [2, Client()]}

    workflow = define_workflow("w", nodes=[a, b], state=State, inputs=[])
    run = await process(workflow, MemoryStore())
    with pytest.raises(ContractError, match="node 'b', field 'items' cannot be stored"):
        run.outcome()
    assert list(run.state["items"]) == [1]


async def test_a_result_that_cannot_be_stored_is_how_the_run_ends() -> None:
    @node(routes=[route.finish(lambda state: Client())])
    async def only(state: Any) -> None: ...

    store = MemoryStore()
    run = await process(define_workflow("w", nodes=[only]), store)
    with pytest.raises(ContractError, match=r"the result cannot be stored: .*Client"):
        run.outcome()
    assert [info.status for info in await store.find()] == ["failed"]


NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SAME: list[tuple[Any, Any, bool]] = [
    (1, 1, True),
    ("a" * 3, "aaa", True),
    ({"a": [1, {2}]}, {"a": [1, {2}]}, True),
    (kit.Plain("a"), kit.Plain("a"), True),
    (1, True, False),
    (1, 1.0, False),
    ([1], [True], False),
    ({"a": 1}, {"a": 1.0}, False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
    ({1}, frozenset({1}), False),
    (0.0, -0.0, False),
    (Decimal("1.0"), Decimal("1.00"), False),
    (NOON, NOON.astimezone(timezone(timedelta(hours=2))), False),
    (kit.Ranked(1, "old"), kit.Ranked(1, "new"), False),
    (kit.Peculiar(1, "old"), kit.Peculiar(1, "new"), False),
]


@pytest.mark.case("P056")
@pytest.mark.parametrize(("old", "new", "same"), SAME)
async def test_a_value_that_stays_the_same_is_not_stored_again_and_an_equal_one_is(
    old: Any, new: Any, same: bool
) -> None:
    async def first(state: Any) -> dict[str, Any]:
        return {"x": old}

    async def second(state: Any) -> dict[str, Any]:
        return {"x": new}

    store = MemoryStore()
    # Dies before the end is written, so that the state is made from the journal alone.
    await process(line(first, second), CrashingStore(store, 4, before=True))
    async with Engine(line(first, second), store=store) as engine:
        result = (await engine.run(run_id="r"))["x"]
        assert (type(result), repr(result)) == (type(new), repr(new))
        assert getattr(result, "label", None) == getattr(new, "label", None)
        record = (await engine.history("r"))[2]
        assert (record.kind, record.node_id) == ("visit", "b")
        assert ("x" not in record.data["delta"]) is same


class Talk(TypedDict):
    messages: NotRequired[Annotated[list[Message], append]]


async def test_messages_are_the_same_after_a_crash_and_say_the_same_of_themselves() -> None:
    said = [user("hällo"), assistant("so", reasoning="hm", id="m2")]

    @node(provides=["messages"], routes=[route.to("read")])
    async def write(state: Talk) -> dict[str, Any]:
        assert said[0].chars
        return {"messages": said}

    @node(routes=[route.deliver("messages")])
    async def read(state: Talk) -> None:
        found.append([(m, m.digest, m.chars) for m in state["messages"]])

    found: list[Any] = []
    workflow = define_workflow("w", nodes=[write, read], state=Talk, inputs=[])
    store = MemoryStore()
    await process(workflow, CrashingStore(store, 3, before=True))
    run = await process(workflow, store)
    assert run.outcome() == said
    assert found == [[(m, m.digest, m.chars) for m in said]] * 2


async def test_an_answer_of_none_of_json_is_kept_apart() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": [await ctx.once(str(n), partial(odd.__getitem__, n)) for n in range(len(odd))]}

    odd: list[Any] = [None, False, 0, "", [], {}, (), {"~": ["int", "1"]}, {"~": 1}]
    store = MemoryStore()
    await process(alone(body), CrashingStore(store, 5, before=False))
    result = (await process(alone(body), store)).outcome()["x"]
    assert result == odd
    assert [type(value) for value in result] == [type(value) for value in odd]
