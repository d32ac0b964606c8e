"""Policies: what the author, or whoever is responsible for safety, demands of every path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from agentflow.graph.checks.paths import gaps
from agentflow.graph.condition import Condition
from agentflow.graph.counted import counted
from agentflow.graph.findings import Finding
from agentflow.graph.kinds import step_of
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.monitors import PolicyMonitor, names_a_node
from agentflow.graph.proof.story import details, nodes_on

if TYPE_CHECKING:
    from agentflow.graph.policy import Policy
    from agentflow.graph.proof.points import Lack, Place
    from agentflow.graph.workflow import Workflow

_CODES = {
    "must_pass": "AF501",
    "never_after": "AF502",
    "at_most": "AF503",
    "only_if": "AF504",
    "ends_within": "AF505",
}
_LONGEST_STORY = 64
"""More rounds than this are not told one by one."""


def declared(workflow: Workflow[Any], _walk: Walk) -> Iterator[Finding]:
    """Every policy of the definition holds on every path."""
    yield from judged(workflow, workflow.policies)


def judged(workflow: Workflow[Any], policies: Iterable[Policy]) -> Iterator[Finding]:
    """What is to be said of some policies, about a workflow whose structure is sound."""
    for policy in policies:
        problem = _malformed(policy) or _astray(workflow, policy)
        unknown = [] if problem else _unknown(workflow, policy)
        if problem:
            yield _finding(
                workflow, policy, "AF507", f"the policy {policy} is malformed: {problem}", ""
            )
        elif unknown:
            names = " and ".join(map(repr, unknown))
            message = f"the policy {policy} names {names}, which is no node"
            hint = "a policy about a node that does not exist protects nothing; name a node, or take it out"
            yield _finding(workflow, policy, "AF506", message, hint)
        elif policy.kind == "ends_within":
            yield from _ends_within(workflow, policy)
        else:
            yield from _on_every_path(workflow, policy)


def concerns(workflow: Workflow[Any], policy: Policy) -> bool:
    """Whether a workflow has what a policy of others guards, so that it is worth asking whether it holds."""
    match policy.kind:
        case "ends_within":
            return True
        case "must_pass":
            guarded = [policy.other]
        case "never_after":
            guarded = [policy.node, policy.other]
        case _:
            guarded = [policy.node]
    paths = list(_paths(workflow, ()))
    return all(any(names_a_node(name, path) for path in paths) for name in guarded)


def _on_every_path(workflow: Workflow[Any], policy: Policy) -> Iterator[Finding]:
    walk = Walk(workflow, monitor=PolicyMonitor(policy))
    for lack, place in walk.lacks:
        if lack.kind == "violation":
            yield _violation(workflow, walk, policy, lack, place)
            return


def _violation(
    workflow: Workflow[Any], walk: Walk, policy: Policy, lack: Lack, place: Place
) -> Finding:
    path = (*nodes_on(walk, place), *lack.inside)
    said = ""
    if policy.condition is not None and not lack.inside:
        said = walk.picture.describe(dict(lack.box), policy.condition.reads())
    match policy.kind:
        case "must_pass":
            what = f"{policy.other!r} is visited without {policy.node!r}"
            hint = f"let every way to {policy.other!r} pass {policy.node!r}, error routes included"
        case "never_after":
            what = f"{policy.other!r} is visited after {policy.node!r}"
            hint = f"take out the ways from {policy.node!r} back to {policy.other!r}"
        case "at_most":
            what = f"{policy.node!r} is visited {counted(policy.count + 1, 'time')}"
            hint = f"leave the loop after {policy.node!r}, or bound its rounds"
        case _:
            what = f"{policy.node!r} is visited" + (
                f" when {said}" if said else " although it does not hold"
            )
            hint = "put the condition on every route that leads there"
    merged = " (on a path that could not be told apart from others)" if walk.merged else ""
    return _finding(
        workflow,
        policy,
        _CODES[policy.kind],
        f"the policy {policy} does not hold: {what}{merged}",
        hint,
        node=place[0].node,
        path=path,
        details=(
            *details(walk, place),
            *lack.beside,
            *((f"{lack.name}: {said}",) if said else ()),
        ),
    )


def _ends_within(workflow: Workflow[Any], policy: Policy) -> Iterator[Finding]:
    stated = 1 if workflow.max_rounds is None else workflow.max_rounds
    if stated <= policy.rounds:
        return
    worst = workflow.bounds().rounds_of_workflow
    if worst <= policy.rounds:
        return
    path: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    if policy.rounds < _LONGEST_STORY:
        walk = Walk(workflow, rounds=policy.rounds + 1, exact=True)
        late = next((place for place in walk.came if place[1] > policy.rounds), None)
        if late is not None:
            path, reasons = nodes_on(walk, late), details(walk, late)
    yield _finding(
        workflow,
        policy,
        "AF505",
        f"the policy {policy} does not hold: a run can take {counted(worst, 'round')}",
        f"set max_rounds={policy.rounds}, or route out of the loop earlier",
        path=path,
        details=reasons,
    )


def _malformed(policy: Policy) -> str:
    names = [policy.node] if policy.kind != "ends_within" else []
    names += [policy.other] if policy.kind in ("must_pass", "never_after") else []
    if not all(isinstance(name, str) and name for name in names):
        return "nodes are named by their ids"
    number = policy.rounds if policy.kind == "ends_within" else policy.count
    least = 1 if policy.kind == "ends_within" else 0
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        return f"the number must be a whole number of at least {least}"
    if policy.kind == "only_if" and not isinstance(policy.condition, Condition):
        return "the condition must be data, made with field('…'); a function proves nothing"
    return ""


def _astray(workflow: Workflow[Any], policy: Policy) -> str:
    """Where the condition looks below a field at what none of its values has, so that it would prove nothing."""
    if not isinstance(policy.condition, Condition):
        return ""
    return next((f"it looks at {gap}" for gap in gaps(workflow.schema, policy.condition)), "")


def _unknown(workflow: Workflow[Any], policy: Policy) -> list[str]:
    wanted = [name for name in (policy.node, policy.other) if name]
    paths = list(_paths(workflow, ()))
    return [name for name in wanted if not any(names_a_node(name, path) for path in paths)]


def _paths(workflow: Workflow[Any], inside: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for node in workflow.nodes:
        yield (*inside, node.id)
        for branch in node.branches:
            yield from _paths(branch.workflow, (*inside, step_of(node, branch)))


def _finding(
    workflow: Workflow[Any],
    policy: Policy,
    code: str,
    message: str,
    hint: str,
    *,
    node: str | None = None,
    path: tuple[str, ...] = (),
    details: tuple[str, ...] = (),
) -> Finding:
    return Finding(
        code=code,
        message=message,
        hint=hint,
        workflow=workflow.id,
        node=node,
        place=policy.place or workflow.place,
        path=path,
        details=details,
    )


PROOFS = (declared,)
