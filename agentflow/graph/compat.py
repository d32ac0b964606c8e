"""Compatibility: which runs of an old definition can go on under a new one, told from the two definitions alone.

A run that is gone on with makes its recorded visits again, by the new definition: the same nodes, the routes that were taken, the
fields that were written. Then it goes on from where it rests. So what is compared is what a recorded visit touches, and
whether a run can come to an end from every place where one may rest. What is called safe is safe for every run; what is
called breaking may still be safe for a run that never came near it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_origin

from agentflow.graph.fit import relation, spelled
from agentflow.graph.manifest import callable_name, reducer_name, type_names
from agentflow.graph.proof.box import Box, freeze_box
from agentflow.graph.proof.domain import ABSENT
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.points import Place, Point
from agentflow.graph.waiting import Ask

if TYPE_CHECKING:
    from agentflow.graph.kinds import Branch
    from agentflow.graph.node import Node
    from agentflow.graph.workflow import Workflow

__all__ = ["Change", "Comparison", "Verdict", "compared", "stops_at"]

_STOPPING = ("requires", "deliver", "finish", "reads", "condition", "uncovered", "raises")
"""The kinds of lacks that end a run with an error."""

Verdict = Literal["safe", "migratable", "breaking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that the new definition does otherwise, so that some run of the old one may not go on.

    Args:
        node: The node, with the nodes around it, as in `outer/inner`; empty for the workflow itself.
        message: What has changed.
        hint: What would let such runs go on.
    """

    node: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{f'node {self.node}: ' if self.node else ''}{self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What becomes of the runs of an old definition under a new one.

    Args:
        workflow: The id of the new one.
        old_version: The version of the old one.
        new_version: The version of the new one.
        changes: Why some run may not go on; empty if all can.
        migration: Whether the new one says how runs of the old version are taken over.
    """

    workflow: str
    old_version: str
    new_version: str
    changes: tuple[Change, ...]
    migration: bool

    @property
    def verdict(self) -> Verdict:
        """`safe`, `migratable` or `breaking`."""
        if not self.changes:
            return "safe"
        return "migratable" if self.migration else "breaking"


def compared(old: Workflow[Any], new: Workflow[Any]) -> Comparison:
    """Compare two sound definitions.

    Raises:
        DefinitionError: One of them has errors.
    """
    for one in (old, new):
        one.plan  # noqa: B018 - raises
    changes = (
        () if old.fingerprint == new.fingerprint else tuple(_changes(old, new, "", frozenset()))
    )
    return Comparison(
        workflow=new.id,
        old_version=old.version,
        new_version=new.version,
        changes=changes,
        migration=old.version in new.migrations and old.version != new.version,
    )


def _changes(
    old: Workflow[Any], new: Workflow[Any], inside: str, wanted: frozenset[str]
) -> Iterator[Change]:
    """What has changed in a workflow, and in those inside of it; `wanted` are fields that its ends must leave."""
    if old.id != new.id:
        yield Change(
            node=inside.removesuffix("/"),
            message=f"workflow {old.id!r} has become {new.id!r}",
            hint="keep the id: runs are found by it",
        )
        return
    found = [*_starts(old, new, inside), *_rounds(old, new, inside)]
    for node in old.nodes:
        if node.id in Walk(old).reached:
            found += _node(old, new, node, inside)
    yield from found
    if not found:
        # Only a definition that makes every recorded visit again can be gone on with from where a run rests.
        yield from _ahead(old, new, inside, wanted)


def _starts(old: Workflow[Any], new: Workflow[Any], inside: str) -> Iterator[Change]:
    place = inside.removesuffix("/")
    if old.entry != new.entry:
        yield Change(
            node=place,
            message=f"the entry was {old.entry!r}, and is {new.entry!r}",
            hint="keep the entry, and route from it",
        )
    given = (*old.inputs, *old.optional_inputs)
    if not new.open_inputs:
        for name in given:
            if name not in (*new.inputs, *new.optional_inputs):
                yield Change(
                    node=place,
                    message=f"the input {name!r} is gone",
                    hint="keep it among optional_inputs",
                )
    for name in new.inputs:
        if name not in old.inputs:
            yield Change(
                node=place,
                message=f"the input {name!r} is required now",
                hint="put it to optional_inputs, or give the field a default",
            )
    for name in given:
        if name in (*new.inputs, *new.optional_inputs):
            yield from _field(old, new, name, place, delta=False)


def _rounds(old: Workflow[Any], new: Workflow[Any], inside: str) -> Iterator[Change]:
    place = inside.removesuffix("/")
    before = 1 if old.max_rounds is None else old.max_rounds
    after = 1 if new.max_rounds is None else new.max_rounds
    if old.on_limit != new.on_limit:
        yield Change(
            node=place,
            message=f"on_limit was {old.on_limit!r}, and is {new.on_limit!r}",
            hint="keep on_limit",
        )
    elif after < before or (after > before and old.on_limit is not None):
        yield Change(
            node=place,
            message=f"max_rounds was {before}, and is {after}",
            hint="keep max_rounds, or raise it where there is no on_limit",
        )


def _node(old: Workflow[Any], new: Workflow[Any], node: Node, inside: str) -> Iterator[Change]:
    place = f"{inside}{node.id}"
    now = new.shape.nodes.get(node.id)
    if now is None:
        yield Change(
            node=place,
            message="the node is gone",
            hint="keep it until no run rests there or has passed it, or declare a migration",
        )
        return
    yield from _ways(old, new, node, now, place)
    for name in sorted(node.may_write):
        if name not in now.may_write:
            yield Change(
                node=place,
                message=f"it does not write {name!r} any more",
                hint=f"keep {name!r} in may_provide",
            )
        else:
            yield from _field(old, new, name, place, delta=True)
    yield from _body(node, now, place)
    yield from _branches(node, now, place)


def _ways(
    old: Workflow[Any], new: Workflow[Any], node: Node, now: Node, place: str
) -> Iterator[Change]:
    ways = [route.target for route in now.routes]
    for at, route in enumerate(node.routes):
        if at >= len(ways) or ways[at] != route.target:
            there = "nothing" if at >= len(ways) else ways[at] or "the end"
            yield Change(
                node=place,
                message=f"route {at + 1} led to {route.target or 'the end'}, and leads to {there}",
                hint="keep the routes in their order, and put new ones behind them",
            )
    before, after = node.on_error or old.on_error, now.on_error or new.on_error
    if before != after:
        yield Change(
            node=place,
            message=f"its error node was {before!r}, and is {after!r}",
            hint="keep on_error",
        )
    if node.starts_round != now.starts_round:
        yield Change(
            node=place,
            message="whether it starts a round has changed",
            hint="keep starts_round: the rounds of a run are counted by it",
        )


def _field(
    old: Workflow[Any], new: Workflow[Any], name: str, place: str, *, delta: bool
) -> Iterator[Change]:
    """Whether what was stored of a field is still taken."""
    if new.schema.typed and name not in new.schema.fields:
        yield Change(
            node=place, message=f"the field {name!r} is gone", hint="keep the field in the state"
        )
        return
    before, after = old.schema.field(name), new.schema.field(name)
    joins = [reducer_name(one.reducer) for one in (before, after)]
    if joins[0] != joins[1]:
        yield Change(
            node=place,
            message=f"the reducer of {name!r} was {joins[0]}, and is {joins[1]}",
            hint="keep the reducer: what was stored are the pieces that it joins",
        )
        return
    kinds = [(one.delta if delta else one.value).annotation for one in (before, after)]
    if not _same_type(*kinds) and relation(*kinds) != "fits":
        yield Change(
            node=place,
            message=f"the field {name!r} was {spelled(kinds[0])}, and is {spelled(kinds[1])}",
            hint="give it a type that takes every value of the old one",
        )


def _body(node: Node, now: Node, place: str) -> Iterator[Change]:
    """Whether a visit that was under way asks for the same again."""
    if isinstance(node.run, Ask) and isinstance(now.run, Ask):
        for what in ("schema", "prompt", "answer"):
            before, after = getattr(node.run, what), getattr(now.run, what)
            if _told(before) != _told(after):
                yield Change(
                    node=place,
                    message=f"the {what} of its question has changed",
                    hint="ask in a new node, and keep this one until its questions are answered",
                )
        return
    names = [None if one.run is None else callable_name(one.run) for one in (node, now)]
    if names[0] != names[1]:
        yield Change(
            node=place,
            message=f"it ran {names[0]}, and runs {names[1]}",
            hint="keep the function while a run may be in the middle of it",
        )


def _same_type(before: Any, after: Any) -> bool:
    """Whether two types are one, although they may come from two loads of one module."""
    return bool(before == after) or type_names([before]) == type_names([after])


def _told(value: Any) -> Any:
    if isinstance(value, type) or get_origin(value) is not None:
        return type_names([value])
    return callable_name(value) if callable(value) else value


def _branches(node: Node, now: Node, place: str) -> Iterator[Change]:
    if type(node.kind) is not type(now.kind):
        yield Change(
            node=place,
            message="what the node holds is of another kind",
            hint="put it into a new node",
        )
        return
    theirs = {branch.name: branch for branch in now.branches}
    for branch in node.branches:
        where = f"{place}[{branch.name}]" if branch.name else place
        other = theirs.get(branch.name)
        if other is None:
            yield Change(node=where, message="the branch is gone", hint="keep the branch")
            continue
        yield from _mappings(branch, other, where)
        wanted = frozenset(other.outputs.values()) - {"$result"}
        yield from _changes(branch.workflow, other.workflow, f"{where}/", wanted)
    over = [_told(getattr(one.kind, "over", None)) for one in (node, now)]
    if over[0] != over[1]:
        yield Change(node=place, message="its items come from elsewhere", hint="keep over=")


def _mappings(branch: Branch, other: Branch, where: str) -> Iterator[Change]:
    if (dict(branch.inputs), branch.item) != (dict(other.inputs), other.item):
        yield Change(node=where, message="its inputs are mapped otherwise", hint="keep inputs=")


def _ahead(
    old: Workflow[Any], new: Workflow[Any], inside: str, wanted: frozenset[str]
) -> Iterator[Change]:
    """Whether a run can go on from every place where it may rest."""
    read = frozenset(name for live in Walk(new).live.before.values() for name in live) | wanted
    # Whoever goes on with a run supplies again what is private.
    walk = Walk(old, kept=read, lost={})
    begin = tuple(_moved(walk, new, place) for place in walk.came)
    told: set[str] = set()
    for name, node in stops_at(new, begin, wanted):
        if name not in told:
            told.add(name)
            yield Change(
                node=f"{inside}{node}",
                message=f"a run that was under way may come here without the field {name!r}",
                hint=f"give {name!r} a default when it is missing, in a node that such a run still passes",
            )


def _moved(walk: Walk, new: Workflow[Any], place: Place) -> Place:
    """A place of an old definition as one of the new: which fields exist is known, and what they hold where both see it alike."""
    from agentflow.graph.proof.box import Picture

    point, round = place
    picture = Picture(new)
    box: Box = {}
    for name, mask in point.box:
        if _is_lost(walk.workflow, new, name):
            box[name] = picture.domain(name).present | ABSENT
        elif picture.domain(name) == walk.picture.domain(name):
            box[name] = mask
        else:
            there = picture.domain(name).present if mask & ~ABSENT else 0
            box[name] = there | (mask & ABSENT)
    return Point(
        point.node,
        freeze_box(box),
        point.visited,
        point.handled,
        point.failed,
        point.limited,
    ), round


def _is_lost(old: Workflow[Any], new: Workflow[Any], name: str) -> bool:
    """Whether a field was recorded nowhere, and cannot be supplied any more."""
    before, after = old.schema.fields.get(name), new.schema.fields.get(name)
    return before is not None and before.private and not (after is not None and after.private)


def stops_at(
    workflow: Workflow[Any], begin: tuple[Place, ...], wanted: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    """The fields that a run may miss on its way from one of some places, each with the node that misses it.

    Args:
        workflow: A sound definition.
        begin: The places.
        wanted: Fields that its ends must leave.
    """
    walk = Walk(workflow, kept=wanted, begin=begin, lost={})
    found = [(lack, point.node) for lack, (point, _) in walk.lacks if lack.kind in _STOPPING]
    # What may befall any run of the definition, and was accepted there, comes of no change.
    known = Walk(workflow, kept=wanted, lost={}).lacks if found else []
    usual = {(lack.kind, lack.name, point.node) for lack, (point, _) in known}
    for lack, node in found:
        if (lack.kind, lack.name, node) not in usual:
            yield lack.name or "that a route asks for", node
    for step, (point, _) in walk.ends:
        box = dict(step.box)
        for name in wanted:
            if box.get(name, ABSENT) & ABSENT:
                yield name, point.node
