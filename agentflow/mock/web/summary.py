"""The summary generator: the sentences of a text that say most of it, the same ones every time."""

from __future__ import annotations

import re
from collections import Counter

from agentflow.mock.request import MockRequest

__all__ = ["summarize", "summary_of_request"]

_SENTENCE = re.compile(r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f])|\n{2,}")
_WORD = re.compile(r"\w{4,}")


def summarize(text: str, *, sentences: int = 2, most: int = 20_000) -> str:
    """The sentences of a text whose words come up most in it, in the order of the text.

    Nothing is made up and nothing is random: every sentence stands in the text, and the same text gives the same summary.

    Args:
        text: The text.
        sentences: How many at most.
        most: How many characters of the text are looked at.

    Raises:
        ValueError: Less than one sentence, or no text at all, is to be looked at.
    """
    if sentences < 1 or most < 1:
        raise ValueError(f"summarize(sentences={sentences}, most={most}): both are at least 1")
    found = [" ".join(each.split()) for each in _SENTENCE.split(text[:most]) if each.strip()]
    counts = Counter(word for each in found for word in _words(each))
    ranked = sorted(range(len(found)), key=lambda at: (-_weight(found[at], counts), at))
    return " ".join(found[at] for at in sorted(ranked[:sentences]))


def summary_of_request(request: MockRequest) -> str:
    """A reply for rules: the summary of what was said since the last answer."""
    return summarize(request.text)


def _weight(sentence: str, counts: Counter[str]) -> float:
    words = _words(sentence)
    # Of two sentences with words that are as frequent, the longer one does not win for being long.
    return sum(counts[word] for word in words) / (len(words) + 2)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
