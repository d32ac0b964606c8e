"""The table of finding codes: one entry a code, its severity fixed for good."""

from __future__ import annotations

from agentflow.graph.finding_code import Code
from agentflow.graph.unread_codes import UNREAD

__all__ = ["CODES", "Code"]


def _table(*codes: Code) -> dict[str, Code]:
    return {code.code: code for code in codes}


CODES: dict[str, Code] = _table(
    *UNREAD,
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
    Code(
        "AF123",
        "warning",
        "route that stands twice",
        "The second is dead; most often it was meant to say something else.",
    ),
    Code(
        "AF124",
        "error",
        "on_error loop",
        "The failure of an error node goes to the caller, so the loop does not do what it says.",
    ),
    Code(
        "AF125",
        "warning",
        "schema method that is never run",
        "A state is checked field by field, and no instance of its schema is ever made.",
    ),
    Code(
        "AF126",
        "error",
        "private field that would be recorded",
        "Its value would be in the journal under another name, which is what the mark forbids.",
    ),
    Code(
        "AF127",
        "error",
        "path that leads to nothing",
        "No value of the field's type has what the condition looks at; most often it is misspelled.",
    ),
    Code(
        "AF128",
        "error",
        "field that several give at the same time",
        "One of the values would be lost, and nothing says which.",
    ),
    # AF13x: the declarative form.
    Code(
        "AF130",
        "error",
        "spec does not satisfy the schema",
        "It cannot be read as a workflow, so nothing else of it was checked.",
    ),
    Code(
        "AF131",
        "error",
        "name that leads to nothing",
        "What the specification names cannot be imported, or is not what is wanted there.",
    ),
    Code(
        "AF132",
        "error",
        "sub-workflow file cannot be read",
        "There is no workflow that the node could run.",
    ),
    Code(
        "AF133",
        "warning",
        "stated defaults are not those of the class",
        "A check without imports goes by what is stated, so it would judge another workflow.",
    ),
    # AF2xx: data flow, proved over every path.
    Code(
        "AF201",
        "error",
        "required field may be missing",
        "The visit would end the run with a contract error.",
    ),
    Code(
        "AF202",
        "error",
        "error node needs what may be missing",
        "A node may fail before it has provided anything, and then its error node could not run.",
    ),
    Code(
        "AF203",
        "error",
        "delivered field may be missing",
        "The run would end with a contract error instead of a result.",
    ),
    Code(
        "AF204",
        "error",
        "function reads what may be missing",
        "The condition or finish function would raise, and the run end with a contract error.",
    ),
    Code(
        "AF205",
        "warning",
        "condition on a field that may be missing",
        "A comparison with nothing does not match, which is easily overlooked.",
    ),
    Code(
        "AF206",
        "error",
        "sub-workflow output may be missing",
        "The sub-workflow would end well, and the node fail all the same.",
    ),
    Code(
        "AF207",
        "error",
        "comparison that raises",
        "Not all values that the field may hold can be asked this, and the run would end with a contract error.",
    ),
    Code(
        "AF208",
        "warning",
        "private field that may be lost",
        "A run that goes on in another process has it only if somebody supplies it again.",
    ),
    Code(
        "AF210",
        "warning",
        "provided and never read",
        "Work is done that nothing uses, or its reader does not say that it reads it.",
    ),
    Code(
        "AF211",
        "warning",
        "overwritten before it is read",
        "The first value is lost: it is useless, or a reader is missing.",
    ),
    Code("AF212", "warning", "unused input", "Callers have to give what nothing uses."),
    Code(
        "AF213",
        "warning",
        "private field filled by a recorded effect",
        "What a model or a tool gives is recorded as its effect, before it comes to the field.",
    ),
    Code(
        "AF214",
        "warning",
        "field that comes back as a whole",
        "Its reducer joins what comes back with what was there, which is in it already.",
    ),
    # AF3xx: conditions, proved over every value.
    Code(
        "AF301",
        "error",
        "comparison that can never be true",
        "The route behind it is dead; most often the value is misspelled.",
    ),
    Code(
        "AF302",
        "error",
        "values without a route",
        "A run that comes to the node with such a value would end with a contract error.",
    ),
    Code(
        "AF303",
        "warning",
        "route that is never taken",
        "Earlier routes cover everything, so it is dead, or one of them is wrong.",
    ),
    Code(
        "AF304",
        "warning",
        "routes that are not proved to cover everything",
        "A function decides, and if all say no the run ends with a contract error.",
    ),
    Code(
        "AF305",
        "error",
        "node that no data leads to",
        "The node can never run, although the graph has a way to it.",
    ),
    Code(
        "AF306",
        "error",
        "no end on any data",
        "A run that visits the node can only end by failing or by exhausting a limit.",
    ),
    # AF4xx: rounds and budgets, against what the graph needs and can use.
    Code(
        "AF401",
        "warning",
        "useless max_rounds",
        "It promises rounds that no run can come to; perhaps a round boundary is missing.",
    ),
    Code(
        "AF402",
        "error",
        "max_rounds too small for any end",
        "Every run would end by exhausting its rounds.",
    ),
    Code(
        "AF403", "error", "budget too small for any end", "Every run would end with BudgetExceeded."
    ),
    Code("AF404", "info", "budget below the worst case", "Some runs may end with BudgetExceeded."),
    # AF5xx: policies.
    Code(
        "AF501",
        "error",
        "policy must_pass does not hold",
        "Some path comes to the guarded node without the guard.",
    ),
    Code(
        "AF502",
        "error",
        "policy never_after does not hold",
        "Some path comes back to what must not happen again.",
    ),
    Code("AF503", "error", "policy at_most does not hold", "Some path visits the node more often."),
    Code(
        "AF504",
        "error",
        "policy only_if does not hold",
        "Some path comes to the node while the condition is false.",
    ),
    Code("AF505", "error", "policy ends_within does not hold", "Some run takes more rounds."),
    Code(
        "AF506",
        "error",
        "policy about an unknown node",
        "It protects nothing, and nobody would notice.",
    ),
    Code("AF507", "error", "malformed policy", "It cannot be proved as it stands."),
    Code(
        "AF508",
        "warning",
        "policy about no workflow",
        "None of the workflows that were checked is one that it speaks of, so it protects nothing here.",
    ),
    # AF6xx: types, told from annotations.
    Code(
        "AF601",
        "error",
        "annotation that disagrees",
        "The function and the workflow speak of different fields or types, so one of them is wrong.",
    ),
    Code(
        "AF602",
        "error",
        "result that its contract never takes",
        "The run would end with a contract error instead of a result.",
    ),
    Code(
        "AF603",
        "warning",
        "result that its contract takes only in part",
        "Some values of the field's type would end the run with a contract error.",
    ),
    Code(
        "AF605",
        "error",
        "sub-workflow mapping of another type",
        "The value would be refused, and the run end with a contract error.",
    ),
    Code(
        "AF606",
        "error",
        "no list of items",
        "The node could not go through it one by one, and the run would end with a contract error.",
    ),
    # AF7xx: waivers.
    Code(
        "AF701",
        "warning",
        "unused waiver",
        "What it accepts is not there any more, and it would hide the next one.",
    ),
    Code(
        "AF702",
        "error",
        "waiver that means nothing",
        "Nobody could tell what was accepted, or why.",
    ),
)
