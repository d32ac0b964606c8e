"""Routes: synchronous, in order, exactly one; ends compute the result and check it."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from pydantic import FiniteFloat

from agentflow import ContractError, DefinitionError, Engine, define_workflow, field, node, route
from tests.run.watching import Recorder
from tests.run.workflows import END, alone, nothing, unchecked


def fork(*routes: Any, **options: Any) -> Any:
    """A node `a` with the routes, and nodes `b` and `c` that deliver their own names."""

    async def name_b(state: Any) -> Any:
        return {"out": "b"}

    async def name_c(state: Any) -> Any:
        return {"out": "c"}

    return unchecked(
        "fork",
        nodes=[
            node(nothing, id="a", routes=routes),
            node(name_b, id="b", provides=["out"], routes=[route.deliver("out")]),
            node(name_c, id="c", provides=["out"], routes=[route.deliver("out")]),
        ],
        **options,
    )


@pytest.mark.rule("R261")
@pytest.mark.parametrize("answer", [1, 0, None, "yes", [], object()])
async def test_a_condition_that_gives_no_bool_is_a_contract_error(answer: Any) -> None:
    workflow = fork(route.to("b", lambda state: answer), route.to("c"))
    with pytest.raises(ContractError, match="must give True or False"):
        await workflow.run()


@pytest.mark.rule("R261")
async def test_a_condition_that_raises_is_a_contract_error_and_no_mismatch() -> None:
    workflow = fork(route.to("b", lambda state: bool(1 / 0)), route.to("c"))
    with pytest.raises(ContractError, match="raised ZeroDivisionError") as caught:
        await workflow.run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.rule("R262")
async def test_an_awaitable_that_only_shows_at_run_time_is_refused() -> None:
    async def later() -> bool:
        return True

    workflow = fork(route.to("b", lambda state: later()), route.to("c"))  # type: ignore[arg-type, return-value]
    with pytest.raises(ContractError, match="must give True or False"):
        await workflow.run()
    with pytest.raises(ContractError, match="must be synchronous"):
        await fork(route.finish(lambda state: later())).run()


@pytest.mark.rule("R262")
def test_an_async_condition_or_finish_is_refused_at_definition() -> None:
    async def later(state: Any) -> bool:
        return True

    for way in (route.to("b", later), route.finish(later)):  # type: ignore[arg-type]
        with pytest.raises(DefinitionError, match="AF116"):
            define_workflow(
                "w",
                nodes=[
                    node(nothing, id="a", routes=[way, END]),
                    node(nothing, id="b", routes=[END]),
                ],
            )


@pytest.mark.rule("R265")
def test_a_route_after_an_unconditional_one_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"to 'b'.*comes after.*to 'c'"):
        define_workflow(
            "w",
            nodes=[
                node(nothing, id="a", routes=[route.to("c"), route.to("b")]),
                node(nothing, id="b", routes=[END]),
                node(nothing, id="c", routes=[END]),
            ],
        )


@pytest.mark.rule("R265")
async def test_a_route_without_condition_is_the_fallback() -> None:
    workflow = fork(route.to("b", field("x") == 1), route.to("c"))
    assert await workflow.run({"x": 1}) == "b"
    assert await workflow.run({"x": 2}) == "c"


@pytest.mark.rule("R266")
@pytest.mark.parametrize(("error", "way"), [("broken", "b"), ("", "b"), (False, "b"), (None, "c")])
async def test_to_if_error_looks_at_the_error_field(error: Any, way: str) -> None:
    workflow = fork(route.to_if_error("b"), route.to("c"))
    assert await workflow.run({"error": error}) == way
    assert await workflow.run() == "c"


@pytest.mark.rule("R267")
async def test_to_if_error_catches_nothing() -> None:
    async def fail(state: Any) -> Any:
        raise LookupError("no such thing")

    workflow = define_workflow(
        "w",
        nodes=[
            node(fail, id="a", may_provide=["error"], routes=[route.to_if_error("b"), END]),
            node(nothing, id="b", routes=[END]),
        ],
    )
    seen = Recorder()
    with pytest.raises(LookupError, match="no such thing"):
        await workflow.run(observers=[seen])
    assert seen.visited() == ["a"]


@pytest.mark.rule("R268")
@pytest.mark.parametrize(
    ("input", "way"),
    [
        ({"service": {"status": "online"}}, "b"),
        ({"service": {"status": "off"}}, "c"),
        ({"service": {}}, "c"),
        ({"service": None}, "c"),
        ({"service": "online"}, "c"),
        ({}, "c"),
    ],
)
async def test_to_if_equal_compares_a_dotted_path(input: dict[str, Any], way: str) -> None:
    workflow = fork(route.to_if_equal("b", "service.status", "online"), route.to("c"))
    assert await workflow.run(input) == way


@pytest.mark.rule("R270")
@pytest.mark.parametrize("value", ["text", 0, None, [], {"a": [1]}])
async def test_deliver_ends_the_run_with_the_value_of_the_field(value: Any) -> None:
    seen = Recorder()
    assert await fork(route.deliver("x")).run({"x": value}, observers=[seen]) == value
    assert seen.visited() == ["a"]


@pytest.mark.rule("R271")
async def test_deliver_demands_that_the_field_exists() -> None:
    with pytest.raises(ContractError, match="delivers the field 'x', which does not exist"):
        await fork(route.deliver("x")).run({"y": 1})


@pytest.mark.rule("R272")
@pytest.mark.parametrize(
    ("input", "result"), [({}, "b"), ({"x": None}, "b"), ({"x": 0}, 0), ({"x": "v"}, "v")]
)
async def test_deliver_if_ready_lets_later_routes_be_tried(
    input: dict[str, Any], result: Any
) -> None:
    assert await fork(route.deliver_if_ready("x"), route.to("b")).run(input) == result


@pytest.mark.rule("R273")
@pytest.mark.parametrize("way", [route.deliver("x"), route.finish(lambda state: state["x"])])
async def test_a_result_that_breaks_its_contract_is_no_result(way: Any) -> None:
    workflow = unchecked("w", nodes=[node(nothing, id="a", routes=[way])], result=int)
    assert await workflow.run({"x": 5}) == 5
    async with Engine(workflow).start({"x": "five"}) as run:
        with pytest.raises(ContractError, match="the result of workflow 'w'"):
            await run.result()
        assert run.status == "failed"


@pytest.mark.rule("R273")
async def test_a_finish_function_that_raises_is_a_contract_error() -> None:
    with pytest.raises(ContractError, match="the finish function raised KeyError"):
        await fork(route.finish(lambda state: state["absent"])).run()


@pytest.mark.rule("R347")
@pytest.mark.parametrize("value", ["plain text", 5, None, ["a"]])
async def test_run_returns_the_declared_result_as_it_is(value: Any) -> None:
    async def body(state: Any) -> Any:
        return {"x": value}

    result = await alone(body, routes=[route.deliver("x")], provides=["x"], may_provide=[]).run()
    assert type(result) is type(value)
    assert result == value


@pytest.mark.parametrize(
    ("number", "refused_as"), [(float, "no route matches"), (FiniteFloat, "input 'x'")]
)
async def test_nan_matches_no_comparison_and_a_type_can_keep_it_out(
    number: Any, refused_as: str
) -> None:
    look = node(
        nothing,
        id="look",
        requires=["x"],
        routes=[
            route.finish(lambda state: "below", when=field("x") < 10),
            route.finish(lambda state: "not below", when=field("x") >= 10),
        ],
    )
    state = TypedDict("state", {"x": number})  # noqa: UP013 - the type is a parameter
    workflow = define_workflow("w", nodes=[look], state=state)
    assert workflow.report.findings == ()
    assert await workflow.run({"x": 3}) == "below"
    with pytest.raises(ContractError, match=refused_as):
        await workflow.run({"x": float("nan")})


@pytest.mark.case("T005")
async def test_a_step_that_is_skipped_by_a_route_is_seen_to_be_skipped() -> None:
    async def begin(state: Any) -> Any:
        return {"flag": state["flag"]}

    def flow() -> Any:
        ways = [route.to("extra", field("flag") == True), route.to("last")]  # noqa: E712
        return unchecked(
            "skipping",
            nodes=[
                node(begin, id="begin", provides=["flag"], routes=ways),
                node(nothing, id="extra", routes=[route.to("last")]),
                node(nothing, id="last", routes=[END]),
            ],
            inputs=["flag"],
        )

    for flag, path in ((True, ["begin", "extra", "last"]), (False, ["begin", "last"])):
        seen = Recorder()
        await flow().run({"flag": flag}, observers=[seen])
        assert seen.visited() == path
        taken = [fact.data["target"] for fact in seen.of("route.taken")]
        assert taken == [*path[1:], None]


@pytest.mark.case("P017")
async def test_a_way_back_that_is_not_taken_holds_nothing_up() -> None:
    async def work(state: Any) -> Any:
        return {"ok": state.get("tries", 0) >= state["needed"]}

    async def fix(state: Any) -> Any:
        return {"tries": state.get("tries", 0) + 1}

    workflow = unchecked(
        "feedback",
        nodes=[
            node(
                work,
                id="work",
                provides=["ok"],
                starts_round=True,
                routes=[route.finish(dict, field("ok") == True), route.to("fix")],  # noqa: E712
            ),
            node(fix, id="fix", provides=["tries"], routes=[route.to("work")]),
        ],
        inputs=["needed"],
        max_rounds=3,
    )
    assert await workflow.run({"needed": 0}) == {"needed": 0, "ok": True}
    assert (await workflow.run({"needed": 2}))["tries"] == 2
