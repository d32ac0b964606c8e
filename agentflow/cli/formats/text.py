"""Findings for people: what is wrong, where, the line itself, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from agentflow.cli.examination import Examination
from agentflow.cli.excerpt import Excerpt, Sources
from agentflow.cli.formats.bounds import bounds_lines
from agentflow.cli.formats.quotation import quotation
from agentflow.cli.styled import Line, Role, Span
from agentflow.graph.counted import counted
from agentflow.graph.findings import Finding, Severity, Waiver

__all__ = ["text_lines"]

_ROLES: dict[Severity, Role] = {"error": "error", "warning": "warning", "info": "info"}


def text_lines(
    examination: Examination, sources: Sources, *, columns: int | None = None, bounds: bool = False
) -> Iterator[Line]:
    """The whole examination, one finding after the other, and a line that sums it up.

    Args:
        examination: What was found.
        sources: The files it was found in.
        columns: How wide the quoted lines may be; `None` for as wide as they are.
        bounds: Whether the worst case of each workflow is told too.
    """
    for report in examination.reports:
        for finding in report.findings:
            yield from _finding_lines(finding, sources, columns)
            yield ()
        for waiver in report.waivers:
            yield from _waiver_lines(waiver)
            yield ()
    if bounds:
        yield from bounds_lines(examination)
    yield _summary(examination)


def _finding_lines(finding: Finding, sources: Sources, columns: int | None) -> Iterator[Line]:
    """One finding, with the lines of the file that it is about."""
    role = _ROLES[finding.severity]
    yield (
        (f"{finding.severity}[{finding.code}]", role),
        (": ", "strong"),
        (finding.message, "strong"),
    )
    shown = sources.excerpt(finding)
    width = 1 if shown is None else len(str(shown.mark.line))
    place = _place(finding, shown)
    if place:
        yield (" " * width + "--> ", "quiet"), (place, "plain")
    if shown is not None:
        yield from quotation(shown, role, columns=columns)
    margin: Span = (" " * width + " = ", "quiet")
    if finding.path:
        yield margin, ("path: ", "strong"), (" -> ".join(finding.path), "plain")
    for detail in finding.details:
        yield margin, (detail, "plain")
    if finding.hint:
        yield margin, ("hint: ", "hint"), (finding.hint, "plain")


def _place(finding: Finding, shown: Excerpt | None) -> str:
    place = finding.place
    if place is None:
        return f"workflow {finding.workflow!r}" if finding.workflow else ""
    if shown is None:
        return str(place)
    # The line with the mark, so that an editor opens there.
    pointer = "" if place.pointer is None else f" (at {place.pointer or '/'})"
    return f"{place.file}:{shown.mark.line}{pointer}"


def _waiver_lines(waiver: Waiver) -> Iterator[Line]:
    finding = waiver.finding
    yield ((f"waived[{finding.code}]: {finding.message}", "quiet"),)
    if finding.place is not None:
        yield ((f" --> {finding.place}", "quiet"),)
    yield ((f"  = reason: {waiver.reason}", "quiet"),)


def _summary(examination: Examination) -> Line:
    number = examination.workflows
    checked = f"{counted(number, 'workflow')} checked" if number else "nothing was checked"
    counts = examination.counts()
    found = [
        *(counted(counts[kind], kind) for kind in ("error", "warning") if counts[kind]),
        f"{counts['info']} for information" if counts["info"] else "",
        f"{waived} waived" if (waived := len(list(examination.waivers))) else "",
    ]
    hidden = examination.hidden_errors
    if hidden:
        # Whoever looks at policies alone must not take silence for a proof that an unknown target prevented.
        found.append(f"{counted(hidden, 'error')} of other codes not shown")
    told = ", ".join(part for part in found if part)
    role: Role = "error" if counts["error"] else "warning" if counts["warning"] or hidden else "ok"
    if not any(counts.values()):
        told = f"no findings{', ' if told else ''}{told}"
    return (f"{checked}: ", "plain"), (told, role)
