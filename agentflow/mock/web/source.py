"""Web sources: replies that tell what a page says which the user has named."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable

from agentflow.mock.reply import MockReply
from agentflow.mock.request import MockRequest
from agentflow.mock.web.summary import summarize
from agentflow.tools.web.page import text_of_page

__all__ = ["Load", "web_summary"]

Load = Callable[[str], str | Awaitable[str]]
"""Gives the text behind a URL; plain or async. It takes on all duties of transport: what may be asked, for how long, how much."""

_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^]+")
_AFTER = ".,;:!?)]"


def web_summary(
    load: Load | None = None, *, sentences: int = 2, most: int = 20_000
) -> Callable[[MockRequest], Awaitable[MockReply]]:
    """A reply for rules: the summary of the page whose address the user names. Without such a rule nothing is fetched.

    ::

        Rule(when="https://", reply=web_summary())

    Only an address in the user's own words is loaded: none that stands in a page, in a result of a tool or in an instruction.
    What a page says becomes text of the answer and nothing else: it calls no tool and leads to no other page.

    Args:
        load: Gives the text behind an address, in place of any network call: a fixed text for tests. Default: `GuardedFetch()`,
            which asks public addresses only.
        sentences: How long the summary is.
        most: How many characters of the text are looked at.
    """
    loader: Load = _guarded() if load is None else load

    async def reply(request: MockRequest) -> MockReply:
        url = _named(request)
        if url is None:
            return MockReply(text="The question names no address.")
        page = loader(url)
        if inspect.isawaitable(page):
            page = await page
        summary = summarize(text_of_page(page[:most]), sentences=sentences, most=most)
        return MockReply(text=f"{summary}\n\nSource: {url}")

    return reply


def _guarded() -> Load:
    # Loaded only where somebody asks for it: nothing else here speaks HTTP to others.
    from agentflow.tools.web.fetch import GuardedFetch

    return GuardedFetch()


def _named(request: MockRequest) -> str | None:
    """The first address in what the user has said since the last answer."""
    for message in request.news:
        if message.role == "user" and (found := _URL.search(message.text)):
            return found.group().rstrip(_AFTER)
    return None
