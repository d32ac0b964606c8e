"""Updates: checked whole, committed whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

import pytest

from agentflow import ContractError, Engine, field, node, route
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, nothing, unchecked


class Pair(TypedDict, total=False):
    x: int
    y: int


async def refused(workflow: Any, match: str, input: Any = None) -> dict[str, Any]:
    """Run the workflow, see the contract error, and give the state it left."""
    async with Engine(workflow).start(input) as run:
        with pytest.raises(ContractError, match=match):
            await run.result()
        assert run.status == "failed"
        return dict(run.state)


@pytest.mark.rule("R254")
@pytest.mark.parametrize("update", [5, "x", ["x"], {"x"}, object(), True])
async def test_an_update_that_is_no_mapping_is_refused(update: Any) -> None:
    async def body(state: Any) -> Any:
        return update

    message = f"node 'only' returned {type(update).__name__}; a node returns a mapping"
    assert await refused(alone(body), message, {"y": 1}) == {"y": 1}


@pytest.mark.rule("R254")
async def test_a_coroutine_that_was_not_awaited_is_refused_without_a_warning() -> None:
    async def inner(state: Any) -> Any:
        return {"x": 1}

    async def body(state: Any) -> Any:
        return inner(state)

    await refused(alone(body), "node 'only' returned coroutine")


class BrokenMapping(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError("the line is dead")

    def __iter__(self) -> Iterator[str]:
        return iter(["x"])

    def __len__(self) -> int:
        return 1


class NoWords:
    """A value, and an error, that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.rule("R254")
async def test_a_mapping_that_cannot_be_read_is_a_contract_error() -> None:
    async def body(state: Any) -> Any:
        return BrokenMapping()

    await refused(alone(body, on_error="only"), "cannot be read: LookupError: the line is dead")


async def test_values_and_errors_that_cannot_be_shown_hide_no_mistake() -> None:
    class MuteError(NoWords, Exception):
        __str__ = NoWords.__repr__

    def fail(state: Any) -> bool:
        raise MuteError

    async def body(state: Any) -> Any:
        return {"x": NoWords()}

    numbers = unchecked(
        "w", nodes=[node(body, id="only", provides=["x"], routes=[END])], state=Pair
    )
    await refused(numbers, "field 'x'")
    await refused(alone(nothing, routes=[route.finish(dict, fail)]), "raised MuteError")
    await refused(alone(nothing, routes=[route.finish(fail)]), "raised MuteError")
    shown = route.finish(dict, lambda state: NoWords())  # type: ignore[arg-type, return-value]
    await refused(alone(nothing, routes=[shown]), "must give True or False")


@pytest.mark.rule("R254")
async def test_none_is_an_empty_update() -> None:
    assert await alone(nothing).run({"x": 1}) == {"x": 1}


@pytest.mark.rule("R254", "R255")
async def test_none_does_not_keep_a_promise_to_provide() -> None:
    await refused(alone(nothing, provides=["z"]), "provides the field 'z'")


@pytest.mark.rule("R255")
async def test_an_update_without_a_provided_field_commits_nothing() -> None:
    async def half(state: Any) -> Any:
        return {"x": 1}

    workflow = alone(half, provides=["x", "y"], may_provide=[])
    assert await refused(workflow, "provides the field 'y'") == {}


@pytest.mark.rule("R255")
async def test_a_provided_field_may_be_none() -> None:
    async def body(state: Any) -> Any:
        return {"x": None}

    assert await alone(body, provides=["x"], may_provide=[]).run() == {"x": None}


@pytest.mark.rule("R256")
async def test_one_invalid_field_keeps_all_fields_out() -> None:
    async def body(state: Any) -> Any:
        return {"x": 1, "y": "no number"}

    workflow = unchecked(
        "w", nodes=[node(body, id="only", provides=["x", "y"], routes=[END])], state=Pair
    )
    assert await refused(workflow, "node 'only', field 'y'") == {}


@pytest.mark.case("P010")
async def test_returning_the_whole_state_is_refused_with_what_to_do() -> None:
    async def body(state: Any) -> Any:
        return dict(state) | {"x": 2}

    workflow = alone(body, provides=["x"], may_provide=[])
    hint = "returned the field 'z'.*return only the fields that the node changes"
    assert await refused(workflow, hint, {"x": 1, "z": 1}) == {"x": 1, "z": 1}


@pytest.mark.rule("R259")
async def test_an_error_of_the_route_leaves_the_commit_in_place() -> None:
    async def body(state: Any) -> Any:
        return {"x": 2}

    way = route.finish(dict, field("x") == 3)
    workflow = alone(body, routes=[way, route.deliver("y", field("x") == 4)])
    assert await refused(workflow, "no route matches the state", {"x": 1}) == {"x": 2}


@pytest.mark.rule("R258", "R260")
async def test_what_a_node_did_outside_stays_when_it_fails(tmp_path: Path) -> None:
    async def body(state: Any) -> Any:
        (tmp_path / "sent").touch()
        raise OSError("the line went dead")

    with pytest.raises(OSError, match="the line went dead"):
        await alone(body).run()
    assert (tmp_path / "sent").exists()
    names = {name for name in dir(Engine) if not name.startswith("_")}
    assert not [name for name in names if "roll" in name or "compensat" in name]


@pytest.mark.rule("R258")
async def test_a_failed_visit_commits_nothing() -> None:
    async def body(state: Any) -> Any:
        raise OSError("no")

    seen = Recorder()
    with pytest.raises(OSError, match="no"):
        await alone(body).run(observers=[seen])
    assert "node.committed" not in seen.kinds


async def test_an_update_is_read_once_and_the_author_keeps_it() -> None:
    kept: dict[str, Any] = {"x": [1]}

    async def body(state: Any) -> Any:
        return kept

    async def meddle(state: Any) -> Any:
        kept["x"].append(2)
        kept["z"] = 3

    workflow = unchecked(
        "w",
        nodes=[
            node(body, id="a", provides=["x"], routes=[route.to("b")]),
            node(meddle, id="b", routes=[END]),
        ],
    )
    assert await workflow.run() == {"x": [1]}
