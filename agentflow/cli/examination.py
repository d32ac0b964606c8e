"""What the validator has to say of several targets: one report for each workflow, each workflow once."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentflow.cli.found import Found
from agentflow.cli.surroundings import taken_outside
from agentflow.graph.checks import read_outside
from agentflow.graph.codes import CODES
from agentflow.graph.findings import Finding, Report, Waiver
from agentflow.graph.place import Place
from agentflow.graph.workflow import Workflow

__all__ = ["Examination", "examined"]

_OF_PATHS = ("AF2", "AF3", "AF4", "AF5", "AF602", "AF603", "AF701")
"""How the codes begin of what is proved over all paths, or known only after that."""
_OF_GRAPHS = "AF1"
"""How the codes begin of what is wrong with a graph, so that it has no paths to speak of."""

UNREADABLE = "AF0"
"""How the codes begin of what the shell was pointed at and could not read."""


@dataclass(frozen=True, slots=True)
class Examination:
    """Reports in the order of the targets; no workflow and no finding comes twice.

    Args:
        reports: What is to be told.
        workflows_seen: The workflows that were looked at.
        hidden_errors: How many errors were left out because of their codes; what they stop has not been proved.
        folder: Where paths are written from; `None` for paths as they were told.
    """

    reports: tuple[Report, ...]
    workflows_seen: tuple[Workflow[Any], ...] = ()
    hidden_errors: int = 0
    folder: Path | None = None

    @property
    def findings(self) -> Iterator[Finding]:
        """Every finding that is not waived."""
        return (finding for report in self.reports for finding in report.findings)

    @property
    def waivers(self) -> Iterator[Waiver]:
        """Every finding that is, with its reason."""
        return (waiver for report in self.reports for waiver in report.waivers)

    @property
    def workflows(self) -> int:
        """How many workflows were looked at."""
        return sum(bool(report.workflow) for report in self.reports)

    def counts(self) -> dict[str, int]:
        """The number of findings of each severity."""
        found = Counter(finding.severity for finding in self.findings)
        return {"error": found["error"], "warning": found["warning"], "info": found["info"]}

    def exit_code(self, *, strict: bool) -> int:
        """0 for no findings that count, 1 for some, 2 when a target could not be read or imported."""
        counts = self.counts()
        if any(finding.code.startswith(UNREADABLE) for finding in self.findings):
            return 2
        return 1 if counts["error"] or (strict and counts["warning"]) else 0

    def narrowed(self, select: tuple[str, ...], ignore: tuple[str, ...]) -> Examination:
        """The findings whose codes begin with one of `select` (any, if empty) and with none of `ignore`.

        That something could not be read is always told; and so is, unless it is ignored, what kept findings of the selected
        codes from being looked for: silence would pass for a proof.
        """

        def selected(code: str) -> bool:
            if code.startswith(UNREADABLE):
                return True
            return code.startswith(select or ("",)) and not code.startswith(ignore)

        proofs_asked = any(selected(code) and code.startswith(_OF_PATHS) for code in CODES)

        def wanted(finding: Finding) -> bool:
            stops = finding.severity == "error" and finding.code.startswith(_OF_GRAPHS)
            told_all_the_same = stops and proofs_asked and not finding.code.startswith(ignore)
            return selected(finding.code) or told_all_the_same

        def narrow(report: Report) -> Report:
            findings = tuple(filter(wanted, report.findings))
            waivers = tuple(waiver for waiver in report.waivers if selected(waiver.finding.code))
            return dataclasses.replace(report, findings=findings, waivers=waivers)

        narrowed = dataclasses.replace(self, reports=tuple(map(narrow, self.reports)))
        left_out = self.counts()["error"] - narrowed.counts()["error"]
        return dataclasses.replace(narrowed, hidden_errors=self.hidden_errors + left_out)

    def seen_from(self, folder: Path) -> Examination:
        """The same with every path below `folder` written as it is from there."""
        seen = tuple(_seen(report, folder) for report in self.reports)
        return dataclasses.replace(self, reports=seen, folder=folder)

    def place_of(self, finding: Finding, step: str) -> Place | None:
        """Where the node is declared that a step of a finding's path visits; of a node inside of another, the outer one.

        `None` where that is not known, as of two workflows with one id.
        """
        meant = [each for each in self.workflows_seen if each.id == finding.workflow]
        if len(meant) != 1:
            return None
        # `id`, or `id/inner` and `id[branch]/inner` of a node inside.
        outer = re.split(r"[/\[]", step, maxsplit=1)[0]
        place = next((node.place for node in meant[0].nodes if node.id == outer), None)
        return place if self.folder is None else _place_from(place, self.folder)


def examined(found: Iterable[Found]) -> Examination:
    """What there is to say of everything that was found."""
    reports: list[Report] = []
    workflows: list[Workflow[Any]] = []
    places: list[int] = []
    known: set[object] = set()
    told: set[Finding] = set()
    for one in found:
        workflow = one.workflow
        # Both: one object may lie under two names, and two imports of a module make two of one.
        keys = set() if workflow is None else {id(workflow), _declaration(workflow)}
        findings = tuple(finding for finding in one.report.findings if finding not in told)
        if keys & known or (workflow is None and not findings):
            continue
        known |= keys
        told.update(findings)
        reports.append(dataclasses.replace(one.report, findings=findings))
        if workflow is not None:
            workflows.append(workflow)
            places.append(len(reports) - 1)
    taken = taken_outside(workflows, _declaration)
    for at, workflow in zip(places, workflows, strict=True):
        names = taken.get(_declaration(workflow), frozenset())
        reports[at] = read_outside(workflow, reports[at], names)
    return Examination(tuple(reports), tuple(workflows))


def _declaration(workflow: Workflow[Any]) -> tuple[object, ...]:
    """What the lines of a definition say, the same after a second import of the module."""
    nodes = tuple(
        (repr(node.id), node.place, node.requires, node.provides, len(node.routes))
        for node in workflow.nodes
    )
    return repr(workflow.id), repr(workflow.version), workflow.place, nodes


def _seen(report: Report, folder: Path) -> Report:
    prefix = str(folder) + os.sep

    def shorten(text: str) -> str:
        return text.replace(prefix, "")

    return _each(
        report,
        lambda finding: dataclasses.replace(
            finding,
            message=shorten(finding.message),
            hint=shorten(finding.hint),
            place=_place_from(finding.place, folder),
            details=tuple(map(shorten, finding.details)),
        ),
    )


def _each(report: Report, change: Callable[[Finding], Finding]) -> Report:
    return dataclasses.replace(
        report,
        findings=tuple(map(change, report.findings)),
        waivers=tuple(Waiver(change(waiver.finding), waiver.reason) for waiver in report.waivers),
    )


def _place_from(place: Place | None, folder: Path) -> Place | None:
    if place is None or place.file is None:
        return place
    return dataclasses.replace(place, file=_relative(place.file, folder))


def _relative(file: str, folder: Path) -> str:
    path = Path(os.path.abspath(file))  # noqa: PTH100 - resolve() would follow links
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
