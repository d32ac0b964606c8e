"""Whether values of one type are taken where another type is wanted, told from the types alone.

- `annotation` reads what somebody wrote as a `meaning`: a kind of values.
- `judge` compares two meanings, part by part.
- `converted` knows what pydantic makes of a value in its usual lax mode; `unconverted` what a value is to somebody who
  reads it as it is.
- `taken` says which type decides what a field takes, `spelling` how messages write a type.
- `below` says which keys and attributes the values of a type have.

What is not known may fit. So `never fits` and `fits` are proofs, and whatever is said of unknown types is silence.
"""

from __future__ import annotations

from typing import Any

from agentflow.graph.fit.converted import Converted
from agentflow.graph.fit.judge import Judge
from agentflow.graph.fit.relation import Relation
from agentflow.graph.fit.spelling import spelled
from agentflow.graph.fit.taken import taken
from agentflow.graph.fit.unconverted import Unconverted

__all__ = ["Relation", "filled", "reading", "relation", "spelled", "taken"]


def relation(source: Any, target: Any) -> Relation:
    """Whether a contract of type `target` takes the valid values of type `source`.

    Args:
        source: The type of the values.
        target: The type that they are checked against, by pydantic, in its lax mode.

    Returns:
        `fits` if every value is taken, `never fits` if none is, else `may fit`; an empty list is a value too.
    """
    return Judge(Converted()).between(source, target)


def filled(source: Any, target: Any) -> Relation:
    """The same of values whose containers, if they may be empty, are not: `list[int]` never fits `list[bytes]` then."""
    return Judge(Converted(), filled=True).between(source, target)


def reading(source: Any, target: Any) -> Relation:
    """Whether somebody who reads values of type `source` unchanged may take them for values of type `target`.

    Nothing is converted, so text is no number; as type checkers have it, an `int` is a `float`, and of containers the
    items count.
    """
    return Judge(Unconverted(), filled=True).between(source, target)
