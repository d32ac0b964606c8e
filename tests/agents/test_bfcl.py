"""An outside suite: the agent carries out the right calls of 200 conversations, and comes to the state that the suite comes to."""

from __future__ import annotations

import ast
import json
import re
from itertools import chain
from typing import Any

import pytest

from agentflow import Agent, Message
from agentflow.messages import user
from agentflow.mock import calls
from tests.agents.bfcl import BFCL, SCENARIOS, scenario, tools_of, verdict
from tests.agents.kit import assert_valid, scripted

pytestmark = [
    pytest.mark.bfcl,
    pytest.mark.skipif(
        not (BFCL / "bfcl_eval").exists(),
        reason="the suite bfcl-eval is not installed; `make bfcl` installs it",
    ),
]

# A number of mpmath is no JSON: the suite then writes the whole answer as Python does, we only that number.
_NUMBER = re.compile(r"(?<!\")mpf\('[^']*'\)")


def one_by_one(proposed: list[Any]) -> list[Any]:
    """A model that makes a call, looks at what came of it, and makes the next."""
    return [*proposed, "Done."]


def all_at_once(proposed: list[Any]) -> list[Any]:
    """A model that makes all calls in one answer."""
    return [calls(*proposed), "Done."] if proposed else ["Done."]


@pytest.mark.parametrize("spoken", [one_by_one, all_at_once], ids=lambda spoken: spoken.__name__)
@pytest.mark.parametrize("id", SCENARIOS)
async def test_the_agent_comes_to_the_state_of_the_suite(
    id: str, spoken: Any, anyio_backend_name: str
) -> None:
    played = scenario(id)
    ours = played.instances()
    tools = tools_of(ours)
    replies = [spoken(played.calls(turn, tools)) for turn in range(len(played.asked))]
    agent = Agent("clerk", model=scripted(*chain(*replies)), tools=tools, max_steps=20)
    history: list[Message] = []
    for turn, asked in enumerate(played.asked):
        result = await agent.generate_text([*history, user(asked)])
        history = list(result.messages)
        answers, theirs = played.executed(turn, by=f"{spoken.__name__}_{anyio_backend_name}")
        assert verdict(ours, theirs) == {"valid": True}
        assert list(map(read, told(result.new_messages))) == list(map(read, answers))
        assert (result.text, result.finish_reason) == ("Done.", "stop")
        assert len(result.steps) == len(replies[turn])
    assert_valid(history)


def told(messages: Any) -> list[str]:
    """What the model was told of its calls."""
    return [part.content for message in messages for part in message.tool_results]


def read(text: str) -> Any:
    """An answer as a value: the suite writes dicts as JSON, with blanks, and everything else as Python does."""
    for reader in (json.loads, ast.literal_eval):
        try:
            return reader(_NUMBER.sub(lambda found: repr(found[0]), text))
        except (ValueError, SyntaxError):
            continue
    return text
