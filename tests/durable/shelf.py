"""Small workflows, each with one thing in it that a crash can hit; none of them may come out differently for it."""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict

from agentflow import (
    NodeContext,
    Reducer,
    Retry,
    Uses,
    Workflow,
    add,
    append,
    ask,
    define_workflow,
    merge,
    node,
    route,
    subflow,
    tool,
    union,
    wait,
)
from agentflow.mock import MockModel, Rule
from tests.durable.workflows import World

__all__ = ["SHELF", "Place", "Sample", "double", "model"]


@dataclass(frozen=True)
class Sample:
    """A workflow to be killed at every write.

    Args:
        make: Makes it.
        input: What it is run with.
        answers: What is answered to the requests, by their key.
    """

    make: Callable[[], Workflow[Any]]
    input: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)


class Place(World):
    """What is outside, and which attempts were made."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: list[int] = []


def model() -> MockModel:
    """A provider that says back what it was told."""
    return MockModel([Rule(reply=lambda request: request.text.upper())])


@tool
async def double(n: int) -> int:
    """Double a number."""
    return n * 2


def retries() -> Workflow[Any]:
    """A node that fails twice, once after an effect and once before any."""

    @node(provides=["x"], retry=Retry(4), uses=Uses(model_calls=4), routes=[route.deliver("x")])
    async def stubborn(state: Any, ctx: NodeContext) -> dict[str, Any]:
        ctx.deps.attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            raise OSError("not yet")
        reply = await ctx.model.invoke(f"attempt {ctx.attempt}")
        if ctx.attempt == 2:
            raise OSError("not yet either")
        return {"x": reply.value}

    return define_workflow("retries", nodes=[stubborn])


def exhausted() -> Workflow[Any]:
    """A node whose attempts are all in vain, so that the run fails."""

    @node(provides=["x"], retry=Retry(3), routes=[route.deliver("x")])
    async def vain(state: Any, ctx: NodeContext) -> dict[str, Any]:
        ctx.deps.attempts.append(ctx.attempt)
        await ctx.once(f"try {ctx.attempt}", lambda: ctx.deps.act(f"try {ctx.attempt}"))
        raise OSError("never")

    return define_workflow("exhausted", nodes=[vain])


def errors() -> Workflow[Any]:
    """A loop with an error node, which is entered once a round, until rounds run out and `on_limit` ends it."""

    class State(TypedDict):
        log: NotRequired[Annotated[list[str], append]]

    @node(provides=["log"], starts_round=True, on_error="mend", routes=[route.to("again")])
    async def begin(state: State, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("act", lambda: ctx.deps.act(ctx.effect_key("act")))
        if ctx.round % 2:
            raise ValueError(f"round {ctx.round} is odd")
        return {"log": [f"round {ctx.round}"]}

    @node(provides=["log"], routes=[route.to("again")])
    async def mend(state: State, ctx: NodeContext) -> dict[str, Any]:
        assert ctx.failure is not None
        return {
            "log": [f"mended {ctx.failure.type}: {ctx.failure.message} of {ctx.failure.node_id}"]
        }

    @node(routes=[route.to("begin")])
    async def again(state: State) -> None: ...

    @node(provides=["log"], routes=[route.deliver("log")])
    async def enough(state: State, ctx: NodeContext) -> dict[str, Any]:
        done = await ctx.once("end", lambda: ctx.deps.act("end"))
        return {"log": [f"enough: {done}"]}

    return define_workflow(
        "errors",
        nodes=[begin, mend, again, enough],
        state=State,
        inputs=[],
        max_rounds=4,
        on_limit="enough",
    )


def nested() -> Workflow[Any]:
    """Three levels of sub-workflows, with effects and a question at the bottom, the middle one retried."""

    @node(requires=["n"], provides=["deep"], routes=[route.to("ask_there")])
    async def bottom(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"deep": await ctx.once("dig", lambda: ctx.deps.act(ctx.effect_key("dig")))}

    @node(requires=["deep"], provides=["said"], routes=[route.deliver("said")])
    async def ask_there(state: Any, ctx: NodeContext) -> dict[str, Any]:
        more = await ctx.model.invoke("dig on")
        answer = await ctx.suspend("how deep?", {"so far": state["deep"]}, schema=int)
        return {"said": f"{state['deep']} {more.value} {answer}"}

    deepest = define_workflow("deepest", nodes=[bottom, ask_there], inputs=["n"], result=str)

    @node(requires=["n"], provides=["m"], starts_round=True, routes=[route.to("down")])
    async def prepare(state: Any) -> dict[str, Any]:
        return {"m": state["n"] * 10}

    @node(requires=["said"], provides=["log"], routes=[route.deliver("log")])
    async def after(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("after", lambda: ctx.deps.act(ctx.effect_key("after")))
        if ctx.frame.above is not None and ctx.frame.above.attempt == 1:
            raise OSError("once more from the top of this level")
        return {"log": f"<{state['said']}>"}

    middle = define_workflow(
        "middle",
        nodes=[
            prepare,
            subflow(
                "down",
                deepest,
                inputs={"n": "m"},
                outputs={"said": "$result"},
                routes=[route.to("after")],
            ),
            after,
        ],
        inputs=["n"],
        result=str,
    )

    @node(requires=["log"], provides=["end"], routes=[route.deliver("end")])
    async def top(state: Any) -> dict[str, Any]:
        return {"end": state["log"] * 2}

    return define_workflow(
        "nested",
        nodes=[
            subflow(
                "into",
                middle,
                inputs={"n": "n"},
                outputs={"log": "$result"},
                retry=Retry(2),
                uses=Uses(model_calls=2),
                routes=[route.to("top")],
            ),
            top,
        ],
        inputs=["n"],
        result=str,
    )


def threads() -> Workflow[Any]:
    """Plain nodes, which run in worker threads and use what async ones use."""

    @node(provides=["x"], uses=Uses(model_calls=1), routes=[route.to("second")])
    def first(state: Any, ctx: NodeContext) -> dict[str, Any]:
        done = ctx.sync.once("act", lambda: ctx.deps.act("act"))
        said = ctx.sync.model.invoke("hello").value
        try:
            answer = ctx.sync.suspend("go on?", schema=bool)
        except Exception as error:
            raise AssertionError("a suspension is no error") from error
        return {"x": f"{done} {said} {answer}"}

    @node(provides=["y"], retry=Retry(2), routes=[route.finish(dict)])
    def second(state: Any, ctx: NodeContext) -> dict[str, Any]:
        if ctx.attempt == 1:
            raise OSError("not yet")
        return {"y": ctx.sync.once("act", lambda: ctx.deps.act("act 2"))}

    return define_workflow("threads", nodes=[first, second])


def _longest(current: list[int] | None, delta: int) -> list[int]:
    return sorted([*(current or ()), delta])[-3:]


def _counted(current: Counter[str] | None, delta: Counter[str]) -> Counter[str]:
    return (current or Counter()) + delta


class Reduced(TypedDict):
    appended: NotRequired[Annotated[list[Any], append]]
    added: NotRequired[Annotated[float, add]]
    merged: NotRequired[Annotated[dict[Any, Any], merge]]
    united: NotRequired[Annotated[set[Any], union]]
    longest: NotRequired[Annotated[list[int], Reducer(int, _longest)]]
    counted: NotRequired[Annotated[Counter[str], Reducer(None, _counted)]]
    joined: NotRequired[Annotated[str, Reducer(None, lambda a, b: (a or "") + b, "join")]]
    replaced: NotRequired[Any]
    last: NotRequired[deque[int]]


def reducers() -> Workflow[Any]:
    """Every kind of reducer, beside fields that are replaced, by equal and by other values."""

    @node(
        provides=[*Reduced.__annotations__],
        starts_round=True,
        routes=[
            route.to("turn", when=lambda state: state["added"] < 1, reads=["added"]),
            route.to("end"),
        ],
    )
    async def turn(state: Reduced, ctx: NodeContext) -> dict[str, Any]:
        n = ctx.round
        return {
            "appended": [n, {"round": n}],
            "added": 0.1 * n,
            "merged": {n: "n", ("last",): n},
            "united": {n, f"n{n}"},
            "longest": n * 7 % 5,
            "counted": Counter(a=n),
            "joined": f"{n} ",
            "replaced": [None, 1, True, 1.0, "same", "same"][n],
            "last": deque([*state.get("last", ()), n], maxlen=2),
        }

    @node(routes=[route.finish(dict)])
    async def end(state: Reduced) -> None: ...

    return define_workflow("reducers", nodes=[turn, end], state=Reduced, inputs=[], max_rounds=6)


def shares() -> Workflow[Any]:
    """A node that may make two model calls in a visit, and wants a third in its second attempt."""

    @node(
        provides=["x"],
        retry=Retry(2),
        uses=Uses(model_calls=2, tool_calls=1),
        routes=[route.deliver("x")],
    )
    async def greedy(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.model.invoke(f"first of {ctx.attempt}")
        if ctx.attempt == 1:
            await ctx.tools.invoke("double", {"n": 3})
            raise OSError("not yet")
        await ctx.model.invoke(f"second of {ctx.attempt}")
        return {"x": 1}

    return define_workflow("shares", nodes=[greedy])


def questions() -> Workflow[Any]:
    """Questions one after the other and beside each other, a wait, and an effect before each."""

    @node(provides=["x"], routes=[route.to("pause")])
    async def interview(state: Any, ctx: NodeContext) -> dict[str, Any]:
        said = []
        for key in ("one", "two"):
            shown = await ctx.once(f"show {key}", partial(ctx.deps.act, f"show {key}"))
            said.append(await ctx.suspend(key, shown))
        return {"x": said}

    @node(provides=["y"], routes=[route.finish(dict)])
    async def late(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"y": await ctx.once("late", lambda: ctx.deps.act("late"))}

    return define_workflow(
        "questions",
        nodes=[
            interview,
            wait("pause", seconds=3600, routes=[route.to("asked")]),
            ask("asked", prompt="name?", answer="name", schema=str, routes=[route.to("late")]),
            late,
        ],
    )


def bails() -> Workflow[Any]:
    """A sub-workflow that ends the whole run."""

    @node(routes=[route.deliver("never")], may_provide=["never"])
    async def leave(state: Any, ctx: NodeContext) -> None:
        ctx.bail([await ctx.once("out", lambda: ctx.deps.act("out"))])

    @node(provides=["x"], routes=[route.to("into")])
    async def before(state: Any) -> dict[str, Any]:
        return {"x": 1}

    inner = define_workflow("inner", nodes=[leave], waive={"AF203": "it never comes so far"})
    return define_workflow(
        "bails", nodes=[before, subflow("into", inner, routes=[route.deliver("x")])]
    )


def unroutable() -> Workflow[Any]:
    """A visit that is committed, and then finds no route."""

    @node(
        provides=["x"],
        routes=[route.deliver("x", when=lambda state: operator.lt(state["x"], 0), reads=["x"])],
    )
    async def lost(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.once("act", lambda: len(ctx.deps.act("act")))}

    return define_workflow("unroutable", nodes=[lost])


SHELF: dict[str, Sample] = {
    "retries": Sample(retries),
    "exhausted": Sample(exhausted),
    "errors": Sample(errors),
    "nested": Sample(nested, {"n": 4}, {"how deep?": 7}),
    "threads": Sample(threads, {}, {"go on?": True}),
    "reducers": Sample(reducers),
    "shares": Sample(shares),
    "questions": Sample(questions, {}, {"one": None, "two": {"x": []}, "ask": "ada"}),
    "bails": Sample(bails),
    "unroutable": Sample(unroutable),
}
