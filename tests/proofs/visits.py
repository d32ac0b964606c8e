"""Visits: everything that may come of one visit, with concrete values, in the order in which the engine does things.

A state is a value or nothing for each field. A node may return every update that it declares, or fail before it provided
anything; a condition that is a function may say yes or no.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from agentflow import Node, Route, Workflow
from agentflow.graph.condition import AllOf, AnyOf, Condition, Not, Test
from tests.proofs.values import ABSENT, ask, conditions_of, questions, samples_of

__all__ = ["Failing", "Situation", "State", "Visit", "Visits", "Way"]

State = tuple[int, ...]
"""For each field the number of its sample, or -1 where it does not exist."""


class Situation(NamedTuple):
    """A run on its arrival at a node, rounds apart.

    Attributes:
        visited: The nodes that start rounds and were visited before.
        handled: The error nodes that were entered in this round.
        failed: Whether the node is entered for a failure.
        limited: Whether `on_limit` was entered.
    """

    node: str
    state: State
    visited: frozenset[str] = frozenset()
    handled: frozenset[str] = frozenset()
    failed: bool = False
    limited: bool = False


class Failing(NamedTuple):
    """A way in which a visit ends the run: what kind, about which field, at which route, and whether at an error node."""

    kind: str
    field: str = ""
    route: int = -1
    failed: bool = False


class Way(NamedTuple):
    """A way on from a visit.

    Attributes:
        kind: `route`, `error`, `end`, or `fails` where the run ends badly.
        route: The number of the route, -1 for a failure.
        update: The new values that the node returned.
        answers: What the conditions that are functions said, in their order.
        target: The situation on arrival, a round opened where `opens` says so; `None` at an end.
        opens: Whether the arrival opens a round.
        limit: The situation at `on_limit`, which is entered instead when rounds are out.
        problem: What goes wrong.
        state: The state when it is left.
    """

    kind: str
    route: int
    update: tuple[tuple[str, int], ...]
    answers: tuple[bool, ...]
    target: Situation | None = None
    opens: bool = False
    limit: Situation | None = None
    problem: Failing | None = None
    state: State = ()


_Update = tuple[tuple[str, int], ...]
_Choice = tuple[int, tuple[bool, ...], Failing | None]


@dataclass(frozen=True, slots=True)
class Visit:
    """Everything that may come of one visit; `warned` are the conditions that looked at a field that was not there."""

    ways: tuple[Way, ...]
    warned: frozenset[Failing] = frozenset()

    @property
    def failing(self) -> set[Failing]:
        """Every way in which the visit ends the run badly."""
        return {way.problem for way in self.ways if way.problem is not None}


@dataclass(eq=False)
class Visits:
    """All visits of a workflow whose structure is sound; `asked` are conditions besides those of its routes."""

    workflow: Workflow[Any]
    asked: tuple[Condition, ...] = ()
    _visits: dict[Situation, Visit] = field(default_factory=dict)
    _updated: dict[tuple[str, State], tuple[tuple[_Update, State], ...]] = field(
        default_factory=dict
    )
    _chosen: dict[tuple[str, State], tuple[tuple[_Choice, ...], set[Failing]]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self.nodes = {node.id: node for node in self.workflow.nodes}
        self.names = sorted(_names(self.workflow))
        self.samples = samples_of(self.workflow, self.names, self.asked)
        self.names = sorted(self.samples)
        self._at = {name: at for at, name in enumerate(self.names)}
        self._answers: dict[tuple[int, int], bool | str] = {}

    # What a run starts with.

    def starts(self) -> Iterator[Situation]:
        """Every situation in which a run may begin."""
        workflow = self.workflow
        choices: list[list[int]] = []
        defaults = {spec.name: spec for spec in workflow.schema.with_default()}
        for name in self.names:
            every = list(range(len(self.samples[name])))
            if name in workflow.inputs:
                choices.append(every)
            elif name in defaults:
                # What is made anew by a function of the author's may be anything.
                anything = name in workflow.optional_inputs or not defaults[name].constant
                given = every if anything or workflow.open_inputs else []
                choices.append(sorted({*given, self._default(name)}))
            elif name in workflow.optional_inputs or workflow.open_inputs:
                choices.append([-1, *every])
            else:
                choices.append([-1])
        for state in itertools.product(*choices):
            yield Situation(workflow.entry, state)

    def is_made(self, start: Situation, given: Collection[str]) -> bool:
        """Whether a run that is given some fields begins so: with the defaults that are made today in all the others."""
        others = {spec.name for spec in self.workflow.schema.with_default()}.difference(given)
        return all(
            index == self._default(name)
            for name, index in zip(self.names, start.state, strict=True)
            if name in others
        )

    def _default(self, name: str) -> int:
        """The sample that stands for a field's default."""
        spec = self.workflow.schema.fields[name]
        assert spec.default is not None
        value = spec.value.accept(spec.default())
        tests = [test for test in self._questions if test.path[0] == name]
        mine = [ask(test, name, value) for test in tests]
        return next(
            at
            for at, sample in enumerate(self.samples[name])
            if mine == [ask(test, name, sample) for test in tests]
        )

    @cached_property
    def _questions(self) -> list[Test]:
        conditions = [*conditions_of(self.workflow), *self.asked]
        return [test for condition in conditions for test in questions(condition)]

    # One visit, in the order of the engine.

    def visit(self, here: Situation) -> Visit:
        """Everything that may come of a visit."""
        found = self._visits.get(here)
        if found is None:
            found = self._visits[here] = self._visited(here)
        return found

    def _visited(self, here: Situation) -> Visit:
        node = self.nodes[here.node]
        for name in node.requires:
            if here.state[self._at[name]] < 0:
                return Visit((_failing(Failing("requires", name, failed=here.failed), here.state),))
        ways: list[Way] = []
        warned: set[Failing] = set()
        handler = node.on_error or self.workflow.on_error
        if handler and handler != node.id and not here.failed and handler not in here.handled:
            after = here._replace(handled=here.handled | {handler})
            arrival = self._arrival(after, here.state, handler, failed=True)
            ways.append(Way("error", -1, (), (), *arrival))
        else:
            ways.append(_failing(Failing("raised", failed=here.failed), here.state))
        for update, state in self._updates(node, here.state):
            choices, looked = self._choices(node, state)
            warned |= looked
            for at, answers, problem in choices:
                if problem is not None:
                    ways.append(Way("fails", at, update, answers, problem=problem, state=state))
                elif (target := node.routes[at].target) is None:
                    ways.append(Way("end", at, update, answers, state=state))
                else:
                    arrival = self._arrival(here, state, target, failed=False)
                    ways.append(Way("route", at, update, answers, *arrival, state=state))
        return Visit(tuple(ways), frozenset(warned))

    def _updates(self, node: Node, state: State) -> tuple[tuple[_Update, State], ...]:
        """Every update that a node may return, with the state after it; one for each state."""
        key = node.id, state
        if key not in self._updated:
            self._updated[key] = tuple(self._made(node, state))
        return self._updated[key]

    def _made(self, node: Node, state: State) -> Iterator[tuple[_Update, State]]:
        written = [(name, range(len(self.samples[name]))) for name in node.provides]
        written += [(name, range(-1, len(self.samples[name]))) for name in node.may_provide]
        seen: set[State] = set()
        for values in itertools.product(*(numbers for _, numbers in written)):
            after = list(state)
            update = []
            for (name, _), value in zip(written, values, strict=True):
                if value >= 0:
                    after[self._at[name]] = value
                    update.append((name, value))
            if (made := tuple(after)) not in seen:
                seen.add(made)
                yield tuple(update), made

    def _choices(self, node: Node, state: State) -> tuple[tuple[_Choice, ...], set[Failing]]:
        """Every route that may be taken in a state, and the conditions that looked at a field that was not there."""
        key = node.id, state
        if key not in self._chosen:
            warned: set[Failing] = set()
            self._chosen[key] = tuple(self._routes(node, state, warned)), warned
        return self._chosen[key]

    def _routes(self, node: Node, state: State, warned: set[Failing]) -> Iterator[_Choice]:
        """Every route that may be taken: its number, what functions answered, and how it may fail."""
        answers: tuple[bool, ...] = ()
        for at, route in enumerate(node.routes):
            if isinstance(route.when, Condition):
                holds, looked = self._evaluate(route.when, state)
                warned |= {Failing("condition", name, at) for name in looked}
                if isinstance(holds, str):
                    yield at, answers, Failing(holds, route=at)
                    return
                if not holds:
                    continue
            elif route.when is not None:
                lacking = self._lacking(route.reads or (), state)
                if lacking:
                    yield at, answers, Failing("reads", lacking, at)
                    return
                yield at, (*answers, True), self._end_problem(route, at, state)
                answers = (*answers, False)
                continue
            yield at, answers, self._end_problem(route, at, state)
            return
        yield -1, answers, Failing("unproved" if answers else "uncovered")

    def _end_problem(self, route: Route, at: int, state: State) -> Failing | None:
        if route.kind == "deliver":
            assert route.field is not None
            lacking = self._lacking((route.field,), state)
            return Failing("deliver", lacking, at) if lacking else None
        if route.kind == "finish":
            lacking = self._lacking(route.reads or (), state)
            return Failing("finish", lacking, at) if lacking else None
        return None

    def _lacking(self, names: Iterable[str], state: State) -> str:
        return next((name for name in names if state[self._at[name]] < 0), "")

    def _evaluate(self, condition: object, state: State) -> tuple[bool | str, set[str]]:
        """What a condition says, and which missing fields it compared on the way to its answer."""
        looked: set[str] = set()

        def answer(part: object) -> bool:
            if isinstance(part, AllOf):
                return all(answer(each) for each in part.parts)
            if isinstance(part, AnyOf):
                return any(answer(each) for each in part.parts)
            if isinstance(part, Not):
                return not answer(part.part)
            assert isinstance(part, Test)
            name = part.path[0]
            number = state[self._at[name]]
            if number < 0 and part.op not in ("exists", "is_none"):
                looked.add(name)
            key = id(part), number
            if key not in self._answers:
                value = ABSENT if number < 0 else self.samples[name][number]
                self._answers[key] = ask(part, name, value)
            said = self._answers[key]
            if isinstance(said, str):
                raise _Raises("raises" if self._is_typed(name) else "raises untyped")
            return said

        try:
            return answer(condition), looked
        except _Raises as error:
            return str(error), looked

    def _is_typed(self, name: str) -> bool:
        """Whether the type of a field is known: it refuses a value of a class that nobody has heard of."""
        spec = self.workflow.schema.fields.get(name)
        if spec is None:
            return False
        try:
            spec.value.accept(object())
        except Exception:
            return True
        return False

    def _arrival(
        self, here: Situation, state: State, target: str, *, failed: bool
    ) -> tuple[Situation, bool, Situation | None]:
        """The situation at a node that is entered, whether that opens a round, and what is entered if there is none left."""
        visited = here.visited
        if self.nodes[here.node].starts_round:
            visited |= {here.node}
        if target not in visited:
            on = Situation(target, state, visited, here.handled, failed, here.limited)
            return on, False, None
        limit = None
        if self.workflow.on_limit is not None and not here.limited:
            # Rounds that are out are no failure of the node that was left.
            limit = Situation(self.workflow.on_limit, state, visited, here.handled, limited=True)
        on = Situation(target, state, visited, frozenset(), failed, here.limited)
        return on, True, limit

    def values(self, state: State) -> dict[str, Any]:
        """A state as a run has it."""
        named = zip(self.names, state, strict=True)
        return {name: self.samples[name][number] for name, number in named if number >= 0}


def _failing(problem: Failing, state: State) -> Way:
    return Way("fails", -1, (), (), problem=problem, state=state)


class _Raises(Exception):
    """A comparison that cannot be made."""


def _names(workflow: Workflow[Any]) -> set[str]:
    """Every field that a workflow names where it matters."""
    names = {*workflow.inputs, *workflow.optional_inputs}
    for node in workflow.nodes:
        names.update((*node.requires, *node.provides, *node.may_provide))
        for route in node.routes:
            names.update(route.reads or ())
            if route.field is not None:
                names.add(route.field)
    return names
