"""Structured answers: by the best way that a provider has, corrected a bounded number of times, each one counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from agentflow import (
    Budget,
    Engine,
    Model,
    OutputInvalid,
    Uses,
    define_workflow,
    model_node,
    route,
    structured,
)
from agentflow.messages import FinishChunk, ReasoningChunk, TextChunk, ToolCallChunk, assistant
from agentflow.models.answer_form import AnswerReader, form_of
from agentflow.testing import FactRecorder, fake_context
from tests.models.kit import Scripted, Sinking
from tests.models.test_tries import Moody


class Report(BaseModel):
    title: str
    score: int = 0


GOOD = '{"title": "a", "score": 3}'


def saying(text: str) -> list[Any]:
    return [TextChunk(text), FinishChunk()]


class Schematic(Scripted):
    structured = "schema"


class Tooled(Scripted):
    structured = "tool"


async def test_a_provider_that_holds_to_schemas_is_given_one_and_the_model_is_told_nothing() -> (
    None
):
    provider = Schematic(*saying(GOOD))
    reply = await fake_context(model=provider).model.invoke("Hi.", transport=structured(Report))
    assert reply.value == Report(title="a", score=3)
    assert [message.text for message in provider.asked[0]] == ["Hi."]
    (context,) = provider.contexts
    assert context.output_schema is not None
    assert context.output_schema["properties"].keys() == {"title", "score"}
    assert (context.tools, context.tool_choice) == ((), None)


async def test_a_provider_with_tools_alone_is_made_to_call_one_with_the_answer() -> None:
    pieces = [GOOD[:9], GOOD[9:]]
    provider = Tooled(
        ReasoningChunk("hm"),
        ToolCallChunk(0, "c1", "final_answer"),
        *(ToolCallChunk(0, arguments=piece) for piece in pieces),
        FinishChunk("tool_calls"),
    )
    sink = Sinking([])
    ctx = fake_context(model=provider, sink=sink)
    reply = await ctx.model.invoke("Hi.", transport=structured(Report))
    assert (reply.value, reply.invocation.finish_reason) == (Report(title="a", score=3), "stop")
    (context,) = provider.contexts
    assert ([tool.name for tool in context.tools], context.tool_choice) == (
        ["final_answer"],
        "final_answer",
    )
    assert context.tools[0].parameters["required"] == ["title"]
    assert context.output_schema is None
    # What comes is delivered as what it is: the answer's text.
    assert [chunk.text for chunk in sink.chunks] == ["hm", *pieces]


async def test_the_answer_counts_and_not_what_is_said_around_it() -> None:
    provider = Tooled(
        TextChunk("Here it is."),
        ToolCallChunk(0, "c1", "final_answer", GOOD),
        FinishChunk("tool_calls"),
    )
    reply = await fake_context(model=provider).model.invoke("Hi.", transport=structured(Report))
    assert reply.value.title == "a"


async def test_another_tool_that_the_model_calls_is_a_proposal_nobody_can_carry_out() -> None:
    provider = Tooled(ToolCallChunk(0, "c1", "look", "{}"), FinishChunk("tool_calls"))
    with pytest.raises(OutputInvalid, match=r"proposed tool calls \('look'\)"):
        await fake_context(model=provider).model.invoke("Hi.", transport=structured(Report))


async def test_a_provider_without_any_way_is_told_the_schema() -> None:
    provider = Scripted(*saying(f"```json\n{GOOD}\n```"))
    reply = await fake_context(model=provider).model.invoke("Hi.", transport=structured(Report))
    assert reply.value.score == 3
    assert "JSON schema" in provider.asked[0][0].text


@pytest.mark.parametrize("way", ["schema", "tool", "prompt"])
@pytest.mark.parametrize(
    ("type", "value"),
    [
        (int, 3),
        (list[int], [1, 2]),
        (str, 'so "it" is'),
        (str, "naïve 世界 🍸"),
        (int | None, None),
        (list[Report], [{"title": "a", "score": 1}]),
        (dict[str, int], {"value": 1}),
        (dict[str, int], {}),
    ],
)
async def test_a_value_that_is_no_object_comes_back_as_it_is(
    way: str, type: Any, value: Any
) -> None:
    form = form_of(way, structured(type).schema)  # type: ignore[arg-type]
    said = json.dumps({"value": value} if form.wrapped else value)
    script: list[Any] = saying(said)
    if form.tool is not None:
        script = [ToolCallChunk(0, "c", form.tool.name, said), FinishChunk("tool_calls")]
    provider = Scripted(*script)
    provider.structured = way  # type: ignore[attr-defined]
    reply = await fake_context(model=provider).model.invoke("Hi.", transport=structured(type))
    assert reply.value == ([Report(**item) for item in value] if type == list[Report] else value)


def test_a_schema_with_references_is_told_from_its_root() -> None:
    schema = form_of("schema", structured(list[Report]).schema).schema
    assert schema is not None
    assert schema["type"] == "object"
    assert schema["properties"]["value"]["items"] == {"$ref": "#/$defs/Report"}
    assert "Report" in schema["$defs"]


async def test_broken_arguments_of_the_answer_are_an_invalid_answer() -> None:
    cut = ToolCallChunk(0, "c1", "final_answer", '{"title": "a')
    with pytest.raises(OutputInvalid, match="Invalid JSON"):
        await fake_context(model=Tooled(cut, FinishChunk("tool_calls"))).model.invoke(
            "Hi.", transport=structured(Report)
        )


@given(st.lists(st.text(max_size=4), max_size=5), st.integers(0, 2))
def test_however_an_answer_is_cut_into_pieces_it_is_read_whole(
    pieces: list[str], index: int
) -> None:
    reader = AnswerReader(form_of("tool", structured(Report).schema))
    taken = [reader.take(ToolCallChunk(index, "c", "final_answer"))]
    taken += [reader.take(ToolCallChunk(index, arguments=piece)) for piece in pieces]
    texts = [chunk.text for chunk in taken if isinstance(chunk, TextChunk)]
    assert "".join(texts) == "".join(pieces)
    assert reader.read(assistant("".join(texts))).text == "".join(pieces)


async def test_an_invalid_answer_goes_back_to_the_model_with_what_is_wrong() -> None:
    provider, recorder = Moody(saying('{"score": 1}'), saying(GOOD)), FactRecorder()
    asked: list[Any] = []

    class Noting(Scripted):
        async def stream(self, messages: Any, context: Any) -> Any:
            asked.append([(message.role, message.text) for message in messages])
            async for chunk in provider.stream(messages, context):
                yield chunk

    ctx = fake_context(model=Noting(), observers=[recorder])
    reply = await ctx.model.invoke("Hi.", transport=structured(Report))
    assert reply.value.title == "a"
    assert [role for role, _ in asked[1]] == ["system", "user", "assistant", "user"]
    assert asked[1][2] == ("assistant", '{"score": 1}')
    assert "title: Field required" in asked[1][3][1]
    # Each is a call of its own, with its own id, and counted.
    (earlier,) = reply.corrected
    assert earlier.id != reply.invocation.id
    assert ctx.ledger.used("model_calls") == 2
    assert recorder.kinds("model.") == [
        *("model.started", "model.chunk", "model.failed"),
        *("model.started", "model.chunk", "model.completed"),
    ]


@pytest.mark.parametrize("corrections", [0, 1, 3])
async def test_corrections_are_bounded(corrections: int) -> None:
    provider = Moody(saying("no"))
    ctx = fake_context(model=provider)
    with pytest.raises(OutputInvalid, match="answer: 'no'"):
        await ctx.model.invoke("Hi.", transport=structured(Report, corrections=corrections))
    assert provider.asked == ctx.ledger.used("model_calls") == corrections + 1


@pytest.mark.parametrize(
    "limits",
    [
        {"uses": Uses(model_calls=1)},
        {"budget": Budget(model_calls=1)},
        {"budget": Budget(input_chars=500)},
    ],
)
async def test_without_room_for_a_correction_the_answer_stays_invalid(limits: Any) -> None:
    provider = Moody(saying("x" * 400))
    with pytest.raises(OutputInvalid):
        await fake_context(model=provider, **limits).model.invoke(
            "Hi.", transport=structured(Report)
        )
    assert provider.asked == 1


async def test_what_was_streamed_is_not_corrected() -> None:
    provider = Moody(saying("no"), saying(GOOD))
    async with fake_context(model=provider).model.stream(
        "Hi.", transport=structured(Report)
    ) as stream:
        with pytest.raises(OutputInvalid):
            await stream.reply()
    assert provider.asked == 1


async def test_a_transport_of_ones_own_may_ask_for_corrections() -> None:
    from agentflow.models.transport import Preparation

    class Loud:
        name = "loud"
        corrections = 5

        def prepare(self) -> Preparation:
            return Preparation()

        def parse(self, answer: Any) -> str:
            if not answer.text.isupper():
                raise OutputInvalid("speak up")
            text: str = answer.text
            return text

    provider = Moody(saying("hello"), saying("Hello"), saying("HELLO"))
    reply = await fake_context(model=provider).model.invoke("Hi.", transport=Loud())
    assert (reply.value, len(reply.corrected)) == ("HELLO", 2)


@pytest.mark.parametrize("wrong", [-1, True, 1.5])
def test_a_wrong_number_of_corrections_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="corrections="):
        structured(Report, corrections=wrong)


async def test_a_model_node_may_use_the_calls_that_its_corrections_need() -> None:
    asked = model_node(
        "ask",
        input=lambda state: "Hi.",
        output="report",
        transport=structured(Report, corrections=2),
        routes=[route.deliver("report")],
    )
    workflow = define_workflow("ask", nodes=[asked])
    assert workflow.bounds().model_calls.value == 3
    provider = Moody(saying("no"), saying("no"), saying(GOOD))
    assert (await workflow.run({}, model=provider)).title == "a"


async def test_a_fallback_is_asked_in_its_own_way() -> None:
    from agentflow import ModelUnavailable

    down = Schematic(ModelUnavailable("503"))
    spare = Tooled(ToolCallChunk(0, "c", "final_answer", GOOD), FinishChunk("tool_calls"))
    told = Scripted(*saying(GOOD))
    for fallback in (spare, told):
        ctx = fake_context(model=Model(down, retries=0, fallbacks=[fallback]))
        reply = await ctx.model.invoke("Hi.", transport=structured(Report))
        assert reply.value.score == 3
    assert spare.contexts[0].tool_choice == "final_answer"
    assert "JSON schema" in told.asked[0][0].text
    # What the last one was told besides is in the ledger, and counted once.
    assert ctx.ledger.used("input_chars") == sum(message.chars for message in told.asked[0])


async def test_a_corrected_call_is_gone_through_again_after_a_crash() -> None:
    provider = Moody(saying("no"), saying(GOOD))
    first = fake_context(model=provider)
    reply = await first.model.invoke("Hi.", transport=structured(Report))
    again = type(first)(first.frame, first._node, 1, record=first.record)
    assert await again.model.invoke("Hi.", transport=structured(Report)) == reply
    assert (provider.asked, first.ledger.used("model_calls")) == (2, 2)


async def test_a_structured_call_in_an_engine_keeps_its_value() -> None:
    asked = model_node(
        "ask",
        input=lambda state: "Hi.",
        output="report",
        transport=structured(Report),
        routes=[route.deliver("report")],
    )
    async with Engine(define_workflow("w", nodes=[asked]), model=Schematic(*saying(GOOD))) as e:
        assert (await e.run({})).score == 3
