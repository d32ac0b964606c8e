"""Pages of the web: what came, and what it says without its markup."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

__all__ = ["WebPage", "text_of_page"]

_SILENT = frozenset({"script", "style", "template", "noscript", "head"})
_BLOCKS = frozenset(
    {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article"}
)


@dataclass(frozen=True, slots=True)
class WebPage:
    """What was found at an address.

    Args:
        url: Where it was found, redirects followed.
        kind: Its media type, such as `text/html`.
        text: Its text.
        whole: Whether that is all of it, and not only the first part of something large.
    """

    url: str
    kind: str
    text: str
    whole: bool = True


def text_of_page(page: str) -> str:
    """The text of an HTML page; of any other text, the text itself."""
    if "<" not in page:
        return page
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return "".join(reader.pieces).strip()


class _Reader(HTMLParser):
    """Collects what is said, blocks apart from each other."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _SILENT:
            self._silent += 1
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT and self._silent:
            self._silent -= 1
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data)
