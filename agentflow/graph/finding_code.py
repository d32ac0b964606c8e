"""What a code of findings is, and which of them an author may accept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentflow.graph.findings import Severity

__all__ = ["Code"]

_FIRM: Final = frozenset(
    {
        # Nothing was read, or it was read as something else.
        *("AF001", "AF002", "AF003", "AF004", "AF005", "AF006", "AF007", "AF008", "AF009"),
        *("AF130", "AF131", "AF132", "AF133"),
        # No plan can be made of it, or not of what was meant.
        *("AF101", "AF102", "AF103", "AF104", "AF105", "AF106", "AF107", "AF108"),
        *("AF116", "AF117", "AF118", "AF119", "AF120", "AF121", "AF122"),
        # What a branch gives would be lost.
        "AF128",
        # What is promised of private fields would not be true.
        "AF126",
        # Nothing would bound its loops.
        *("AF113", "AF114"),
        # Of no workflow.
        "AF508",
        # A waiver that accepts itself.
        *("AF701", "AF702"),
    }
)


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding.

    Args:
        code: The code itself; its first digit is the family.
        severity: How bad it is.
        title: What is wrong.
        reason: Why it matters to a run.
    """

    code: str
    severity: Severity
    title: str
    reason: str

    @property
    def waivable(self) -> bool:
        """Whether an author may accept the finding.

        Not where the definition could not be run as it was declared, or where its loops had no bound.
        """
        return self.code not in _FIRM
