"""Faults: the ways in which an answer goes wrong, in process and over a wire."""

from __future__ import annotations

from typing import Literal

__all__ = ["Fault", "MalformedAnswer", "Refused"]

Fault = Literal["cut", "reset", "stall", "malformed"]
"""How an answer breaks off: it ends too early, the connection is reset, nothing more comes, or what comes cannot be read."""


class MalformedAnswer(ValueError):
    """The answer cannot be read: what a client makes of broken JSON. A server that is given this error sends some."""

    def __init__(self, message: str = "the mock model's answer is malformed on purpose") -> None:
        super().__init__(message)


class Refused(Exception):
    """The model's server refuses the request: what a client makes of an HTTP error.

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
