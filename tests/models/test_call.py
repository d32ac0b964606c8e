"""A model call: one order, one shape, one record, and an error never looks like an answer."""

from __future__ import annotations

import re
from typing import Any, get_type_hints

import anyio
import pytest

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Engine,
    Message,
    Model,
    ModelError,
    OutputInvalid,
    structured,
    tool,
)
from agentflow.messages import (
    Chunk,
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
    system,
    user,
)
from agentflow.models.transport import Preparation
from agentflow.run.model_ports import ModelCalls, ModelSource
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import Chunks, Scripted, Sinking, asking


@pytest.mark.rule("R281", "R283", "R284", "R288")
async def test_text_and_structured_output_come_in_one_shape() -> None:
    usage = UsageChunk(input_tokens=3, output_tokens=2)
    provider = Scripted(TextChunk('{"a": 1}'), usage, FinishChunk())
    ctx = fake_context(model=provider)
    text = await ctx.model.invoke(input="Hi.")
    data = await ctx.model.invoke("Hi.", transport=structured(dict[str, int]))
    assert (text.value, data.value) == ('{"a": 1}', {"a": 1})
    for reply in (text, data):
        told = reply.invocation
        assert (told.kind, told.name, told.node_id) == ("model", "Scripted", "node")
        assert (told.usage["input_tokens"], told.usage["output_tokens"]) == (3, 2)
        assert (told.partial, told.finish_reason) == (False, "stop")
    assert text.invocation.id != data.invocation.id


@pytest.mark.rule("R283")
async def test_the_record_of_a_call_is_made_by_the_core_alone() -> None:
    hints = get_type_hints(ModelCalls.invoke)
    assert not {name for name in hints if "invocation" in name or "id" in name.split("_")}


@pytest.mark.rule("R282")
async def test_a_call_is_told_with_its_node_and_its_id() -> None:
    recorder = FactRecorder()
    workflow = asking(lambda ctx: ctx.model.invoke("Hi."))
    reply = await workflow.run({}, model=Scripted(), observers=[recorder])
    told = recorder.of("model.")
    assert recorder.kinds("model.") == [
        "model.started",
        "model.chunk",
        "model.chunk",
        "model.completed",
    ]
    assert {(fact.node_id, fact.visit, fact.call_id) for fact in told} == {
        ("ask", 1, reply.invocation.id)
    }


@pytest.mark.rule("R282", "R246")
async def test_a_provider_is_told_of_its_call_and_given_the_signal_of_the_run() -> None:
    provider = Scripted()
    signals: list[Any] = []

    async def ask(ctx: Any) -> None:
        signals.append(ctx.signal)
        await ctx.model.invoke(
            "Hi.", max_output_tokens=9, parameters={"temperature": 0}, tool_choice="none"
        )

    await asking(ask).run({}, run_id="r-1", model=provider)
    (told,) = provider.contexts
    assert told.signal is signals[0]
    assert (told.run_id, told.node_id) == ("r-1", "ask")
    assert re.fullmatch(r"r-1/ask#1/model:1\.[0-9a-f]{12}\.1", told.call_id)
    assert (told.max_output_tokens, told.tool_choice, dict(told.parameters)) == (
        9,
        "none",
        {"temperature": 0},
    )


@pytest.mark.rule("R286")
async def test_a_call_goes_through_its_phases_in_one_order() -> None:
    log: list[str] = []

    class Traced:
        name = "traced"

        def prepare(self) -> Preparation:
            log.append("prepare")
            return Preparation(instructions="Be brief.")

        def parse(self, answer: Message) -> str:
            log.append("parse")
            return answer.text

    def count(messages: Any, tools: Any) -> int:
        log.append("check input")
        return len(messages)

    class Logging(FactRecorder):
        def event(self, fact: Any) -> None:
            if fact.kind.startswith("model.") and fact.kind != "model.chunk":
                log.append(fact.kind)

    provider = Scripted(TextChunk("Hi"), FinishChunk(), log=log)
    model = Model(provider, counter=count, transports={"own": Traced()})
    reply = await asking(lambda ctx: ctx.model.invoke("Hi.", transport="own")).run(
        {}, model=model, observers=[Logging()], sink=Sinking(log)
    )
    assert reply.value == "Hi"
    assert log == [
        "prepare",
        "check input",
        "model.started",
        "asked",
        "sends 1",
        "takes 1",
        "took 1",
        "sends 2",
        "done",
        "closed",
        "parse",
        "model.completed",
    ]


@pytest.mark.rule("R285")
async def test_an_error_of_the_provider_is_raised_with_its_cause() -> None:
    broken = OSError("connection reset")
    provider = Scripted(TextChunk("Hel"), UsageChunk(input_tokens=7), broken)
    recorder = FactRecorder()
    ctx = fake_context(model=provider, observers=[recorder])
    with pytest.raises(ModelError, match="'Scripted' failed: OSError: connection reset") as caught:
        await ctx.model.invoke("Hi.")
    assert caught.value.__cause__ is broken
    told = caught.value.invocation
    assert told is not None
    assert (told.partial, told.usage["input_tokens"], told.usage["output_chars"]) == (True, 7, 3)
    assert ctx.ledger.used("input_tokens") == 7
    failed = recorder.only("model.failed")
    assert (failed.data["error"], failed.data["usage"]["input_tokens"]) == ("ModelError", 7)
    assert provider.log[-1] == "closed"


@pytest.mark.rule("R290", "R309")
async def test_a_call_that_looks_complete_executes_nothing_when_the_stream_fails() -> None:
    called: list[str] = []

    @tool
    async def delete_all() -> None:
        called.append("deleted")

    call = ToolCallChunk(0, "c1", "delete_all", "{}")
    scripts: list[list[Chunk | Exception]] = [[call, OSError("reset")], [call]]
    for script in scripts:
        ctx = fake_context(model=Scripted(*script), tools=[delete_all])
        with pytest.raises(ModelError):
            await ctx.model.invoke("Hi.", transport="message", tools=[delete_all])
    assert called == []


@pytest.mark.rule("R309")
@pytest.mark.parametrize("transport", ["text", structured(dict)])
async def test_a_proposal_that_nobody_can_carry_out_is_an_error(transport: Any) -> None:
    called: list[str] = []

    @tool
    async def delete_all() -> None:
        called.append("deleted")

    proposal = ToolCallChunk(0, "c1", "delete_all", "{}")
    recorder = FactRecorder()
    ctx = fake_context(
        model=Scripted(TextChunk("{}"), proposal, FinishChunk("tool_calls")),
        tools=[delete_all],
        observers=[recorder],
    )
    with pytest.raises(OutputInvalid, match=r"proposed tool calls \('delete_all'\)"):
        await ctx.model.invoke("Hi.", transport=transport, tools=[delete_all])
    assert called == []
    assert recorder.kinds("model.")[-1] == "model.failed"


async def test_the_message_transport_gives_the_whole_answer() -> None:
    script = ReasoningChunk("hm"), ToolCallChunk(0, "c1", "look", '{"x": 1}'), FinishChunk()
    reply = await fake_context(model=Scripted(*script)).model.invoke("Hi.", transport="message")
    assert (reply.value.reasoning, reply.value.tool_calls[0].arguments) == ("hm", {"x": 1})


@pytest.mark.rule("R288")
@pytest.mark.parametrize("kind", ["coroutine", "object"])
async def test_a_provider_needs_stream_and_nothing_else(kind: str) -> None:
    chunks = Chunks(TextChunk("Hi"), FinishChunk())

    class OnlyStream:
        def stream(self, messages: Any, context: Any) -> Any:
            return chunks

    class OnlyAsyncStream:
        async def stream(self, messages: Any, context: Any) -> Any:
            return chunks

    provider = OnlyStream() if kind == "object" else OnlyAsyncStream()
    reply = await fake_context(model=provider).model.invoke("Hi.")
    assert reply.value == "Hi"


async def test_a_stream_that_is_none_is_named() -> None:
    class Wrong:
        def stream(self, messages: Any, context: Any) -> Any:
            return ["Hi"]

    with pytest.raises(ModelError, match="gave list, which is no async iterator"):
        await fake_context(model=Wrong()).model.invoke("Hi.")


@pytest.mark.rule("R246")
async def test_one_provider_serves_many_runs_at_the_same_time() -> None:
    provider = Scripted()
    workflow = asking(lambda ctx: ctx.model.invoke("Hi."))
    values: list[str] = []
    async with Engine(workflow, model=provider) as engine:

        async def run() -> None:
            values.append((await engine.run({})).value)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(run)
    assert values == ["Hello."] * 10
    assert len({context.run_id for context in provider.contexts}) == 10


async def test_instructions_come_first_and_the_transport_speaks_last_before_the_conversation() -> (
    None
):
    provider = Scripted(TextChunk("{}"), FinishChunk())
    await fake_context(model=provider).model.invoke(
        [system("Own."), user("Hi.")], instructions="First.", transport=structured(dict)
    )
    texts = [message.text for message in provider.asked[0]]
    assert (texts[0], texts[1], texts[3]) == ("First.", "Own.", "Hi.")
    assert "JSON schema" in texts[2]
    assert provider.contexts[0].output_schema == {"additionalProperties": True, "type": "object"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input": 3}, "int is no input for a model"),
        ({"input": []}, "the input is empty"),
        ({"input": "Hi.", "model": "fast"}, "no model 'fast'; registered: none"),
        ({"input": "Hi.", "transport": "xml"}, "no transport 'xml'; registered: 'text', 'message'"),
        ({"input": "Hi.", "transport": object()}, "it lacks a name and prepare"),
        ({"input": "Hi.", "tool_choice": "look"}, "tool_choice='look' is none of 'auto', 'none'"),
        ({"input": "Hi.", "tools": [object()]}, "is no tool; give tools made with @tool"),
    ],
)
async def test_a_wrong_argument_is_refused_before_anything_is_spent(
    options: dict[str, Any], message: str
) -> None:
    provider = Scripted()
    ctx = fake_context(model=provider)
    with pytest.raises(ContractError, match=message):
        await ctx.model.invoke(**options)
    assert (provider.log, ctx.ledger.used("model_calls")) == ([], 0)


async def test_without_a_model_the_error_says_how_to_give_one() -> None:
    with pytest.raises(ContractError, match=r"has no model; give one: Engine\(…, model=…\)"):
        await fake_context().model.invoke("Hi.")


@pytest.mark.rule("R245")
async def test_the_models_of_a_visit_keep_count_and_are_no_client_to_share() -> None:
    from agentflow import Uses

    ctx = fake_context(model=Scripted(), uses=Uses(model_calls=1))
    runner = ctx.model
    await runner.invoke("Hi.")
    with pytest.raises(BudgetExceeded) as caught:
        await runner.invoke("Hi.")
    assert (caught.value.limit, caught.value.allowed) == ("model_calls", 1)


@pytest.mark.rule("R244", "R247")
async def test_each_run_has_its_own_count_of_calls() -> None:
    provider = Scripted()
    workflow = asking(lambda ctx: ctx.model.invoke("Hi."))
    async with Engine(workflow, model=provider, budget=Budget(model_calls=1)) as engine:
        await engine.run({})
        await engine.run({})
    assert len(provider.asked) == 2


async def test_a_call_is_named_by_what_it_asks_for_and_numbered_among_its_like() -> None:
    async def ask(ctx: Any) -> list[str]:
        ids: list[str] = []

        async def one(text: str) -> None:
            ids.append((await ctx.model.invoke(text)).invocation.id)

        async with anyio.create_task_group() as group:
            for text in ("Hi.", "Ho.", "Hi."):
                group.start_soon(one, text)
        return sorted(ids)

    ids = await asking(ask).run({}, model=Scripted(), run_id="r")
    names = [id.rpartition(".") for id in ids]
    assert sorted(number for _, _, number in names) == ["1", "1", "2"]
    assert len({name for name, _, _ in names}) == 2
    assert all(name.startswith("r/ask#1/model:1.") for name, _, _ in names)


async def test_a_retry_of_the_node_asks_the_model_again() -> None:
    from agentflow import Retry

    ids: list[str] = []

    async def ask(ctx: Any) -> str:
        reply = await ctx.model.invoke("Hi.")
        ids.append(reply.invocation.id)
        if ctx.attempt == 1:
            raise OSError("once")
        value: str = reply.value
        return value

    assert await asking(ask, retry=Retry(2)).run({}, model=Scripted(), run_id="r") == "Hello."
    first, second = ids
    assert first.startswith("r/ask#1/model:1.")
    assert second == first.replace("model:1", "model:2")


def test_the_models_of_an_engine_keep_the_port_of_the_kernel() -> None:
    from agentflow.models.source import Models

    source: ModelSource = Models(None, {})
    calls: ModelCalls = source.bind(fake_context())
    assert calls is not None
