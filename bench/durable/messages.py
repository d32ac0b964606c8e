"""The messages of the rows that talk: 200 characters each, and no more alike than what people write."""

from __future__ import annotations

import random
from typing import Final

LENGTH: Final = 200

_WORDS: Final = """
the a to of and in is it you that he was for on are with as at be this have from or had by but not what all
were we when your can said there use an each which she do how their if will up other about out many then them
these so some her would make like invoice shipment refund ticket outage server latency deploy rollback
customer region account billing timeout retry approve escalate incident summary evidence cause impact mitigate
owner deadline schedule confirm attach report database cache queue
"""


def _text(seed: int) -> str:
    words = " ".join(random.Random(seed).choices(_WORDS.split(), k=LENGTH))
    return words[: LENGTH - 7]


# Made once: what is measured is not how they are made.
_TEXTS: Final = tuple(_text(seed) for seed in range(499))


def message(number: int) -> str:
    """The message of a turn."""
    return f"{number:06} {_TEXTS[number % len(_TEXTS)]}"
