"""Observers that write down what they are told."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agentflow import Fact


class Recorder:
    """Keeps every fact it is told; asks for the content of the kinds in `content`, and for no kind beyond `kinds`."""

    def __init__(self, *, content: Collection[str] = (), kinds: Collection[str] | None = None):
        self.facts: list[Fact] = []
        self._content = content
        self._kinds = kinds

    def accepts(self, kind: str, content: bool) -> bool:
        if self._kinds is not None and kind not in self._kinds:
            return False
        return not content or kind in self._content

    def event(self, fact: Fact) -> None:
        self.facts.append(fact)

    @property
    def kinds(self) -> list[str]:
        return [fact.kind for fact in self.facts]

    def of(self, kind: str) -> list[Fact]:
        """The facts of one kind."""
        return [fact for fact in self.facts if fact.kind == kind]

    def visited(self) -> list[str | None]:
        """The nodes whose bodies were started, attempt by attempt."""
        return [fact.node_id for fact in self.of("node.started")]

    def data(self, kind: str) -> dict[str, Any]:
        """The data of the only fact of a kind."""
        (fact,) = self.of(kind)
        return dict(fact.data)
