"""Background tools, and streams that last until all of them have ended and the model knows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from agentflow import Agent, BudgetExceeded, tool
from agentflow.agents import (
    AgentDenied,
    Asked,
    FinishEvent,
    Guardrail,
    Hooks,
    IdleEvent,
    StartEvent,
    TaskEvent,
    background,
)
from agentflow.agents.idle_stream import IdleStream
from agentflow.agents.memory import InMemoryHistory, Memory, Thread
from agentflow.messages import TextChunk
from agentflow.mock import MockModel, MockRequest, Rule, call, calls
from tests.agents.kit import assert_valid, look, scripted

MINE: Any = {"resource_id": "u1", "thread_id": "t1"}


class Dig:
    """A tool that digs until it is told to have found something, or that it is broken."""

    def __init__(self) -> None:
        self.found: dict[str, anyio.Event] = {}
        self.stopped: list[str] = []
        self.tool = tool(self.dig)

    async def dig(self, place: str) -> str:
        """Dig at a place."""
        event = self.found.setdefault(place, anyio.Event())
        try:
            await event.wait()
        except anyio.get_cancelled_exc_class():
            self.stopped.append(place)
            raise
        if place == "swamp":
            raise ValueError("it is too wet")
        return f"a coin from the {place}"

    def end(self, place: str) -> None:
        self.found.setdefault(place, anyio.Event()).set()


@pytest.fixture
def dig() -> Dig:
    return Dig()


def digging(*places: str, after: Any = "Done digging.") -> MockModel:
    """A model that begins to dig at all places, says so, and says of each end what it was."""

    def reply(request: MockRequest) -> Any:
        last = request.messages[-1]
        if last.role != "tool":
            return calls(*(call("start_dig", place=place) for place in places))
        (result,) = last.tool_results
        if "has started" in result.content:
            return "They are digging."
        return after(request) if callable(after) else f"Told: {result.content}"

    return MockModel([Rule(reply=reply)])


def digger(model: Any, dig: Dig, *, history: Any = None, **options: Any) -> Agent:
    memory = Memory(history=InMemoryHistory() if history is None else history)
    options.setdefault("memory", memory)
    return Agent("digger", model=model, tools=[background(dig.tool)], **options)


async def events_of(stream: Any) -> list[Any]:
    return [event async for event in stream.events]


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


@pytest.mark.rule("R220")
async def test_a_plain_stream_ends_with_its_turn_and_leaves_no_task_behind(dig: Dig) -> None:
    async with digger(digging("field"), dig).stream_text("go", **MINE) as stream:
        events = await events_of(stream)
        assert events[-1] == FinishEvent(finish_reason="stop")
        assert await stream.text == "They are digging."
        assert dig.stopped == []
    assert dig.stopped == ["field"]


@pytest.mark.rule("R221", "R224", "R226")
async def test_a_stream_until_idle_tells_the_model_what_came_of_a_task(dig: Dig) -> None:
    model = digging("field")
    async with digger(model, dig).stream_text("go", until_idle=True, **MINE) as stream:
        assert await stream.text == "They are digging."
        assert not stream.ended
        dig.end("field")
        events = await events_of(stream)
    told = "task-1 (dig) has completed: a coin from the field"
    assert text_of(events) == f"They are digging.Told: {told}"
    assert [type(e) for e in events if isinstance(e, StartEvent | TaskEvent | FinishEvent)] == [
        *(StartEvent, FinishEvent, TaskEvent, StartEvent, FinishEvent)
    ]
    assert events[-1] == IdleEvent(turns=2)
    request = model.requests[-1]
    assert [m.text for m in request.messages if m.role == "user"] == ["go"]
    assert request.messages[-1].tool_results[0].content == told
    assert_valid(request.messages)


@pytest.mark.rule("R226", "R227")
async def test_what_it_comes_to_is_that_of_the_first_turn_and_the_rest_is_read_from_the_events(
    dig: Dig,
) -> None:
    dig.end("field")
    async with digger(digging("field"), dig).stream_text("go", until_idle=True, **MINE) as stream:
        pieces = [piece async for piece in stream.text]
        events = await events_of(stream)
        assert "".join(pieces) == await stream.text == "They are digging."
        assert [made.name for made in await stream.tool_calls] == ["start_dig"]
        assert len(await stream.steps) == 2
    assert "Told" in text_of(events)


@pytest.mark.rule("R222", "R223")
async def test_tasks_that_end_during_a_turn_wait_for_it_and_are_told_in_the_order_of_their_ends(
    dig: Dig,
) -> None:
    order = ["c", "a", "b"]
    under_way = most = 0

    class Slow:
        """The same model, which counts how many of its answers are under way."""

        def __init__(self, model: MockModel) -> None:
            self.model = model

        async def stream(self, messages: Any, context: Any) -> AsyncIterator[Any]:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            last = messages[-1]
            if last.role == "tool" and "has started" in last.tool_results[0].content:
                for place in order:
                    dig.end(place)
                    await anyio.wait_all_tasks_blocked()
            async for chunk in self.model.stream(messages, context):
                yield chunk
            under_way -= 1

    agent = digger(Slow(digging("a", "b", "c")), dig)
    async with agent.stream_text("go", until_idle=True, **MINE) as stream:
        events = await events_of(stream)
    steps = await stream.steps
    names = {
        str(asked.arguments["place"]): told.content.split()[0]
        for asked, told in zip(steps[0].tool_calls, steps[0].tool_results, strict=True)
    }
    assert [e.task for e in events if isinstance(e, TaskEvent)] == [names[p] for p in order]
    assert most == 1
    assert events[-1] == IdleEvent(turns=4)


@pytest.mark.rule("R224")
async def test_what_came_of_a_task_becomes_history_with_what_was_said_of_it(dig: Dig) -> None:
    history = InMemoryHistory()
    dig.end("field")
    agent = digger(digging("field"), dig, history=history)
    async with agent.stream_text("go", until_idle=True, **MINE) as stream:
        await events_of(stream)
    first, second = await history.load(Thread("u1", "t1"), last=10)
    assert [m.role for m in second.messages] == ["assistant", "tool", "assistant"]
    assert second.messages[0].provenance == "input"
    assert first.messages[0].text == "go"
    assert_valid([*first.messages, *second.messages])


@pytest.mark.rule("R225")
@pytest.mark.parametrize("options", [{"memory": None}, {}, {"memory": "never"}])
async def test_without_a_memory_of_the_conversation_it_is_a_plain_stream(
    dig: Dig, options: dict[str, Any]
) -> None:
    mine = {} if not options else MINE
    if options.get("memory") == "never":
        options = {"memory": Memory(history=InMemoryHistory(), save="never")}
    agent = digger(digging("field"), dig, **options)
    async with agent.stream_text("go", until_idle=True, **mine) as stream:
        events = await events_of(stream)
    assert events[-1] == FinishEvent(finish_reason="stop")
    assert dig.stopped == ["field"]


@pytest.mark.rule("R193")
async def test_the_driver_is_entered_only_where_it_was_asked_for(dig: Dig) -> None:
    agent = digger(scripted("ok", "ok"), dig)
    assert not isinstance(agent.stream_text("go", until_idle=False), IdleStream)
    assert not isinstance(agent.stream_text("go"), IdleStream)
    async with agent.stream_text("go", until_idle=True, **MINE) as stream:
        assert isinstance(stream, IdleStream)
        assert (await events_of(stream))[-1] == IdleEvent(turns=1)


@pytest.mark.rule("R197", "R363")
async def test_whoever_may_not_ask_is_refused_before_anything_runs(dig: Dig) -> None:
    history, model = InMemoryHistory(), scripted("ok")
    agent = digger(model, dig, history=history, permission=lambda asked: False)
    with pytest.raises(AgentDenied):
        async with agent.stream_text("go", until_idle=True, **MINE):
            raise AssertionError("it was let through")
    assert not model.requests
    assert await history.load(Thread("u1", "t1"), last=10) in ([], ())


@pytest.mark.rule("R363")
async def test_a_further_turn_is_let_through_like_any_other(dig: Dig) -> None:
    asked: list[Asked] = []

    def once(ask: Asked) -> bool:
        asked.append(ask)
        return len(asked) == 1

    history = InMemoryHistory()
    model = digging("field", "swamp")
    agent = digger(model, dig, history=history, permission=once)
    async with agent.stream_text("go", until_idle=True, identity="u", **MINE) as stream:
        await stream.text
        calls = len(model.requests)
        dig.end("field")
        *_, finish, idle = await events_of(stream)
    assert isinstance(finish.error, AgentDenied)
    assert idle == IdleEvent(turns=2)
    assert [ask.identity for ask in asked] == ["u", "u"]
    assert len(model.requests) == calls
    assert len(await history.load(Thread("u1", "t1"), last=10)) == 1
    assert dig.stopped == ["swamp"]


async def test_a_task_that_fails_is_told_as_a_failure(dig: Dig) -> None:
    dig.end("swamp")
    model = digging("swamp")
    async with digger(model, dig).stream_text("go", until_idle=True, **MINE) as stream:
        await events_of(stream)
    (result,) = model.requests[-1].messages[-1].tool_results
    assert result.is_error
    assert "it is too wet" in result.content


async def test_a_model_that_begins_a_task_in_every_turn_comes_to_an_end(dig: Dig) -> None:
    dig.end("field")

    def again(request: MockRequest) -> Any:
        return call("start_dig", place="field")

    agent = digger(digging("field", after=again), dig)
    stream = agent.stream_text("go", until_idle=True, max_continuations=3, **MINE)
    async with stream:
        *_, finish, idle = await events_of(stream)
    assert isinstance(finish.error, BudgetExceeded)
    assert finish.error.limit == "continuations"
    assert idle == IdleEvent(turns=4)


async def test_the_context_goes_on_from_turn_to_turn(dig: Dig) -> None:
    seen: list[list[str]] = []

    async def start(view: Any) -> None:
        view.context.setdefault("turns", []).append(view.run_id)
        seen.append(list(view.context["turns"]))

    dig.end("field")
    agent = digger(digging("field"), dig, hooks=Hooks(on_start=start))
    async with agent.stream_text("go", until_idle=True, **MINE) as stream:
        await events_of(stream)
    first, second = seen
    assert second[:-1] == first
    assert first[0] == stream.run_id != second[1]


@pytest.mark.parametrize("when", ["first", "waiting", "later"])
async def test_leaving_early_ends_turns_and_tasks(dig: Dig, when: str) -> None:
    agent = digger(digging("field", "hill"), dig)
    async with agent.stream_text("go", until_idle=True, **MINE) as stream:
        if when != "first":
            assert await stream.text == "They are digging."
        if when == "later":
            dig.end("field")
            async for event in stream.events:
                if isinstance(event, TaskEvent):
                    break
    assert stream.ended
    assert (
        sorted(dig.stopped) == {"first": [], "waiting": ["field", "hill"], "later": ["hill"]}[when]
    )


async def test_a_cancelled_caller_ends_turns_and_tasks(dig: Dig) -> None:
    with anyio.CancelScope() as scope:
        async with digger(digging("field"), dig).stream_text("go", until_idle=True, **MINE) as s:
            await s.text
            scope.cancel()
            await events_of(s)
    assert s.ended
    assert dig.stopped == ["field"]


async def test_a_model_can_ask_for_a_task_and_cancel_it(dig: Dig) -> None:
    model = scripted(
        call("start_dig", place="field"),
        call("start_dig", place="hill"),
        calls(call("task_status", task="task-1"), call("task_cancel", task="task-2")),
        call("task_status", task="task-9"),
        "Enough.",
        "Told.",
    )
    async with digger(model, dig).stream_text("go", until_idle=True, **MINE) as stream:
        assert await stream.text == "Enough."
        dig.end("field")
        events = await events_of(stream)
    told = [r.content for m in await stream.messages for r in m.tool_results]
    assert told[2:4] == ["task-1 (dig) is running", "task-2 (dig) is being cancelled"]
    assert "there is no background task 'task-9'" in told[4]
    assert dig.stopped == ["hill"]
    # Whoever has cancelled a task need not be told of it.
    assert [e.task for e in events if isinstance(e, TaskEvent)] == ["task-1"]


async def test_what_a_model_has_asked_for_itself_is_not_told_again(dig: Dig) -> None:
    dig.end("field")

    @tool
    async def wait() -> str:
        """Wait until everything has come to rest."""
        await anyio.wait_all_tasks_blocked()
        return "rested"

    replies = [call("start_dig", place="field"), call("wait"), call("task_status", task="task-1")]
    model = scripted(*replies, "There it is.")
    agent = Agent(
        "digger",
        model=model,
        tools=[background(dig.tool), wait],
        memory=Memory(history=InMemoryHistory()),
    )
    async with agent.stream_text("go", until_idle=True, **MINE) as stream:
        events = await events_of(stream)
    assert events[-1] == IdleEvent(turns=1)


async def test_guardrails_hooks_and_policies_of_the_tool_hold_for_the_task(dig: Dig) -> None:
    ended: list[str] = []
    dig.end("field")
    model = digging("field")
    agent = digger(
        model,
        dig,
        guardrails=[Guardrail(name="coins", tool_output=lambda c, v: "coin" not in str(c.output))],
        hooks=Hooks(on_tool_end=lambda end, view: ended.append(end.tool)),
    )
    async with agent.stream_text("go", until_idle=True, **MINE) as stream:
        await events_of(stream)
    (result,) = model.requests[-1].messages[-1].tool_results
    assert "coins" in result.content
    assert result.is_error
    assert ended == ["start_dig", "dig"]


async def test_without_a_stream_there_is_nobody_to_see_a_task_to_its_end(dig: Dig) -> None:
    result = await digger(digging("field", after=lambda r: "No."), dig).generate_text("go")
    (told,) = [r for m in result.messages for r in m.tool_results]
    assert told.is_error
    assert "agent.stream_text" in told.content
    assert dig.found == {}


def test_only_tools_work_in_the_background() -> None:
    with pytest.raises(TypeError, match="give tools"):
        background(len)  # type: ignore[arg-type]
    assert background(look).tools[0].parameters == look.parameters
