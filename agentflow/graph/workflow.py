"""Workflows: immutable definitions, checked when they are made, run as often as you like."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from agentflow.errors import DefinitionError, SpecError
from agentflow.graph.migration import Migration, migrations_of
from agentflow.graph.node import Node
from agentflow.graph.place import Place, calling_place
from agentflow.graph.policy import Policy
from agentflow.graph.schema import Schema, schema_of
from agentflow.graph.shape import Shape
from agentflow.graph.slips import Slips, identifier

if TYPE_CHECKING:
    import os

    from agentflow.graph.bounds import Bounds, Extent
    from agentflow.graph.findings import Report
    from agentflow.graph.limits import Budget
    from agentflow.graph.plan import Plan
    from agentflow.graph.spec import Reading, Source

__all__ = ["Workflow", "define_workflow", "validate"]

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Workflow(Generic[R]):
    """An immutable definition of what an agent may do; made by `define_workflow`.

    Args:
        id: The workflow's name, in the same form as a node's id.
        nodes: Its nodes, in declared order.
        state: What the author gave as state schema.
        inputs: The fields that a run must be given.
        optional_inputs: The fields that a run may be given besides.
        open_inputs: Whether a run may be given any field, because nothing was declared.
        entry: The id of the node where every run starts.
        result: The type that every result is checked against; `None` for any value.
        max_rounds: How many rounds one run of this workflow may take; `None` if the author did not say (then 1).
        on_error: The node that is entered when a node without `on_error` of its own fails.
        on_limit: The node that is entered once when rounds run out.
        version: The author's version of the definition.
        description: What it is for.
        policies: What must hold on every path.
        migrations: How runs of older versions are taken over, by the old version.
        waive: Codes of findings that are accepted anywhere in it, each with the reason.
        doubts: Codes of findings that may be wrong because something is not known, each with the reason.
    """

    id: str
    nodes: tuple[Node, ...]
    state: Any = None
    inputs: tuple[str, ...] = ()
    optional_inputs: tuple[str, ...] = ()
    open_inputs: bool = False
    entry: str = ""
    result: Any = None
    max_rounds: int | None = None
    on_error: str | None = None
    on_limit: str | None = None
    version: str = "1"
    description: str = ""
    policies: tuple[Policy, ...] = ()
    migrations: Mapping[str, Migration] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    waive: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    doubts: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    slips: tuple[str, ...] = ()
    place: Place | None = None
    schema: Schema = dataclasses.field(default_factory=Schema)

    def __repr__(self) -> str:
        return f"<Workflow {self.id!r} version {self.version!r}, {len(self.nodes)} nodes>"

    @cached_property
    def shape(self) -> Shape:
        """The graph of the workflow: its nodes and every way from one to another."""
        return Shape.of(self)

    @cached_property
    def report(self) -> Report:
        """Everything the validator has to say of this definition."""
        from agentflow.graph.checks import check

        return check(self)

    @cached_property
    def plan(self) -> Plan:
        """The definition compiled for the engine: indexed and resolved."""
        from agentflow.graph.plan import compile_plan

        return compile_plan(self)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that decides how runs go: no descriptions, no addresses."""
        from agentflow.graph.manifest import fingerprint

        return fingerprint(self)

    @cached_property
    def extent(self) -> Extent:
        """How far runs go: what `bounds` tells, and what a workflow around it has to know."""
        from agentflow.graph.proof.longest import extent

        return extent(self)

    def bounds(self) -> Bounds:
        """The proved worst case of a run: rounds, visits, model and tool calls; worked out when first asked for."""
        return self.extent.bounds

    def manifest(self) -> dict[str, Any]:
        """What the workflow may do, as JSON data: nodes, contracts, routes, limits."""
        from agentflow.graph.manifest import manifest

        return manifest(self)

    def to_spec(self) -> dict[str, Any]:
        """The declarative form, as JSON data that `from_spec` turns back into the same workflow.

        Raises:
            SpecError: Something has no declarative form, such as a callable that cannot be imported by name.
        """
        from agentflow.graph.spec import to_spec

        return to_spec(self)

    @classmethod
    def from_spec(cls, source: Mapping[str, Any] | str | os.PathLike[str]) -> Workflow[Any]:
        """The workflow of a declarative form: a mapping, or the path of a `.json`, `.yaml` or `.yml` file.

        Raises:
            SpecError: The file cannot be read as JSON or YAML data.
            DefinitionError: There are error findings, also such as that the schema is not satisfied; places are JSON pointers.
        """
        from agentflow.graph.spec import from_spec

        return from_spec(source)

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart."""
        from agentflow.graph.draw import to_mermaid

        return to_mermaid(self)

    def to_dot(self) -> str:
        """The graph in the DOT language of Graphviz."""
        from agentflow.graph.draw import to_dot

        return to_dot(self)

    async def run(self, input: Mapping[str, Any] | None = None, **options: Any) -> R:
        """Run the workflow once, on an engine of its own; takes what `Engine` and `Engine.run` take.

        Returns:
            The value that the workflow delivered, checked against `result`.
        """
        from agentflow.run.alone import run_once

        value: R = await run_once(self, input, **options)
        return value

    def run_sync(self, input: Mapping[str, Any] | None = None, **options: Any) -> R:
        """Run the workflow once and wait for it, from code that is not async."""
        from agentflow.run.alone import run_once_sync

        value: R = run_once_sync(self, input, **options)
        return value


@overload
def define_workflow(
    id: str,
    *,
    nodes: Iterable[Node],
    state: Any = None,
    inputs: Iterable[str] | None = None,
    optional_inputs: Iterable[str] | None = None,
    entry: str | None = None,
    result: type[R],
    max_rounds: int | None = None,
    on_error: str | None = None,
    on_limit: str | None = None,
    version: str = "1",
    description: str = "",
    policies: Iterable[Policy] = (),
    migrations: Mapping[str, Any] | None = None,
    waive: Mapping[str, str] | None = None,
) -> Workflow[R]: ...
@overload
def define_workflow(
    id: str,
    *,
    nodes: Iterable[Node],
    state: Any = None,
    inputs: Iterable[str] | None = None,
    optional_inputs: Iterable[str] | None = None,
    entry: str | None = None,
    result: Any = None,
    max_rounds: int | None = None,
    on_error: str | None = None,
    on_limit: str | None = None,
    version: str = "1",
    description: str = "",
    policies: Iterable[Policy] = (),
    migrations: Mapping[str, Any] | None = None,
    waive: Mapping[str, str] | None = None,
) -> Workflow[Any]: ...
def define_workflow(
    id: str,
    *,
    nodes: Iterable[Node],
    state: Any = None,
    inputs: Iterable[str] | None = None,
    optional_inputs: Iterable[str] | None = None,
    entry: str | None = None,
    result: Any = None,
    max_rounds: int | None = None,
    on_error: str | None = None,
    on_limit: str | None = None,
    version: str = "1",
    description: str = "",
    policies: Iterable[Policy] = (),
    migrations: Mapping[str, Any] | None = None,
    waive: Mapping[str, str] | None = None,
) -> Workflow[Any]:
    """Define a workflow and prove that it can run.

    Args:
        id: Letters, digits and `_ - .`, starting with a letter or `_`.
        nodes: The nodes, made with `node`, `subflow` and their kin.
        state: A TypedDict, a pydantic model class or a dataclass that names the state's fields; `None` for untyped.
        inputs: The fields that a run must be given; default: those that the schema requires.
        optional_inputs: Further fields that a run may be given; default: the schema's other fields that are no node's
            to provide.
        entry: The id of the first node; default: the first in `nodes`.
        result: The type that results are checked against.
        max_rounds: How many rounds a run may take; a workflow with a loop has to say.
        on_error: The node to enter when a node fails that names none of its own.
        on_limit: The node to enter, once, when rounds run out.
        version: The version of the definition, recorded with every run.
        description: What the workflow is for.
        policies: What must hold on every path, as made by `must_pass` and its kin.
        migrations: How stored runs of older versions go on: by the old version, a function of the state, or a `Migration`.
        waive: Codes of findings that are accepted, each with the reason.

    Raises:
        DefinitionError: There are error findings; `.findings` is the complete list.
    """
    workflow = assemble(
        id,
        nodes,
        place=calling_place(),
        state=state,
        inputs=inputs,
        optional_inputs=optional_inputs,
        entry=entry,
        result=result,
        max_rounds=max_rounds,
        on_error=on_error,
        on_limit=on_limit,
        version=version,
        description=description,
        policies=policies,
        migrations=migrations,
        waive=waive,
    )
    report = workflow.report
    if not report.ok:
        raise DefinitionError(workflow.id, report.findings, workflow=workflow)
    return workflow


def validate(
    *subject: Any, budget: Budget | None = None, policies: Iterable[Policy] = (), **options: Any
) -> Report:
    """Everything the validator has to say of a workflow, a declarative form or loose nodes; never raises for findings.

    Args:
        subject: One workflow, one declarative form (a mapping or a path), or the nodes of a workflow.
        budget: A budget that runs will be given: can any run end within it, can it be exceeded?
        policies: Policies that must hold besides the definition's own.
        options: For nodes, what `define_workflow` takes besides; `id` is optional here. For a declarative form,
            `no_import=True` to check without running any code of the author's.
    """
    from agentflow.graph.checks import demanded

    if len(subject) == 1 and isinstance(subject[0], Workflow):
        return demanded(subject[0], budget=budget, policies=policies)
    if len(subject) == 1 and isinstance(subject[0], Mapping | str | PathLike):
        reading = _reading(subject[0], **options)
        if reading.workflow is None:
            return reading.report
        return demanded(reading.workflow, budget=budget, policies=policies, report=reading.report)
    name = options.pop("id", "workflow")
    workflow = assemble(name, subject, place=calling_place(), policies=policies, **options)
    return demanded(workflow, budget=budget)


def _reading(source: Source, *, no_import: bool = False, **unknown: Any) -> Reading:
    """The workflow of a declarative form and its report, also where there is nothing to read."""
    from agentflow.graph.findings import Finding, Report
    from agentflow.graph.spec import Reading, read_spec

    slips = Slips()
    slips.unknown(unknown, of=_reading)
    if slips.found:
        found = [Finding(code="AF103", message=slip) for slip in slips.found]
        return Reading(None, Report("", tuple(found)))
    try:
        return read_spec(source, no_import=no_import)
    except SpecError as error:
        place = Place(error.file, error.line, error.pointer or None)
        finding = Finding(
            code="AF003",
            message=error.message,
            hint=error.hint,
            place=place if str(place) else None,
        )
        return Reading(None, Report("", (finding,)))


def assemble(
    id: str,
    nodes: Iterable[Node],
    *,
    place: Place | None,
    state: Any = None,
    inputs: Iterable[str] | None = None,
    optional_inputs: Iterable[str] | None = None,
    entry: str | None = None,
    result: Any = None,
    max_rounds: int | None = None,
    on_error: str | None = None,
    on_limit: str | None = None,
    version: str = "1",
    description: str = "",
    policies: Iterable[Policy] = (),
    migrations: Mapping[str, Any] | None = None,
    waive: Mapping[str, str] | None = None,
    **unknown: Any,
) -> Workflow[Any]:
    """A workflow as it was declared, not yet checked: its `report` may hold errors."""
    slips = Slips()
    if unknown:
        slips.unknown(unknown, of=assemble)
    found = slips.items("nodes", nodes, Node, made="make it a node with @node")
    schema = schema_of(state)
    must = None if inputs is None else slips.names("inputs", inputs)
    may = None if optional_inputs is None else slips.names("optional_inputs", optional_inputs)
    if must is None:
        must = tuple(name for name in schema.required() if name not in (may or ()))
    if may is None:
        written = frozenset[str]().union(*(node.may_write for node in found))
        may = tuple(name for name in schema.fields if name not in must and name not in written)
    if entry is None:
        entry = found[0].id if found else ""
    taken_over, wrong = migrations_of(slips.mapping("migrations", migrations))
    slips.found += wrong
    return Workflow(
        id=identifier(id),
        nodes=found,
        state=state,
        inputs=tuple(dict.fromkeys(must)),
        optional_inputs=tuple(dict.fromkeys(may)),
        open_inputs=state is None and inputs is None and optional_inputs is None,
        entry=identifier(entry),
        result=result,
        max_rounds=max_rounds,
        on_error=None if on_error is None else identifier(on_error),
        on_limit=None if on_limit is None else identifier(on_limit),
        version=slips.text("version", version),
        description=slips.text("description", description),
        policies=slips.items(
            "policies", policies, Policy, made="make it with must_pass(…) or its kin"
        ),
        migrations=MappingProxyType(taken_over),
        waive=slips.mapping("waive", waive),
        slips=tuple(slips.found),
        place=place,
        schema=schema,
    )
