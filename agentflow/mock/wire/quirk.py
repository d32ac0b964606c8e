"""Quirks: what servers do that speak a format almost, and clients have to survive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

__all__ = ["Quirk", "checked_quirks"]

Quirk = Literal[
    "keep-alive",
    "crlf",
    "clean-cut",
    "names-repeated",
    "index-gaps",
    "one-index",
    "no-call-ids",
    "empty-choices",
    "no-finish-reason",
    "usage-with-finish",
    "no-done",
]
"""One thing that a server does.

Of every stream:

- `keep-alive`: comments stand between events.
- `crlf`: lines end in CR LF.
- `clean-cut`: the body of an answer that is cut ends in good order; only the end of the answer is missing.

Of OpenAI chat completions:

- `names-repeated`: every piece of a tool call repeats its name.
- `index-gaps`: tool calls are numbered 0, 2, 4 …
- `one-index`: all tool calls have the number 0.
- `no-call-ids`: tool calls have no ids.
- `empty-choices`: chunks without choices come first and last.
- `no-finish-reason`: nothing says why the model stopped.
- `usage-with-finish`: usage comes in the chunk of the finish reason, asked for or not.
- `no-done`: no `[DONE]` ends the stream.
"""


def checked_quirks(quirks: Iterable[str]) -> frozenset[str]:
    """The quirks themselves.

    Raises:
        ValueError: There is no such quirk.
    """
    found = frozenset((quirks,) if isinstance(quirks, str) else quirks)
    if unknown := found - set(get_args(Quirk)):
        known = ", ".join(map(repr, get_args(Quirk)))
        raise ValueError(f"there is no quirk {min(unknown)!r}; there are {known}")
    return found
