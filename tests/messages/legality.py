"""What vendors refuse of a conversation, checked on the bodies that they are sent.

After what their APIs answer with status 400: https://platform.openai.com/docs/api-reference/chat/create,
https://platform.openai.com/docs/guides/reasoning and https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview.
"""

from __future__ import annotations

import json
import re
from typing import Any

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")


def check_chat(sent: list[dict[str, Any]]) -> None:
    """A body's `messages` for chat completions."""
    waiting: list[str] = []
    seen: set[str] = set()
    for item in sent:
        if item["role"] == "tool":
            # In order, each once, and nothing between them and their answer.
            assert waiting
            assert item["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        calls = item.get("tool_calls", [])
        _check_said(item["content"], may_be_none=bool(calls))
        for call in calls:
            assert _ID.match(call["id"])
            assert call["id"] not in seen
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting
    talk = [item["role"] for item in sent if item["role"] != "system"]
    assert not sent or (talk[0] == "user" and sent[-1]["role"] != "assistant")


def _check_said(content: Any, *, may_be_none: bool) -> None:
    if isinstance(content, list):
        assert content
        assert all(block["text"].strip() for block in content if block["type"] == "text")
    else:
        assert (content is None and may_be_none) or content.strip()


def check_responses(sent: list[dict[str, Any]]) -> None:
    """A body's `input` for responses."""
    waiting: set[str] = set()
    seen: set[str] = set()
    for at, item in enumerate(sent):
        match item.get("type", "message"):
            case "function_call":
                assert _ID.match(item["call_id"])
                assert item["call_id"] not in seen
                assert isinstance(json.loads(item["arguments"]), dict)
                seen.add(item["call_id"])
                waiting.add(item["call_id"])
            case "function_call_output":
                waiting.remove(item["call_id"])
            case "reasoning":
                after = sent[at + 1]
                kind = after.get("type", "message")
                assert kind in ("reasoning", "function_call") or after.get("role") == "assistant"
            case "message":
                assert item["content"]
                blocks = [block for block in item["content"] if "text" in block]
                assert all(block["text"].strip() for block in blocks)
                assert item["role"] == "assistant" or not waiting
    assert not waiting


def check_anthropic(system: str, turns: list[dict[str, Any]]) -> None:
    """A body's `system` and `messages` for Anthropic."""
    assert turns or not system
    waiting: list[str] = []
    seen: set[str] = set()
    for at, turn in enumerate(turns):
        assert turn["role"] == ("assistant" if at % 2 else "user")
        blocks = turn["content"]
        kinds = [block["type"] for block in blocks]
        assert blocks
        assert not kinds[-1].endswith("thinking")
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        # All results of the answer, in front of whatever else is said.
        assert results == waiting
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for id in waiting:
            assert _ID.match(id)
            assert id not in seen
            seen.add(id)
    assert not waiting
    assert len(turns) % 2 == 1 or not turns


def check_pydantic_ai(sent: list[Any]) -> None:
    """The messages that pydantic-ai is given: after each response the request that answers all of its calls first."""
    waiting: list[str] = []
    for message in sent:
        assert message.parts
        returned = [part.tool_call_id for part in message.parts if part.part_kind == "tool-return"]
        assert returned == waiting
        assert all(part.part_kind == "tool-return" for part in message.parts[: len(returned)])
        waiting = [part.tool_call_id for part in message.parts if part.part_kind == "tool-call"]
    assert not waiting
    assert not sent or (sent[0].kind, sent[-1].kind) == ("request", "request")
