"""Errors: a node's own go to its error node or to the caller; nobody's broken word does."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agentflow import (
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Engine,
    Failure,
    RunCancelled,
    field,
    node,
    route,
)
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, nothing, unchecked

RECOVERED = route.deliver("saved")


async def recover(state: Any, ctx: Any) -> Any:
    return {"saved": ctx.failure}


def guarded(function: Any, handler: Any = recover, **options: Any) -> Any:
    """A failing node `a`, and the error node of the workflow, which delivers `saved`."""
    settings: dict[str, Any] = {"routes": [END], "may_provide": ["x"]}
    own = {name: options.pop(name) for name in list(options) if name in ("routes", "requires")}
    last = {"provides": ["saved"], "routes": [RECOVERED]} | options.pop("last", {})
    return unchecked(
        "guarded",
        nodes=[node(function, id="a", **(settings | own)), node(handler, id="rescue", **last)],
        on_error="rescue",
        **options,
    )


async def broken(state: Any) -> Any:
    raise LookupError("no such page")


@pytest.mark.rule("R324")
async def test_a_node_error_goes_to_the_error_node_with_what_happened() -> None:
    seen = Recorder()
    failure = await guarded(broken).run(observers=[seen])
    assert failure == Failure("LookupError", "no such page", "a")
    assert seen.visited() == ["a", "rescue"]
    told = {"error": "LookupError", "message": "no such page", "handler": "rescue"}
    assert seen.data("node.failed") == told


@pytest.mark.rule("R324")
async def test_without_an_error_node_the_caller_gets_the_error_itself_with_a_note() -> None:
    error = LookupError("no such page")

    async def fail(state: Any) -> Any:
        raise error

    with pytest.raises(LookupError) as caught:
        await alone(fail).run(run_id="r-7")
    assert caught.value is error
    assert caught.value.__notes__ == ["in node 'only' of workflow 'alone', run r-7"]


@pytest.mark.rule("R324")
async def test_the_nodes_own_error_node_comes_before_the_workflows() -> None:
    async def name(state: Any, ctx: Any) -> Any:
        return {"saved": ctx.node_id}

    last: dict[str, Any] = {"provides": ["saved"], "routes": [RECOVERED]}
    workflow = unchecked(
        "w",
        nodes=[
            node(broken, id="a", on_error="own", routes=[route.to("b")]),
            node(broken, id="b", routes=[END]),
            node(name, id="own", **last),
            node(name, id="general", **last),
        ],
        on_error="general",
    )
    assert await workflow.run() == "own"


async def test_the_failure_is_seen_in_the_error_node_alone() -> None:
    seen: list[Any] = []

    async def look(state: Any, ctx: Any) -> Any:
        seen.append(ctx.failure)

    workflow = unchecked(
        "w",
        nodes=[
            node(broken, id="a", on_error="b", routes=[END]),
            node(look, id="b", routes=[route.to("c")]),
            node(look, id="c", routes=[END]),
        ],
    )
    assert await workflow.run({"x": 1}) == {"x": 1}
    assert seen == [Failure("LookupError", "no such page", "a"), None]


@pytest.mark.rule("R325")
@pytest.mark.parametrize(
    "options",
    [
        {"requires": ["absent"]},
        {"routes": [route.to("rescue", field("absent") == 1)]},
        {"routes": [route.to("rescue", lambda state: 1)]},  # type: ignore[arg-type, return-value]
        {"routes": [route.deliver("absent")]},
        {"routes": [route.finish(lambda state: state["absent"])]},
        {"routes": [route.finish(lambda state: "no number")], "result": int},
    ],
    ids=["missing state", "no route", "no bool", "missing result", "failed finish", "bad result"],
)
async def test_contract_errors_do_not_go_to_the_error_node(options: dict[str, Any]) -> None:
    seen = Recorder()
    with pytest.raises(ContractError):
        await guarded(nothing, **options).run(observers=[seen])
    assert "rescue" not in seen.visited()


@pytest.mark.rule("R325")
@pytest.mark.parametrize("update", ["no mapping", {"undeclared": 1}])
async def test_a_bad_update_does_not_go_to_the_error_node(update: Any) -> None:
    async def body(state: Any) -> Any:
        return update

    seen = Recorder()
    with pytest.raises(ContractError):
        await guarded(body).run(observers=[seen])
    assert seen.visited() == ["a"]


@pytest.mark.rule("R325", "R327")
@pytest.mark.parametrize(
    "error", [ContractError("x"), BudgetExceeded("cost", 1, 2), RunCancelled("elsewhere")]
)
@pytest.mark.parametrize("grouped", [False, True])
async def test_what_no_one_recovers_from_passes_even_in_a_group(
    error: Exception, grouped: bool
) -> None:
    async def fail(state: Any) -> Any:
        raise ExceptionGroup("several", [OSError("first"), error]) if grouped else error

    seen = Recorder()
    with pytest.raises(type(error)) as caught:
        await guarded(fail).run(observers=[seen])
    assert caught.value is error
    assert seen.visited() == ["a"]


async def test_a_group_of_ordinary_errors_is_a_node_error_as_it_is() -> None:
    async def fail(state: Any) -> Any:
        raise ExceptionGroup("several", [OSError("first"), LookupError("second")])

    failure = await guarded(fail).run()
    assert failure.type == "ExceptionGroup"
    with pytest.raises(ExceptionGroup, match="several"):
        await alone(fail).run()


@pytest.mark.rule("R326")
async def test_a_cancelled_run_does_not_pass_its_error_node() -> None:
    signal = CancelSignal()

    async def fail(state: Any) -> Any:
        signal.cancel("enough")
        raise OSError("while going down")

    seen = Recorder()
    with pytest.raises(RunCancelled, match="enough") as caught:
        await guarded(fail).run(signal=signal, observers=[seen])
    assert seen.visited() == ["a"]
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.rule("R328")
async def test_the_error_node_has_requirements_of_its_own() -> None:
    with pytest.raises(ContractError, match="node 'rescue' requires the field 'draft'"):
        await guarded(broken, last={"requires": ["draft"]}).run()


@pytest.mark.rule("R328", "R329")
async def test_the_update_and_the_result_of_the_error_node_are_checked() -> None:
    with pytest.raises(ContractError, match="provides the field 'saved'"):
        await guarded(broken, nothing).run()
    with pytest.raises(ContractError, match="the result of workflow"):
        await guarded(broken, result=int).run()


async def test_the_failure_of_an_error_node_goes_to_the_caller_and_tells_of_the_first() -> None:
    async def also_broken(state: Any) -> Any:
        raise OSError("the rescue failed")

    seen = Recorder()
    with pytest.raises(OSError, match="the rescue failed") as caught:
        await guarded(broken, also_broken).run(observers=[seen])
    assert seen.visited() == ["a", "rescue"]
    assert "LookupError: no such page" in "\n".join(caught.value.__notes__)


async def test_an_error_node_has_no_error_node_of_its_own_while_it_is_one() -> None:
    workflow = unchecked(
        "w",
        nodes=[
            node(broken, id="a", on_error="b", routes=[END]),
            node(broken, id="b", on_error="c", routes=[END]),
            node(nothing, id="c", routes=[END]),
        ],
    )
    seen = Recorder()
    with pytest.raises(LookupError):
        await workflow.run(observers=[seen])
    assert seen.visited() == ["a", "b"]


@pytest.mark.parametrize("own", [False, True])
async def test_an_error_node_is_entered_once_between_two_rounds(own: bool) -> None:
    workflow = unchecked(
        "w",
        nodes=[
            node(broken, id="a", on_error="b" if own else None, routes=[END]),
            node(nothing, id="b", routes=[route.to("a")]),
        ],
        on_error=None if own else "b",
    )
    seen = Recorder()
    with pytest.raises(LookupError):
        await workflow.run(observers=[seen])
    assert seen.visited() == ["a", "b", "a"]


async def test_a_round_lets_the_error_node_be_entered_again() -> None:
    workflow = unchecked(
        "w",
        nodes=[
            node(broken, id="a", on_error="b", starts_round=True, routes=[END]),
            node(nothing, id="b", routes=[route.to("a")]),
        ],
        max_rounds=3,
    )
    seen = Recorder()
    with pytest.raises(BudgetExceeded):
        await workflow.run(observers=[seen])
    assert seen.visited() == ["a", "b", "a", "b", "a", "b"]


async def test_an_error_node_out_of_rounds_leaves_no_failure_to_the_last_node() -> None:
    failures: list[Any] = []

    async def look(state: Any, ctx: Any) -> Any:
        failures.append(ctx.failure)

    workflow = unchecked(
        "w",
        nodes=[
            node(nothing, id="a", starts_round=True, routes=[route.to("b")]),
            node(broken, id="b", on_error="a", routes=[END]),
            node(look, id="last", routes=[END]),
        ],
        max_rounds=1,
        on_limit="last",
    )
    await workflow.run()
    assert failures == [None]


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    code: int


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("error", [FrozenError(7), MuteError()])
async def test_an_error_that_takes_no_note_or_has_no_words_still_reaches_the_caller(
    error: Exception, watched: bool
) -> None:
    async def fail(state: Any) -> Any:
        raise error

    with pytest.raises(type(error)) as caught:
        await alone(fail).run(observers=[Recorder()] if watched else [])
    assert caught.value is error
    assert (await guarded(fail).run()).type == type(error).__name__


async def test_an_error_keeps_the_context_it_was_raised_in() -> None:
    async def fail(state: Any) -> Any:
        try:
            state["absent"]
        except KeyError:
            raise OSError("while looking")  # noqa: B904 - the implicit context is the point

    for observers in ([], [Recorder()]):
        with pytest.raises(OSError, match="while looking") as caught:
            await alone(fail).run(observers=observers)
        assert isinstance(caught.value.__context__, KeyError)
        assert not caught.value.__suppress_context__


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration])
async def test_an_iteration_that_stops_in_a_node_is_an_error_like_any_other(
    kind: Any, plain: bool
) -> None:
    async def fail(state: Any) -> Any:
        raise kind

    def fail_plainly(state: Any) -> Any:
        raise kind

    async with Engine(alone(fail_plainly if plain else fail)).start() as run:
        with pytest.raises((RuntimeError, StopAsyncIteration)):
            await run.result()
        assert run.status == "failed"


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
async def test_what_ends_a_process_passes_the_error_node_and_reaches_the_caller(
    kind: Any, plain: bool
) -> None:
    async def fail(state: Any) -> Any:
        raise kind("stop")

    def fail_plainly(state: Any) -> Any:
        raise kind("stop")

    seen = Recorder()
    workflow = guarded(fail_plainly if plain else fail)
    async with Engine(workflow, observers=[seen]).start() as run:
        with pytest.raises(kind):
            await run.result()
        assert run.status == "failed"
    assert seen.visited() == ["a"]


async def test_what_ends_a_process_is_not_lost_in_a_group() -> None:
    async def fail(state: Any) -> Any:
        raise BaseExceptionGroup("several", [BudgetExceeded("cost", 1, 2), KeyboardInterrupt()])

    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)) as caught:
        await alone(fail).run()
    assert not isinstance(caught.value, Exception)
