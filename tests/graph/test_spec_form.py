"""The form of a declarative workflow: every flaw at once, at its pointer, in the words of a person."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentflow import validate
from agentflow.graph.spec import report_of
from agentflow.graph.spec.form import flaws
from tests.graph.spec_flows import everything

GOOD = {"id": "w", "nodes": [{"id": "a", "run": "m:f", "routes": [{"deliver": "x"}]}]}


def told(spec: dict[str, Any]) -> list[str]:
    """The flaws as lines."""
    return [
        f"{flaw.pointer}: {flaw.message}" + (f"; {flaw.hint}" if flaw.hint else "")
        for flaw in flaws(spec)
    ]


def with_route(**route: Any) -> dict[str, Any]:
    return {"id": "w", "nodes": [{"id": "a", "run": "m:f", "routes": [route]}]}


def with_when(when: Any) -> dict[str, Any]:
    return with_route(to="a", when=when)


def with_field(field: Any) -> dict[str, Any]:
    return {"id": "w", "nodes": [], "state": {"fields": {"x": field}}}


OPERATORS = "'==', '!=', '<', '<=', '>', '>=', 'is_in', 'contains', 'exists', 'is_none'"
TYPES = "'string', 'integer', 'number', 'boolean', 'null'"
NAME = "a name to import (module:attribute)"
SIMPLE = "a simple type (str, int, float, bool, list, dict, None)"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"nodes": []},
            [
                (
                    ": 'id' is missing; add it: The workflow's id: letters, digits and _ - ., "
                    "starting with a letter or _."
                )
            ],
        ),
        (GOOD | {"nodes": {}}, ["/nodes: {} is not a list"]),
        (GOOD | {"version": 1.5}, ["/version: 1.5 is not text; put it in quotes"]),
        (GOOD | {"max_rounds": "3"}, ["/max_rounds: '3' is not a whole number"]),
        (
            GOOD | {"max_round": 3},
            ["/max_round: 'max_round' is no property of workflow; did you mean 'max_rounds'?"],
        ),
        (GOOD | {"inputs": [""]}, ["/inputs/0: '' is empty"]),
        (
            {"id": "w", "nodes": [{"id": "a", "run": "f"}]},
            [f"/nodes/0/run: 'f' is not {NAME}"],
        ),
        (
            {"id": "w", "nodes": [{"id": "a"}]},
            [
                "/nodes/0: node has exactly one of 'run', 'subflow', 'parallel', 'map_each', 'race': none is there"
            ],
        ),
        (
            with_route(to="a", finish="m:f"),
            [
                (
                    "/nodes/0/routes/0: route has exactly one of 'to', 'deliver', 'finish': "
                    "both 'to' and 'finish' are there"
                )
            ],
        ),
        (with_when(5), [f"/nodes/0/routes/0/when: 5 is not a condition or {NAME}"]),
        (with_when("f"), [f"/nodes/0/routes/0/when: 'f' is not {NAME}"]),
        (
            with_when({"field": "x", "op": "=>", "value": 1}),
            [
                f"/nodes/0/routes/0/when/op: '=>' is none of {OPERATORS}; did you mean '>'?",
            ],
        ),
        (with_when({"field": "x", "op": "=="}), ["/nodes/0/routes/0/when: 'value' is missing"]),
        (
            with_when({"field": "x", "op": "exists", "value": 1}),
            ["/nodes/0/routes/0/when/value: 'value' has no place here"],
        ),
        (
            with_when({"field": "x", "op": "is_in", "value": "abc"}),
            ["/nodes/0/routes/0/when/value: 'abc' is not a list"],
        ),
        (
            with_when({"all": [{"not": {"field": 1, "op": "exists"}}]}),
            ["/nodes/0/routes/0/when/all/0/not/field: 1 is not text; put it in quotes"],
        ),
        (
            with_when({"al": []}),
            [
                (
                    '/nodes/0/routes/0/when: {"al": []} is not an object with "all" or '
                    'an object with "any" or an object with "not"'
                )
            ],
        ),
        (
            with_field("strng"),
            [f"/state/fields/x: 'strng' is not {SIMPLE} or {NAME}; did you mean 'str'?"],
        ),
        (
            with_field({"type": "arry"}),
            [
                (
                    f"/state/fields/x/type: 'arry' is none of {TYPES}, 'array', 'object'; "
                    "did you mean 'array'?"
                )
            ],
        ),
        (
            with_field({"type": "array", "item": "str"}),
            ["/state/fields/x/item: 'item' is no property of an array; did you mean 'items'?"],
        ),
        (
            with_field({"type": "array", "reducer": "appendd"}),
            [
                (
                    "/state/fields/x/reducer: 'appendd' is not a reducer of agentflow or "
                    f"{NAME}; did you mean 'append'?"
                )
            ],
        ),
        (
            with_field({"enum": [1.5]}),
            ["/state/fields/x/enum/0: 1.5 is not text or a whole number or true or false or null"],
        ),
        (
            GOOD | {"state": {"import": "m:State", "default": []}},
            [
                (
                    "/state/default: 'default' is no property of a class to import; "
                    "did you mean 'defaults'?"
                )
            ],
        ),
        (
            GOOD | {"policies": [{"at_most": {"node": "a"}}]},
            [
                "/policies/0/at_most: 'count' is missing; add it: The largest number of visits.",
            ],
        ),
        (
            {"id": "w", "nodes": [{"id": "s", "subflow": {"workflow": {"id": "v"}}}]},
            [
                (
                    "/nodes/0/subflow/workflow: 'nodes' is missing; add it: The nodes; "
                    "runs start at the first, unless `entry` says else."
                )
            ],
        ),
        (
            {"id": "w", "nodes": [{"id": "s", "subflow": {"workflow": {"reff": "x.json"}}}]},
            [
                (
                    "/nodes/0/subflow/workflow: 'ref' is missing; add it: "
                    "The path of its file, from the folder of this one."
                ),
                (
                    "/nodes/0/subflow/workflow/reff: 'reff' is no property of a file; "
                    "did you mean 'ref'?"
                ),
            ],
        ),
    ],
)
def test_a_flaw_is_told_with_its_pointer_and_a_way_out(
    spec: dict[str, Any], expected: list[str]
) -> None:
    assert told(spec) == expected


def test_all_flaws_are_told_at_once_in_the_order_of_the_document() -> None:
    nodes: list[Any] = [
        {"id": f"n{at}", "run": "m:f", "routes": [{"deliver": "x", "wen": 1}]} for at in range(12)
    ]
    nodes[3]["timeout"] = "1 s"

    assert [flaw.pointer for flaw in flaws({"title": "x", "id": 5, "nodes": nodes})] == [
        "/title",
        "/id",
        *(f"/nodes/{at}/routes/0/wen" for at in range(4)),
        "/nodes/3/timeout",
        *(f"/nodes/{at}/routes/0/wen" for at in range(4, 12)),
    ]


def test_a_key_with_a_slash_is_escaped_in_the_pointer() -> None:
    assert [flaw.pointer for flaw in flaws(GOOD | {"waive": {"a/b~c": 1}})] == ["/waive/a~1b~0c"]


def test_flaws_become_findings_and_nothing_else_is_said() -> None:
    report = report_of({"id": "w", "nodes": [{"id": "a", "run": "no.such:thing", "routs": []}]})

    assert [(finding.code, str(finding.place)) for finding in report.errors] == [
        ("AF130", "#/nodes/0/routs")
    ]
    assert report.workflow == "w"
    assert validate({}).findings == report_of({}).findings


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "m:f", "str"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "to", "x", "type", "all"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
def test_whatever_is_put_in_whatever_place_gives_findings_and_no_error(data: st.DataObject) -> None:
    spec = everything.to_spec()
    places: list[tuple[Any, Any]] = []
    waiting: list[Any] = [spec]
    while waiting:
        inside = waiting.pop()
        keys: Any = range(len(inside)) if isinstance(inside, list) else list(inside)
        places += [(inside, key) for key in keys]
        waiting += [inside[key] for key in keys if isinstance(inside[key], list | dict)]
    inside, key = data.draw(st.sampled_from(places))
    inside[key] = data.draw(junk)

    report = report_of(spec)

    assert all(
        finding.place is not None and finding.place.pointer is not None for finding in report
    )
