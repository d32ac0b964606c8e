"""Routes that stand twice, and error nodes that handle each other."""

from __future__ import annotations

from typing import Any

from agentflow import Node, field, node, route, validate


def made(id: str, *routes: Any, **options: Any) -> Node:
    async def body(state: object) -> None: ...

    return node(body, id=id, routes=routes, **options)


def codes(*nodes: Node, **options: Any) -> list[str]:
    return [finding.code for finding in validate(*nodes, **options).findings]


END = made("end", route.finish(lambda state: None, reads=[]))


def test_the_same_condition_to_the_same_target_is_told_once() -> None:
    report = validate(
        made("a", *(route.to_if_equal("end", "x", 1) for _ in range(2)), route.to("end")),
        END,
        inputs=["x"],
    )
    (finding,) = [finding for finding in report.findings if finding.code == "AF123"]
    assert finding.severity == "warning"
    assert finding.message == "node 'a': the route to 'end' when x == 1 stands twice"


def test_the_same_function_to_the_same_target_stands_twice() -> None:
    def late(state: object) -> bool:
        return True

    twice = made("a", route.to_if("end", late), route.to_if("end", late), route.to("end"))
    assert "AF123" in codes(twice, END)


def test_another_target_or_another_value_is_another_route() -> None:
    routes = [route.to("end", field("x") == value) for value in (1, 2)]
    other = route.to("other", field("x") == 3)
    nodes = made("a", *routes, other, route.to("end")), made("other", route.to("end")), END
    assert codes(*nodes, inputs=["x"]) == []


def test_a_node_that_handles_its_own_failure_is_refused() -> None:
    report = validate(made("a", route.to("end"), on_error="a"), END)
    (finding,) = report.errors
    assert finding.code == "AF124"
    assert finding.path == ("a", "a")


def test_two_nodes_that_handle_each_other_are_one_finding() -> None:
    first = made("a", route.to("end"), on_error="b")
    second = made("b", route.to("end"), on_error="a")
    report = validate(first, second, END)
    assert [(finding.code, finding.path) for finding in report.errors] == [
        ("AF124", ("a", "b", "a"))
    ]


def test_a_chain_that_ends_is_no_loop() -> None:
    first = made("a", route.to("end"), on_error="b")
    second = made("b", route.to("end"), on_error="end")
    assert codes(first, second, END) == []


def test_the_workflows_own_error_node_is_no_loop() -> None:
    assert codes(made("a", route.to("end")), END, on_error="end") == []
