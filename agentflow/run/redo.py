"""What a frame writes into the journal, and how it goes through what the journal holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentflow.errors import ContractError, IncompatibleRun
from agentflow.graph.codec import Unstorable, encoded
from agentflow.graph.contract import ANY
from agentflow.graph.frozen import freeze, write
from agentflow.run import decide
from agentflow.run.decide import Failure, told
from agentflow.run.journal import Journal
from agentflow.run.stored import restored, stored, unstorable

if TYPE_CHECKING:
    from agentflow.graph.contract import Contract
    from agentflow.graph.frozen import State
    from agentflow.graph.plan import Plan, PlanNode, PlanRoute
    from agentflow.run.frame import Frame

__all__ = [
    "accepted_again",
    "edit",
    "field_again",
    "go_on_from",
    "record_commit",
    "record_failure",
    "redo",
]


async def record_commit(
    journal: Journal, frame: Frame, node: PlanNode, visit: int, values: dict[str, Any]
) -> PlanRoute:
    """Commit an update together with the route it leads to, as one entry, and return the route.

    The last entry of a run is held until its end is written with it: nothing is entered before, and nothing awaited.

    Raises:
        ContractError: A value cannot be stored, and nothing is committed; or no route matches, and the commit stays.
    """
    state = frame.state
    delta = _delta(node, state, values)
    write(state, frame.join(node, values) if node.reducing else values)
    body = {
        "frame": frame.path,
        "node": node.id,
        "visit": visit,
        "delta": delta,
        "spent": frame.take_spent(),
        "seconds": frame.run.seconds,
        **_rounds(frame),
    }
    try:
        route = node.always or decide.choose_route(node, state)
    except ContractError as error:
        body |= {"route": None, "error": told(error)}
        if frame.above is None:
            journal.hold("visit", body)
        else:
            await journal.write("visit", body)
        raise
    body |= {"route": route.index, "to": _target(route)}
    if frame.above is None and route.target is None:
        journal.hold("visit", body)
        return route
    await journal.write("visit", body)
    if frame.above is None and route.target is not None and journal.wants_snapshot:
        await _write_snapshot(journal, frame, route.target)
    return route


def _delta(node: PlanNode, state: State, values: Mapping[str, Any]) -> dict[str, Any]:
    """The stored forms of what an update adds or changes."""
    delta = {}
    for name, value in values.items():
        if name in node.private:
            continue
        # A field that holds nothing is there, and one that does not exist is not: `None` is news to it.
        known = node.writes[name].reducer is None and name in state
        if known and _unchanged(dict.__getitem__(state, name), value):
            continue
        try:
            delta[name] = encoded(value)
        except Unstorable as error:
            raise unstorable(f"node {node.id!r}, field {name!r}", error) from error
    return delta


_EXACT: Final = frozenset({str, bytes, int, bool, type(None)})
"""Types of which equal values are the same value."""


def _unchanged(old: Any, new: Any) -> bool:
    if old is new:
        return True
    try:
        if type(old) is not type(new) or old != new:
            return False
        # Equal is not the same: `[1]` and `[True]`, two zones of one moment, objects that compare by a part of themselves.
        return type(old) in _EXACT or json.dumps(encoded(old)) == json.dumps(encoded(new))
    except Exception:
        # Comparing objects of the author's may raise anything; then the value is stored again.
        return False


async def record_failure(
    journal: Journal, frame: Frame, node: PlanNode, visit: int, failure: Failure
) -> None:
    """Record that a node failed, and that its error node takes over."""
    await journal.write(
        "failed",
        {
            "frame": frame.path,
            "node": node.id,
            "visit": visit,
            "error": failure.type,
            "message": failure.message,
            "to": None if node.on_error is None else node.on_error.id,
            **_rounds(frame),
            "spent": frame.take_spent(),
            "seconds": frame.run.seconds,
        },
    )


def _rounds(frame: Frame) -> dict[str, Any]:
    """What a migration has to know of the rounds of a run, and cannot count without the definition."""
    if frame.above is not None:
        return {}
    return {"round": frame.round, **({"limited": True} if frame.limit_handled else {})}


def redo(frame: Frame, node: PlanNode, body: Mapping[str, Any]) -> tuple[PlanRoute, Failure | None]:
    """Make a recorded visit again, without running the node: its update, and the route taken or the failure handled.

    Raises:
        IncompatibleRun: The definition of today does not make the visit that was recorded.
        ContractError: The visit ended in one, after its commit.
    """
    if body["node"] != node.id:
        raise IncompatibleRun(
            f"the journal of run {frame.run.id} visits node {body['node']!r} where the definition of today visits {node.id!r}"
            f"{_rounds_told(frame, node, body['node'])}"
        )
    if body["kind"] == "failed":
        if node.on_error is None:
            raise IncompatibleRun(f"node {node.id!r} has no on_error node any more")
        if node.on_error.id != body["to"]:
            raise IncompatibleRun(
                f"the error node of {node.id!r} was {body['to']!r}; today it is {node.on_error.id!r}"
            )
        return node.routes[0], Failure(body["error"], body["message"], node.id)
    values: dict[str, Any] = {}
    for name, data in body["delta"].items():
        if name not in node.writes:
            raise IncompatibleRun(f"node {node.id!r} does not write the field {name!r} any more")
        values[name] = accepted_again(name, node.writes[name].delta, data)
    write(frame.state, frame.join(node, values) if node.reducing else values)
    if "update" in body:
        # The state is another now, and so may be the way.
        edit(frame.plan, frame.state, body["update"])
        return decide.choose_route(node, frame.state), None
    if body["route"] is None:
        raise ContractError(body["error"])
    if body["route"] >= len(node.routes):
        raise IncompatibleRun(f"node {node.id!r} does not have the route any more that was taken")
    route = node.routes[body["route"]]
    if _target(route) != body["to"]:
        taken, today = (f"node {id!r}" if id else "the end" for id in (body["to"], _target(route)))
        raise IncompatibleRun(
            f"the route that was taken from node {node.id!r} led to {taken}; today it leads to {today}"
        )
    return route, None


def _rounds_told(frame: Frame, today: PlanNode, before: str) -> str:
    """What is to be told of the rounds, if they are why the way is another."""
    plan = frame.plan
    handler = plan.on_limit
    if handler is None:
        return ""
    now = f"workflow {plan.workflow.id!r} has max_rounds={plan.max_rounds}, which is max_steps of an agent"
    if today is handler:
        return f": {now}, and the run has opened round {plan.max_rounds + 1} of it"
    if before == handler.id and today.starts_round:
        # Today another round has been opened just now.
        return f": {now}; when its rounds ran out, it had max_rounds={frame.round - 1}"
    return ""


def _target(route: PlanRoute) -> str | None:
    return None if route.target is None else route.target.id


def edit(plan: Plan, state: State, update: Mapping[str, Any]) -> None:
    """Set fields of a state to values as they are stored.

    Raises:
        IncompatibleRun: The definition of today does not take a value.
    """
    write(state, {name: field_again(plan, name, data) for name, data in update.items()})


def field_again(plan: Plan, name: str, data: Any) -> Any:
    """The frozen value of a field of a state; raises as `edit`."""
    spec = plan.schema.fields.get(name)
    if spec is None and plan.schema.typed:
        raise IncompatibleRun(f"the state has no field {name!r} any more")
    return accepted_again(name, ANY if spec is None else spec.value, data)


def accepted_again(name: str, contract: Contract, data: Any) -> Any:
    """The frozen value of a field from its stored form, if it still is one.

    A validator of the author's may change a value, or refuse what it has changed before: it is not asked a second time.

    Raises:
        IncompatibleRun: The code of today cannot make the value, or the field has another type.
    """
    value = restored(f"field {name!r}", data)
    if not contract.repeatable:
        return freeze(value)
    try:
        return contract.accept(value)
    except Exception as error:
        raise IncompatibleRun(
            f"the stored value of field {name!r} is none of its type any more: {told(error)}"
        ) from error


async def _write_snapshot(journal: Journal, frame: Frame, target: PlanNode) -> None:
    try:
        body = _snapshot(frame, target)
    except ContractError:
        # A reducer has made, of parts that are stored, a whole that has no stored form. The entries say it all the same.
        journal.put_off_snapshot()
    else:
        await journal.write_snapshot(body)


def _snapshot(frame: Frame, target: PlanNode) -> dict[str, Any]:
    nodes = list(frame.plan.nodes)
    return {
        "state": {
            name: stored(f"field {name!r}", value)
            for name, value in dict.items(frame.state)
            if name not in frame.plan.private
        },
        "next": target.id,
        "round": frame.round,
        "counts": {nodes[at]: count for at, count in enumerate(frame.counts) if count},
        "errors_handled": sorted(nodes[at] for at in frame.errors_handled),
        "limit_handled": frame.limit_handled,
        "used": frame.run.used(),
    }


def go_on_from(frame: Frame, snapshot: Mapping[str, Any]) -> PlanNode:
    """Bring a frame to where a snapshot was taken, and return the node to visit.

    Raises:
        IncompatibleRun: The definition of today has no place for it.
    """
    plan = frame.plan
    try:
        frame.round = snapshot["round"]
        frame.limit_handled = snapshot["limit_handled"]
        frame.errors_handled |= {plan.nodes[id].index for id in snapshot["errors_handled"]}
        for id, count in snapshot["counts"].items():
            frame.counts[plan.nodes[id].index] = count
        target = plan.nodes[snapshot["next"]]
    except KeyError as gone:
        raise IncompatibleRun(f"node {gone.args[0]!r} is not in the definition any more") from None
    edit(plan, frame.state, snapshot["state"])
    return target
