"""The manifest: what a workflow may do, as JSON data; and its digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Set
from typing import TYPE_CHECKING, Any, get_origin

from agentflow.graph.condition import PRESENCE, AllOf, AnyOf, Condition, Not, Test
from agentflow.graph.kinds import kind_name
from agentflow.graph.nested_types import nested_types
from agentflow.graph.reducer import BUILT_IN

if TYPE_CHECKING:
    from agentflow.graph.kinds import Kind
    from agentflow.graph.nested_types import Member
    from agentflow.graph.node import Node
    from agentflow.graph.policy import Policy
    from agentflow.graph.reducer import Reducer
    from agentflow.graph.route import Route
    from agentflow.graph.schema import Schema
    from agentflow.graph.workflow import Workflow

__all__ = ["callable_name", "condition_data", "fingerprint", "manifest", "policy_data", "type_name"]


def manifest(workflow: Workflow[Any]) -> dict[str, Any]:
    """Everything that a workflow declares, as JSON data."""
    return {
        "id": workflow.id,
        "version": workflow.version,
        "description": workflow.description,
        "entry": workflow.entry,
        "inputs": list(workflow.inputs),
        "optional_inputs": list(workflow.optional_inputs),
        "open_inputs": workflow.open_inputs,
        "state": _state(workflow.schema),
        "types": _types(workflow),
        "result": type_name(workflow.result),
        "max_rounds": 1 if workflow.max_rounds is None else workflow.max_rounds,
        "on_error": workflow.on_error,
        "on_limit": workflow.on_limit,
        "policies": [policy_data(policy) for policy in workflow.policies],
        "migrations": {
            version: {"change": callable_name(one.change), "nodes": dict(one.nodes)}
            for version, one in workflow.migrations.items()
        },
        "waive": dict(workflow.waive),
        "nodes": [_node(node) for node in workflow.nodes],
    }


def fingerprint(workflow: Workflow[Any]) -> str:
    """A SHA-256 digest of the manifest without what cannot change how a run goes."""
    text = json.dumps(_bare(manifest(workflow)), sort_keys=True, ensure_ascii=True, default=_stable)
    return hashlib.sha256(text.encode()).hexdigest()


_LABELS = frozenset({"description", "metadata", "migrations", "policies", "version", "waive"})
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def _bare(data: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a workflow without labels; a field may well be called like one of them."""
    kept = {key: value for key, value in data.items() if key not in _LABELS}
    kept["nodes"] = [
        {key: value for key, value in node.items() if key not in _LABELS} for node in data["nodes"]
    ]
    for node in kept["nodes"]:
        if node["kind"] is not None:
            branches = [
                {**branch, "workflow": _bare(branch["workflow"])}
                for branch in node["kind"]["branches"]
            ]
            node["kind"] = {**node["kind"], "branches": branches}
    return kept


def _stable(value: object) -> str | list[str]:
    # What is no JSON, in a form that is the same in every process: a set has no order of its own.
    if isinstance(value, Set):
        return sorted(map(_without_address, value))
    return _without_address(value)


def _without_address(value: object) -> str:
    return _ADDRESS.sub("", repr(value))


def _state(schema: Schema) -> dict[str, Any] | None:
    if not schema.typed:
        return None
    return {
        name: {
            "type": type_name(spec.annotation),
            "required": spec.required,
            "default": spec.default is not None,
            "reducer": None if spec.reducer is None else str(spec.reducer),
            "private": spec.private,
        }
        for name, spec in schema.fields.items()
    }


def _types(workflow: Workflow[Any]) -> list[dict[str, Any]]:
    """The classes that its fields and its result are made of, with what is in them."""
    specs = workflow.schema.fields.values()
    hints = [
        part for spec in specs for part in (spec.annotation, spec.reducer and spec.reducer.delta)
    ]
    return [
        {"type": type_name(kind), "members": [_member(member) for member in members]}
        for kind, members in nested_types([*hints, workflow.result])
    ]


def _member(member: Member) -> dict[str, Any]:
    data = {"name": member.name, "type": type_name(member.hint), "required": member.required}
    return data if member.value is None else {**data, "value": _stable(member.value)}


def _node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "description": node.description,
        "requires": list(node.requires),
        "provides": list(node.provides),
        "may_provide": list(node.may_provide),
        "run": None if node.run is None else callable_name(node.run),
        "options": _options(node.run),
        "kind": None if node.kind is None else _kind(node.kind),
        "routes": [_route(route) for route in node.routes],
        "starts_round": node.starts_round,
        "on_error": node.on_error,
        "timeout": node.timeout,
        "retry": None
        if node.retry is None
        else {
            "attempts": node.retry.attempts,
            "backoff": callable_name(node.retry.backoff)
            if callable(node.retry.backoff)
            else node.retry.backoff,
            "on": [type_name(kind) for kind in _as_tuple(node.retry.on)],
        },
        "uses": None
        if node.uses is None
        else {"model_calls": node.uses.model_calls, "tool_calls": node.uses.tool_calls},
        "metadata": dict(node.metadata),
        "waive": dict(node.waive),
    }


def _options(function: object) -> dict[str, Any]:
    """What a function that is a dataclass was made with, as that of `ask` is."""
    if not dataclasses.is_dataclass(function):
        return {}
    return {
        option.name: _plain(getattr(function, option.name))
        for option in dataclasses.fields(function)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, type) or get_origin(value) is not None:
        return type_name(value)
    return callable_name(value) if callable(value) else value


def policy_data(policy: Policy) -> dict[str, Any]:
    """A policy in its declarative form, values of its condition left as they are."""
    match policy.kind:
        case "must_pass":
            return {"must_pass": {"node": policy.node, "before": policy.other}}
        case "never_after":
            return {"never_after": {"node": policy.node, "later": policy.other}}
        case "at_most":
            return {"at_most": {"node": policy.node, "count": policy.count}}
        case "only_if":
            assert policy.condition is not None
            return {"only_if": {"node": policy.node, "when": condition_data(policy.condition)}}
        case "ends_within":
            return {"ends_within": {"rounds": policy.rounds}}


def _kind(kind: Kind) -> dict[str, Any]:
    data: dict[str, Any] = {
        "kind": kind_name(kind),
        "branches": [
            {
                "name": branch.name,
                "workflow": manifest(branch.workflow),
                "inputs": dict(branch.inputs),
                "outputs": dict(branch.outputs),
                "item": branch.item,
            }
            for branch in kind.branches
        ],
    }
    for option in dataclasses.fields(kind):
        if option.name not in ("branch", "branches"):
            value = getattr(kind, option.name)
            data[option.name] = callable_name(value) if callable(value) else value
    return data


def _route(route: Route) -> dict[str, Any]:
    when: Any = None
    if isinstance(route.when, Condition):
        when = condition_data(route.when)
    elif route.when is not None:
        when = callable_name(route.when)
    return {
        "kind": route.kind,
        "target": route.target,
        "field": route.field,
        "function": None if route.function is None else callable_name(route.function),
        "when": when,
        "reads": None if route.reads is None else list(route.reads),
    }


def condition_data(condition: Condition) -> dict[str, Any]:
    """A condition in its declarative form, values left as they are."""
    match condition:
        case Test(path, op, value):
            data: dict[str, Any] = {"field": ".".join(path), "op": op}
            if op not in PRESENCE:
                data["value"] = list(value) if op == "is_in" else value
            return data
        case AllOf(parts):
            return {"all": [condition_data(part) for part in parts]}
        case AnyOf(parts):
            return {"any": [condition_data(part) for part in parts]}
        case Not(part):
            return {"not": condition_data(part)}
    raise TypeError(f"{condition!r} is no condition as data")


def callable_name(function: Callable[..., Any]) -> str:
    """`module:qualified.name` of a callable; of its type for objects without a name."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def reducer_name(reducer: Reducer | None) -> str | None:
    """A reducer as it is recorded and compared: its name if every definition knows it, else where its function is found."""
    if reducer is None:
        return None
    return reducer.name if BUILT_IN.get(reducer.name) is reducer else callable_name(reducer.apply)


def type_names(hints: Iterable[Any]) -> tuple[Any, ...]:
    """Some types in words, with what is in the classes that they are made of: equal where the types mean the same."""
    hints = list(hints)
    inside = [
        (type_name(kind), [_member(member) for member in members])
        for kind, members in nested_types(hints)
    ]
    return [type_name(hint) for hint in hints], inside


def type_name(hint: Any) -> str | None:
    """A type in words that do not change between processes."""
    if hint is None:
        return None
    if isinstance(hint, type) and not hasattr(hint, "__args__"):
        return (
            hint.__qualname__
            if hint.__module__ == "builtins"
            else f"{hint.__module__}:{hint.__qualname__}"
        )
    return _without_address(hint)


def _as_tuple(kinds: Any) -> tuple[Any, ...]:
    return kinds if isinstance(kinds, tuple) else (kinds,)
