"""The part of the workflow schema that speaks of nodes which hold workflows."""

from __future__ import annotations

from agentflow.graph.json_schema import Data, list_of, map_of, object_of, ref, text

__all__ = ["KINDS", "kind_definitions"]

KINDS = ("subflow", "parallel", "map_each", "race")
"""The keys of a node, one for each kind."""


def kind_definitions() -> dict[str, Data]:
    """What a node may hold instead of a function, by the names of the definitions."""
    branches = list_of(
        {"$ref": "#/$defs/branch"}, "The workflows; what they give is merged in this order."
    )
    return {
        "branch": object_of(
            "branch",
            "A workflow among others. Without inputs and outputs it takes its inputs from the fields of the same names.",
            {"name": text("Its name among the others."), **_workflow(), "outputs": _outputs()},
            required=("name", "workflow"),
        ),
        "subflow": object_of(
            "subflow",
            "A workflow that runs on a state of its own.",
            {**_workflow(), "outputs": _outputs()},
            required=("workflow",),
        ),
        "parallel": object_of(
            "parallel",
            "Workflows that run at the same time; the node goes on when all have ended.",
            {"branches": branches, **_failures()},
            required=("branches",),
        ),
        "mapEach": object_of(
            "map_each",
            "A workflow that runs once for each item; the results stand in the order of the items.",
            {**_workflow(), **_mapping(), **_failures()},
            required=("workflow", "over", "item", "into"),
        ),
        "race": object_of(
            "race",
            "Workflows that run at the same time; the node goes on with the first that ends well.",
            {
                "branches": branches,
                "into": text("The field that gets what a workflow without outputs delivered."),
                "winner": text("The field that gets the name of the first."),
                **_failures(),
            },
            required=("branches",),
        ),
    }


def _workflow() -> dict[str, Data]:
    file = object_of(
        "a file",
        "A workflow in a file of its own.",
        {"ref": text("The path of its file, from the folder of this one.")},
        required=("ref",),
    )
    return {
        "workflow": {
            "description": "The workflow: as an object in place, in another file, or by the name it has in a module.",
            "anyOf": [{"$ref": "#/$defs/workflow"}, file, {"$ref": "#/$defs/name"}],
        },
        "inputs": map_of(
            {"type": "string"},
            "Fields of the sub-workflow, each with the surrounding field it is taken from.",
        ),
    }


def _outputs() -> Data:
    return map_of(
        {"type": "string"},
        "Surrounding fields, each with the field of the sub-workflow it is taken from; `$result` is what it delivered.",
    )


def _mapping() -> dict[str, Data]:
    function = object_of(
        "a function",
        "A function of the state that gives the items.",
        {"function": ref("name", "Its name.")},
        required=("function",),
    )
    return {
        "over": {
            "description": "Where the items come from.",
            "anyOf": [{"title": "a field", "type": "string"}, function],
        },
        "item": text("The field of the sub-workflow that takes one item."),
        "into": text("The surrounding field that gets the list of results."),
        "concurrency": {
            "description": "How many items are worked on at the same time.",
            "type": "integer",
            "default": 10,
        },
        "max_items": {"description": "How many items there may be.", "type": "integer"},
    }


def _failures() -> dict[str, Data]:
    return {
        "on_branch_error": {
            "description": "Whether a failure stops the others and fails the node, or is collected.",
            "enum": ["cancel", "collect"],
            "default": "cancel",
        },
        "errors": text("The field that gets the failures that were collected."),
    }
