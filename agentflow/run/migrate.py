"""Migration: the state of a run is folded out of its journal without the definition that wrote it, and changed to fit another.

What is recorded of the visit that was under way stays, effects and answers included, by the name that its node has now. What
is inside of that visit is no part of the migration: a workflow in there must fit as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError, IncompatibleRun
from agentflow.graph.contract import contract_error
from agentflow.graph.manifest import reducer_name
from agentflow.graph.reducer import BUILT_IN
from agentflow.run.decide import told
from agentflow.run.entries import SNAPSHOT, Claim, Entry, RunInfo
from agentflow.run.first_state import defaults as defaults_of
from agentflow.run.journal import Journal
from agentflow.run.lineage import definition_data
from agentflow.run.places import is_below
from agentflow.run.recorded import NOWHERE
from agentflow.run.stored import restored, stored
from agentflow.run.suspension import moved

if TYPE_CHECKING:
    from agentflow.graph.migration import Migration
    from agentflow.graph.plan import Plan
    from agentflow.graph.workflow import Workflow

__all__ = ["migration_of"]


def migration_of(
    workflow: Workflow[Any], info: RunInfo, entries: Sequence[Entry]
) -> dict[str, Any]:
    """The entry that makes a run of an older version one of this definition, by the migration that it declares.

    Args:
        workflow: The definition; it has a migration of the version that the run was last opened with.
        info: What is known of the run.
        entries: Its journal, from the latest snapshot on or whole.

    Raises:
        IncompatibleRun: The migration fails, or what it gives is no state of this definition; says which and why.
    """
    journal = Journal(NOWHERE, Claim(info.run_id, 0, info), entries)
    version = journal.definition["version"]
    migration = workflow.migrations[version]
    old = _Old()
    for entry in entries:
        old.take(entry, workflow.plan)
    where = f"the migration from version {version!r}"
    counts: dict[str, int] = {}
    for id, count in old.counts.items():
        now = migration.nodes.get(id, id)
        if now in workflow.plan.nodes:
            counts[now] = counts.get(now, 0) + count
    was = journal.under_way or f"/{old.next}#{old.counts.get(old.next or '', 0) + 1}"
    at = migration.nodes.get(was[1:].rpartition("#")[0], was[1:].rpartition("#")[0])
    now = f"/{at}#{counts.get(at, 0) + 1}"
    return {
        "from": version,
        "definition": definition_data(workflow),
        "state": _changed(workflow.plan, migration, old.state, where),
        "next": _next(workflow.plan, migration, old.next, where),
        "round": old.round,
        "counts": counts,
        "errors_handled": sorted(
            {migration.nodes.get(id, id) for id in old.handled} & workflow.plan.nodes.keys()
        ),
        "limit_handled": old.limited,
        "under_way": [was, now],
        "requests": {
            request["id"]: moved(request, info.run_id, was, now)
            for request in old.requests
            if is_below(_place(request, info.run_id), was)
        },
    }


def _place(request: Mapping[str, Any], run_id: str) -> str:
    frame = request["run_id"].removeprefix(run_id)
    return f"{frame}/{request['node_id']}#{request['visit']}"


def _changed(plan: Plan, migration: Migration, state: dict[str, Any], where: str) -> dict[str, Any]:
    """The state that a migration makes of another, in its stored form, with defaults where it has nothing to say.

    Raises:
        IncompatibleRun: It fails, or gives what is none.
    """
    try:
        given = migration.change(state)
    except Exception as error:
        raise IncompatibleRun(f"{where} failed: {type(error).__name__}: {told(error)}") from error
    if not isinstance(given, Mapping):
        raise IncompatibleRun(
            f"{where} returned {type(given).__name__}; return a mapping of field to value"
        )
    found: dict[str, Any] = {}
    for name, value in {**defaults_of(plan, given), **given}.items():
        if name in plan.private:
            # Recorded nowhere: whoever goes on supplies it.
            continue
        if not isinstance(name, str) or (plan.schema.typed and name not in plan.schema.fields):
            raise IncompatibleRun(
                f"{where} gives the field {name!r}, which the state does not have; leave it out, or declare it"
            )
        found[name] = _accepted(plan, name, value, where)
    return found


def _accepted(plan: Plan, name: str, value: Any, where: str) -> Any:
    try:
        accepted = plan.schema.field(name).value.accept(value)
    except Exception as error:
        raise IncompatibleRun(
            str(contract_error(f"{where}, field {name!r}", value, error))
        ) from error
    try:
        return stored(f"{where}, field {name!r}", accepted)
    except ContractError as error:
        raise IncompatibleRun(str(error)) from error


def _next(plan: Plan, migration: Migration, old: str | None, where: str) -> str:
    if old is None:
        raise IncompatibleRun(
            f"{where} cannot take over a run that has made its last visit, or whose state was edited there: "
            "let the definition that it was made with go on with it first"
        )
    now = migration.nodes.get(old, old)
    if now not in plan.nodes:
        raise IncompatibleRun(
            f"{where}: the run rests before node {old!r}, and there is no node {now!r}; "
            f"say where it goes on, as in Migration(…, nodes={{{old!r}: 'another'}})"
        )
    return now


@dataclass(slots=True)
class _Old:
    """What a run had come to, by its journal alone.

    Attributes:
        state: Its fields.
        next: The node that it rests before; `None` if no node follows, or nobody can tell which.
        round: The round that is open.
        counts: How often each node was visited.
        handled: The error nodes that were entered in this round.
        limited: Whether the node for rounds that are out was entered.
        requests: All that was ever asked, in its stored form.
        definition: What is recorded of the definition that wrote it.
        entered: Whether `next` is known from what happened, and not only from where runs begin.
    """

    state: dict[str, Any] = field(default_factory=dict)
    next: str | None = None
    round: int = 1
    counts: dict[str, int] = field(default_factory=dict)
    handled: set[str] = field(default_factory=set)
    limited: bool = False
    requests: list[dict[str, Any]] = field(default_factory=list)
    definition: Mapping[str, Any] = field(default_factory=dict)
    entered: bool = False

    def take(self, entry: Entry, plan: Plan) -> None:
        """Go on by one entry.

        Raises:
            IncompatibleRun: It says less than would be needed, or the code of today cannot restore a value.
        """
        body = json.loads(entry.body)
        match entry.kind:
            case "started":
                self.definition = body["definition"]
                self.next = self.definition["entry"]
                given = {} if body["input"] is None else restored("the input", body["input"])
                self.state = {**_restored(body["defaults"]), **given}
            case "resumed" if "definition" in body:
                self.definition = body["definition"]
                if not self.entered:
                    self.next = self.definition["entry"]
            case "migrated":
                self.definition = body["definition"]
                self._begin(body)
                self.requests = [
                    {**request, **body["requests"][request["id"]]}
                    for request in self.requests
                    if request["id"] in body["requests"]
                ]
            case "suspended":
                self.requests += body["requests"]
            case "visit" if not body["frame"]:
                self._visit(body)
                for name, data in body["delta"].items():
                    self.state[name] = self._joined(name, body["node"], data, plan)
                self.next = body.get("to")
            case "failed" if not body["frame"]:
                self._visit(body)
                self.handled.add(body["to"])
                self.next = body["to"]
            case "edited" if not body["frame"]:
                self.state |= _restored(body["update"])
                self.next = None
            case _ if entry.kind == SNAPSHOT:
                self.definition = body["started"]["definition"]
                self._begin(body)

    def _begin(self, snapshot: Mapping[str, Any]) -> None:
        self.state = _restored(snapshot["state"])
        self.entered = True
        self.next, self.round = snapshot["next"], snapshot["round"]
        self.counts = dict(snapshot["counts"])
        self.handled = set(snapshot["errors_handled"])
        self.limited = snapshot["limit_handled"]

    def _visit(self, body: Mapping[str, Any]) -> None:
        self.entered = True
        self.counts[body["node"]] = body["visit"]
        if body["round"] != self.round:
            self.handled.clear()
        self.round, self.limited = body["round"], body.get("limited", False)

    def _joined(self, name: str, node: str, data: Any, plan: Plan) -> Any:
        value = restored(f"field {name!r}", data)
        reducer = self.definition["reducers"].get(name)
        if reducer is None:
            return value
        apply = _reducer(plan, name, reducer)
        gathers = node in self.definition["gathering"] and reducer != "append"
        current = self.state.get(name)
        for piece in value if gathers else [value]:
            current = apply(current, piece)
        return current


def _restored(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: restored(f"field {name!r}", data) for name, data in stored.items()}


def _reducer(plan: Plan, name: str, recorded: str) -> Callable[[Any, Any], Any]:
    if recorded in BUILT_IN:
        return BUILT_IN[recorded].apply
    spec = plan.schema.fields.get(name)
    if spec is None or spec.reducer is None or reducer_name(spec.reducer) != recorded:
        raise IncompatibleRun(
            f"the field {name!r} was joined by {recorded}, which the state of today does not have there: "
            "keep that reducer on the field until no run of the old version is left"
        )
    return spec.reducer.apply
