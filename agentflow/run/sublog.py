"""The sub log of a visit: intentions written before they are carried out, and fixed with what came of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.graph.frozen import freeze, lend
from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["SubEntry", "SubLog"]


@dataclass(frozen=True, slots=True)
class SubEntry:
    """One intention: its number in the log, what was planned, and the result once it is `fixed`."""

    number: int
    intention: Any
    result: Any = None
    fixed: bool = False


class SubLog:
    """What a node plans and does below the level of its own update; made by `ctx.sub_log()`.

    Every entry goes out as a `node.progress` fact at the moment it is written or fixed, so a plan stays known even when
    the node fails right after it.
    """

    __slots__ = ("_entries", "ctx")

    def __init__(self, ctx: NodeContext) -> None:
        self.ctx = ctx
        self._entries: list[SubEntry] = []

    def write(self, intention: Any) -> int:
        """Write down what is about to be done; returns the number to fix it by."""
        entry = SubEntry(len(self._entries) + 1, freeze(intention))
        self._entries.append(entry)
        self._tell("write", entry)
        return entry.number

    def fix(self, number: int, result: Any = None) -> None:
        """Write down what came of an intention.

        Raises:
            ContractError: There is no such entry, or it is fixed already.
        """
        if not 1 <= number <= len(self._entries):
            raise ContractError(f"the sub log has no entry {number!r}; write the intention first")
        entry = self._entries[number - 1]
        if entry.fixed:
            raise ContractError(f"entry {number} of the sub log is fixed already")
        entry = self._entries[number - 1] = replace(entry, result=freeze(result), fixed=True)
        self._tell("fix", entry)

    def read_all(self) -> tuple[SubEntry, ...]:
        """The entries as they are now; later changes do not show in it."""
        return tuple(lend(entry) for entry in self._entries)

    def _tell(self, act: str, entry: SubEntry) -> None:
        self.ctx.check_thread("sub_log")
        emit(self.ctx, "node.progress", data={"sub_log": act, "entry": entry.number}, content=entry)
