"""The table of finding codes: one entry a code, its severity fixed for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentflow.graph.findings import Severity

__all__ = ["CODES", "Code"]


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: `title` says what is wrong, `reason` why it matters to a run."""

    code: str
    severity: Severity
    title: str
    reason: str


def _table(*codes: Code) -> dict[str, Code]:
    return {code.code: code for code in codes}


CODES: dict[str, Code] = _table(
    # AF0xx: what the shell was pointed at cannot be read, so nothing in it could be checked.
    Code(
        "AF001",
        "error",
        "target not found",
        "There is no such file, folder, module or attribute, so nothing was checked.",
    ),
    Code(
        "AF002",
        "error",
        "import failed",
        "The module raised while it was imported, so its workflows do not come to be.",
    ),
    Code(
        "AF003",
        "error",
        "file cannot be parsed",
        "Its text is no Python, JSON or YAML, so nothing in it could be read.",
    ),
    Code(
        "AF004",
        "error",
        "missing module",
        "The module imports another that cannot be found, so its workflows do not come to be.",
    ),
    Code(
        "AF005",
        "error",
        "cyclic import",
        "Modules wait for each other, so neither can be imported to its end.",
    ),
    Code(
        "AF006",
        "error",
        "not a workflow",
        "Only a workflow, an engine, or a function that makes one of them can be checked and run.",
    ),
    Code(
        "AF007",
        "error",
        "no workflow",
        "Nothing was checked, which must not look like success.",
    ),
    Code(
        "AF008",
        "error",
        "import needed",
        "Python files say what they define only when they are imported, and that was forbidden.",
    ),
    # AF1xx: what was declared, and the shape of the graph.
    Code(
        "AF101",
        "error",
        "malformed id",
        "Ids are written into journals, facts, specs and drawings; they must be plain.",
    ),
    Code(
        "AF102",
        "error",
        "duplicate node id",
        "A route names its target by id, so an id must mean one node.",
    ),
    Code(
        "AF103",
        "error",
        "malformed declaration",
        "The declaration cannot be read as what the author meant.",
    ),
    Code("AF104", "error", "workflow without nodes", "There is nothing to enter."),
    Code("AF105", "error", "unknown entry", "The run would have nowhere to start."),
    Code(
        "AF106",
        "error",
        "unknown route target",
        "A run that takes the route would have nowhere to go.",
    ),
    Code("AF107", "error", "unknown on_error node", "A failing run would have nowhere to go."),
    Code(
        "AF108", "error", "unknown on_limit node", "A run out of rounds would have nowhere to go."
    ),
    Code(
        "AF109",
        "error",
        "unreachable node",
        "No run can ever visit the node: it is dead code, or a route is missing.",
    ),
    Code("AF110", "error", "dead end", "A run that visits the node cannot go on and cannot end."),
    Code(
        "AF111",
        "error",
        "loop without exit",
        "A run that enters the loop can only end by exhausting a limit.",
    ),
    Code("AF112", "error", "workflow without end", "No run can ever end with a result."),
    Code(
        "AF113",
        "error",
        "cycle without round boundary",
        "Nothing would count the turns of the cycle.",
    ),
    Code(
        "AF114",
        "error",
        "cyclic workflow without max_rounds",
        "A loop must say how often it may turn at most.",
    ),
    Code("AF115", "error", "route after an unconditional one", "The route can never be taken."),
    Code(
        "AF116",
        "error",
        "asynchronous predicate or finish",
        "Routing is synchronous, so that it is a function of the state alone.",
    ),
    Code("AF117", "error", "wrong callable", "The engine could not call it."),
    Code("AF118", "error", "invalid limit", "The number cannot be kept or enforced."),
    Code("AF119", "error", "unusable state schema", "Fields could not be validated."),
    Code(
        "AF120", "error", "field unknown to the schema", "The field could never hold a valid value."
    ),
    Code("AF121", "error", "unusable result contract", "A result could not be checked."),
    Code(
        "AF122",
        "error",
        "invalid sub-workflow mapping",
        "The sub-workflow could not be given its input, or its output be used.",
    ),
)
