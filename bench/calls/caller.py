"""The small protocol that every competitor's module of model calls follows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

Ask = Callable[[str], Awaitable[str]]


class Caller(Protocol):
    """What a competitor's module offers.

    Asking streams one answer to its end, and gives its text, so that every scenario can check that it came whole. The server
    says what it is told, word by word.
    """

    TITLE: str
    DISTRIBUTION: str | None
    LACKS: Mapping[str, str]
    """Scenario id to the reason why this competitor cannot take part."""
    FEWER: Mapping[str, int]
    """Scenario id to a smaller size."""

    def openai(self, url: str) -> AbstractAsyncContextManager[Ask]:
        """What asks a server at `url` in the format of OpenAI's chat completions, over connections that are kept."""

    def anthropic(self, url: str) -> AbstractAsyncContextManager[Ask]:
        """The same in Anthropic's format."""
