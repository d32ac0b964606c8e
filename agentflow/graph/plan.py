"""A workflow compiled for the hot loop: targets resolved, contracts made, nothing left to reflect on.

Made once for each definition, never changed by a run, shared by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.graph.calling import is_async, takes_context
from agentflow.graph.condition import Condition
from agentflow.graph.contract import ANY, Contract
from agentflow.graph.frozen import State
from agentflow.graph.schema import FieldSpec, Schema

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch, Kind
    from agentflow.graph.limits import Retry, Uses
    from agentflow.graph.node import Node
    from agentflow.graph.route import Route
    from agentflow.graph.workflow import Workflow

__all__ = ["Plan", "PlanNode", "PlanRoute", "compile_plan", "result_contract"]


class PlanRoute:
    """A route with its target and its test resolved."""

    __slots__ = ("field", "function", "index", "route", "target", "test")

    def __init__(self, route: Route, index: int) -> None:
        self.route = route
        self.index = index
        self.target: PlanNode | None = None
        self.field = route.field if route.kind == "deliver" else None
        self.function = route.function
        self.test: Callable[[Any], Any] | None
        if isinstance(route.when, Condition):
            self.test = route.when.predicate
        else:
            self.test = route.when


class PlanNode:
    """A node as the hot loop wants it."""

    __slots__ = (
        "always",
        "exact",
        "function",
        "id",
        "index",
        "kind",
        "node",
        "on_error",
        "plain",
        "private",
        "provides",
        "reducing",
        "requires",
        "retry",
        "routes",
        "starts_round",
        "takes_context",
        "threaded",
        "timeout",
        "uses",
        "writes",
    )

    def __init__(self, node: Node, index: int, schema: Schema) -> None:
        self.node = node
        self.id = node.id
        self.index = index
        self.requires = node.requires
        self.provides = node.provides
        self.starts_round = node.starts_round
        fields = {name: schema.field(name) for name in node.may_write}
        self.writes: dict[str, FieldSpec] = (
            {name: spec.gathering() for name, spec in fields.items()} if node.branches else fields
        )
        # Of a field whose plain type says it all, nothing more is asked at a visit.
        self.exact = {name: spec.delta.exact for name, spec in self.writes.items()}
        self.reducing = any(spec.reducer is not None for spec in self.writes.values())
        self.private = frozenset(name for name, spec in self.writes.items() if spec.private)
        self.kind: Kind | None = node.kind
        self.function: Callable[..., Any] = node
        self.takes_context = self.threaded = False
        if node.run is not None:
            self.function = node.run
            self.takes_context = takes_context(node.run)
            self.threaded = not is_async(node.run)
        self.timeout: float | None = node.timeout
        self.retry: Retry | None = node.retry
        self.uses: Uses | None = node.uses
        # The body is one await of one coroutine, with nothing around it.
        self.plain = not (self.threaded or self.kind or self.timeout or self.retry)
        self.routes = tuple(PlanRoute(route, at) for at, route in enumerate(node.routes))
        self.always: PlanRoute | None = None
        if self.routes and self.routes[0].test is None:
            self.always = self.routes[0]
        self.on_error: PlanNode | None = None


class Plan:
    """A workflow ready to be run."""

    __slots__ = (
        "entry",
        "inputs",
        "max_rounds",
        "nodes",
        "on_limit",
        "private",
        "result",
        "schema",
        "state_class",
        "with_default",
        "workflow",
    )

    def __init__(self, workflow: Workflow[Any]) -> None:
        schema = workflow.schema
        self.workflow = workflow
        self.schema = schema
        self.nodes: dict[str, PlanNode] = {
            node.id: PlanNode(node, index, schema) for index, node in enumerate(workflow.nodes)
        }
        self.entry = self.nodes[workflow.entry]
        self.on_limit = self.nodes[workflow.on_limit] if workflow.on_limit else None
        self.max_rounds = 1 if workflow.max_rounds is None else workflow.max_rounds
        self.inputs: Mapping[str, FieldSpec] = {
            name: schema.field(name) for name in (*workflow.inputs, *workflow.optional_inputs)
        }
        self.with_default = schema.with_default()
        self.private = schema.private()
        self.state_class = State.with_attributes(schema.fields) if schema.attributes else State
        self.result = result_contract(workflow.result)
        self.result.compile()
        for spec in schema.fields.values():
            spec.value.compile()
            spec.delta.compile()
        for node in self.nodes.values():
            self._resolve(node)

    def inner(self, frame: str) -> Plan | None:
        """The plan of a workflow inside, by the path of a frame such as `/node#1/inner#2[branch]`; `None` if it is gone."""
        plan: Plan = self
        for step in frame.split("/")[1:]:
            branch = plan.branch_at(step)
            if branch is None:
                return None
            plan = branch.workflow.plan
        return plan

    def branch_at(self, step: str) -> Branch | None:
        """The branch that a step of a frame's path leads into: `node#1`, `node#1.2` or `node#1[branch]`."""
        node = self.nodes.get(step.partition("#")[0])
        name = step.partition("[")[2].removesuffix("]")
        branches = () if node is None else node.node.branches
        return next((branch for branch in branches if branch.name in ("", name)), None)

    def _resolve(self, node: PlanNode) -> None:
        for route in node.routes:
            if route.route.target is not None:
                route.target = self.nodes[route.route.target]
        handler = node.node.on_error or self.workflow.on_error
        if handler is not None and handler != node.id:
            node.on_error = self.nodes[handler]


def result_contract(result: Any) -> Contract:
    """The compiled contract of a workflow's results."""
    return ANY if result is None else Contract(result)


def compile_plan(workflow: Workflow[Any]) -> Plan:
    """The plan of a workflow.

    Raises:
        DefinitionError: The workflow has error findings.
    """
    if not workflow.report.ok:
        from agentflow.errors import DefinitionError

        raise DefinitionError(workflow.id, workflow.report.findings, workflow=workflow)
    return Plan(workflow)
