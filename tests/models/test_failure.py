"""Failures: whatever a client raises or a server tells becomes one of our errors, by what can be done about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from hypothesis import given, strategies as st

from agentflow import (
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelTimeout,
    ModelUnavailable,
)
from agentflow.models.failure import failure_of, told_failure
from agentflow.testing import fake_context
from tests.providers.speakers import SPEAKERS, Speaker
from tests.providers.wires import Recorded


class Status(Exception):
    def __init__(self, status: int, body: Any = None, headers: Any = None) -> None:
        super().__init__(f"Error code: {status}")
        self.status_code = status
        self.body = body
        self.response = httpx2.Response(status, headers=headers or {})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelRequestRefused),
        (401, ModelDenied),
        (402, ModelDenied),
        (403, ModelDenied),
        (404, ModelRequestRefused),
        (408, ModelTimeout),
        (409, ModelUnavailable),
        (413, ModelRequestRefused),
        (422, ModelRequestRefused),
        (429, ModelRateLimited),
        (500, ModelUnavailable),
        (502, ModelUnavailable),
        (503, ModelUnavailable),
        (504, ModelTimeout),
        (529, ModelUnavailable),
        (302, ModelError),
    ],
)
def test_a_status_tells_what_can_be_done(status: int, kind: type[ModelError]) -> None:
    error = failure_of(Status(status, {"message": "it says"}))
    assert type(error) is kind
    assert (error.status, str(error)) == (status, f"the server answered {status}: it says")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "it says", "type": "x"}},
        {"message": "it says"},
        {"error": "it says"},
        "it says",
    ],
)
def test_what_the_server_says_is_in_the_message(body: Any) -> None:
    assert str(failure_of(Status(400, body))) == "the server answered 400: it says"


@pytest.mark.parametrize("body", [None, {}, [], {"error": None}, {"message": 3}, 7])
def test_a_server_that_says_nothing_is_quoted_by_its_status(body: Any) -> None:
    assert "Error code: 500" in str(failure_of(Status(500, body)))


def test_an_account_without_credit_is_not_asked_again() -> None:
    body = {
        "error": {"message": "quota", "type": "insufficient_quota", "code": "insufficient_quota"}
    }
    assert type(failure_of(Status(429, body))) is ModelDenied


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_time_that_a_server_wants_is_told(headers: Any, seconds: float | None) -> None:
    error = failure_of(Status(429, headers=headers))
    assert isinstance(error, ModelRateLimited)
    assert error.retry_after == seconds


def test_a_time_may_be_a_date() -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    headers = {"retry-after": format_datetime(moment, usegmt=True)}
    error = failure_of(Status(503, headers=headers))
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after is not None
    assert 3500 < error.retry_after <= 3600
    past = {"retry-after": "Mon, 01 Jan 2001 00:00:00 -0000"}
    error = failure_of(Status(503, headers=past))
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == 0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "x", "type": "overloaded_error"}}, ModelUnavailable),
        ({"error": {"message": "x", "type": "rate_limit_error"}}, ModelRateLimited),
        ({"error": {"message": "x", "code": "rate_limit_exceeded"}}, ModelRateLimited),
        ({"error": {"message": "x", "code": 503}}, ModelUnavailable),
        ({"error": {"message": "x", "code": "429"}}, ModelRateLimited),
        ({"error": {"message": "x", "type": "invalid_request_error"}}, ModelRequestRefused),
        ({"error": {"message": "x", "type": "authentication_error"}}, ModelDenied),
        ({"error": {"message": "x", "type": "timeout_error"}}, ModelTimeout),
        ({"error": {"message": "x", "type": "nobody_knows"}}, ModelError),
        (
            {"error": {"message": "x", "type": "a", "code": "context_length_exceeded"}},
            ModelRequestRefused,
        ),
        ({"error": "x"}, ModelError),
        ({}, ModelError),
    ],
)
def test_what_is_told_in_the_middle_of_an_answer_has_a_kind_too(body: Any, kind: Any) -> None:
    assert type(told_failure(body)) is kind


def test_our_own_errors_stay_what_they_are() -> None:
    error = ModelRequestRefused("no")
    assert failure_of(error) is error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.ConnectError("refused"), ModelUnavailable),
        (httpx2.RemoteProtocolError("cut"), ModelUnavailable),
        (httpx2.ReadTimeout("slow"), ModelTimeout),
        (ConnectionResetError("reset"), ModelUnavailable),
        (TimeoutError("slow"), ModelTimeout),
        (KeyError("a bug"), ModelError),
    ],
)
def test_what_a_connection_does_is_told_by_its_kind(error: Exception, kind: Any) -> None:
    assert type(failure_of(error)) is kind


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (httpx2.ConnectError("refused"), ModelUnavailable),
        (httpx2.ConnectTimeout("slow"), ModelTimeout),
        (httpx2.ReadError("reset"), ModelUnavailable),
    ],
    ids=["connect", "timeout", "read"],
)
async def test_what_the_clients_make_of_it_is_told_by_its_kind(
    speaker: Speaker, answer: Exception, kind: Any
) -> None:
    from agentflow import Model

    model = Model(speaker.provider(Recorded(answer)), retries=0)
    with pytest.raises(ModelError) as caught:
        await fake_context(model=model).model.invoke("Hi.")
    assert type(caught.value) is kind


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
async def test_the_clients_do_not_try_again_behind_our_back(speaker: Speaker) -> None:
    from agentflow import Model
    from agentflow.testing import Scenario

    transport = speaker.wire(Scenario(refuses="unavailable"))
    with pytest.raises(ModelUnavailable):
        await fake_context(model=Model(speaker.provider(transport), retries=0)).model.invoke("Hi.")
    assert len(transport.requests) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["error", "message", "type", "code"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(json_values, st.integers(300, 599))
def test_whatever_a_server_says_of_its_failure_it_is_a_model_error(body: Any, status: int) -> None:
    assert isinstance(told_failure(body), ModelError)
    assert isinstance(failure_of(Status(status, body)), ModelError)
