"""Random workflows for the proofs: small, mostly sound in structure, with conditions that hang together.

A tree of forward routes reaches every node; further routes lead forward, to an end, or back to a node that starts a round. So
most graphs have no finding of structure and come to be proved. Few fields are used by many nodes, so that what one
condition says bears on the next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field as attribute
from typing import Any, Literal, NotRequired, TypedDict

from hypothesis import settings, strategies as st

from agentflow import (
    Node,
    Policy,
    Retry,
    Route,
    Uses,
    Workflow,
    at_most,
    ends_within,
    map_each,
    must_pass,
    never_after,
    node,
    only_if,
    parallel,
    race,
    route,
    subflow,
)
from agentflow.graph.condition import Condition, field
from agentflow.graph.workflow import assemble
from tests.proofs.children import CHILDREN, INNER_NAMES, NESTED, SMALL
from tests.proofs.choices import Choices, choices
from tests.proofs.values import Level

__all__ = ["SCRIPT", "Drawn", "Script", "many", "told", "workflows"]


class Service(TypedDict):
    """A mapping below a field, in part optional."""

    status: Literal["on", "off"]
    load: NotRequired[int]


Status = Literal["new", "open", "done"]


class Plain(TypedDict, total=False):
    """Nothing is there from the start but what is given."""

    status: Status
    flag: bool
    level: Level
    note: Literal["a", "b"] | None
    size: int
    count: int | None
    text: str
    ratio: float
    service: Service
    maybe: Service | None
    items: list[str]
    loose: Any
    extra: str


@dataclass
class Filled:
    """Most fields have defaults."""

    extra: str
    size: int
    text: str
    loose: Any
    status: Status = "new"
    flag: bool = False
    level: Level = Level.HIGH
    note: Literal["a", "b"] | None = None
    count: int | None = None
    ratio: float = 0.5
    service: Service = attribute(default_factory=lambda: Service(status="off"))
    maybe: Service | None = None
    items: list[str] = attribute(default_factory=list)


_status, _flag, _level, _note = field("status"), field("flag"), field("level"), field("note")
_size, _count, _text, _ratio, _items = (
    field("size"),
    field("count"),
    field("text"),
    field("ratio"),
    field("items"),
)
_online, _load = field("service.status"), field("service.load")
_maybe, _loose = field("maybe.status"), field("loose")

ATOMS: dict[str, list[Condition]] = {
    "status": [
        _status == "new",
        _status == "open",
        _status == "done",
        _status != "new",
        _status.is_in(["open", "done"]),
        _status.is_in(["new", "closed"]),
        _status == "closed",
        _status.exists(),
    ],
    "flag": [_flag == True, _flag == False, _flag != True, _flag == 1, _flag.exists()],  # noqa: E712
    "level": [_level == Level.LOW, _level == Level.HIGH, _level != Level.LOW, _level == 1],
    "note": [
        _note.is_none(),
        _note == "a",
        _note == "b",
        _note != "a",
        _note.exists(),
        _note.is_in(["a", None]),
    ],
    "size": [
        _size < 10,
        _size >= 10,
        _size <= 9,
        _size == 10,
        _size > 0,
        _size != 0,
        _size == True,  # noqa: E712
        _size.is_in([1, 2]),
        _size < 0.5,
        _size.exists(),
    ],
    "count": [
        _count.is_none(),
        _count < 10,
        _count >= 10,
        ~_count.is_none() & (_count <= 9),
        _count == 3,
        _count.is_in([None, 3]),
        _count.exists(),
    ],
    "text": [
        _text == "a",
        _text < "b",
        _text >= "b",
        _text.contains("a"),
        _text.contains("ab"),
        _text != "",
        _text.exists(),
    ],
    "ratio": [_ratio < 0.5, _ratio >= 0.5, _ratio == 0.5, _ratio > 1, _ratio <= 1],
    "service": [
        _online == "on",
        _online == "off",
        _online != "on",
        _online.exists(),
        _load < 5,
        _load.exists(),
        field("service").exists(),
    ],
    "maybe": [
        _maybe == "on",
        _maybe == "off",
        _maybe.exists(),
        field("maybe").is_none(),
        field("maybe").exists(),
    ],
    "items": [
        _items.contains("a"),
        _items.contains("b"),
        _items == [],
        _items != [],
        _items.exists(),
    ],
    "loose": [_loose == 1, _loose == "x", _loose.is_none(), _loose != 1, _loose.exists()],
    "extra": [field("extra").exists()],
}
"""What may be asked of each field."""

UNTYPED = ("status", "flag", "note", "loose", "extra")
"""The fields of which the same may be asked where they have no type."""


class Script:
    """What the nodes and functions of a workflow do in one run: set before it, used up by it.

    Attributes:
        outcomes: For each visit, in order, the update; `None` for a failure.
        answers: For each call of a condition that is a function, in order, what it says.
        visits: The nodes as they were visited.
    """

    def __init__(self, outcomes: list[dict[str, Any] | None], answers: list[bool]) -> None:
        self.outcomes = outcomes
        self.answers = answers
        self.visits: list[str] = []


SCRIPT: ContextVar[Script] = ContextVar("SCRIPT")


class ScriptedFailure(Exception):
    """The failure of a node that its script asks for."""


def body(id: str) -> Callable[..., Any]:
    """A node's function that does what the script says, the same at every attempt of a visit."""

    async def scripted(state: Any, ctx: Any) -> dict[str, Any]:
        script = SCRIPT.get()
        if ctx.attempt == 1:
            script.visits.append(id)
        outcome = script.outcomes[len(script.visits) - 1]
        if outcome is None:
            raise ScriptedFailure(id)
        return outcome

    return scripted


@functools.cache
def answering(reads: tuple[str, ...]) -> Callable[[Any], bool]:
    """A condition that is a function: reads what it says, and answers what the script says."""

    def scripted_answer(state: Any) -> bool:
        _read(state, reads)
        return SCRIPT.get().answers.pop(0)

    return scripted_answer


@functools.cache
def finishing(reads: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    """A finish function that reads what it says, and gives the whole state."""

    def whole_state(state: Any) -> dict[str, Any]:
        _read(state, reads)
        return dict(state)

    return whole_state


def _read(state: Any, reads: tuple[str, ...]) -> None:
    for name in reads:
        state[name]


def some_items(state: Any) -> list[str]:
    """The items of a `map_each`; no graph that holds one is run."""
    raise AssertionError("graphs that hold workflows are not run")


_SCHEMAS: tuple[Any, ...] = (Plain, Filled, Plain, None)
_ROLES = ("", "", "p", "r", "p", "", "m", "p", "rp", "")
"""What a node may do with a field: require it, provide it, provide it at times."""
_GIVEN = ("input", "optional", "none")


class Drawn(Choices):
    """A random workflow, declared but not checked; `repr` tells it in one line for each node."""

    def __init__(
        self,
        made: bytes,
        *,
        most: int = 5,
        rounds: tuple[int, ...] = (3, 1, 2, 4),
        demanding: bool = False,
        telling: bool = False,
    ) -> None:
        super().__init__(made)
        self._demanding = demanding
        self._telling = telling
        self.workflow = self._workflow(most, rounds)

    def __repr__(self) -> str:
        return told(self.workflow)

    def _workflow(self, most: int, rounds: tuple[int, ...]) -> Workflow[Any]:
        schema = self.pick(_SCHEMAS)
        known = UNTYPED if schema is None else tuple(ATOMS)
        self.fields = list(dict.fromkeys(self.pick(known) for _ in range(self.pick((2, 1, 3)))))
        self.count = self.pick(range(2, most + 1))
        self.boundaries = [at for at in range(self.count) if self.chance(40)]
        self.parents = [self.pick(range(at + 1)) for at in range(self.count - 1)]
        given = {name: self.pick(_GIVEN) for name in self.fields}
        if schema is Filled:
            given |= dict.fromkeys({"extra", "size", "text", "loose"} - given.keys(), "input")
        return assemble(
            "random",
            [self._node(at) for at in range(self.count)],
            place=None,
            state=schema,
            inputs=[name for name, how in given.items() if how == "input"],
            optional_inputs=[name for name, how in given.items() if how == "optional"],
            max_rounds=self.pick(rounds) if self.boundaries else None,
            on_error=self.pick((None, None, *self._ids())),
            on_limit=self.pick((None, None, *self._ids())),
            policies=[self._policy()] if self._demanding else [],
        )

    def _id(self, at: int) -> str:
        return "abcdefgh"[at]

    def _ids(self) -> tuple[str, ...]:
        return tuple(self._id(at) for at in range(self.count))

    def _node(self, at: int) -> Node:
        roles = {name: self.pick(_ROLES) for name in self.fields}
        others = [id for id in self._ids() if id != self._id(at)]
        provided = [name for name, role in roles.items() if "p" in role]
        options: dict[str, Any] = {
            "id": self._id(at),
            "requires": [name for name, role in roles.items() if "r" in role],
            "may_provide": [name for name, role in roles.items() if "m" in role],
            "routes": self._routes(at),
            "starts_round": at in self.boundaries,
            "on_error": self.pick((None, None, None, None, *others)),
            "retry": Retry(2) if self.chance(10) else None,
        }
        if self._demanding and self.chance(30):
            # What is provided follows from what it holds.
            del options["may_provide"]
            return self._holding(provided, options)
        uses = Uses(model_calls=self.pick((1, 0, 2, 3)), tool_calls=self.pick((0, 1, 2)))
        return node(body(self._id(at)), provides=provided, uses=uses, **options)

    def _holding(self, provided: list[str], options: dict[str, Any]) -> Node:
        """A node that holds workflows, of any kind."""
        given = dict.fromkeys(provided, "$result")
        failures: dict[str, Any] = {}
        if self.chance(40):
            failures = {"on_branch_error": "collect", "errors": self._spare(provided)}
        kind = self.pick(("subflow", "parallel", "map_each", "race"))
        if kind == "subflow":
            return subflow(workflow=self.pick(CHILDREN), outputs=given, **options)
        if kind == "map_each":
            return map_each(
                workflow=self.pick(SMALL),
                over=some_items,
                item="x",
                into=provided[0] if provided else self._spare(failures.values()),
                concurrency=self.pick((1, 2)),
                max_items=self.pick((2, None, 1, 3, 0)),
                **failures,
                **options,
            )
        make = parallel if kind == "parallel" else race
        held = {"x": subflow("x", self.pick(NESTED), outputs=given)}
        # In a race any of them may give the same.
        other = given if kind == "race" and self.chance(50) else {}
        held["y"] = subflow("y", self.pick(SMALL), outputs=other)
        return make(branches=held, **failures, **options)

    def _spare(self, taken: Iterable[str]) -> str:
        """A field that is not given yet."""
        return next(name for name in ("loose", "extra", "text", "items") if name not in taken)

    def _policy(self) -> Policy:
        names = (*self._ids(), *self._ids(), *INNER_NAMES)
        one, other = self.pick(names), self.pick(names)
        match self.pick(("must_pass", "never_after", "at_most", "only_if", "ends_within")):
            case "must_pass":
                return must_pass(one, before=other)
            case "never_after":
                return never_after(one, other)
            case "at_most":
                return at_most(one, self.pick((1, 0, 2, 3)))
            case "only_if":
                return only_if(one, self._condition())
        return ends_within(rounds=self.pick((1, 2, 3)))

    def _routes(self, at: int) -> list[Route]:
        children = [self._id(to + 1) for to, parent in enumerate(self.parents) if parent == at]
        further = [self._id(to) for to in range(at + 1, self.count)]
        backs = [self._id(to) for to in self.boundaries if to <= at]
        ways = [self._way(target) for target in children]
        for _ in range(self.pick((0, 0, 1, 2))):
            way = self._way(self.pick(("end", *further, *backs)))
            ways.insert(self.pick(range(len(ways) + 1)), way)
        always = not ways or self.chance(60)
        return [*ways, self._way(self.pick(("end", "end", *further, *backs)), always=always)]

    def _way(self, target: str, *, always: bool = False) -> Route:
        when: Any = None
        if not always:
            when = None if self.chance(10) else self._condition()
        silent = () if self._telling else None
        reads = (self.pick(self.fields),) if self.chance(15) else silent
        if when is None and not always:
            when = answering(reads or ())
        if target != "end":
            return route.to(target, when, reads=reads)
        match self.pick(("finish", "deliver", "deliver", "ready")):
            case "deliver":
                return route.deliver(self.pick(self.fields), when, reads=reads)
            case "ready" if not always:
                return route.deliver_if_ready(self.pick(self.fields))
            case _:
                return route.finish(finishing(reads or ()), when, reads=reads)

    def _condition(self) -> Condition:
        one = self._atom()
        match self.pick(("one", "one", "not", "and", "or", "unless")):
            case "not":
                return ~one
            case "and":
                return one & self._atom()
            case "or":
                return one | self._atom()
            case "unless":
                return ~(one & ~self._atom())
        return one

    def _atom(self) -> Condition:
        return self.pick(ATOMS[self.pick(self.fields)])


def many(count: int) -> settings:
    """So many graphs where the tests run as usual, and as many as the profile says under `make proofs`."""
    said = settings().max_examples
    return settings(max_examples=said if said > 1000 else count)


def workflows(**options: Any) -> st.SearchStrategy[Drawn]:
    """Random workflows.

    Args:
        options: `most` nodes; the `rounds` to choose from; `demanding` for sub-workflows and a policy; `telling` for
            functions that all tell what they read.
    """
    return choices().map(lambda made: Drawn(made, **options))


def told(workflow: Workflow[Any]) -> str:
    """A workflow in a line for each node, for whoever has to understand a counter-example."""
    said = {
        name: getattr(workflow, name)
        for name in ("inputs", "optional_inputs", "max_rounds", "on_error", "on_limit")
        if getattr(workflow, name)
    }
    lines = [f"\nstate: {getattr(workflow.state, '__name__', None)}, {said}"]
    for one in workflow.nodes:
        declared = ("starts_round", "requires", "provides", "may_provide", "on_error", "retry")
        of_node = [f"{name}={value}" for name in declared if (value := getattr(one, name))]
        of_node += [_held(one)] if one.kind else []
        ways = [f"{way}" + (f" reads {way.reads}" if way.reads else "") for way in one.routes]
        lines.append(f"  {' '.join((one.id, *of_node))} -> {'; '.join(ways)}")
    return "\n".join([*lines, *map(str, workflow.policies)])


def _held(one: Node) -> str:
    ways = {
        name: getattr(one.kind, name)
        for name in ("on_branch_error", "concurrency", "max_items")
        if hasattr(one.kind, name)
    }
    inside = ", ".join(f"{branch.name} {branch.workflow.id}".strip() for branch in one.branches)
    return f"{type(one.kind).__name__} of {inside} {ways}"
