"""The declarative form of workflows: JSON and YAML, both ways, without loss.

The way in: `document` (a file as plain data) -> `form` (does it satisfy `schema`?) -> `reader` (workflows, places included) -> the
checks that every workflow goes through. The way out: `writer`. Both speak of code by `names`, of types by `hints`, of
conditions by `conditions`, of places by `pointer`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.errors import DefinitionError
from agentflow.graph.findings import Finding, Report, Waiver, in_order
from agentflow.graph.spec.document import document_of
from agentflow.graph.spec.names import Imports, StandIns
from agentflow.graph.spec.reader import Reader
from agentflow.graph.spec.writer import Writer

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["Reading", "Source", "from_spec", "read_spec", "report_of", "to_spec"]

Source = Mapping[str, Any] | str | os.PathLike[str]
"""A declarative form: a mapping, or the path of a `.json`, `.yaml` or `.yml` file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a declarative form gave: the workflow as it was declared, and everything there is to say of it.

    Args:
        workflow: The workflow, to be drawn or looked at even when there are errors; `None` when the form is no workflow at all.
        report: The findings of the form, of the workflow, and of the sub-workflows that are declared in it.
    """

    workflow: Workflow[Any] | None
    report: Report


def to_spec(workflow: Workflow[Any]) -> dict[str, Any]:
    """The declarative form of a workflow, as JSON data of which `from_spec` makes the same workflow again.

    Sub-workflows are written in place.

    Args:
        workflow: The workflow; one that was read with `no_import` has lost its types and cannot be written.

    Raises:
        SpecError: Something has no declarative form, such as a callable that cannot be imported by name; all such
            things are listed, each with its JSON pointer.
    """
    return Writer().write(workflow)


def from_spec(source: Source) -> Workflow[Any]:
    """The workflow of a declarative form.

    Args:
        source: A mapping, or the path of a `.json`, `.yaml` or `.yml` file; paths of sub-workflows start from its folder, those
            of a mapping from the current one.

    Raises:
        SpecError: The file cannot be read as JSON or YAML data.
        DefinitionError: There are error findings, also such as that the form does not satisfy the schema; places are
            JSON pointers.
    """
    reading = read_spec(source)
    workflow, report = reading.workflow, reading.report
    if workflow is None or not report.ok:
        raise DefinitionError(report.workflow, report.findings, workflow=workflow)
    return workflow


def report_of(source: Source, *, no_import: bool = False) -> Report:
    """Everything the validator has to say of a declarative form.

    Args:
        source: As for `from_spec`.
        no_import: Whether to check without running any code of the author's, as `read_spec` tells.

    Raises:
        SpecError: The file cannot be read as JSON or YAML data.
    """
    return read_spec(source, no_import=no_import).report


def read_spec(source: Source, *, no_import: bool = False) -> Reading:
    """The workflow of a declarative form together with its report; it never raises for what is wrong with the workflow.

    Args:
        source: As for `from_spec`.
        no_import: Whether to import nothing. Then something stands in for each function, a type by name is any type, and
            a state by name has unknown fields: what can be told of the graph and its data flow is told, and the
            workflow can be drawn, but neither run nor written.

    Raises:
        SpecError: The file cannot be read as JSON or YAML data.
    """
    document = document_of(source)
    reader = Reader(StandIns() if no_import else Imports())
    reader.begin(document.file)
    workflow = reader.read(document)
    id = document.data.get("id")
    return Reading(workflow, _merged(id if isinstance(id, str) else "", reader))


def _merged(id: str, reader: Reader) -> Report:
    reports = [workflow.report for workflow in reader.workflows]
    # What an outer workflow says of an inner one may be what the inner one says of itself.
    findings: dict[Finding, None] = dict.fromkeys(reader.findings)
    waivers: dict[Waiver, None] = {}
    for report in reports:
        findings |= dict.fromkeys(report.findings)
        waivers |= dict.fromkeys(report.waivers)
    return Report(id, in_order(findings), tuple(waivers))
