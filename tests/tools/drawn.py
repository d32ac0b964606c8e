"""Answers of tool calls drawn at random, carried out on a real engine, with a log of what really happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import anyio.lowlevel
from hypothesis import strategies as st

from agentflow import Budget, CancelSignal, DeliveryError, Engine, RunCancelled, Tool, tool
from agentflow.messages import Message, ToolCall
from agentflow.run.run import Run
from agentflow.tools.execution import run_calls
from agentflow.tools.results import CallResults
from tests.models.kit import asking

__all__ = ["Drawn", "Happened", "answers", "carried_out"]

ENDING: Final = {"bail": None, "cancel": RunCancelled, "fatal": DeliveryError}
"""What ends the run, and the error that it ends with."""

NEVER_STARTS: Final = {"denied", "unknown", "misfit", "unread"}
"""Calls that have no permit."""

_KINDS: Final = ("good", "good", "good", "broken", "lie", *sorted(NEVER_STARTS), *ENDING)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call: what becomes of it, how many steps that takes, its further tries, and whether it may have company."""

    kind: str
    steps: int = 0
    retries: int = 0
    parallel: bool = True

    @property
    def starts(self) -> bool:
        return self.kind not in NEVER_STARTS


@dataclass(slots=True)
class Happened:
    """What a batch came to."""

    run: Run[Any]
    results: list[Message]
    value: Any = None
    error: BaseException | None = None
    started: list[int] = field(default_factory=list)
    returned: set[int] = field(default_factory=set)
    tries: int = 0
    running: set[int] = field(default_factory=set)
    most: int = 0
    crowded: list[int] = field(default_factory=list)


def answers(kinds: Sequence[str] = _KINDS, *, most: int = 7) -> st.SearchStrategy[list[Drawn]]:
    """The calls of one answer."""
    drawn = st.builds(
        Drawn, st.sampled_from(kinds), st.integers(0, 3), st.integers(0, 2), st.booleans()
    )
    return st.lists(drawn, max_size=most)


async def carried_out(
    drawn: Sequence[Drawn], *, at_once: int = 10, allowed: int | None = None, store: Any = None
) -> Happened:
    """Let an engine carry out the calls, and tell what happened; with a store, what happened in one process."""
    signal = CancelSignal()
    made = [
        _made(number, each, drawn, lambda: happened, signal) for number, each in enumerate(drawn)
    ]
    results = CallResults([_proposed(number, each) for number, each in enumerate(drawn)])

    async def body(ctx: Any) -> list[Message]:
        return await run_calls(ctx, results)

    budget = None if allowed is None else Budget(tool_calls=allowed)
    engine = Engine(
        asking(body), tools=made, budget=budget, max_parallel_tools=at_once, store=store
    )
    async with engine, engine.start({}, run_id="r", signal=signal) as run:
        happened = Happened(run, [])
        await run.settled()
    try:
        happened.value = run.outcome()
    except Exception as error:
        happened.error = error
    happened.results = results.messages("cut short")
    return happened


def _proposed(number: int, each: Drawn) -> ToolCall:
    name = "nothing" if each.kind == "unknown" else f"t{number}"
    given = {} if each.kind == "misfit" else {"number": number}
    unread = "no JSON" if each.kind == "unread" else None
    return ToolCall(f"c{number}", name, given, error=unread)


def _made(
    number: int,
    each: Drawn,
    drawn: Sequence[Drawn],
    happening: Callable[[], Happened],
    signal: CancelSignal,
) -> Tool:
    async def work(number: int, ctx: Any) -> Any:
        happened = happening()
        happened.tries += 1
        if number not in happened.started:
            happened.started.append(number)
        happened.running.add(number)
        happened.most = max(happened.most, len(happened.running))
        alone = any(not drawn[other].parallel for other in happened.running)
        if alone and len(happened.running) > 1:
            happened.crowded.append(number)
        try:
            for _ in range(each.steps):
                await anyio.lowlevel.checkpoint()
            match each.kind:
                case "broken":
                    raise ValueError("no luck")
                case "bail":
                    ctx.bail("early")
                case "fatal":
                    raise DeliveryError("gone")
                case "cancel":
                    signal.cancel("enough")
                    await anyio.sleep_forever()
        finally:
            # Whoever cancels it has to wait for it.
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            happened.running.discard(number)
        happened.returned.add(number)
        return "many" if each.kind == "lie" else number

    return tool(
        work,
        id=f"t{number}",
        output=int,
        retries=each.retries,
        parallel=each.parallel,
        authorize=False if each.kind == "denied" else None,
    )
