"""Histories for tests: any that can be built at all, and those that are legal as they are."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from agentflow.messages import (
    FilePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
)
from agentflow.messages.message import Provenance, Role

# Few ids, so that they meet; and such as no vendor takes.
IDS = st.sampled_from(["c1", "c2", "c3", "a.b", "a_b", "", "c1-2", "é" * 3, "x" * 60])
NAMES = st.sampled_from(["look", "update_working_memory"])
WORDS = st.sampled_from(["Hi.", "Well?", "ü", " ", "", "\ud83d", "a\ud83c\udf78b"])
ARGUMENTS = st.dictionaries(
    st.sampled_from("pq"), st.none() | st.integers(0, 2) | WORDS, max_size=2
)
SEALED = st.sampled_from(
    [
        None,
        {"vendor": "anthropic", "signature": "sig"},
        {"vendor": "anthropic", "data": "sealed"},
        {"vendor": "openai", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
        {"vendor": "other"},
    ]
)
PICTURES = st.sampled_from(
    [FilePart("image/png", b"x"), FilePart("image/png", url="https://example.org/x.png")]
)
UNREAD = st.sampled_from(["[1]", '"{\\"p\\": 1}"', '"[1]"', "{", '"{"', "3"])

texts = st.builds(TextPart, WORDS)
reasoning = st.builds(ReasoningPart, WORDS, SEALED)
read_calls = st.builds(ToolCall, IDS, NAMES, ARGUMENTS)
unread_calls = st.builds(
    lambda name, raw: ToolCall(name, "look", {}, "it cannot be read", raw), IDS, UNREAD
)
results = st.builds(
    ToolResult, IDS, NAMES, WORDS, st.booleans(), st.lists(PICTURES, max_size=1).map(tuple)
)
parts = st.one_of(texts, reasoning, read_calls, unread_calls, results)


def _message(role: Any, content: list[Any], provenance: Any, pictures: list[FilePart]) -> Message:
    # No vendor takes files in answers and instructions; that is refused, and not left out.
    files = pictures if role == "user" else []
    return Message(role, (*content, *files), provenance)


any_message = st.builds(
    _message,
    st.sampled_from(get_args(Role)),
    st.lists(parts, max_size=4),
    st.sampled_from(get_args(Provenance)),
    st.lists(PICTURES, max_size=1),
)
any_history = st.lists(any_message, max_size=8)


@st.composite
def legal_histories(
    draw: st.DrawFn,
    *,
    thoughts: st.SearchStrategy[list[ReasoningPart]] | None = None,
    is_error: st.SearchStrategy[bool] | None = None,
    systems: int = 2,
) -> list[Message]:
    """Turns of a user, each with answers that call tools and one that does not, and a last word of the user.

    Args:
        draw: hypothesis.
        thoughts: What answers begin with; default: nothing.
        is_error: Of results; default: none is.
        systems: How many instructions there are at most.
    """
    thinking = st.just([]) if thoughts is None else thoughts
    failing = st.just(False) if is_error is None else is_error
    said = st.builds(TextPart, st.sampled_from(["Hi.", "Let me see.", "ü"]))
    messages = [
        Message("system", (draw(said),), "contributed")
        for _ in range(draw(st.integers(0, systems)))
    ]
    number = 0
    for _ in range(draw(st.integers(0, 3))):
        messages.append(Message("user", (draw(said),)))
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for _ in range(draw(st.integers(1, 2))):
                number += 1
                arguments: dict[str, Any] = draw(st.sampled_from([{}, {"q": ["ü", 1]}]))
                calls.append(ToolCall(f"c{number}", "look", arguments))
            before = draw(st.lists(said, max_size=1))
            messages.append(Message("assistant", (*draw(thinking), *before, *calls), "model"))
            for call in calls:
                content = draw(st.sampled_from(["", "42"]))
                result = ToolResult(call.id, "look", content, draw(failing))
                messages.append(Message("tool", (result,), "tool"))
        messages.append(Message("assistant", (*draw(thinking), draw(said)), "model"))
    messages.append(Message("user", (draw(said),)))
    return messages
