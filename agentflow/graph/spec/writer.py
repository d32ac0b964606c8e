"""The writer: from a workflow to its declarative form, or to everything that has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentflow.errors import SpecError
from agentflow.graph.condition import Condition
from agentflow.graph.kinds import Branch, Kind, MapEach, Parallel, Race, Subflow, kind_name
from agentflow.graph.limits import Retry
from agentflow.graph.manifest import policy_data
from agentflow.graph.migration import Migration
from agentflow.graph.node import Node
from agentflow.graph.policy import Policy
from agentflow.graph.route import Route
from agentflow.graph.spec.conditions import condition_data, json_value
from agentflow.graph.spec.hints import data_of, state_data
from agentflow.graph.spec.names import NoName, name_of
from agentflow.graph.spec.pointer import below
from agentflow.graph.workflow import Workflow

__all__ = ["Writer"]

Data = dict[str, Any]


class Writer:
    """Writes workflows; collects what has no declarative form, so that it can be told at once."""

    def __init__(self) -> None:
        self._refused: list[tuple[str, NoName]] = []

    def write(self, workflow: Workflow[Any]) -> Data:
        """The declarative form of a workflow.

        Raises:
            SpecError: Something in it has none; a line each, and the pointer is that of the first.
        """
        data = self._workflow(workflow, "")
        if not self._refused:
            return data
        (pointer, first), *others = self._refused
        more = [f"\n#{where}: {error.message}; {error.hint}" for where, error in others]
        raise SpecError(first.message, pointer=pointer, hint="".join([first.hint, *more]))

    def _workflow(self, workflow: Workflow[Any], pointer: str) -> Data:
        data: Data = {"id": workflow.id, "version": workflow.version}
        if workflow.description:
            data["description"] = workflow.description
        if workflow.state is not None:
            data["state"] = self._form(state_data, workflow.state, below(pointer, "state"))
        if not workflow.open_inputs:
            data["inputs"] = list(workflow.inputs)
            data["optional_inputs"] = list(workflow.optional_inputs)
        data["entry"] = workflow.entry
        if workflow.result is not None:
            data["result"] = self._form(data_of, workflow.result, below(pointer, "result"))
        data |= _given(workflow, "max_rounds", "on_error", "on_limit")
        if workflow.policies:
            data["policies"] = [
                self._form(_policy, policy, below(pointer, "policies", at))
                for at, policy in enumerate(workflow.policies)
            ]
        if workflow.migrations:
            where = below(pointer, "migrations")
            data["migrations"] = {
                version: self._migration(one, below(where, version))
                for version, one in workflow.migrations.items()
            }
        if workflow.waive:
            data["waive"] = dict(workflow.waive)
        data["nodes"] = [
            self._node(node, below(pointer, "nodes", at)) for at, node in enumerate(workflow.nodes)
        ]
        return data

    def _node(self, node: Node, pointer: str) -> Data:
        # The description is always there: without it that of the function would be taken.
        data: Data = {"id": node.id, "description": node.description}
        if node.kind is not None:
            kind = kind_name(node.kind)
            data[kind] = self._kind(node.kind, below(pointer, kind))
        else:
            data["run"] = self._form(name_of, node.run, below(pointer, "run"))
        for name in ("requires", "provides", "may_provide"):
            if getattr(node, name):
                data[name] = list(getattr(node, name))
        data["routes"] = [
            self._route(route, below(pointer, "routes", at)) for at, route in enumerate(node.routes)
        ]
        if node.starts_round:
            data["starts_round"] = True
        data |= _given(node, "on_error", "timeout")
        if node.retry is not None:
            data["retry"] = self._retry(node.retry, below(pointer, "retry"))
        if node.uses is not None:
            data["uses"] = {
                "model_calls": node.uses.model_calls,
                "tool_calls": node.uses.tool_calls,
            }
        if node.metadata:
            where = below(pointer, "metadata")
            data["metadata"] = {
                name: self._form(json_value, value, below(where, name))
                for name, value in node.metadata.items()
            }
        if node.waive:
            data["waive"] = dict(node.waive)
        return data

    def _migration(self, migration: Migration, pointer: str) -> Data:
        change = self._form(name_of, migration.change, below(pointer, "change"))
        return {"change": change, "nodes": dict(migration.nodes)}

    def _kind(self, kind: Kind, pointer: str) -> Data:
        match kind:
            case Subflow(branch):
                return self._branch(branch, pointer)
            case MapEach(branch):
                ((into, _),) = branch.outputs.items()
                data = self._branch(branch, pointer) | {"item": branch.item, "into": into}
                del data["outputs"]
                if isinstance(kind.over, str):
                    data["over"] = kind.over
                else:
                    made = self._form(name_of, kind.over, below(pointer, "over", "function"))
                    data["over"] = {"function": made}
                data |= _given(kind, "concurrency", "max_items")
            case Parallel() | Race():
                where = below(pointer, "branches")
                data = {
                    "branches": [
                        {"name": branch.name, **self._branch(branch, below(where, at))}
                        for at, branch in enumerate(kind.branches)
                    ]
                }
                if isinstance(kind, Race):
                    data |= _given(kind, "winner")
        if kind.on_branch_error == "collect":
            data["on_branch_error"] = "collect"
        return data | _given(kind, "errors")

    def _branch(self, branch: Branch, pointer: str) -> Data:
        return {
            "workflow": self._workflow(branch.workflow, below(pointer, "workflow")),
            "inputs": dict(branch.inputs),
            "outputs": dict(branch.outputs),
        }

    def _route(self, route: Route, pointer: str) -> Data:
        data: Data = {}
        match route.kind:
            case "to":
                data["to"] = route.target
            case "deliver":
                data["deliver"] = route.field
            case "finish":
                data["finish"] = self._form(name_of, route.function, below(pointer, "finish"))
        if isinstance(route.when, Condition):
            data["when"] = self._form(condition_data, route.when, below(pointer, "when"))
        elif route.when is not None:
            data["when"] = self._form(name_of, route.when, below(pointer, "when"))
        if route.reads is not None:
            data["reads"] = list(route.reads)
        return data | _given(route, "label")

    def _retry(self, retry: Retry, pointer: str) -> Data:
        kinds = retry.on if isinstance(retry.on, tuple) else (retry.on,)
        backoff: Any = retry.backoff
        if callable(backoff):
            backoff = self._form(name_of, backoff, below(pointer, "backoff"))
        return {
            "attempts": retry.attempts,
            "backoff": backoff,
            "on": [
                self._form(name_of, kind, below(pointer, "on", at)) for at, kind in enumerate(kinds)
            ],
        }

    def _form(self, form: Callable[[Any], Any], thing: Any, pointer: str) -> Any:
        try:
            return form(thing)
        except NoName as error:
            self._refused.append((pointer, error))
            return None


def _given(thing: Any, *names: str) -> Data:
    return {name: getattr(thing, name) for name in names if getattr(thing, name) is not None}


def _policy(policy: Policy) -> Mapping[str, Any]:
    data = policy_data(policy)
    if policy.condition is not None:
        data["only_if"]["when"] = condition_data(policy.condition)
    return data
