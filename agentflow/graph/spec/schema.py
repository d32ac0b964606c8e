"""The JSON Schema of the declarative form: what `schemas/workflow.schema.json` holds.

It tells the form, and editors complete by it. Whether what is written in that form can run, such as ids that are well formed
and limits that can be kept, is for the checks to say, in the same words as for workflows that are written in Python.
"""

from __future__ import annotations

from agentflow.graph.condition import OPERATORS, PRESENCE
from agentflow.graph.json_schema import (
    DIALECT,
    Data,
    list_of,
    map_of,
    names,
    object_of,
    one_of,
    ref,
    text,
)
from agentflow.graph.spec.conditions import MEMBER
from agentflow.graph.spec.kind_schema import KINDS, kind_definitions
from agentflow.graph.spec.type_schema import type_definitions

__all__ = ["condition_definition", "policy_definition", "workflow_schema"]


def workflow_schema() -> Data:
    """The JSON Schema (draft 2020-12) of a workflow in its declarative form."""
    root = _workflow()
    root["properties"] = {
        "$schema": text("The address of this schema, for editors; it has no other use."),
        **root["properties"],
    }
    return {
        "$schema": DIALECT,
        **root,
        "$defs": {
            "workflow": _workflow(),
            "node": _node(),
            "route": _route(),
            **kind_definitions(),
            "migration": _migration(),
            "retry": _retry(),
            "uses": _uses(),
            "policy": policy_definition(),
            "condition": condition_definition(),
            **type_definitions(),
        },
    }


_WAIVE = "Codes of findings that are accepted here, each with the reason."


def _workflow() -> Data:
    properties = {
        "id": text("The workflow's id: letters, digits and _ - ., starting with a letter or _."),
        "version": text(
            "The author's version of the definition; recorded with every run.", default="1"
        ),
        "description": text("What the workflow is for."),
        "state": {
            "description": "The fields of the state; without it the state is untyped.",
            "anyOf": [
                {"$ref": "#/$defs/fields"},
                {"$ref": "#/$defs/stateClass"},
                {"$ref": "#/$defs/name"},
            ],
        },
        "inputs": names(
            "The fields that a run must be given; default: those that the state requires."
        ),
        "optional_inputs": names(
            "Further fields that a run may be given; default: the others that no node provides."
        ),
        "entry": text("The id of the node where every run starts; default: the first node."),
        "result": ref(
            "type", "What every result is checked against; without it any value will do."
        ),
        "max_rounds": {
            "description": "How many rounds a run may take; a workflow with a loop has to say.",
            "type": "integer",
        },
        "on_error": text(
            "The id of the node to enter when a node fails that names none of its own."
        ),
        "on_limit": text("The id of the node to enter, once, when rounds run out."),
        "policies": list_of({"$ref": "#/$defs/policy"}, "What must hold on every path."),
        "migrations": {
            "description": "How stored runs of older versions go on, by the old version.",
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/migration"},
        },
        "waive": map_of({"type": "string"}, _WAIVE),
        "nodes": list_of(
            {"$ref": "#/$defs/node"},
            "The nodes; runs start at the first, unless `entry` says else.",
        ),
    }
    return object_of(
        "workflow",
        "An agentflow workflow: nodes, and the routes between them.",
        properties,
        required=("id", "nodes"),
    )


def _node() -> Data:
    properties = {
        "id": text("The node's id: letters, digits and _ - ., starting with a letter or _."),
        "description": text(
            "What the node does; default: the first line of its function's docstring."
        ),
        "run": ref(
            "name",
            "The function (state) or (state, ctx); of a decorated node its function is taken, no more.",
        ),
        "subflow": ref("subflow", "The workflow that this node runs, instead of a function."),
        "parallel": ref("parallel", "The workflows that this node runs at the same time."),
        "map_each": ref("mapEach", "The workflow that this node runs for each of several items."),
        "race": ref("race", "The workflows of which this node wants the first result."),
        "requires": names("Fields that must exist before the node runs."),
        "provides": names("Fields that every update of the node holds."),
        "may_provide": names("Fields that an update of the node may hold besides."),
        "routes": list_of(
            {"$ref": "#/$defs/route"}, "The ways out; the first that matches is taken."
        ),
        "starts_round": {
            "description": "Whether coming back here opens the next round.",
            "type": "boolean",
            "default": False,
        },
        "on_error": text(
            "The id of the node to enter when this one fails; default: the workflow's."
        ),
        "timeout": {"description": "Seconds that one attempt may take.", "type": "number"},
        "retry": ref("retry", "How often the node may be tried inside one visit."),
        "uses": ref("uses", "What one visit may spend, attempts included."),
        "metadata": {
            "description": "Anything the author wants to find again in the manifest.",
            "type": "object",
        },
        "waive": map_of({"type": "string"}, _WAIVE),
    }
    return object_of(
        "node", "One unit of work.", properties, required=("id",), **one_of("run", *KINDS)
    )


def _route() -> Data:
    properties = {
        "to": text("Enter the node of this id."),
        "deliver": text("End the run with the value of this field."),
        "finish": ref("name", "End the run with what this function computes from the state."),
        "when": {
            "description": "When the route matches; without it always.",
            "anyOf": [{"$ref": "#/$defs/condition"}, {"$ref": "#/$defs/name"}],
        },
        "reads": names("The fields that a function of this route looks at."),
        "label": text("A short text for drawings, in place of the condition's own."),
    }
    return object_of(
        "route", "One way out of a node.", properties, **one_of("to", "deliver", "finish")
    )


def _migration() -> Data:
    properties = {
        "change": ref("name", "A function from the state of the old version to that of this."),
        "nodes": map_of({"type": "string"}, "Nodes that have another id now: the old and the new."),
    }
    return object_of(
        "migration",
        "What makes a run of an older version one of this.",
        properties,
        required=("change",),
    )


def _retry() -> Data:
    properties = {
        "attempts": {"description": "Tries in all, the first included.", "type": "integer"},
        "backoff": {
            "description": "Seconds before the second try, doubled for each later one; or a function of the number of the failed try.",
            "anyOf": [{"title": "seconds", "type": "number"}, {"$ref": "#/$defs/name"}],
            "default": 0.0,
        },
        "on": list_of(
            {"$ref": "#/$defs/name"},
            "The exception types that are worth another try.",
            default=["builtins:Exception"],
        ),
    }
    return object_of("retry", "How a node is tried again.", properties, required=("attempts",))


def _uses() -> Data:
    calls = {"type": ["integer", "null"], "default": 0}
    properties = {
        "model_calls": {
            "description": "How many model calls one visit may start; null for any number.",
            **calls,
        },
        "tool_calls": {
            "description": "How many tool calls one visit may start; null for any number.",
            **calls,
        },
    }
    return object_of("uses", "What one visit may spend; it is enforced.", properties)


def policy_definition() -> Data:
    """One policy."""

    def demand(description: str, **properties: Data) -> Data:
        return object_of("demand", description, properties, required=tuple(properties))

    node = text("A node's id; `outer/inner` for one inside of the sub-workflow in `outer`.")
    properties = {
        "must_pass": demand(
            "No path visits `before` without having visited `node`.", node=node, before=node
        ),
        "never_after": demand(
            "Once `node` was visited, no path visits `later`.", node=node, later=node
        ),
        "at_most": demand(
            "No path visits `node` more often than `count` times.",
            node=node,
            count={"description": "The largest number of visits.", "type": "integer"},
        ),
        "only_if": demand(
            "Whenever `node` is visited, `when` holds on arrival.",
            node=node,
            when=ref("condition", "The condition."),
        ),
        "ends_within": demand(
            "No run takes more rounds than these.",
            rounds={"description": "The largest number of rounds.", "type": "integer"},
        ),
    }
    return object_of("policy", "One demand on every path.", properties, **one_of(*properties))


def condition_definition() -> Data:
    """One condition; refers to itself as `condition`."""
    parts = {"type": "array", "items": {"$ref": "#/$defs/condition"}}
    presence = {"properties": {"op": {"enum": list(PRESENCE)}}, "required": ["op"]}
    listed = {"properties": {"op": {"const": "is_in"}}, "required": ["op"]}
    comparison = object_of(
        "a comparison",
        "One question about one field.",
        {
            "field": text("A field of the state, or a dotted path below one."),
            "op": {"description": "What is asked.", "enum": list(OPERATORS)},
            "value": {
                "description": "What the field is compared with; a list for `is_in`. A member of an enum is "
                f'`{{"{MEMBER}": "module:Class.MEMBER"}}`.',
            },
        },
        required=("field", "op"),
    )
    comparison["if"] = presence
    comparison["then"] = {"properties": {"value": {"not": {}}}}
    comparison["else"] = {
        "required": ["value"],
        "if": listed,
        "then": {"properties": {"value": {"type": "array"}}},
    }
    return {
        "title": "a condition",
        "description": "A condition on the state, as data.",
        "type": "object",
        "anyOf": [
            comparison,
            object_of(
                'an object with "all"',
                "True when every part is.",
                {"all": {"description": "The parts.", **parts}},
                required=("all",),
            ),
            object_of(
                'an object with "any"',
                "True when at least one part is.",
                {"any": {"description": "The parts.", **parts}},
                required=("any",),
            ),
            object_of(
                'an object with "not"',
                "True when its part is not.",
                {"not": ref("condition", "The part.")},
                required=("not",),
            ),
        ],
    }
