"""A second interpreter of workflows: slow, plain, and written from the semantics alone.

It knows nothing of the engine. A random workflow is described by the values here; `interpret` says what must happen,
`tests.run.described` makes the real workflow of the same description.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Act = tuple[Literal["update", "fail", "bad", "bail", "cancel"], Any]
"""What one call of a body does: give an update, raise, break its word, bail with a value, or cancel and give an update."""

Place = tuple[str, str, int, int, int]
"""Where a body was called: run id, node id, visit, round, attempt."""


@dataclass(frozen=True)
class Way:
    """A route: to `target`, or the end with the field `delivers`, if `test` (field, comparison, number) holds."""

    target: str | None = None
    delivers: str | None = None
    test: tuple[str, str, int] | None = None


@dataclass(frozen=True)
class Step:
    """A node: what it declares, and what each call of its body does, one act after the other, over and over.

    A body that is not plain spends one tool call before it acts; `uses` is how many a visit of the node may spend.
    """

    id: str
    acts: tuple[Act, ...]
    ways: tuple[Way, ...]
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    may_provide: tuple[str, ...] = ()
    starts_round: bool = False
    on_error: str | None = None
    attempts: int = 1
    uses: int | None = None
    below: Description | None = None
    flavour: str = "async"


@dataclass(frozen=True)
class Description:
    """A workflow; `below` a step it is given the whole state, and what it delivers becomes the field `c`."""

    steps: tuple[Step, ...]
    max_rounds: int = 1
    on_error: str | None = None
    on_limit: str | None = None


class Ended(Exception):
    """The run ends: `kind` is `contract`, `budget`, `cancelled` or `bail`, which no error node takes."""

    def __init__(self, kind: str, detail: Any = None) -> None:
        self.kind = kind
        self.detail = detail


class Failed(Exception):
    """A node failed; `detail` is its message."""

    def __init__(self, detail: str) -> None:
        self.detail = detail


@dataclass
class World:
    """What everything in one run shares."""

    limits: dict[str, int]
    used: dict[str, int] = field(
        default_factory=lambda: {"visits": 0, "rounds": 0, "tool_calls": 0}
    )
    shares: list[list[int]] = field(default_factory=list)
    cancelled: bool = False
    places: list[Place] = field(default_factory=list)
    states: list[dict[str, int]] = field(default_factory=list)

    def spend(self, limit: str) -> None:
        if self.used[limit] + 1 > self.limits.get(limit, 10**9):
            raise Ended("budget", limit)
        self.used[limit] += 1

    def spend_tool_call(self) -> None:
        """Spend of the run and of the shares of all visits that are open: the innermost and those around it."""
        if any(share[0] == 0 for share in self.shares):
            raise Ended("budget", "tool_calls")
        self.spend("tool_calls")
        for share in self.shares:
            share[0] -= 1


@dataclass
class Outcome:
    """What must have happened: how the run ended, where bodies were called, and every state of the run, oldest first."""

    kind: str
    detail: Any
    places: list[Place]
    states: list[dict[str, int]]
    used: dict[str, int]


def interpret(
    described: Description, given: dict[str, int], limits: dict[str, int], run_id: str
) -> Outcome:
    """What a run of the workflow must do."""
    world = World(limits)
    try:
        kind, detail = "result", Execution(world, described, given, run_id, 1).run()
    except Ended as end:
        kind, detail = ("result", end.detail) if end.kind == "bail" else (end.kind, end.detail)
    except Failed as failure:
        kind, detail = "failed", failure.detail
    return Outcome(kind, detail, world.places, world.states, world.used)


class Execution:
    """One execution of one workflow."""

    def __init__(
        self, world: World, described: Description, given: dict[str, int], run_id: str, depth: int
    ) -> None:
        self.world = world
        self.described = described
        self.run_id = run_id
        self.depth = depth
        self.steps = {step.id: step for step in described.steps}
        self.state = dict(given)
        self.turn = 1
        self.visits = dict.fromkeys(self.steps, 0)
        self.calls = dict.fromkeys(self.steps, 0)
        self.handled: set[str] = set()
        self.last_used = False
        self.in_error_node = False

    def run(self) -> Any:
        """Visit after visit, to the value that is delivered."""
        if self.depth > self.world.limits.get("depth", 10**9):
            raise Ended("budget", "depth")
        self.look_for_cancel()
        self.remember_state()
        self.world.spend("rounds")
        step = self.described.steps[0]
        while True:
            self.look_for_cancel()
            step = self.cross_boundary(step)
            self.world.spend("visits")
            if any(name not in self.state for name in step.requires):
                raise Ended("contract")
            self.visits[step.id] += 1
            try:
                update = self.attempts(step)
            except Failed as failure:
                step = self.error_node(step, failure)
                continue
            self.look_for_cancel()
            self.in_error_node = False
            check(step, update)
            self.state |= update
            self.remember_state()
            way = next((one for one in step.ways if holds(one, self.state)), None)
            if way is None:
                raise Ended("contract")
            if way.target is None:
                if way.delivers not in self.state:
                    raise Ended("contract")
                return self.state[way.delivers]
            step = self.steps[way.target]

    def look_for_cancel(self) -> None:
        if self.world.cancelled:
            raise Ended("cancelled")

    def remember_state(self) -> None:
        if self.depth == 1:
            self.world.states.append(dict(self.state))

    def cross_boundary(self, step: Step) -> Step:
        """The step to visit: another one if the rounds have run out and there is a last node."""
        if not step.starts_round or not self.visits[step.id]:
            return step
        if self.turn >= self.described.max_rounds:
            if self.described.on_limit is None or self.last_used:
                raise Ended("budget", "rounds")
            self.last_used, self.in_error_node = True, False
            return self.steps[self.described.on_limit]
        self.world.spend("rounds")
        self.turn += 1
        self.handled.clear()
        return step

    def error_node(self, step: Step, failure: Failed) -> Step:
        """Where a failure goes, if anywhere."""
        self.look_for_cancel()
        handler = step.on_error or self.described.on_error
        if handler is None or handler == step.id or self.in_error_node or handler in self.handled:
            raise failure
        self.handled.add(handler)
        self.in_error_node = True
        return self.steps[handler]

    def attempts(self, step: Step) -> Any:
        """The update of a visit: of the first attempt that does not fail."""
        self.world.shares.append([-1 if step.uses is None else step.uses])
        try:
            return self.attempts_in_share(step)
        finally:
            self.world.shares.pop()

    def attempts_in_share(self, step: Step) -> Any:
        visit = self.visits[step.id]
        for attempt in range(1, step.attempts + 1):
            try:
                if step.below is not None:
                    return {"c": self.sub_workflow(step, step.below, visit, attempt)}
                self.world.places.append((self.run_id, step.id, visit, self.turn, attempt))
                if step.flavour != "plain":
                    self.world.spend_tool_call()
                act, detail = step.acts[self.calls[step.id] % len(step.acts)]
                self.calls[step.id] += 1
                return perform(self.world, act, detail)
            except Failed:
                if attempt == step.attempts or self.world.cancelled:
                    raise
        raise AssertionError

    def sub_workflow(self, step: Step, below: Description, visit: int, attempt: int) -> Any:
        name = f"{self.run_id}/{step.id}#{visit}" + (f".{attempt}" if attempt > 1 else "")
        return Execution(self.world, below, self.state, name, self.depth + 1).run()


def perform(world: World, act: str, detail: Any) -> Any:
    """What a body does."""
    match act:
        case "fail":
            raise Failed(detail)
        case "bail":
            raise Ended("bail", detail)
        case "cancel":
            world.cancelled = True
    return detail


def check(step: Step, update: Any) -> None:
    """An update is a mapping of declared fields to numbers, with every field that the step provides."""
    if not isinstance(update, dict):
        raise Ended("contract")
    declared = {*step.provides, *step.may_provide} | ({"c"} if step.below else set())
    if not update.keys() <= declared or not set(step.provides) <= update.keys():
        raise Ended("contract")
    if not all(isinstance(value, int) for value in update.values()):
        raise Ended("contract")


def holds(way: Way, state: dict[str, int]) -> bool:
    """Whether a route matches; a field that is not there never does."""
    if way.test is None:
        return True
    name, comparison, number = way.test
    if name not in state:
        return False
    value = state[name]
    return {"<": value < number, ">=": value >= number, "==": value == number}[comparison]
