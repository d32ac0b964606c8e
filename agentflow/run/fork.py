"""Forks: the journal of a new run, made of what another had done up to one of its records, and perhaps of an edited state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.graph.contract import contract_error
from agentflow.run.branches import continued
from agentflow.run.first_state import first_state
from agentflow.run.stored import restored, stored
from agentflow.run.suspension import moved, request_id

if TYPE_CHECKING:
    from agentflow.graph.plan import Plan
    from agentflow.run.entries import Entry

__all__ = ["forked"]

Written = list[tuple[str, dict[str, Any]]]


def forked(
    plan: Plan,
    entries: Sequence[Entry],
    *,
    run_id: str,
    at: int,
    new_id: str,
    update: Mapping[str, Any] | None,
) -> Written:
    """The entries of a new run that goes on from right after the record `at` of another.

    Keys and requests are those of the new run: what was recorded up to there is not done again, and what is asked after it
    is asked anew.

    Args:
        plan: The definition of today.
        entries: The whole journal of the other run.
        run_id: Its id.
        at: The number of the record.
        new_id: The id of the new run.
        update: Fields to change in the state that the record left: that of the workflow that the record belongs to.

    Raises:
        LookupError: The run has no record of that number, or ended there.
        ContractError: The record leaves no state that could be changed, or an update is invalid.
    """
    if not 1 <= at <= len(entries):
        raise LookupError(
            f"run {run_id!r} has {len(entries)} records; there is no number {at} to fork at"
        )
    last = entries[at - 1]
    if last.kind == "ended":
        raise LookupError(
            f"run {run_id!r} ended with its record {at}: nothing follows; fork at an earlier one"
        )
    copying = _Copy(run_id, new_id)
    written = [copied for entry in entries[:at] if (copied := copying.entry(entry)) is not None]
    origin = {"run": run_id, "at": at}
    written[0] = "started", {**written[0][1], "forked": origin}
    if not update:
        return written
    body = json.loads(last.body)
    if last.kind == "started":
        written[0] = "started", {**written[0][1], "input": _input(plan, body, update)}
    elif last.kind == "visit":
        where = {name: body[name] for name in ("frame", "node", "visit")}
        written.append(("edited", {**where, "update": _edit(plan, body["frame"], update)}))
    else:
        raise ContractError(
            f"record {at} of run {run_id!r} is {last.kind!r}, which leaves no new state; "
            "fork with an update at a record of the kind 'visit', or at the first"
        )
    return written


class _Copy:
    """Copies entries from one run to another."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self._requests: dict[str, str] = {}
        self._asked: dict[str, dict[str, Any]] = {}

    def entry(self, entry: Entry) -> tuple[str, dict[str, Any]] | None:
        """The entry as the new run would have written it; `None` for one that tells only of the old one's drivers."""
        body: dict[str, Any] = json.loads(entry.body)
        match entry.kind:
            case "resumed" if "definition" not in body:
                return None
            case "migrated":
                body["requests"] = dict(self._moved(body))
            case "effect":
                body["key"] = self._renamed(body["key"])
            case "suspended":
                body["requests"] = [self._request(request) for request in body["requests"]]
            case "answered":
                body["request"] = self._requests[body["request"]]
        return entry.kind, body

    def _request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        frame = self._renamed(request["run_id"])
        key = f"{frame}/{request['node_id']}#{request['visit']}/{request['key']}"
        new = self._requests[request["id"]] = request_id(key, request["payload"])
        self._asked[new] = {**request, "id": new, "run_id": frame}
        return self._asked[new]

    def _moved(self, body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        for old, there in body["requests"].items():
            id = self._requests[old]
            new = moved(self._asked[id], self._new, *body["under_way"])
            self._requests[there["id"]] = new["id"]
            self._asked[new["id"]] = {**self._asked[id], **new}
            yield id, new

    def _renamed(self, key: str) -> str:
        return self._new + key.removeprefix(self._old)


def _input(plan: Plan, body: Mapping[str, Any], update: Mapping[str, Any]) -> Any:
    _refuse_private(plan, update)
    before = body["input"]
    given = {**({} if before is None else restored("the input", before)), **update}
    first_state(plan, given, lost=plan.private)
    return stored("the input", given)


def _edit(plan: Plan, frame: str, update: Mapping[str, Any]) -> dict[str, Any]:
    inner = plan.inner(frame)
    if inner is None:
        raise ContractError(f"the definition of today has no workflow at {frame!r}")
    _refuse_private(inner, update)
    joined = _joined(plan, frame)
    edit = {}
    for name, value in update.items():
        where = f"the update of field {name!r}"
        if inner.schema.typed and name not in inner.schema.fields:
            raise ContractError(f"{where}: workflow {inner.workflow.id!r} has no such field")
        if name in joined:
            raise ContractError(
                f"{where}: what the sub-workflow adds to it goes to the surrounding field of the same reducer; "
                "change that one, at a record of the surrounding workflow"
            )
        try:
            accepted = inner.schema.field(name).value.accept(value)
        except Exception as error:
            raise contract_error(where, value, error) from error
        edit[name] = stored(where, accepted)
    return edit


def _refuse_private(plan: Plan, update: Mapping[str, Any]) -> None:
    for name in update:
        if name in plan.private:
            raise ContractError(
                f"the update of field {name!r} would be recorded, and the field is private: supply it with private="
            )


def _joined(plan: Plan, frame: str) -> frozenset[str]:
    """The fields of a sub-workflow that go on from surrounding ones."""
    above = plan.inner(frame.rpartition("/")[0])
    branch = None if above is None else above.branch_at(frame.rpartition("/")[2])
    if above is None or branch is None:
        return frozenset()
    return frozenset(continued(above, branch) or ())
