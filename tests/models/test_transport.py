"""Transports: what is asked for besides the messages, and how an answer becomes a value or an error."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, Field

from agentflow import Model, OutputInvalid, structured
from agentflow.messages import assistant
from agentflow.models.transport import MESSAGE, TEXT, checked_transport
from tests.models.kit import Scripted


class Report(BaseModel):
    title: str
    score: int = Field(ge=0, le=10)


@dataclass
class Point:
    x: float
    y: float


class Flat(TypedDict):
    name: str


@pytest.mark.rule("R283")
def test_text_is_what_was_said_and_the_message_is_the_whole_answer() -> None:
    answer = assistant("42", reasoning="hm")
    assert TEXT.parse(answer) == "42"
    assert MESSAGE.parse(answer) is answer


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (Report, '{"title": "a", "score": 3}', Report(title="a", score=3)),
        (Point, '{"x": 1, "y": 2.5}', Point(1.0, 2.5)),
        (Flat, '{"name": "n"}', {"name": "n"}),
        (dict, '{"any": [1]}', {"any": [1]}),
        (list[int], "[1, 2]", [1, 2]),
        (datetime.date, '"2026-11-30"', datetime.date(2026, 11, 30)),
        (int | None, "null", None),
        (Report, '  \n{"title": "a", "score": 3}\n', Report(title="a", score=3)),
        (Report, '```json\n{"title": "a", "score": 3}\n```', Report(title="a", score=3)),
        (Report, '```\n{"title": "a", "score": 3}\n```', Report(title="a", score=3)),
    ],
)
def test_structured_output_is_validated(type: Any, text: str, value: Any) -> None:
    assert structured(type).parse(assistant(text)) == value


@pytest.mark.rule("R291")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"title": "a"}', "no Report: score: Field required"),
        ('{"title": "a", "score": 11}', "score: Input should be less than or equal to 10"),
        ("Sure! Here it is.", "Invalid JSON"),
        ('{"title": "a", "sco', "Invalid JSON"),
        ("", "Invalid JSON"),
    ],
)
def test_an_answer_that_breaks_the_contract_is_an_error_that_shows_both(
    text: str, reason: str
) -> None:
    with pytest.raises(OutputInvalid) as caught:
        structured(Report).parse(assistant(text))
    assert reason in str(caught.value)
    assert f"(answer: {text!r})" in str(caught.value)
    assert caught.value.__cause__ is not None


def test_a_long_answer_is_shown_in_part() -> None:
    with pytest.raises(OutputInvalid) as caught:
        structured(Report).parse(assistant("x" * 10_000))
    assert len(str(caught.value)) < 500


def test_the_schema_is_told_to_the_model_and_to_the_provider() -> None:
    preparation = structured(Report).prepare()
    assert preparation.schema is not None
    assert preparation.schema["required"] == ["title", "score"]
    assert '"maximum": 10' in str(preparation.in_words)


@pytest.mark.rule("R237")
def test_a_type_without_a_schema_is_refused_when_the_transport_is_made() -> None:
    class Opaque:
        pass

    with pytest.raises(TypeError, match=r"structured\(Opaque\): no JSON schema can be made"):
        structured(Opaque)


@pytest.mark.rule("R237")
@pytest.mark.parametrize(
    ("transport", "lacks"),
    [
        (object(), r"a name and prepare\(\) and parse\(answer\)"),
        (str, r"a name and prepare\(\) and parse\(answer\)"),
        (type("NoParse", (), {"name": "x", "prepare": lambda self: None})(), r"parse\(answer\)"),
    ],
)
def test_a_malformed_transport_is_refused_at_registration(transport: Any, lacks: str) -> None:
    with pytest.raises(TypeError, match=f"is no transport: it lacks {lacks}"):
        Model(Scripted(), transports={"own": transport})


def test_a_transport_needs_no_base_class() -> None:
    class Upper:
        name = "upper"

        def prepare(self) -> Any:
            return None

        def parse(self, answer: Any) -> str:
            return str(answer.text.upper())

    assert checked_transport(Upper()).parse(assistant("a")) == "A"


def test_a_transport_shows_what_it_makes() -> None:
    assert repr(structured(Report)) == "structured(Report)"
