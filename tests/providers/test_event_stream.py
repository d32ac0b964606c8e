"""Events are read from bytes however they are cut, as the HTML standard says."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agentflow import ModelError
from agentflow.providers.event_stream import Event, EventReader
from tests.providers.wires import split


def events_in(data: bytes, cuts: list[int] | None = None) -> list[Event]:
    reader = EventReader()
    return [event for piece in split(data, cuts or []) for event in reader.feed(piece)]


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\n", [Event("", "a")]),
        (b"data:a\n\n", [Event("", "a")]),
        (b"data:  a \n\n", [Event("", " a ")]),
        (b"event: x\ndata: a\n\n", [Event("x", "a")]),
        (b"data: a\ndata: b\n\n", [Event("", "a\nb")]),
        (b"data\n\n", [Event("", "")]),
        (b"data: a\n\n\n\ndata: b\n\n", [Event("", "a"), Event("", "b")]),
        (b"event: x\n\ndata: a\n\n", [Event("", "a")]),
        (b": hello\n\ndata: a\n\n", [Event("", "a")]),
        (b"data: a\n: in between\ndata: b\n\n", [Event("", "a\nb")]),
        (b"id: 1\nretry: 2\nnobody: 3\ndata: a\n\n", [Event("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("", "a")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [Event("", c) for c in "abc"]),
        (b"data: a\n\ndata: b", [Event("", "a")]),
        (b"data: a\n\ndata: b\n", [Event("", "a")]),
        (b"data: \xff\n\n", [Event("", "\ufffd")]),
        ("data: \u2028\x85\x0b\n\n".encode(), [Event("", "\u2028\x85\x0b")]),
        (b"", []),
    ],
)
def test_events_are_told_as_the_standard_says(data: bytes, events: list[Event]) -> None:
    assert events_in(data) == events
    assert events_in(data, list(range(len(data)))) == events


lines = st.sampled_from(["data: ä🍸", "data:b", "event: x", ": c", "", "", "id: 1", "data"])
ends = st.sampled_from(["\n", "\r\n", "\r"])


@given(st.lists(st.tuples(lines, ends), max_size=12), st.data())
def test_however_the_bytes_are_cut_the_events_are_the_same(
    parts: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole = "".join(line + end for line, end in parts).encode()
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=12))
    assert events_in(whole, cuts) == events_in(whole)


def test_data_that_is_no_json_is_quoted_in_part() -> None:
    with pytest.raises(ModelError, match="is no JSON") as caught:
        Event("", "x" * 10_000).json()
    assert len(str(caught.value)) < 500
    with pytest.raises(ModelError, match="is no JSON"):
        Event("", "[" * 200_000).json()
