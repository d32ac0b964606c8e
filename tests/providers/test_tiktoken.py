"""Tokens are counted by the vendor's recipe where it has one, and refused where it has none."""

from __future__ import annotations

import math
from typing import Any

import pytest
import tiktoken
from hypothesis import given, strategies as st

from agentflow import Budget, BudgetExceeded, ContractError, Message, Model
from agentflow.messages import FilePart, ToolCall, ToolSpec, assistant, system, tool_result, user
from agentflow.providers.tiktoken_counter import TiktokenCounter
from agentflow.testing import fake_context
from tests.models.kit import Scripted

# One token for each byte: what is counted is seen at once, and nothing is fetched.
BYTES = tiktoken.Encoding(
    "bytes",
    pat_str=r"[\s\S]",
    mergeable_ranks={bytes([byte]): byte for byte in range(256)},
    special_tokens={"<|end|>": 256},
)
count = TiktokenCounter(BYTES)


def test_a_conversation_costs_its_texts_and_a_little_for_each_message() -> None:
    messages = [system("Be brief."), user("Hi."), assistant("Ho.", reasoning="hm")]
    texts = sum(len(message.role) + len(message.text) for message in messages)
    assert count(messages, []) == 3 + 3 * 3 + texts


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_every_text_is_counted_as_what_it_is(texts: list[str]) -> None:
    messages = [user(text) for text in texts]
    expected = sum(len(text.encode("utf-8", "replace")) + 4 for text in texts)
    assert count(messages, []) == 3 + 3 * len(texts) + expected


def test_a_text_that_looks_like_a_mark_is_a_text() -> None:
    assert count([user("<|end|>")], []) == 3 + 3 + 4 + len("<|end|>")


def test_tools_with_flat_parameters_are_counted_by_the_recipe() -> None:
    plain = ToolSpec("now", "Tell the time.", {"type": "object", "properties": {}})
    flat = ToolSpec(
        "look",
        "Look.",
        {
            "type": "object",
            "properties": {
                "q": {"type": "string", "description": "What."},
                "unit": {"type": "string", "enum": ["a", "bc"]},
            },
        },
    )
    alone = count([user("Hi.")], [])
    assert count([user("Hi.")], [plain]) - alone == 12 + 7 + len("now:Tell the time")
    expected = 7 + len("look:Look") + 3
    expected += 3 + len("q:string:What")
    expected += 3 - 3 + (3 + 1) + (3 + 2) + len("unit:string:")
    assert count([user("Hi.")], [flat]) - alone == 12 + expected


CALL = ToolCall("c", "look")


@pytest.mark.rule("R301")
@pytest.mark.parametrize(
    ("messages", "tools", "what"),
    [
        ([user("", files=[FilePart("image/png", b"x")])], [], "a file in a message"),
        ([assistant(tool_calls=[CALL])], [], "a tool call in a message"),
        ([tool_result(CALL, "1")], [], "a tool result in a message"),
        ([], [ToolSpec("t", "", {"properties": {"a": {"type": "array", "items": {}}}})], "'a' of"),
        ([], [ToolSpec("t", "", {"properties": {"a": {"anyOf": []}}})], "not flat"),
    ],
)
def test_what_the_vendor_tells_nothing_of_is_refused_and_not_guessed(
    messages: list[Message], tools: list[ToolSpec], what: str
) -> None:
    with pytest.raises(ContractError, match=f"cannot count .*{what}"):
        count(messages, tools)


def test_a_model_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="knows no model 'no-such-model'"):
        TiktokenCounter("no-such-model")


@pytest.mark.rule("R287", "R301")
async def test_with_a_counter_a_budget_is_kept_before_the_call() -> None:
    provider = Scripted()
    budget = Budget(input_tokens=count([user("12")], []))
    ctx = fake_context(model=Model(provider, counter=count), budget=budget)
    with pytest.raises(BudgetExceeded) as caught:
        await ctx.model.invoke("123")
    assert (caught.value.limit, caught.value.used) == ("input_tokens", 13)
    assert provider.log == []
    reply: Any = await ctx.model.invoke("12")
    assert reply.invocation.usage["input_tokens"] == 12
    assert math.isclose(ctx.ledger.used("input_tokens"), 12)
