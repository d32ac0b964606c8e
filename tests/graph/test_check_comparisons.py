"""Comparisons that can never be true: what the hint says can be there."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from agentflow import Condition, field, node, route, validate


class Score(BaseModel):
    points: int = 0


class Given(TypedDict):
    text: str
    count: int
    maybe: int | None
    status: Literal["on", "off"]
    score: Score


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        (field("status") == "onn", "status can be 'on' or 'off'"),
        (field("count") == "3", "count is int: compare it with what that can be"),
        (field("maybe") == "3", "maybe is int | None: compare it with what that can be"),
        (field("text.size") == 1, "text is str, in which there is no 'size'"),
        (
            field("score.points") == "many",
            "score is Score: compare its 'points' with what that can be",
        ),
    ],
    ids=str,
)
def test_the_hint_for_a_comparison_that_is_never_true_tells_what_can_be(
    condition: Condition, hint: str
) -> None:
    def look(state: Any) -> None: ...

    routes = [route.finish(dict, when=condition), route.finish(dict)]
    report = validate(node(look, requires=list(Given.__annotations__), routes=routes), state=Given)
    assert [(each.code, each.hint) for each in report] == [("AF301", hint)]
