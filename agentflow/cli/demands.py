"""What others demand of workflows besides their authors: the policies of files, and a budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentflow.cli.found import Found
from agentflow.cli.importing import ImportFailed, Imports
from agentflow.graph.checks import demanded
from agentflow.graph.checks.policies import concerns
from agentflow.graph.findings import Finding, Report
from agentflow.graph.limits import Budget
from agentflow.graph.place import Place
from agentflow.graph.spec.policies import Demand, PolicyFile, read_policies
from agentflow.graph.workflow import Workflow

__all__ = ["Demands"]


class Demands:
    """Demands on every workflow that is found.

    Args:
        files: Policy files.
        budget: The budget that runs will be given.
        imports: Imports what conditions name.
    """

    def __init__(self, files: Sequence[str], budget: Budget | None, imports: Imports) -> None:
        self._files = [_read(Path(file), imports) for file in files]
        self._demands = [demand for file in self._files for demand in file.demands]
        self._budget = budget
        self._unmet = dict.fromkeys(range(len(self._demands)))

    def judged(self, found: Iterable[Found]) -> Iterator[Found]:
        """What was found, its reports with what is to be said of the demands; first of all what is wrong with the files."""
        for file in self._files:
            for finding in file.findings:
                yield Found("", Report("", (finding,)))
        read = False
        for one in found:
            read = read or one.workflow is not None
            yield one if one.workflow is None else self._judge(one, one.workflow)
        # Where nothing could be read, that is what is to be told.
        if read:
            for at in self._unmet:
                yield Found("", Report("", (_about_nothing(self._demands[at]),)))

    def _judge(self, one: Found, workflow: Workflow[Any]) -> Found:
        policies = []
        for at, demand in enumerate(self._demands):
            if demand.names(workflow.id) and (
                demand.pattern is not None or concerns(workflow, demand.policy)
            ):
                policies.append(demand.policy)
                self._unmet.pop(at, None)
        report = demanded(workflow, budget=self._budget, policies=policies, report=one.report)
        places = {policy.place for policy in policies}
        findings = tuple(
            _located(finding, workflow) if finding.place in places else finding
            for finding in report.findings
        )
        return dataclasses.replace(one, report=dataclasses.replace(report, findings=findings))


def _read(path: Path, imports: Imports) -> PolicyFile:
    if imports.forbidden:
        return read_policies(path, no_import=True)
    try:
        return imports.beside(path, lambda: read_policies(path))
    except ImportFailed as failed:
        raised = f"{type(failed.error).__name__}: {failed.error}"
        finding = Finding(code="AF009", message=f"{failed.what} raised {raised}")
        return PolicyFile(findings=(finding,))


def _located(finding: Finding, workflow: Workflow[Any]) -> Finding:
    """A finding that stands in the policy file, with the workflow that it is about."""
    where = f" ({workflow.place})" if workflow.place is not None else ""
    told = f"workflow {workflow.id!r}{where}"
    return dataclasses.replace(finding, details=(told, *finding.details))


def _about_nothing(demand: Demand) -> Finding:
    policy, place = demand.policy, demand.policy.place
    if demand.pattern is None:
        message = f"the policy {policy} is about nodes that no workflow has"
        hint = "correct the names, or check the workflows that have them too"
    else:
        message = (
            f"the policy {policy} is about workflows like {demand.pattern!r}, and none was checked"
        )
        hint = "correct the pattern, or check those workflows too"
        place = None if place is None else Place(place.file, pointer=f"{place.pointer}/workflow")
    return Finding(code="AF508", message=message, hint=hint, place=place)
