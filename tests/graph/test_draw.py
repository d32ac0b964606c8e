"""Drawings: order, conditions, rounds, failures, limits, ends and findings can be seen; no name breaks the text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from agentflow import (
    Route,
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
from agentflow.graph.draw import to_dot, to_mermaid
from agentflow.graph.node import Node
from agentflow.graph.workflow import assemble
from tests.graph.spec_flows import everything


def body(state: Any) -> None:
    return None


def is_done(state: Any) -> bool:
    return True


def summary(state: Any) -> str:
    return ""


status = define_workflow(
    "service-status",
    inputs=["question"],
    nodes=[
        node(
            body,
            id="look_up",
            provides=["status"],
            routes=[route.to_if_equal("reply", "status", "online"), route.to("apologise")],
        ),
        node(body, id="reply", provides=["answer"], routes=[route.deliver("answer")]),
        node(
            body,
            id="apologise",
            may_provide=["answer"],
            routes=[route.deliver_if_ready("answer"), route.finish(summary)],
        ),
    ],
)

loop = define_workflow(
    "loop",
    inputs=[],
    max_rounds=3,
    on_error="recover",
    on_limit="give_up",
    nodes=[
        node(
            body,
            id="end",
            provides=["draft"],
            starts_round=True,
            on_error="give_up",
            routes=[route.deliver("draft", is_done), route.to("end")],
        ),
        node(body, id="recover", provides=["draft"], routes=[route.deliver("draft")]),
        node(body, id="give_up", provides=["draft"], routes=[route.deliver("draft")]),
    ],
)

inner = define_workflow(
    "inner",
    inputs=["x"],
    nodes=[node(body, id="a", provides=["y"], routes=[route.deliver("y")])],
)
middle = define_workflow(
    "middle",
    inputs=["x"],
    nodes=[
        subflow(
            "deeper",
            inner,
            inputs={"x": "x"},
            outputs={"y": "$result"},
            routes=[route.deliver("y")],
        )
    ],
)
nested = assemble(
    "nested",
    place=None,
    inputs=["x"],
    max_rounds=2,
    nodes=[
        subflow(
            "a",
            middle,
            inputs={"x": "x"},
            outputs={"y": "$result"},
            routes=[
                route.to("a", field("y") < 1),
                route.to("gone", field("y") == 1),
                route.deliver("y"),
            ],
        ),
        node(body, id="island", provides=["z"], routes=[route.to("a")]),
    ],
)


fanned = assemble(
    "fanned",
    place=None,
    inputs=["x", "xs"],
    nodes=[
        parallel(
            "fan",
            {"left": inner, "right": subflow("s", inner, inputs={"x": "x"}, outputs={"left": "y"})},
            routes=[route.to("each")],
        ),
        map_each(
            "each",
            inner,
            over="xs",
            item="x",
            into="ys",
            concurrency=4,
            max_items=9,
            on_branch_error="collect",
            errors="bad",
            routes=[route.to("first", field("ys").exists()), route.to("each")],
        ),
        race("first", {"a": inner, "b": inner}, into="won", routes=[route.deliver("won")]),
    ],
)


def test_a_chain_with_conditions_is_drawn_in_mermaid() -> None:
    assert (
        to_mermaid(status)
        == """\
flowchart TD
    start(("start<br/>service-status"))
    n_look_up["look_up"]
    n_reply["reply"]
    n_apologise["apologise"]
    end_deliver_answer(["deliver answer"])
    end_finish_summary(["finish summary"])
    start --> n_look_up
    n_look_up -->|"(1) status == 'online'"| n_reply
    n_look_up -->|"(2) otherwise"| n_apologise
    n_reply --> end_deliver_answer
    n_apologise -->|"(1) answer is ready"| end_deliver_answer
    n_apologise -->|"(2) otherwise"| end_finish_summary
"""
    )


def test_a_chain_with_conditions_is_drawn_in_dot() -> None:
    assert (
        to_dot(status)
        == """\
digraph "service-status" {
    compound=true;
    newrank=true;
    fontname="Helvetica";
    node [fontname="Helvetica"];
    edge [fontname="Helvetica", fontsize=10];
    start [label="start\\nservice-status", shape=circle];
    n_look_up [label="look_up", shape=box];
    n_reply [label="reply", shape=box];
    n_apologise [label="apologise", shape=box];
    end_deliver_answer [label="deliver answer", shape=box, style="rounded,bold"];
    end_finish_summary [label="finish summary", shape=box, style="rounded,bold"];
    start -> n_look_up;
    n_look_up -> n_reply [label="(1) status == 'online'"];
    n_look_up -> n_apologise [label="(2) otherwise"];
    n_reply -> end_deliver_answer;
    n_apologise -> end_deliver_answer [label="(1) answer is ready"];
    n_apologise -> end_finish_summary [label="(2) otherwise"];
}
"""
    )


def test_rounds_failures_and_limits_are_drawn_in_mermaid() -> None:
    assert (
        to_mermaid(loop)
        == """\
flowchart TD
    start(("start<br/>loop"))
    n_end[["end<br/>starts a round, at most 3"]]
    n_recover["recover"]
    n_give_up["give_up"]
    end_deliver_draft(["deliver draft"])
    failure_any_other_node_fails>"any other node fails"]
    start --> n_end
    n_end -->|"(1) is_done(state)"| end_deliver_draft
    n_end -->|"(2) otherwise"| n_end
    n_end -.->|"on error"| n_give_up
    n_end -.->|"rounds used up"| n_give_up
    n_recover --> end_deliver_draft
    n_give_up --> end_deliver_draft
    failure_any_other_node_fails -.->|"on error"| n_recover
    linkStyle 3,7 stroke-dasharray:7 4
    linkStyle 4 stroke-dasharray:1 4
"""
    )


def test_rounds_failures_and_limits_are_drawn_in_dot() -> None:
    assert to_dot(loop).splitlines()[6:] == [
        '    start [label="start\\nloop", shape=circle];',
        '    n_end [label="end\\nstarts a round, at most 3", shape=box, peripheries=2];',
        '    n_recover [label="recover", shape=box];',
        '    n_give_up [label="give_up", shape=box];',
        '    end_deliver_draft [label="deliver draft", shape=box, style="rounded,bold"];',
        '    failure_any_other_node_fails [label="any other node fails", shape=cds];',
        "    start -> n_end;",
        '    n_end -> end_deliver_draft [label="(1) is_done(state)"];',
        '    n_end -> n_end [label="(2) otherwise"];',
        '    n_end -> n_give_up [label="on error", style=dashed];',
        '    n_end -> n_give_up [label="rounds used up", style=dotted];',
        "    n_recover -> end_deliver_draft;",
        "    n_give_up -> end_deliver_draft;",
        '    failure_any_other_node_fails -> n_recover [label="on error", style=dashed];',
        "}",
    ]


def test_sub_workflows_missing_nodes_and_findings_are_drawn_in_mermaid() -> None:
    assert (
        to_mermaid(nested, nested.report)
        == """\
flowchart TD
    start(("start<br/>nested"))
    subgraph n_a["a<br/>sub-workflow middle"]
        start_a(("start"))
        subgraph n_a_deeper["deeper<br/>sub-workflow inner"]
            start_a_deeper(("start"))
            n_a_deeper_a["a"]
            end_a_deeper_deliver_y(["deliver y"])
        end
        end_a_deliver_y(["deliver y"])
    end
    n_island["island"]
    turn_a_again(("a again"))
    missing_gone{{"gone<br/>no such node"}}
    end_deliver_y(["deliver y"])
    note_a["AF106 unknown route target<br/>AF113 cycle without round boundary"]
    note_island["AF109 unreachable node"]
    start_a_deeper --> n_a_deeper_a
    n_a_deeper_a --> end_a_deeper_deliver_y
    start_a --> n_a_deeper
    n_a_deeper --> end_a_deliver_y
    start --> n_a
    n_a -->|"(1) y #60; 1"| turn_a_again
    turn_a_again --> n_a
    n_a -->|"(2) y == 1"| missing_gone
    n_a -->|"(3) otherwise"| end_deliver_y
    n_island --> n_a
    note_a -.- n_a
    note_island -.- n_island
    classDef found_error stroke:#c62828,stroke-width:3px,fill:#ffebee,color:#000
    class n_a,n_island,missing_gone found_error
    classDef found_note stroke:#9e9e9e,fill:#fffde7,color:#000
    class note_a,note_island found_note
"""
    )


def test_lines_to_a_sub_workflow_end_at_the_border_of_its_cluster_in_dot() -> None:
    text = to_dot(nested, nested.report)

    assert "    subgraph cluster_n_a {" in text
    assert "        subgraph cluster_n_a_deeper {" in text
    assert '        color="#c62828"; penwidth=3;' in text
    for line in [
        "start -> start_a [lhead=cluster_n_a];",
        'end_a_deliver_y -> end_deliver_y [label="(3) otherwise", ltail=cluster_n_a];',
        'end_a_deliver_y -> turn_a_again [label="(1) y < 1", ltail=cluster_n_a];',
        "turn_a_again -> start_a [lhead=cluster_n_a];",
        "end_a_deeper_deliver_y -> end_a_deliver_y [ltail=cluster_n_a_deeper];",
        "note_island -> n_island [style=dotted, arrowhead=none, constraint=false];",
    ]:
        assert f"    {line}\n" in text


def test_branches_are_groups_of_a_group_and_marked_where_findings_are_in_mermaid() -> None:
    assert (
        to_mermaid(fanned, fanned.report)
        == """\
flowchart TD
    start(("start<br/>fanned"))
    subgraph n_fan["fan<br/>all at the same time"]
        subgraph b_fan_left["left<br/>sub-workflow inner"]
            start_fan_left(("start"))
            n_fan_left_a["a"]
            end_fan_left_deliver_y(["deliver y"])
        end
        subgraph b_fan_right["right<br/>sub-workflow inner"]
            start_fan_right(("start"))
            n_fan_right_a["a"]
            end_fan_right_deliver_y(["deliver y"])
        end
    end
    subgraph n_each["each<br/>for each of xs, 4 at a time, 9 at most<br/>failures go to bad<br/>sub-workflow inner"]
        start_each(("start"))
        n_each_a["a"]
        end_each_deliver_y(["deliver y"])
    end
    subgraph n_first["first<br/>the first to end well"]
        subgraph b_first_a["a<br/>sub-workflow inner"]
            start_first_a(("start"))
            n_first_a_a["a"]
            end_first_a_deliver_y(["deliver y"])
        end
        subgraph b_first_b["b<br/>sub-workflow inner"]
            start_first_b(("start"))
            n_first_b_a["a"]
            end_first_b_deliver_y(["deliver y"])
        end
    end
    turn_each_again(("each again"))
    end_deliver_won(["deliver won"])
    note["AF114 cyclic workflow without max_rounds"]
    note_fan["AF128 field that several give at the same time"]
    note_each["AF113 cycle without round boundary"]
    start_fan_left --> n_fan_left_a
    n_fan_left_a --> end_fan_left_deliver_y
    start_fan_right --> n_fan_right_a
    n_fan_right_a --> end_fan_right_deliver_y
    start_each --> n_each_a
    n_each_a --> end_each_deliver_y
    start_first_a --> n_first_a_a
    n_first_a_a --> end_first_a_deliver_y
    start_first_b --> n_first_b_a
    n_first_b_a --> end_first_b_deliver_y
    start --> n_fan
    n_fan --> n_each
    n_each -->|"(1) ys exists"| n_first
    n_each -->|"(2) otherwise"| turn_each_again
    turn_each_again --> n_each
    n_first --> end_deliver_won
    note -.- start
    note_fan -.- n_fan
    note_each -.- n_each
    classDef found_error stroke:#c62828,stroke-width:3px,fill:#ffebee,color:#000
    class start,n_fan,n_each found_error
    classDef found_note stroke:#9e9e9e,fill:#fffde7,color:#000
    class note,note_fan,note_each found_note
"""
    )


def test_branches_are_clusters_of_a_cluster_in_dot() -> None:
    text = to_dot(fanned, fanned.report)

    assert (
        """\
    subgraph cluster_n_fan {
        label="fan\\nall at the same time";
        color="#c62828"; penwidth=3;
        subgraph cluster_b_fan_left {
            label="left\\nsub-workflow inner";
"""
        in text
    )
    assert (
        "each\\nfor each of xs, 4 at a time, 9 at most\\nfailures go to bad\\nsub-workflow inner"
        in text
    )
    for line in [
        "start -> start_fan_left [lhead=cluster_n_fan];",
        "end_fan_right_deliver_y -> start_each [ltail=cluster_n_fan, lhead=cluster_n_each];",
        "end_first_b_deliver_y -> end_deliver_won [ltail=cluster_n_first];",
        'note_fan [label="AF128 field that several give at the same time", shape=note, fontsize=10];',
        "note_fan -> start_fan_left [style=dotted, arrowhead=none, constraint=false, lhead=cluster_n_fan];",
    ]:
        assert f"    {line}\n" in text


def test_a_finding_about_the_workflow_itself_marks_its_start() -> None:
    broken = assemble("w", [node(body, id="a", routes=[route.to("a")])], place=None)
    text = to_mermaid(broken, broken.report)

    assert "class start,n_a found_error" in text
    assert 'note["AF112 workflow without end<br/>AF114 cyclic workflow without max_rounds"]' in text
    assert "note -.- start" in text


def test_the_drawings_of_the_workflow_are_these() -> None:
    assert everything.to_mermaid() == to_mermaid(everything)
    assert everything.to_dot() == to_dot(everything)


def test_a_long_condition_is_cut() -> None:
    long = field("x") == "y" * 100
    workflow = assemble("w", [node(body, id="a", routes=[route.to("a", long)])], place=None)
    (label,) = re.findall(r'\|"(.*)"\|', to_mermaid(workflow))

    assert len(label) == 60
    assert label.endswith("…")


def test_ids_that_differ_only_in_signs_stay_apart() -> None:
    made = [node(body, id=id, routes=[route.to("a.b")]) for id in ("a-b", "a.b", "a_b")]
    text = to_mermaid(assemble("w", made, place=None))

    assert '    n_a_b["a-b"]\n    n_a_b_2["a.b"]\n    n_a_b_3["a_b"]' in text
    assert "start --> n_a_b\n" in text
    assert "n_a_b --> n_a_b_2\n" in text


# --- whatever the texts are --------------------------------------------------------------------

RESERVED = [
    *(
        "end",
        "graph",
        "subgraph",
        "style",
        "class",
        "click",
        "default",
        "linkStyle",
        "direction TB",
    ),
    *("", "%%{init: {}}%%", "<b>&amp;", '"`x`"', "a|b", "--> b", "]", "\\n", "a\nb", "1. x", "_x_"),
    *("\x00", "\u202e", "\ud800", "é中🙂", "#quot;", "strict", "\\"),
]
texts = st.sampled_from(RESERVED) | st.text(max_size=6)

MERMAID_LINE = re.compile(
    r"""    \ *(?:
        [a-z]\w*(?:\(\("(?P<start>[^"]+)"\)\)|\[\["[^"]+"\]\]|\["[^"]+"\]|\(\["[^"]+"\]\)|\{\{"[^"]+"\}\}|>"[^"]+"\])
      | subgraph\ \w+\["[^"]+"\] | end
      | [a-z]\w*\ (?:-->|-\.->|-\.-)(?:\|"[^"|]+"\|)?\ [a-z]\w*
      | linkStyle\ [\d,]+\ stroke-dasharray:[\d ]+
      | classDef\ found_\w+\ [\w:#,-]+ | class\ [\w,]+\ found_\w+
    )""",
    re.VERBOSE,
)
QUOTED = r'"(?:[^"\\]|\\["\\n])*"'
DOT_LINE = re.compile(
    rf"""\ +(?:
        (?:compound|newrank)=true; | fontname={QUOTED}; | (?:node|edge)\ \[.*\];
      | [a-z]\w*\ \[label={QUOTED}(?:,\ \w+=(?:\w+|{QUOTED}))*\];
      | subgraph\ cluster_\w+\ \{{ | label={QUOTED}; | color="\#\w+";\ penwidth=3; | \}}
      | [a-z]\w*\ ->\ [a-z]\w*(?:\ \[(?:(?:,\ )?\w+=(?:\w+|{QUOTED}))+\])?;
    )""",
    re.VERBOSE,
)


def routes(ids: list[str]) -> st.SearchStrategy[list[Route]]:
    targets = (st.sampled_from(ids) if ids else st.nothing()) | texts
    conditions = st.none() | st.builds(lambda path, value: field(path) == value, texts, texts)
    one = st.one_of(
        st.builds(route.to, targets, conditions),
        st.builds(route.deliver, texts, conditions),
        st.builds(route.finish, st.just(summary), conditions),
    )
    return st.lists(one, max_size=3)


@st.composite
def workflows(draw: st.DrawFn, depth: int = 1) -> Workflow[Any]:
    ids = draw(st.lists(texts, max_size=4))
    nodes: list[Node] = []
    for id in ids:
        more: dict[str, Any] = {"routes": draw(routes(ids)), "on_error": draw(st.none() | texts)}
        if depth and draw(st.booleans()):
            nodes.append(draw(holders(id, workflows(depth - 1), more)))
        else:
            nodes.append(node(body, id=id, starts_round=draw(st.booleans()), **more))
    return assemble(
        draw(texts),
        nodes,
        place=None,
        max_rounds=3,
        on_error=draw(st.none() | texts),
        on_limit=draw(st.none() | texts),
    )


def holders(
    id: str, inner: st.SearchStrategy[Workflow[Any]], more: dict[str, Any]
) -> st.SearchStrategy[Node]:
    held = st.dictionaries(texts, inner, max_size=2)
    return st.one_of(
        st.builds(lambda one: subflow(id, one, **more), inner),
        st.builds(lambda many: parallel(id, many, **more), held),
        st.builds(lambda many: race(id, many, **more), held),
        st.builds(
            lambda one, over, bad: map_each(
                id,
                one,
                over=over,
                item="x",
                into="y",
                on_branch_error="collect",
                errors=bad,
                **more,
            ),
            inner,
            texts | st.just(is_done),
            texts,
        ),
    )


@given(workflows())
def test_no_text_breaks_out_of_its_quotes(workflow: Workflow[Any]) -> None:
    mermaid, dot = to_mermaid(workflow, workflow.report), to_dot(workflow, workflow.report)

    assert (mermaid + dot).encode()
    for line in mermaid.removesuffix("\n").split("\n")[1:]:
        assert MERMAID_LINE.fullmatch(line), line
    for line in dot.removesuffix("\n").split("\n")[1:-1]:
        assert DOT_LINE.fullmatch(line), line


@settings(max_examples=20)
@given(workflows())
def test_the_same_workflow_gives_the_same_text(workflow: Workflow[Any]) -> None:
    assert to_mermaid(workflow) == to_mermaid(workflow)
    assert to_dot(workflow) == to_dot(workflow)


VISIBLE = st.text(
    st.characters(
        blacklist_categories=["Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"],
        blacklist_characters="\ufffd",
    ),
    min_size=1,
)


@given(VISIBLE)
@example("&amp;")
@example("#quot;")
@example(r"\N\"\\")
def test_what_can_be_seen_of_an_id_is_what_is_read_back(id: str) -> None:
    workflow = assemble("w", [node(body, id=id, routes=[route.deliver("x")])], place=None)
    (mermaid,) = re.findall(r'^    n\w*\["(.*)"\]$', to_mermaid(workflow), re.MULTILINE)
    (dot,) = re.findall(r'^    n\w* \[label="(.*)", shape=box\];$', to_dot(workflow), re.MULTILINE)

    assert re.sub(r"#(\d+);", lambda found: chr(int(found[1])), mermaid) == id
    assert re.sub(r"\\(.)", r"\1", dot).replace("&amp;", "&") == id


@pytest.mark.parametrize(
    "text", ["a direction TB", "1. x", "*x*", "_x_", "`x`", "- x", "<b>", "x:"]
)
def test_what_mermaid_takes_for_more_than_text_is_written_as_numbers(text: str) -> None:
    workflow = assemble("w", [node(body, id=text, routes=[route.deliver("x")])], place=None)
    (found,) = re.findall(r'^    n\w*\["(.*)"\]$', to_mermaid(workflow), re.MULTILINE)

    assert found != text
    assert re.sub(r"#(\d+);", lambda sign: chr(int(sign[1])), found) == text
