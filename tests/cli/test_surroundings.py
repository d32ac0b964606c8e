"""Workflows inside of others: what is taken from their ends is read, where both are looked at together."""

from __future__ import annotations

import json

from tests.cli.shell import Project

CHILD = """
from agentflow import define_workflow, node, route

@node(requires=["city"], provides=["sky", "wind", "draft"], routes=[route.to("tell")])
async def look(state):
    return {"sky": "clear", "wind": 3, "draft": "none"}

@node(requires=["sky"], provides=["report", "draft"], routes=[route.deliver("report")])
async def tell(state):
    return {"report": state["sky"], "draft": "some"}

weather = define_workflow("weather", nodes=[look, tell], inputs=["city"])
"""

PARENT = """
from agentflow import define_workflow, route, subflow
from {module} import weather

trip = define_workflow(
    "trip",
    nodes=[
        subflow(
            "ask",
            weather,
            inputs={{"city": "city"}},
            outputs={{"advice": "$result", {outputs}}},
            routes=[route.deliver("advice", reads=["breeze", "text"])],
        )
    ],
    inputs=["city"],
)
"""
TAKING = '"breeze": "wind", "text": "draft"'


def told(project: Project, *targets: str) -> list[tuple[str, str, str]]:
    """The code, the node and the field of each finding."""
    document = json.loads(project.agentflow("validate", "--format", "json", *targets).out)
    findings = [each for report in document["reports"] for each in report["findings"]]
    return [(each["code"], each["node"], each["message"].split("'")[3]) for each in findings]


def test_a_field_that_a_surrounding_workflow_takes_is_read(project: Project) -> None:
    project.write("child.py", CHILD)
    project.write("trip.py", PARENT.format(module="child", outputs=TAKING))
    alone = [("AF210", "look", "wind"), ("AF210", "look", "draft"), ("AF210", "tell", "draft")]
    assert told(project, "child.py") == alone
    # The draft of `look` is written anew before the end from which it is taken.
    for targets in (("child.py", "trip.py"), ("trip.py", "child.py"), (".",)):
        assert told(project, *targets) == [("AF211", "look", "draft")]


def test_what_is_not_taken_is_still_read_by_nobody(project: Project) -> None:
    project.write("child.py", CHILD)
    project.write(
        "trip.py", PARENT.format(module="child", outputs='"breeze": "wind", "text": "wind"')
    )
    assert told(project, "trip.py") == [("AF210", "look", "draft"), ("AF210", "tell", "draft")]


def test_a_workflow_below_the_one_inside_counts_too(project: Project) -> None:
    project.write("child.py", CHILD)
    project.write("trip.py", PARENT.format(module="child", outputs=TAKING))
    project.write(
        "tour.py",
        """
        from agentflow import define_workflow, route, subflow
        import trip

        tour = define_workflow(
            "tour",
            nodes=[
                subflow("day", trip.trip, inputs={"city": "city"}, outputs={"plan": "$result"},
                        routes=[route.deliver("plan")])
            ],
            inputs=["city"],
        )
        """,
    )
    assert told(project, "tour.py", "child.py") == [("AF211", "look", "draft")]
