"""Faults: the ways in which an answer goes wrong, in process and over a wire."""

from __future__ import annotations

from typing import Any, Literal

from agentflow.errors import (
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelTimeout,
    ModelUnavailable,
)
from agentflow.models.failure import failure_of

__all__ = ["Fault", "MalformedAnswer", "Refused", "status_of"]

Fault = Literal["cut", "reset", "stall", "malformed"]
"""How an answer breaks off: it ends too early, the connection is reset, nothing more comes, or what comes cannot be read."""


class MalformedAnswer(ModelError):
    """The answer cannot be read, on purpose. A server that is given this error sends broken JSON."""

    code = "malformed_answer"

    def __init__(self) -> None:
        super().__init__("the mock model's answer is malformed on purpose")


class Refused(Exception):
    """The model's server refuses the request by an HTTP error.

    A mock model raises the model error that a provider makes of it, so that tries and fallbacks do what they do in earnest;
    this is its cause, and what a server makes the answer of.

    Args:
        status: The HTTP status, 400 to 599.
        message: What the body says.
        retry_after: Seconds after which to ask again, for the `Retry-After` header.
        kind: The `type` of the error in the body; default: what the wire format calls the status.

    Raises:
        ValueError: The status is none of an error, or the seconds are negative.
    """

    def __init__(
        self,
        status: int,
        message: str = "",
        *,
        retry_after: float | None = None,
        kind: str | None = None,
    ) -> None:
        if not 400 <= status <= 599:
            raise ValueError(f"Refused({status!r}): an error has a status from 400 to 599")
        if retry_after is not None and retry_after < 0:
            raise ValueError(f"Refused({status}, retry_after={retry_after!r}): it is not negative")
        self.status = status
        self.message = message or f"the mock model refuses with status {status}"
        self.retry_after = retry_after
        self.kind = kind
        super().__init__(status, self.message)

    def __str__(self) -> str:
        wait = "" if self.retry_after is None else f" (retry after {self.retry_after:g} s)"
        return f"{self.status}: {self.message}{wait}"

    @property
    def body(self) -> dict[str, Any]:
        """What the server's answer says, as the vendors' clients hand it on with their errors."""
        told = {"message": self.message}
        return {"error": told if self.kind is None else {**told, "type": self.kind}}

    def error(self) -> ModelError:
        """The model error that a provider makes of it: the same decision, by what it carries as a client's error does."""
        return failure_of(self)


_STATUSES: tuple[tuple[type[ModelError], int], ...] = (
    (ModelRateLimited, 429),
    (ModelTimeout, 504),
    (ModelUnavailable, 503),
    (ModelDenied, 401),
    (ModelRequestRefused, 400),
    (ModelError, 500),
)


def status_of(error: ModelError) -> int:
    """The HTTP status by which a server tells a model error: the one that it came with, else that of its kind."""
    if error.status is not None and 400 <= error.status <= 599:
        return error.status
    return next(status for kind, status in _STATUSES if isinstance(error, kind))
