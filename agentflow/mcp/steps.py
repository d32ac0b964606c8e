"""What a run does, step by step, as progress for whoever called it from outside."""

from __future__ import annotations

from typing import Any, Final

from agentflow.run.facts import Fact

__all__ = ["Steps"]

_KINDS: Final = frozenset({"node.started", "model.started", "tool.started"})


class Steps:
    """An observer that tells a client each step that begins; they are counted, since nobody knows how many there will be.

    Args:
        session: The session of the client, for the request that the run answers.
    """

    __slots__ = ("_count", "_session")

    def __init__(self, session: Any) -> None:
        self._session = session
        self._count = 0

    def accepts(self, kind: str, content: bool) -> bool:
        return kind in _KINDS and not content

    def event(self, fact: Fact) -> Any:
        self._count += 1
        doing = {"model.started": "model", "tool.started": "tool"}.get(fact.kind)
        told = f"node {fact.node_id!r}"
        if doing is not None:
            told += f" asks {doing} {fact.data[doing]!r}"
        return self._session.report_progress(self._count, None, told)
