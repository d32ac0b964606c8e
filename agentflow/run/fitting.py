"""Fitting: whether a stored run can go on under the definition of today, told before anything runs.

The run is rehearsed: its recorded visits are made again by today's definition as they would be when it is opened, and where the
record ends nothing is done. From every place where the run then rests, in itself and in the workflows inside of it, all
ways on are walked with the fields that it really has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.errors import BudgetExceeded, ContractError, IncompatibleRun
from agentflow.graph.compat import stops_at
from agentflow.graph.kinds import RESULT
from agentflow.graph.manifest import reducer_name
from agentflow.graph.proof.box import Picture, freeze_box
from agentflow.graph.proof.points import Place, Point
from agentflow.graph.waiting import Ask
from agentflow.run.decide import Suspend
from agentflow.run.entries import Claim, Entry, RunInfo, StoredStatus
from agentflow.run.journal import Journal
from agentflow.run.places import is_below, named
from agentflow.run.recorded import NOWHERE, RecordedRun
from agentflow.run.stored import restored, stored
from agentflow.run.suspension import Request, json_schema, last_suspension, request_id

if TYPE_CHECKING:
    from agentflow.graph.plan import PlanNode
    from agentflow.graph.schema import Schema
    from agentflow.graph.workflow import Workflow
    from agentflow.run.context import NodeContext
    from agentflow.run.frame import Frame

__all__ = ["misfit"]


async def misfit(workflow: Workflow[Any], info: RunInfo, entries: Sequence[Entry]) -> str | None:
    """Why a stored run cannot go on under a definition; `None` if it can.

    Nothing of the author's is run but conditions, custom reducers, and functions that make the prompt of an open question.

    Args:
        workflow: The definition, a sound one.
        info: What is known of the run.
        entries: Its journal, from the latest snapshot on or whole.

    Returns:
        What would go wrong and where, or `None`: then the run comes to no `IncompatibleRun`, and to no `ContractError`
        that the definition does not come to by itself. What the function of a node runs below itself, as an agent that has
        handed out a task does, is looked at only when that goes on.
    """
    if not entries:
        return None
    try:
        rehearsal = _Rehearsal(workflow, info, entries)
        known = rehearsal.started["input"] if rehearsal.started else None
        input = None if known is None or rehearsal.migrated else restored("the input", known)
        waiting = last_suspension(entries)
    except IncompatibleRun as error:
        return str(error)
    from agentflow.run.engine import Engine

    engine = Engine(workflow)
    run = RecordedRun(engine, rehearsal, run_id=info.run_id, input=input, options={})
    async with run:
        await run.settled()
    reasons = (
        *rehearsal.refusal(run.error),
        *rehearsal.lost_visit(),
        *(rehearsal.lost_questions(waiting.requests) if waiting.open else ()),
    )
    return next(iter(reasons), None) or next(rehearsal.lacks(), None)


@dataclass(frozen=True, slots=True)
class _Rest:
    """Where a run rests: before a visit that is not recorded.

    Args:
        frame: The workflow that the visit belongs to.
        node: Its node.
        visit: Which visit of it.
        place: The same as a place of a walk.
    """

    frame: Frame
    node: PlanNode
    visit: int
    place: Place

    @property
    def name(self) -> str:
        return named(self.frame.path, self.node.id)

    def wanted(self) -> frozenset[str]:
        """The fields that the end of the workflow must leave to the one around it."""
        above = self.frame.above
        branch = (
            None
            if above is None
            else above.frame.plan.branch_at(self.frame.path.rpartition("/")[2])
        )
        return frozenset() if branch is None else frozenset(branch.outputs.values()) - {RESULT}


class _Rehearsal(Journal):
    """The journal of a run that is gone through to where its records end, and no further."""

    def __init__(self, workflow: Workflow[Any], info: RunInfo, entries: Sequence[Entry]) -> None:
        super().__init__(NOWHERE, Claim(info.run_id, 0, info), entries)
        self._workflow = workflow
        self._rests: dict[str, _Rest] = {}
        self._ends: dict[str, Mapping[str, Any]] = {}
        self._left: list[deque[dict[str, Any]]] = []
        self._was_under_way = self.under_way
        # What the run came to under the old definition, it comes to under any.
        self._errors = {
            body.get("error")
            for visits in self._visits.values()
            for body in visits
            if body["kind"] == "visit" and body["route"] is None
        }

    # Where the records end.

    def visits_of(self, frame: str) -> deque[dict[str, Any]] | None:
        visits = super().visits_of(frame)
        if visits:
            self._ends[frame] = visits[-1]
            self._left.append(visits)
        if visits and not frame:
            self._check_reducers(visits)
        return visits

    def _check_reducers(self, visits: Iterable[Mapping[str, Any]]) -> None:
        schema = self._workflow.schema
        for name in sorted({name for body in visits for name in body.get("delta", ())}):
            before = self.definition["reducers"].get(name)
            after = reducer_name(schema.field(name).reducer) if _has(schema, name) else before
            if before != after:
                raise IncompatibleRun(
                    f"the reducer of field {name!r} was {before}, and is {after}: "
                    "what is recorded would be joined otherwise"
                )

    def entering(self, frame: Frame, node: PlanNode, visit: int) -> None:
        place = frame.place(node, visit)
        self._rests[place] = _Rest(frame, node, visit, self._place(frame, node))
        if node.kind is None or not self.began(place):
            raise Suspend(())

    def _place(self, frame: Frame, node: PlanNode) -> Place:
        plan = frame.plan
        picture = Picture(plan.workflow)
        box = {
            name: picture.domain(name).mask_of(value) or picture.domain(name).present
            for name, value in dict.items(frame.state)
        }
        for name in plan.private - box.keys():
            # Whoever goes on with the run supplies it again.
            box[name] = picture.domain(name).present
        before = {
            other.id for other in plan.nodes.values() if frame.counts[other.index] - (other is node)
        }
        handled = {other.id for other in plan.nodes.values() if other.index in frame.errors_handled}
        end = self._ends.get(frame.path)
        came = None if end is None or end["kind"] != "failed" else plan.nodes[end["node"]]
        point = Point(
            node.id,
            freeze_box(box),
            frozenset(before),
            frozenset(handled),
            came is not None and came.on_error is node,
            frame.limit_handled,
        )
        return point, frame.round

    def items(self, ctx: NodeContext, _make: Callable[[Any], Any]) -> Any:
        # Those that are recorded, and no more; what they are is read from the record.
        count = 0
        while self.effect_of(ctx.place, ctx.effect_key(f"item:{count}")) is not None:
            count += 1
        return [None] * count

    def performing(self, _ctx: NodeContext, kind: str, _key: str) -> None:
        if kind != "item":
            raise Suspend(())

    async def write_all(
        self, entries: Sequence[tuple[str, Mapping[str, Any]]], **_options: Any
    ) -> None:
        # How the rehearsal itself ended is written down nowhere.
        if any(kind not in ("suspended", "ended") for kind, _ in entries):
            raise Suspend(())

    def hold(self, _kind: str, _body: Mapping[str, Any]) -> None:
        raise Suspend(())

    async def give_back(self, status: StoredStatus, **_options: Any) -> None:
        """Nothing was claimed."""

    # What would go wrong.

    def refusal(self, error: BaseException | None) -> Iterator[str]:
        """Why the recorded visits could not be made again."""
        if isinstance(error, ContractError):
            known = str(error) in self._errors
        else:
            # A limit that is reached behind the last record is the end that the definition gives the run.
            known = isinstance(error, BudgetExceeded) and not any(self._left)
        if isinstance(error, IncompatibleRun | BudgetExceeded | ContractError) and not known:
            yield str(error)

    def lost_visit(self) -> Iterator[str]:
        """The visit of the run itself that was under way, if the definition of today does not make it."""
        was = self._was_under_way
        if was is not None and was not in self._rests:
            node = was[1:].rpartition("#")[0]
            now = next((rest.node.id for rest in self._rests.values() if not rest.frame.path), None)
            there = "the end" if now is None else f"node {now!r}"
            yield f"the run was in the middle of node {node!r}; today it would be at {there}"

    def lost_questions(self, requests: Iterable[Request]) -> Iterator[str]:
        """The open questions that the definition of today does not ask, or asks otherwise."""
        for request in requests:
            frame = request.run_id.removeprefix(self._claim.run_id)
            name = named(frame, request.node_id)
            rest = self._rests.get(f"{frame}/{request.node_id}#{request.visit}")
            if rest is None and not self._is_inside_a_body(frame):
                yield f"node {name}, which asks {request.key!r}, is not visited there any more"
            elif rest is not None and isinstance(rest.node.node.run, Ask):
                what = _changed(rest.node.node.run, request, rest.frame.state)
                if what:
                    yield f"node {name}: the {what} of its open question has changed"

    def _is_inside_a_body(self, frame: str) -> bool:
        """Whether a frame belongs to what the function of a node runs, as that of an agent that has handed out a task does.

        Where such a function would go today is not known before it is called.
        """
        return any(
            rest.node.kind is None and is_below(frame, place) for place, rest in self._rests.items()
        )

    def lacks(self) -> Iterator[str]:
        """The fields that the run would miss on its way from where it rests."""
        for rest in self._rests.values():
            for name, node in stops_at(rest.frame.plan.workflow, (rest.place,), rest.wanted()):
                there = named(rest.frame.path, node)
                yield f"from node {rest.name} it would come to node {there} without the field {name!r}"


def _has(schema: Schema, name: str) -> bool:
    return not schema.typed or name in schema.fields


def _changed(asking: Ask, request: Request, state: Any) -> str | None:
    """What of a question is not as it was asked."""
    if request.key != "ask":
        return "name"
    if json_schema(request.key, asking.schema) != request.schema:
        return "schema"
    try:
        prompt = asking.prompt(state) if callable(asking.prompt) else asking.prompt
        payload = stored("the prompt", prompt)
    except Exception:
        # It will say so itself, when it asks.
        return None
    place = f"{request.run_id}/{request.node_id}#{request.visit}/{request.key}"
    return None if request_id(place, payload) == request.id else "prompt"
