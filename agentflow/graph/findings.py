"""What the validator says: findings with stable codes, and the report that holds them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from agentflow.graph.codes import CODES
from agentflow.graph.place import Place

__all__ = ["Finding", "Report", "Severity", "Waiver", "in_order"]

Severity = Literal["error", "warning", "info"]
_RANK: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing the validator has to say.

    Args:
        code: The stable code, as listed in `CODES`; it fixes the severity.
        message: What is wrong, in plain words, with the names concerned.
        hint: What to do about it.
        workflow: The id of the workflow.
        node: The id of the node concerned, if one is.
        place: The line of the node or route, or the JSON pointer of a declarative workflow.
        path: The node ids of the path or cycle that is the reason, in order.
        details: One line for each step of the path, where there is more to say than the ids.
    """

    code: str
    message: str
    hint: str = ""
    workflow: str = ""
    node: str | None = None
    place: Place | None = None
    path: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """`error` when a run could go wrong, `warning` for what is useless or suspicious, `info` for a fact."""
        return CODES[self.code].severity

    def as_text(self) -> str:
        """The finding as a terminal shows it, without colours."""
        where = f"{self.place}: " if self.place else ""
        lines = [f"{where}{self.severity} {self.code}: {self.message}"]
        if self.path:
            lines.append(f"    path: {' -> '.join(self.path)}")
        lines.extend(f"      {line}" for line in self.details)
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON data, of the shape of `schemas/finding.schema.json`."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "workflow": self.workflow,
            "node": self.node,
            "place": None if self.place is None else self.place.as_json(),
            "path": list(self.path),
            "details": list(self.details),
        }


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings as a report lists them: errors first, in the order given within a severity."""
    return tuple(sorted(findings, key=lambda finding: _RANK[finding.severity]))


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding that the author has accepted, with the reason."""

    finding: Finding
    reason: str

    def as_text(self) -> str:
        """The waiver in one line: `waived AF201 at node 'x': reason`."""
        finding = self.finding
        where = f"node {finding.node!r}" if finding.node else f"workflow {finding.workflow!r}"
        return f"waived {finding.code} at {where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything the validator found in one definition, errors first."""

    workflow: str
    findings: tuple[Finding, ...] = ()
    waivers: tuple[Waiver, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings for which the definition is refused."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that point at something useless or suspicious."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    @property
    def ok(self) -> bool:
        """Whether the definition can run: there are no errors."""
        return not self.errors

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def as_text(self) -> str:
        """The whole report as text, a finding after the other, and then what was waived."""
        found = [finding.as_text() for finding in self.findings]
        return "\n".join([*found, *(waiver.as_text() for waiver in self.waivers)])

    def as_json(self) -> dict[str, Any]:
        """The report as JSON data, of the shape of `schemas/finding.schema.json`."""
        return {
            "workflow": self.workflow,
            "ok": self.ok,
            "findings": [finding.as_json() for finding in self.findings],
            "waivers": [
                {"finding": waiver.finding.as_json(), "reason": waiver.reason}
                for waiver in self.waivers
            ],
        }
