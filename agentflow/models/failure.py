"""Failures: what providers raise and servers tell, as errors of one tree.

What has gone wrong is known by an HTTP status that an error carries, and by the names of its classes. The SDKs of the vendors
are made by one generator, so their errors have the same names and attributes, and HTTP clients name theirs alike; nothing of
them is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from agentflow.errors import (
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelTimeout,
    ModelUnavailable,
)

__all__ = ["cut_off", "failure_of", "known_failure", "told_failure"]

_LATE: Final = {
    *("APITimeoutError", "TimeoutException", "TimeoutError"),
    *("ModelTimeoutError", "ModelRequestTimeout"),
}
_LOST: Final = {
    *("APIConnectionError", "TransportError", "ConnectionError", "SSLError", "EndOfStream"),
    *("ModelConnectionError", "ModelUnavailableError", "ModelServerError"),
}

_STATUS_OF_TYPE: Final = {
    "authentication_error": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout_error": 504,
    "request_too_large": 413,
    "context_length_exceeded": 400,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "overloaded_error": 529,
}
"""What servers tell in the middle of a stream, where there is no status any more."""


def cut_off() -> ModelUnavailable:
    """The error of a stream that ended before the answer did."""
    return ModelUnavailable("the connection ended before the answer did; nothing of it is used")


def failure_of(error: Exception) -> ModelError:
    """What an SDK raised, as one of our errors."""
    known = known_failure(error)
    return (
        ModelError(f"what the server gave cannot be read: {_named(error)}")
        if known is None
        else known
    )


def known_failure(error: Exception) -> ModelError | None:
    """The error of ours that another one stands for; `None` where nothing tells what has gone wrong."""
    if isinstance(error, ModelError):
        return error
    for attribute in ("status_code", "status"):
        status = getattr(error, attribute, None)
        if isinstance(status, int):
            return _answered(error, status)
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & _LATE:
        return ModelTimeout(f"the server took too long: {_named(error)}")
    if names & _LOST:
        return ModelUnavailable(f"the connection to the server failed: {_named(error)}")
    return None


def _answered(error: Exception, status: int) -> ModelError:
    text, kind = _told(getattr(error, "body", None))
    text = text or getattr(error, "message", "") or str(error)
    headers = getattr(getattr(error, "response", error), "headers", None) or {}
    after = getattr(error, "retry_after", None)
    if not isinstance(after, int | float):
        after = _retry_after(headers)
    return _of_status(status, kind, f"the server answered {status}: {text}", after)


def told_failure(body: Any) -> ModelError:
    """What a server told in the middle of a stream, as one of our errors."""
    text, kind = _told(body)
    message = f"the server failed in the middle of the answer: {text or body}"
    status = _STATUS_OF_TYPE.get(kind)
    if status is None and kind.isdecimal():
        status = int(kind)
    return ModelError(message) if status is None else _of_status(status, kind, message, None)


def _of_status(status: int, kind: str, message: str, after: float | None) -> ModelError:
    if status in (401, 402, 403) or kind in ("insufficient_quota", "billing_error"):
        return ModelDenied(message, status=status)
    if status == 429:
        return ModelRateLimited(message, status=status, retry_after=after)
    if status in (408, 504):
        return ModelTimeout(message, status=status, retry_after=after)
    # 409 is a lock that was not got in time, 425 a request that came too early.
    if status in (409, 425) or status >= 500:
        return ModelUnavailable(message, status=status, retry_after=after)
    if 400 <= status < 500:
        return ModelRequestRefused(message, status=status)
    return ModelError(message, status=status)


def _told(body: Any) -> tuple[str, str]:
    """The message and the kind of an error, as a server tells them."""
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
        body = body["error"]
    if isinstance(body, str):
        return body, ""
    if not isinstance(body, Mapping):
        return "", ""
    text = body.get("message")
    kinds = [str(body[key]) for key in ("code", "type") if body.get(key)]
    known = [kind for kind in kinds if kind in _STATUS_OF_TYPE]
    kind = (known or kinds or [""])[0]
    return text if isinstance(text, str) else "", kind


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """How long to wait, from `retry-after-ms`, or `retry-after` as seconds or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _named(error: Exception) -> str:
    # What an SDK says of a failed connection says less than what it was made of.
    inner = error.__cause__
    if isinstance(inner, Exception) and str(inner):
        error = inner
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
