"""The conformance suite of providers finds what it is there for: each check refuses a provider that breaks its promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentflow import ModelError, ModelRateLimited
from agentflow.messages import (
    FinishChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from agentflow.testing import Scenario, provider_suite

CHECKS = {check.name: check for check in provider_suite}


class Careless:
    """A provider that does what `script(scenario, messages)` says."""

    def __init__(self, scenario: Scenario, script: Callable[[Scenario, Any], Any]) -> None:
        self.scenario = scenario
        self.script = script
        self.used = 0

    async def stream(self, messages: Any, context: Any) -> Any:
        self.used += 1
        for chunk in self.script(self.scenario, self.used):
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


def text_and_end(scenario: Scenario, _: int) -> list[Any]:
    return [TextChunk(scenario.text), FinishChunk()]


SINS: list[tuple[str, Callable[[Scenario, int], list[Any]]]] = [
    ("a_text_comes_whole_and_ends_once", lambda s, _: [TextChunk(s.text.strip()), FinishChunk()]),
    ("a_text_comes_whole_and_ends_once", lambda s, _: [*text_and_end(s, _), FinishChunk()]),
    ("nothing_but_usage_follows_the_end", lambda s, _: [FinishChunk(), TextChunk(s.text)]),
    ("an_empty_answer_is_an_answer", lambda s, _: [TextChunk("…"), FinishChunk()]),
    ("tool_calls_come_whole_and_in_order", text_and_end),
    (
        "tool_calls_come_whole_and_in_order",
        lambda s, _: [
            TextChunk(s.text),
            *(ToolCallChunk(at, "same", name, "{}") for at, (name, _) in enumerate(s.calls)),
            FinishChunk("tool_calls"),
        ],
    ),
    ("a_conversation_with_tools_is_understood", lambda s, _: [OSError("400 bad history")]),
    (
        "a_tool_is_offered_whatever_its_id",
        lambda s, _: [
            ToolCallChunk(0, "c", s.calls[0][0].replace(".", "_"), "{}"),
            FinishChunk("tool_calls"),
        ],
    ),
    ("everything_that_may_be_asked_is_understood", lambda s, _: [OSError("400 bad parameter")]),
    ("a_file_is_sent_or_refused", lambda s, _: [TextChunk("I see nothing."), FinishChunk()]),
    ("a_refusal_is_told_by_its_kind", lambda s, _: [ModelError("503")]),
    ("a_refusal_is_told_by_its_kind", lambda s, _: [ModelRateLimited("429", retry_after=1)]),
    ("reasoning_is_no_text", lambda s, _: [TextChunk(s.reasoning + s.text), FinishChunk()]),
    ("usage_is_told_as_it_was_reported", text_and_end),
    (
        "usage_that_was_not_reported_is_not_made_up",
        lambda s, _: [UsageChunk(input_tokens=0), *text_and_end(s, _)],
    ),
    ("an_answer_that_is_too_long_says_so", text_and_end),
    ("a_failure_is_raised", text_and_end),
    ("a_failure_is_raised", lambda s, _: [FinishChunk(), OSError("late")]),
    (
        "a_cut_answer_never_looks_whole",
        lambda s, _: [ToolCallChunk(0, "c", "look_up", "{}"), FinishChunk("tool_calls")],
    ),
    ("a_cancel_ends_the_wait", text_and_end),
    ("it_can_be_left_early", lambda s, used: text_and_end(s, used) if used == 1 else [OSError()]),
    (
        "many_calls_share_nothing",
        lambda s, used: [
            ReasoningChunk(str(used)),
            TextChunk(s.text if used < 5 else ""),
            ToolCallChunk(0, "c", "now"),
            FinishChunk("tool_calls"),
        ],
    ),
]


@pytest.mark.parametrize(("name", "script"), SINS, ids=[name for name, _ in SINS])
async def test_a_check_refuses_a_provider_that_breaks_its_promise(
    name: str, script: Callable[[Scenario, int], list[Any]]
) -> None:
    with pytest.raises((AssertionError, OSError, ModelError)):
        await CHECKS[name](lambda scenario: Careless(scenario, script))


def test_every_check_was_seen_to_refuse_somebody() -> None:
    assert {name for name, _ in SINS} == set(CHECKS)


def test_every_check_says_what_it_asks_for() -> None:
    assert all(check.promise.endswith(".") and str(check) == check.name for check in provider_suite)
