"""The declarative form, both ways: what is data comes back as it was, and what would not is refused."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional, TypedDict

import pytest
import yaml
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

import agentflow
from agentflow import (
    Retry,
    SpecError,
    Uses,
    Workflow,
    define_workflow,
    field,
    map_each,
    node,
    parallel,
    race,
    route,
    subflow,
)
from agentflow.graph.condition import AllOf, AnyOf, Condition, Not, Test
from agentflow.graph.kinds import Parallel
from agentflow.graph.node import Node
from agentflow.graph.place import Place
from agentflow.graph.route import Route
from agentflow.graph.spec import read_spec, to_spec
from agentflow.graph.spec.schema import workflow_schema
from agentflow.graph.workflow import assemble
from tests.graph import spec_flows
from tests.graph.spec_flows import HERE, Mood, branched, everything, small


def again(workflow: Workflow[Any]) -> Workflow[Any]:
    """The workflow after a way through text."""
    found = read_spec(json.loads(json.dumps(to_spec(workflow), allow_nan=False))).workflow
    assert found is not None
    return found


@pytest.mark.rule("R257")
def test_a_workflow_with_one_of_each_comes_back_the_same() -> None:
    back = Workflow.from_spec(everything.to_spec())

    assert back.manifest() == everything.manifest()
    assert back.fingerprint == everything.fingerprint
    assert back.policies == everything.policies
    assert [node.routes for node in back.nodes] == [node.routes for node in everything.nodes]
    assert [node.run for node in back.nodes] == [node.run for node in everything.nodes]
    assert back.state is everything.state


def test_branches_of_each_kind_come_back_the_same() -> None:
    back = again(branched)

    assert back.manifest() == branched.manifest()
    assert back.fingerprint == branched.fingerprint
    assert back.report.findings == branched.report.findings == ()
    mine, theirs = branched.nodes[0].kind, back.nodes[0].kind
    assert isinstance(mine, Parallel)
    assert isinstance(theirs, Parallel)
    assert [branch.name for branch in theirs.branches] == [branch.name for branch in mine.branches]
    assert back.nodes[2].kind == replace_workflows(branched.nodes[2].kind, back.nodes[2].kind)


def replace_workflows(kind: Any, other: Any) -> Any:
    """A kind with the workflows of another, which are equal only if they are the same."""
    (branch,), (inner,) = kind.branches, other.branches
    return dataclasses.replace(kind, branch=dataclasses.replace(branch, workflow=inner.workflow))


async def test_branches_that_were_read_run() -> None:
    result = await again(branched).run({"question": "anybody there?"})
    assert result == await branched.run({"question": "anybody there?"}) == "tagged"


def test_a_workflow_comes_back_the_same_from_a_json_and_from_a_yaml_file(tmp_path: Path) -> None:
    spec = everything.to_spec()
    (tmp_path / "flow.json").write_text(json.dumps(spec), encoding="utf-8")
    (tmp_path / "flow.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")

    assert Workflow.from_spec(tmp_path / "flow.json").manifest() == everything.manifest()
    assert Workflow.from_spec(str(tmp_path / "flow.yaml")).manifest() == everything.manifest()


def test_what_is_written_satisfies_the_schema() -> None:
    for workflow in (everything, branched):
        Draft202012Validator(workflow_schema()).validate(workflow.to_spec())


async def test_what_was_read_runs() -> None:
    back = Workflow.from_spec(everything.to_spec())

    assert await back.run({"question": "anybody there?"}) == "tagged"


# --- every workflow ----------------------------------------------------------------------------

FUNCTIONS = [spec_flows.fetch, spec_flows.reply, spec_flows.Box.inside, spec_flows.decorated]
FIELDS = ["question", "status", "answer", "notes"]
names = st.sampled_from(["a", "b", "end", "graph-1", "x.y"])
fields = st.sampled_from(FIELDS)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)
values = json_values | st.sampled_from(Mood)


def questions() -> st.SearchStrategy[Condition]:
    paths = st.sampled_from([("status",), ("answer", "text"), ("question",)])
    compared = st.builds(
        Test, paths, st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "contains"]), values
    )
    listed = st.builds(Test, paths, st.just("is_in"), st.lists(values, max_size=3).map(tuple))
    asked = st.builds(Test, paths, st.sampled_from(["exists", "is_none"]))
    return compared | listed | asked


conditions = st.recursive(
    questions(),
    lambda inner: (
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple))
        | st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=4,
)
routes: st.SearchStrategy[Route] = st.one_of(
    st.builds(Route, kind=st.just("to"), target=names),
    st.builds(Route, kind=st.just("deliver"), field=fields),
    st.builds(Route, kind=st.just("finish"), function=st.just(spec_flows.shout)),
).flatmap(
    lambda made: st.builds(
        lambda when, reads, label: Route(
            kind=made.kind,
            target=made.target,
            field=made.field,
            function=made.function,
            when=when,
            reads=reads,
            label=label,
        ),
        st.none() | conditions | st.just(spec_flows.is_short),
        st.none() | st.lists(fields, max_size=2).map(tuple),
        st.none() | st.text(max_size=5),
    )
)
options = st.fixed_dictionaries(
    {
        "id": names,
        "requires": st.lists(fields, max_size=2),
        "provides": st.lists(fields, max_size=2),
        "may_provide": st.lists(fields, max_size=1),
        "routes": st.lists(routes, max_size=3),
        "starts_round": st.booleans(),
        "on_error": st.none() | names,
        "timeout": st.none() | st.floats(0.1, 9) | st.integers(1, 9),
        "retry": st.none()
        | st.builds(
            Retry,
            st.integers(1, 4),
            st.floats(0, 2) | st.just(spec_flows.pause),
            st.sampled_from([ValueError, (spec_flows.Trouble, OSError)]),
        ),
        "uses": st.none()
        | st.builds(Uses, model_calls=st.integers(0, 3), tool_calls=st.integers(0, 3)),
        "metadata": st.dictionaries(st.text(max_size=3), json_values, max_size=2),
        "waive": st.dictionaries(st.sampled_from(["AF110", "AF205"]), st.text(), max_size=1),
    },
    optional={"description": st.text(max_size=8)},
)


def with_function(function: Callable[..., Any], chosen: dict[str, Any]) -> Node:
    return node(function, **chosen)


def nodes(inner: st.SearchStrategy[Workflow[Any]] | None) -> st.SearchStrategy[Node]:
    plain = st.builds(with_function, st.sampled_from(FUNCTIONS), options)
    if inner is None:
        return plain
    mapping = st.dictionaries(fields, fields, max_size=2)
    nested = st.builds(
        lambda child, inputs, outputs, chosen: subflow(
            workflow=child, inputs=inputs, outputs=outputs, **chosen
        ),
        inner,
        mapping,
        mapping,
        options,
    )
    return plain | nested | holding(inner)


def holding(inner: st.SearchStrategy[Workflow[Any]]) -> st.SearchStrategy[Node]:
    """Nodes that hold several workflows; whether it makes sense does not matter to the form."""
    mapping = st.dictionaries(fields, fields, max_size=2)
    mapped = st.builds(
        lambda child, inputs, outputs: subflow("s", child, inputs=inputs, outputs=outputs),
        inner,
        mapping,
        mapping,
    )
    branches = st.dictionaries(names, inner | mapped, min_size=1, max_size=2)
    failures = st.sampled_from([{}, {"on_branch_error": "collect", "errors": "failures"}])
    settings = st.tuples(options, failures).map(lambda both: both[0] | both[1])
    maps = st.fixed_dictionaries(
        {
            "over": st.sampled_from(["notes", spec_flows.some_notes]),
            "item": fields,
            "into": fields,
            "inputs": st.none() | mapping,
            "concurrency": st.integers(1, 12),
            "max_items": st.none() | st.integers(0, 5),
        }
    )
    return st.one_of(
        st.builds(lambda held, chosen: parallel(branches=held, **chosen), branches, settings),
        st.builds(
            lambda held, into, winner, chosen: race(
                branches=held, into=into, winner=winner, **chosen
            ),
            branches,
            st.none() | fields,
            st.none() | fields,
            settings,
        ),
        st.builds(
            lambda child, more, chosen: map_each(workflow=child, **more, **chosen),
            inner,
            maps,
            settings,
        ),
    )


def workflows(depth: int = 1) -> st.SearchStrategy[Workflow[Any]]:
    inner = workflows(depth - 1) if depth else None
    return st.builds(
        functools.partial(assemble, place=Place()),
        names,
        st.lists(nodes(inner), max_size=3),
        state=st.sampled_from([None, spec_flows.State, spec_flows.Defaults]),
        inputs=st.none() | st.lists(fields, max_size=2),
        optional_inputs=st.none() | st.lists(fields, max_size=2),
        entry=st.none() | names,
        result=st.sampled_from(
            [None, str, dict, type(None), list[str], dict[str, int | None], spec_flows.Answer]
        ),
        max_rounds=st.none() | st.integers(1, 5),
        on_error=st.none() | names,
        on_limit=st.none() | names,
        version=st.text(max_size=3),
        description=st.text(max_size=8),
        policies=st.lists(st.sampled_from(everything.policies), max_size=2),
        waive=st.dictionaries(st.just("AF109"), st.text(max_size=5), max_size=1),
    )


@given(workflows())
def test_every_workflow_of_named_functions_comes_back_the_same(workflow: Workflow[Any]) -> None:
    back = again(workflow)

    assert back.manifest() == workflow.manifest()
    assert back.fingerprint == workflow.fingerprint
    assert [node.routes for node in back.nodes] == [node.routes for node in workflow.nodes]
    assert [node.run for node in back.nodes] == [node.run for node in workflow.nodes]
    assert back.policies == workflow.policies


@given(conditions)
def test_every_condition_comes_back_with_the_types_of_its_values(condition: Condition) -> None:
    first = node(spec_flows.reply, routes=[route.to("reply", condition), route.deliver("answer")])
    back = again(assemble("w", [first], place=None))

    # 1, 1.0 and True are equal; their texts are not.
    assert repr(back.nodes[0].routes[0].when) == repr(condition)


# --- what is refused ---------------------------------------------------------------------------


def refusal(workflow: Workflow[Any]) -> SpecError:
    with pytest.raises(SpecError) as refused:
        to_spec(workflow)
    return refused.value


def local(state: Any) -> dict[str, Any]:
    return {"answer": ""}


def one(function: Callable[..., Any], **more: Any) -> Workflow[Any]:
    first = node(function, id="one", provides=["answer"], routes=[route.deliver("answer")])
    return define_workflow("w", nodes=[first], **more)


class Calling:
    def __call__(self, state: Any) -> dict[str, Any]:
        return {"answer": ""}

    def method(self, state: Any) -> dict[str, Any]:
        return {"answer": ""}


def shadowed(state: Any) -> dict[str, Any]:
    return {"answer": "first"}


first_shadowed = shadowed


def shadowed(state: Any) -> dict[str, Any]:  # type: ignore[no-redef]
    return {"answer": "second"}


def inner_function() -> Callable[..., Any]:
    def inner(state: Any) -> dict[str, Any]:
        return {"answer": ""}

    return inner


@pytest.mark.parametrize(
    ("function", "reason", "hint"),
    [
        (lambda state: {"answer": ""}, "a lambda has no name", "with def"),
        (inner_function(), "inner is defined inside a function", "move it to the top"),
        (functools.partial(local), "a partial has no name", "write a function"),
        (Calling(), "an object of the class Calling has no name", "write a function"),
        (Calling().method, "leads to something else", "a name of its own"),
        (first_shadowed, "leads to something else", "a name of its own"),
    ],
    ids=["lambda", "local", "partial", "object", "method", "shadowed"],
)
def test_a_function_without_a_name_to_import_is_refused_with_a_hint(
    function: Callable[..., Any], reason: str, hint: str
) -> None:
    error = refusal(one(function))

    assert error.pointer == "/nodes/0/run"
    assert reason in str(error)
    assert hint in str(error)


def test_a_class_method_of_a_module_has_a_name() -> None:
    back = again(one(spec_flows.Box.of_class))

    assert back.nodes[0].run is not None
    assert back.nodes[0].run({}) == {"answer": "Box"}


def test_everything_that_has_no_form_is_told_at_once() -> None:
    first = node(
        lambda state: {"answer": ""},
        id="one",
        provides=["answer"],
        metadata={"tags": ("a", "b"), "fine": [1]},
        retry=Retry(2, lambda failed: 0.0),
        routes=[
            route.deliver("answer", lambda state: True),
            route.deliver("answer", field("answer") == (1, 2)),
            route.finish(lambda state: 1),
        ],
    )

    class Local(TypedDict):
        answer: str

    error = refusal(assemble("w", [first], place=None, state=Local, result=Optional[str]))  # noqa: UP045

    assert error.pointer == "/state"
    assert [line.partition(":")[0] for line in str(error).splitlines()] == [
        "#/state",
        "#/result",
        "#/nodes/0/run",
        "#/nodes/0/routes/0/when",
        "#/nodes/0/routes/1/when",
        "#/nodes/0/routes/2/finish",
        "#/nodes/0/retry/backoff",
        "#/nodes/0/metadata/tags",
    ]
    assert "or declare the state as data" in str(error)
    assert "typing.Optional[str] has no declarative form in this spelling" in str(error)
    assert "('a', 'b') is a tuple" in str(error)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: "x"}, {1, 2}, b"x", (1,), object(), Path("x")]
)
def test_a_value_that_json_would_change_is_refused(value: Any) -> None:
    first = node(
        spec_flows.reply,
        routes=[route.to("reply", field("answer") == value), route.deliver("answer")],
    )
    error = refusal(assemble("w", [first], place=None))

    assert error.pointer == "/nodes/0/routes/0/when"
    assert "as JSON it would read back as something else" in str(error)


def test_a_member_of_an_enum_is_written_by_name() -> None:
    first = node(
        spec_flows.reply,
        routes=[
            route.to("reply", field("mood").is_in([Mood.CALM, "other"])),
            route.deliver("answer"),
        ],
    )
    spec = to_spec(assemble("w", [first], place=None))
    when = spec["nodes"][0]["routes"][0]["when"]

    assert when == {
        "field": "mood",
        "op": "is_in",
        "value": [{"$member": f"{HERE}:Mood.CALM"}, "other"],
    }


def test_a_value_that_looks_like_a_member_is_refused() -> None:
    first = node(
        spec_flows.reply,
        routes=[
            route.to("reply", field("answer") == {"$member": "m:x"}),
            route.deliver("answer"),
        ],
    )

    assert refusal(assemble("w", [first], place=None)).pointer == "/nodes/0/routes/0/when"


def test_a_condition_of_another_class_is_refused() -> None:
    class Odd(Condition):
        pass

    first = node(spec_flows.reply, routes=[route.to("reply", Odd()), route.deliver("answer")])

    assert "a condition of the class Odd is no data" in str(
        refusal(assemble("w", [first], place=None))
    )


def test_what_was_written_shares_nothing_with_the_workflow() -> None:
    spec = to_spec(everything)
    spec["nodes"][0]["metadata"]["owner"][1]["b"] = "changed"

    assert to_spec(everything)["nodes"][0]["metadata"]["owner"][1]["b"] is None


def test_what_was_read_shares_nothing_with_the_mapping() -> None:
    spec = to_spec(everything)
    back = Workflow.from_spec(spec)
    spec["nodes"][0]["metadata"]["owner"].append("changed")

    assert back.manifest() == everything.manifest()


def test_the_short_description_of_the_function_is_kept_unless_the_form_says_else() -> None:
    back = Workflow.from_spec(
        {
            "id": "w",
            "inputs": ["question"],
            "nodes": [
                {
                    "id": "a",
                    "run": f"{HERE}:fetch",
                    "provides": ["status"],
                    "routes": [{"deliver": "status"}],
                }
            ],
        }
    )

    assert back.nodes[0].description == "Fetch the status."
    assert again(one(spec_flows.reply)).nodes[0].description == ""


def test_the_doors_of_the_package_lead_to_the_same_functions() -> None:
    assert small.to_spec() == to_spec(small)
    assert agentflow.validate(small.to_spec()).ok
