"""Errors as OpenAI's API tells them.

After https://platform.openai.com/docs/guides/error-codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentflow.mock.wire.dialect import Wrong

__all__ = ["openai_error"]

_KINDS: Mapping[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", "server_overloaded"),
}


def openai_error(wrong: Wrong) -> dict[str, Any]:
    """The object under `error`."""
    other = "server_error" if wrong.status >= 500 else "invalid_request_error"
    kind, code = _KINDS.get(wrong.status, (other, None))
    return {
        "message": wrong.message,
        "type": wrong.kind or kind,
        "param": wrong.param,
        "code": wrong.code or code,
    }
