"""A recorder: an observer that keeps every fact."""

from __future__ import annotations

from typing import Any

from agentflow.run.facts import Fact

__all__ = ["FactRecorder"]


class FactRecorder:
    """An observer that keeps the facts it is told, for a test to look at.

    Args:
        content: Whether it wants what nodes wrote and models said.

    Attributes:
        facts: The facts so far, in order.
    """

    def __init__(self, *, content: bool = False) -> None:
        self.content = content
        self.facts: list[Fact] = []

    def accepts(self, kind: str, content: bool) -> bool:
        """Every kind."""
        return bool(kind) and (self.content or not content)

    def event(self, fact: Fact) -> None:
        """Keep a fact."""
        self.facts.append(fact)

    def kinds(self, *prefixes: str) -> list[str]:
        """The kinds of the facts, in order; only those that start with one of `prefixes`, if any are given."""
        return [fact.kind for fact in self.of(*prefixes)]

    def of(self, *prefixes: str) -> list[Fact]:
        """The facts whose kind starts with one of `prefixes`; all without any."""
        return [fact for fact in self.facts if not prefixes or fact.kind.startswith(prefixes)]

    def only(self, kind: str) -> Fact:
        """The one fact of a kind.

        Raises:
            AssertionError: There is none, or there are several.
        """
        found = [fact for fact in self.facts if fact.kind == kind]
        assert len(found) == 1, f"{len(found)} facts of kind {kind!r}: {found}"
        return found[0]

    def data(self, kind: str) -> list[Any]:
        """The data of the facts of a kind, in order."""
        return [fact.data for fact in self.facts if fact.kind == kind]
