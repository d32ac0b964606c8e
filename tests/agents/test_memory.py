"""Memory: whose it is, when it is read, and what is told to the model and kept of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypedDict

import anyio
import pytest

from agentflow import Agent, ContractError, ModelError, RunSuspended, define_workflow, route, tool
from agentflow.agents import AgentDenied, Guardrail, GuardrailBlocked, Middleware
from agentflow.agents.memory import InMemoryHistory, Memory, Thread, Turn
from agentflow.messages import Message, MessageList, ToolCall, assistant, tool_result, user
from agentflow.mock import MockModel, MockRequest, Rule, call
from agentflow.stores.memory import MemoryStore
from agentflow.testing import FactRecorder
from tests.agents.kit import assert_valid, look, scripted


class Asked(TypedDict, total=False):
    question: str
    answer: str


U1 = Thread("u1", "t1")
MINE: Any = {"resource_id": "u1", "thread_id": "t1"}


class Watched(InMemoryHistory):
    """A history that tells how often it was asked for what, and may be made to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[Thread] = []
        self.writes: list[tuple[str, Thread]] = []
        self.gate: anyio.Event | None = None

    async def load(self, thread: Thread, *, last: int) -> Sequence[Turn]:
        self.reads.append(thread)
        return await super().load(thread, last=last)

    async def append(self, thread: Thread, turn: Turn) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self.writes.append(("append", thread))
        await super().append(thread, turn)

    async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self.writes.append(("record", thread))
        await super().record(thread, turn, at=at)


def echo() -> MockModel:
    """A model that tells what it was asked, each message with its provenance."""

    def reply(request: MockRequest) -> str:
        told = [m for m in request.messages if m.role != "system"]
        return ", ".join(f"{m.provenance}:{m.text}" for m in told[:-1]) or "nothing"

    return MockModel([Rule(reply=reply)])


def fine() -> MockModel:
    return MockModel([Rule(reply="ok")])


def agent(history: InMemoryHistory, model: Any = None, *tools: Any, **options: Any) -> Agent:
    own = ("turns", "save", "debounce", "recall")
    given = {name: options.pop(name) for name in own if name in options}
    memory = Memory(history=history, **given)
    return Agent("helper", "Be brief.", model or fine(), tools, memory=memory, **options)


async def texts(history: InMemoryHistory, thread: Thread = U1) -> list[list[str]]:
    turns = await history.load(thread, last=99)
    return [[said(message) for message in turn.messages] for turn in turns]


def said(message: Message) -> str:
    results = "".join(result.content for result in message.tool_results)
    return message.text or results or "".join(call.name for call in message.tool_calls)


# --- reading -------------------------------------------------------------------------------------


async def test_a_conversation_goes_on_from_call_to_call() -> None:
    asked = agent(InMemoryHistory(), echo())
    await asked.generate_text("one", **MINE)
    result = await asked.generate_text("two", **MINE)
    assert result.text == "memory:one, memory:nothing"
    assert [m.text for m in result.new_messages] == [result.text]
    assert [m.provenance for m in result.messages] == ["memory", "memory", "input", "model"]


@pytest.mark.rule("R037")
async def test_nothing_is_loaded_without_a_resource() -> None:
    history, facts = Watched(), FactRecorder()
    asked = agent(history, observers=[facts])
    await asked.generate_text("one", thread_id="t1")
    assert history.reads == []
    assert "memory.recalled" not in facts.kinds()
    await asked.generate_text("one", **MINE)
    assert history.reads == [U1]


@pytest.mark.rule("R037")
async def test_nothing_is_looked_for_without_a_resource() -> None:
    searched: list[Any] = []

    class Recall:
        async def add(self, thread: Thread, turn: Turn) -> None: ...

        async def search(self, resource: str, thread: str | None, text: str) -> Sequence[str]:
            searched.append(resource)
            return []

        async def forget(self, resource: str, thread: str | None = None) -> None: ...

    asked = agent(InMemoryHistory(), recall=Recall())
    await asked.generate_text("one", thread_id="t1")
    assert searched == []
    await asked.generate_text("one", **MINE)
    assert searched == ["u1"]


@pytest.mark.rule("R036", "R039")
async def test_instructions_come_first_then_what_was_wrong_then_what_is_remembered() -> None:
    def check(text: str, ctx: Any) -> str:
        if text == "bad":
            ctx.abort("Do better.", retry=True)
        return text

    model = scripted("ok", "bad", "good")
    asked = agent(
        InMemoryHistory(),
        model,
        middlewares=[Middleware(output=check)],
        max_middleware_retries=1,
    )
    await asked.generate_text("one", **MINE)
    await asked.generate_text("two", **MINE)
    assert [(m.role, m.text, m.provenance) for m in model.requests[-1].messages] == [
        ("system", "Be brief.", "contributed"),
        ("system", "Do better.", "notice"),
        ("user", "one", "memory"),
        ("assistant", "ok", "memory"),
        ("user", "two", "input"),
    ]


@pytest.mark.case("T065")
@pytest.mark.rule("R037")
async def test_none_says_nothing_and_false_is_no_memory() -> None:
    history = Watched()
    plain = Agent("helper", model=fine())
    assert plain.workflow.bounds() == Agent("helper", model=fine(), memory=False).workflow.bounds()
    await plain.generate_text("one", **MINE)
    asked = agent(history)
    await asked.generate_text("one", memory=False, **MINE)
    assert history.reads == [] == history.writes
    await asked.generate_text("one", memory=None, **MINE)
    assert history.reads == [U1]
    await plain.generate_text("two", memory=Memory(history=history), **MINE)
    assert await texts(history) == [["one", "ok"], ["two", "ok"]]
    with pytest.raises(TypeError, match="give Memory"):
        Agent("helper", model=fine(), memory=True)  # type: ignore[arg-type]


async def test_only_the_latest_turns_are_told() -> None:
    asked = agent(InMemoryHistory(), echo(), turns=1)
    for text in ("one", "two", "three"):
        result = await asked.generate_text(text, **MINE)
    assert result.text.startswith("memory:two")


@pytest.mark.rule("R194")
async def test_whoever_may_not_ask_reads_no_memory() -> None:
    history = Watched()
    asked = agent(history, permission=lambda asked: False)
    with pytest.raises(AgentDenied):
        await asked.generate_text("one", **MINE)
    assert history.reads == [] == history.writes


async def test_a_history_that_cannot_be_read_fails_the_call_before_any_model() -> None:
    class Broken(InMemoryHistory):
        async def load(self, thread: Thread, *, last: int) -> Sequence[Turn]:
            raise OSError("no such disk")

    model = fine()
    with pytest.raises(OSError, match="no such disk"):
        await agent(Broken(), model).generate_text("one", **MINE)
    assert not model.requests


# --- whose memory --------------------------------------------------------------------------------


@pytest.mark.rule("R198")
@pytest.mark.parametrize(
    "options",
    [
        MINE,
        {"context": MINE},
        {"identity": MINE},
        {"identity": SimpleNamespace(**MINE)},
        {"context": {"resource_id": "u1"}, "thread_id": "t1"},
    ],
    ids=["options", "context", "identity", "identity-object", "each-by-another"],
)
async def test_each_source_of_the_ids_is_enough(options: Any) -> None:
    history = Watched()
    await agent(history).generate_text("one", **options)
    assert history.reads == [U1]
    assert history.writes == [("append", U1)]


@pytest.mark.rule("R199")
@pytest.mark.case("T069")
@pytest.mark.parametrize("trusted", ["context", "identity"])
async def test_what_a_body_says_gives_way_to_what_the_host_says(trusted: str) -> None:
    history = Watched()
    said: Any = {trusted: MINE}
    await agent(history).generate_text("one", resource_id="u2", thread_id="t2", **said)
    assert {*history.reads} == {U1} == {thread for _, thread in history.writes}


@pytest.mark.rule("R199")
async def test_identity_has_the_first_say() -> None:
    history = Watched()
    other = {"resource_id": "u2", "thread_id": "t2"}
    await agent(history).generate_text("one", identity=MINE, context=other)
    assert history.reads == [U1]


@pytest.mark.parametrize("bad", ["", 7])
async def test_an_id_that_names_nobody_is_refused_and_not_passed_over(bad: Any) -> None:
    with pytest.raises(ContractError, match="resource_id"):
        await agent(InMemoryHistory()).generate_text("one", context={"resource_id": bad}, **MINE)


@pytest.mark.rule("R198")
async def test_a_call_that_goes_on_has_the_memory_that_it_began_with() -> None:
    @tool(needs_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    history = Watched()
    asked = agent(history, scripted(call("pay"), "done"), pay, store=MemoryStore())
    async with asked:
        with pytest.raises(RunSuspended) as suspended:
            await asked.generate_text("pay", **MINE)
        assert history.writes == []
        boss = {"resource_id": "boss", "thread_id": "t1"}
        await asked.resume(suspended.value.run_id, True, identity=boss)
    assert history.reads == [U1]
    assert history.writes == [("append", U1)]
    assert await texts(history) == [["pay", "pay", "paid", "done"]]


# --- writing -------------------------------------------------------------------------------------


@pytest.mark.rule("R219")
async def test_the_history_grows_by_input_and_response_alone() -> None:
    history = InMemoryHistory()
    asked = agent(history, scripted(call("look"), "seen", "again"), look)
    first = await asked.generate_text("one", **MINE)
    assert await texts(history) == [["one", "look", "0", "seen"]]
    # The caller gives once more what the memory has kept.
    await asked.generate_text([*first.messages, user("two")], **MINE)
    assert (await texts(history))[1:] == [["two", "again"]]
    (_, second) = await history.load(U1, last=9)
    assert [m.provenance for m in second.messages] == ["input", "model"]


async def test_a_result_whose_call_has_the_id_of_a_remembered_one_is_no_repetition() -> None:
    history = InMemoryHistory()
    asked = agent(history, scripted(call("look"), "seen", "again"), look)
    first = await asked.generate_text("one", **MINE)
    (made,) = first.tool_calls
    # Some servers number the calls of each conversation anew, so what was said elsewhere has the same id.
    other = ToolCall(made.id, "look", {"at": 5})
    said = [user("two"), assistant(tool_calls=[other]), tool_result(other, "5"), user("so?")]
    result = await asked.generate_text([*first.messages, *said], **MINE)
    assert_valid(result.messages)
    assert (await texts(history))[1:] == [["two", "look", "5", "so?", "again"]]


@pytest.mark.rule("R071")
@pytest.mark.parametrize("save", ["finish", "step_and_wait"])
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"thread_id": "t1"}, "no resource_id says whose memory it is"),
        ({"resource_id": "u1"}, "no thread_id says which conversation it is"),
    ],
)
async def test_nothing_is_written_unless_both_ids_are_known(
    options: Any, reason: str, save: Any
) -> None:
    history, facts = Watched(), FactRecorder()
    asked = agent(history, save=save, observers=[facts])
    result = await asked.generate_text("one", **options)
    assert (result.text, history.writes) == ("ok", [])
    assert facts.only("memory.skipped").data["reason"] == reason


@pytest.mark.rule("R071")
async def test_a_memory_that_is_read_only_is_read_only() -> None:
    history = Watched()
    await agent(history).generate_text("one", **MINE)
    history.writes.clear()
    result = await agent(history, echo(), save="never").generate_text("two", **MINE)
    assert result.text == "memory:one, memory:ok"
    assert history.writes == []


async def test_a_turn_that_failed_is_no_history() -> None:
    def reply(request: MockRequest) -> str:
        raise OSError

    history = Watched()
    with pytest.raises(ModelError):
        await agent(history, MockModel([Rule(reply=reply)])).generate_text("one", **MINE)
    assert await texts(history) == []


async def test_an_answer_that_was_blocked_is_no_history() -> None:
    history = Watched()
    judge = Guardrail(name="g", output=lambda value, view: False)
    with pytest.raises(GuardrailBlocked):
        await agent(history, guardrails=[judge]).generate_text("one", **MINE)
    assert history.writes == []


async def test_what_was_rewritten_is_kept_as_it_was_rewritten() -> None:
    seen: list[Any] = []

    def redact(messages: Any, context: Any) -> str:
        seen.append([m.text for m in messages])
        return "XXX"

    history = InMemoryHistory()
    shout = Middleware(input=redact, output=lambda text, context: text.upper())
    asked = agent(history, scripted("ok", "yes"), middlewares=[shout])
    await asked.generate_text("my secret", **MINE)
    await asked.generate_text("more", **MINE)
    # Who rewrites the input gets what is asked, and not what is remembered.
    assert seen == [["my secret"], ["more"]]
    assert await texts(history) == [["XXX", "OK"], ["XXX", "YES"]]


async def test_a_further_attempt_remembers_the_same_and_is_kept_alone() -> None:
    def once(text: str, context: Any) -> str:
        if context.retry_count == 0:
            context.abort("longer", retry=True)
        return text

    history = Watched()
    await agent(history).generate_text("zero", **MINE)
    judged = Middleware(output=once)
    model = scripted("short", "a longer one")
    asked = agent(history, model, middlewares=[judged], max_middleware_retries=1)
    await asked.generate_text("one", **MINE)
    assert [
        [m.text for m in request.messages if m.provenance == "memory"] for request in model.requests
    ] == [["zero", "ok"]] * 2
    assert history.reads == [U1, U1]
    assert await texts(history) == [["zero", "ok"], ["one", "a longer one"]]


async def test_guardrails_beside_the_loop_judge_what_is_new() -> None:
    judged: list[Any] = []

    def judge(messages: Any, view: Any) -> bool:
        judged.append([m.text for m in messages])
        return True

    history = InMemoryHistory()
    beside = Guardrail(name="g", input=judge, when="beside")
    asked = agent(history, scripted("a", "b"), guardrails=[beside])
    for text in ("one", "two"):
        await asked.generate_text(text, **MINE)
    assert judged == [["one"], ["two"]]
    assert await texts(history) == [["one", "a"], ["two", "b"]]


async def test_a_history_that_cannot_be_written_fails_the_call() -> None:
    class Full(InMemoryHistory):
        async def append(self, thread: Thread, turn: Turn) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await agent(Full()).generate_text("one", **MINE)


async def test_a_call_that_went_on_keeps_its_turn_once() -> None:
    class Slow(Watched):
        """The turn is kept, and who waits for that is not told."""

        async def append(self, thread: Thread, turn: Turn) -> None:
            await super().append(thread, turn)
            if len(self.writes) == 1:
                await anyio.sleep_forever()

    history, model = Slow(), scripted("ok")
    asked = agent(history, model, store=MemoryStore())
    async with asked:
        async with asked.stream_text("one", run_id="r", **MINE) as stream:
            async for event in stream.events:
                if event.type == "step":
                    break
            await anyio.wait_all_tasks_blocked()
        again = await asked.generate_text("one", run_id="r", **MINE)
        known = await asked.generate_text("one", run_id="r", **MINE)
    assert (again.text, known.text, len(model.requests)) == ("ok", "ok", 1)
    assert history.writes == [("append", U1)] * 2
    assert await texts(history) == [["one", "ok"]]


@pytest.mark.case("P112")
async def test_a_stream_ends_when_its_turn_is_kept() -> None:
    history = Watched()
    history.gate = anyio.Event()
    asked = agent(history)
    async with anyio.create_task_group() as group, asked.stream_text("one", **MINE) as stream:

        async def watch() -> None:
            await anyio.wait_all_tasks_blocked()
            assert not stream.ended
            assert history.gate is not None
            history.gate.set()

        group.start_soon(watch)
        assert [piece async for piece in stream.text] == ["ok"]
        assert history.writes == [("append", U1)]
    assert await texts(history) == [["one", "ok"]]


async def test_calls_at_the_same_time_have_memories_of_their_own() -> None:
    history = InMemoryHistory()
    asked = agent(history, MockModel([Rule(reply=lambda request: request.messages[-1].text)]))
    async with anyio.create_task_group() as group:
        for user_id in ("a", "b", "c"):

            async def ask(user_id: str = user_id) -> None:
                for at in (1, 2):
                    await asked.generate_text(f"{user_id}{at}", resource_id=user_id, thread_id="t")

            group.start_soon(ask)
    for user_id in ("a", "b", "c"):
        said = [[f"{user_id}{at}"] * 2 for at in (1, 2)]
        assert await texts(history, Thread(user_id, "t")) == said


# --- below other agents --------------------------------------------------------------------------


@pytest.mark.case("T069")
@pytest.mark.parametrize("trusted", ["context", "identity"])
@pytest.mark.parametrize("above_remembers", [True, False])
async def test_what_the_host_says_holds_for_sub_agents_too(
    trusted: str, above_remembers: bool
) -> None:
    history = Watched()
    below = Agent("scout", model=scripted("found"), memory=Memory(history=history))
    above = agent(history, scripted(call("ask_scout", task="look"), "done"), sub_agents=[below])
    said: Any = {trusted: MINE, "memory": None if above_remembers else False}
    await above.generate_text("go", resource_id="u2", thread_id="t2", **said)
    assert history.reads[-1] == Thread("u1", "t1/scout")
    assert {thread.resource for _, thread in history.writes} == {"u1"}


@pytest.mark.rule("R219")
async def test_a_sub_agent_remembers_in_a_conversation_of_its_own() -> None:
    history = Watched()
    below = Agent("scout", model=scripted("found"), memory=Memory(history=history))
    above = agent(history, scripted(call("ask_scout", task="look"), "done"), sub_agents=[below])
    await above.generate_text("go", **MINE)
    scout = Thread("u1", "t1/scout")
    assert history.reads == [U1, scout]
    assert await texts(history, scout) == [["look", "found"]]
    assert await texts(history) == [["go", "ask_scout", "found", "done"]]


async def test_a_sub_agent_of_one_without_memory_remembers_for_the_same_owner() -> None:
    history = Watched()
    below = Agent("scout", model=scripted("found"), memory=Memory(history=history))
    above = Agent(
        "boss", model=scripted(call("ask_scout", task="look"), "done"), sub_agents=[below]
    )
    await above.generate_text("go", context=MINE)
    assert await texts(history, Thread("u1", "t1/scout")) == [["look", "found"]]


async def test_an_agent_that_is_a_node_remembers_for_the_owner_of_the_run() -> None:
    history = Watched()
    asking = agent(history, model=fine()).as_node(
        input="question", output="answer", routes=[route.deliver("answer")]
    )
    flow = define_workflow("flow", nodes=[asking], state=Asked, inputs=["question"])
    assert await flow.run({"question": "one"}, context=dict(MINE)) == "ok"
    assert await texts(history, Thread("u1", "t1/helper")) == [["one", "ok"]]


# --- what is there once --------------------------------------------------------------------------


@pytest.mark.rule("R359")
async def test_making_an_agent_reads_nothing_and_two_calls_share_what_was_made() -> None:
    history, model = Watched(), fine()
    asked = agent(history, model)
    assert history.reads == [] == list(model.requests)
    before = asked.engine
    for _ in range(2):
        await asked.generate_text("one", **MINE)
    assert asked.engine is before
    assert asked.profile.memory is not None
    assert asked.profile.memory.history is history


async def test_the_nodes_of_memory_are_in_the_graph_and_cost_no_model_call() -> None:
    plain, asked = Agent("helper", model=fine()), agent(InMemoryHistory())
    assert {"recall", "remember"} <= {node.id for node in asked.workflow.nodes}
    assert asked.workflow.bounds().model_calls == plain.workflow.bounds().model_calls


def test_a_memory_of_wrong_parts_is_refused_when_it_is_made() -> None:
    with pytest.raises(TypeError, match="keeps no conversations"):
        Memory(history=7)  # type: ignore[arg-type]
    for wrong in ({"turns": -1}, {"save": "often"}, {"debounce": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Memory(history=InMemoryHistory(), **wrong)


@pytest.mark.rule("R217")
async def test_what_was_recalled_can_be_told_apart_in_the_result() -> None:
    asked = agent(InMemoryHistory(), scripted("a", "b"))
    await asked.generate_text("one", **MINE)
    result = await asked.generate_text("two", **MINE)
    recalled = MessageList(result.messages).by_provenance("memory")
    assert [m.text for m in recalled] == ["one", "a"]
