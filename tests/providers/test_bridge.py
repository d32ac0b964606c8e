"""The bridge to pydantic-ai: what goes over, what comes back, and where it does not reach."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from pydantic_ai import messages as theirs
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from agentflow import Message, Model, ModelRequestRefused, structured
from agentflow.messages import (
    FilePart,
    ReasoningPart,
    ToolCall,
    ToolSpec,
    assistant,
    system,
    tool_result,
    user,
)
from agentflow.messages.formats.tool_names import ToolNames
from agentflow.providers.pydantic_ai_bridge import PydanticAIModel
from agentflow.providers.pydantic_ai_input import pydantic_ai_messages
from agentflow.testing import Scenario, fake_context
from tests.providers.speakers import (
    BRIDGE,
    anthropic_client,
    bridged,
    chat_piece,
    encode_anthropic,
)
from tests.providers.wires import Recorded, sse

LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {}})


class Wanted(BaseModel):
    word: str


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """pydantic-ai is made for asyncio."""
    return "asyncio"


def sent_by(*messages: Message) -> list[Any]:
    return pydantic_ai_messages(messages, ToolNames(()))


def test_what_follows_one_another_from_our_side_is_one_request() -> None:
    call = ToolCall("c1", "look", {"q": [1]})
    first, answer, second = sent_by(
        system("Be brief."),
        user("Hi."),
        assistant("Let me see.", tool_calls=[call], reasoning="plain"),
        tool_result(call, "no", is_error=True, files=[FilePart("image/png", b"x")]),
        user("Well?", files=[FilePart("image/png", url="https://example.org/a.png")]),
    )
    assert [type(part).__name__ for part in first.parts] == ["SystemPromptPart", "UserPromptPart"]
    assert [type(part).__name__ for part in answer.parts] == ["TextPart", "ToolCallPart"]
    assert (answer.parts[1].args, answer.parts[1].tool_call_id) == ({"q": [1]}, "c1")
    result, said = second.parts
    assert (result.outcome, result.content[0], result.content[1].data) == ("failed", "no", b"x")
    assert said.content[0] == "Well?"
    assert isinstance(said.content[1], theirs.ImageUrl)


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("image/png", theirs.ImageUrl),
        ("audio/wav", theirs.AudioUrl),
        ("video/mp4", theirs.VideoUrl),
        ("application/pdf", theirs.DocumentUrl),
    ],
)
def test_files_by_address_are_told_by_their_kind(media_type: str, kind: type) -> None:
    (request,) = sent_by(user("", files=[FilePart(media_type, url="https://example.org/a")]))
    assert isinstance(request.parts[0].content[1], kind)


def test_an_answer_with_files_cannot_be_sent_back() -> None:
    with pytest.raises(ModelRequestRefused):
        sent_by(Message("assistant", (FilePart("image/png", b"x"),)))


async def test_what_a_vendor_wants_back_comes_over_the_bridge_and_goes_back() -> None:
    asked: list[Any] = []

    def answer(request: Any) -> Any:
        asked.append(request)
        if len(asked) == 1:
            return encode_anthropic(
                Scenario(reasoning="hm", calls=(("look", {}),), usage=(1, 2)), request
            )
        return encode_anthropic(Scenario(text="42", usage=(1, 2)), request)

    client = anthropic_client(Recorded(answer))
    theirs_model = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client))
    ctx = fake_context(model=PydanticAIModel(theirs_model))
    first = (await ctx.model.invoke("Hi.", transport="message", tools=[LOOK])).value
    assert first.reasoning == "hm"
    reply = await ctx.model.invoke(
        [user("Hi."), first, tool_result(first.tool_calls[0], "1")], tools=[LOOK]
    )
    assert reply.value == "42"
    thought, use = asked[1]["messages"][1]["content"]
    assert thought == {"type": "thinking", "thinking": "hm", "signature": "signed"}
    assert use["id"] == first.tool_calls[0].id


def test_reasoning_of_others_stays_here() -> None:
    foreign = ReasoningPart("hm", {"vendor": "anthropic", "signature": "s"})
    (response,) = sent_by(Message("assistant", (foreign, ReasoningPart("plain"))))
    assert response.parts == []


async def test_choices_limits_schemas_and_parameters_go_over() -> None:
    transport = Recorded(sse(chat_piece({"content": '{"word": "a"}'}, "stop"), end="[DONE]"))
    ctx = fake_context(model=bridged(transport))
    await ctx.model.invoke(
        "Hi.",
        transport="message",
        tools=[LOOK],
        tool_choice="look",
        max_output_tokens=9,
        parameters={"temperature": 0.5},
    )
    reply = await ctx.model.invoke("Hi.", transport=structured(Wanted))
    assert reply.value == Wanted(word="a")
    first, second = transport.requests
    # The one tool there is, which must be called.
    assert (first["tool_choice"], len(first["tools"])) == ("required", 1)
    assert (first["temperature"], first["max_completion_tokens"]) == (0.5, 9)
    assert second["response_format"]["json_schema"]["name"] == "answer"


def test_the_way_to_a_schema_is_what_pydantic_ai_knows_of_the_model() -> None:
    schema = structured(Wanted).schema
    assert bridged(Recorded(b"")).structured(schema) == "schema"
    assert bridged(Recorded(b"")).structured({"type": "object"}) == "tool"
    assert PydanticAIModel(TestModel()).structured(schema) == "tool"


async def test_a_model_for_tests_answers_in_process() -> None:
    model = PydanticAIModel("test")
    assert model.name == "pydantic-ai:test:test"
    reply = await fake_context(model=model).model.invoke("Hi.", transport="message", tools=[LOOK])
    assert [call.name for call in reply.value.tool_calls] == ["look"]

    async def say(messages: Any, info: Any) -> Any:
        yield "Hel"
        yield "lo."

    said = PydanticAIModel(FunctionModel(stream_function=say))
    assert (await fake_context(model=said).model.invoke("Hi.")).value == "Hello."


def test_a_string_is_enough() -> None:
    assert Model("pydantic-ai:test").name == "pydantic-ai:test"


@pytest.mark.parametrize("name", ["nowhere:m", "google:gemini-3-pro"])
def test_a_model_that_pydantic_ai_cannot_make_says_why(name: str) -> None:
    with pytest.raises(ValueError, match=f"cannot make the model '{name}': .+"):
        Model(f"pydantic-ai:{name}")


def test_on_trio_it_says_that_it_does_not_reach_there() -> None:
    async def main() -> None:
        provider = BRIDGE.provider(BRIDGE.wire(Scenario(text="Hi.")))
        with pytest.raises(ModelRequestRefused, match="made for asyncio; on trio use"):
            await fake_context(model=provider).model.invoke("Hi.")

    anyio.run(main, backend="trio")
