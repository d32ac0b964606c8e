"""What a driver holds, as far as it knows, and what its database may believe that it holds although it does not."""

from __future__ import annotations

from typing import Any

from agentflow.errors import StaleClaim
from agentflow.stores.journals import Appending, Claimed, Claiming, Journals
from agentflow.stores.session import Session

__all__ = ["Holdings"]


class Holdings:
    """The claims of one driver. A driver that is alive keeps what it has claimed, so it must not have claimed what it does not drive."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}
        # Runs that should have been given back when nothing could be written.
        self._dropped: dict[str, int] = {}
        # Runs that were asked for, when the answer was lost: they may have been claimed or not.
        self._doubtful: set[str] = set()

    @property
    def owes(self) -> bool:
        """Whether there may be runs that the database believes to be driven from here, and that are not."""
        return bool(self._dropped or self._doubtful)

    def done(self, work: Any, answer: Any) -> None:
        """Take note of what was done."""
        if isinstance(answer, Claimed):
            self._held[answer.claim.run_id] = answer.claim.epoch
        elif isinstance(work, Appending) and (work.gives_back or isinstance(answer, StaleClaim)):
            self._let_go(work)

    def failed(self, work: Any) -> None:
        """Take note of what was not done; or of which nobody knows, because the answer was lost."""
        if isinstance(work, Claiming):
            self._doubtful.add(work.run_id)
        elif isinstance(work, Appending) and work.gives_back:
            self._dropped[work.run_id] = work.epoch
            self._let_go(work)

    def give_back(self, session: Session, journals: Journals) -> None:
        """Let others have what is owed."""
        for run_id, epoch in self._dropped.items():
            journals.abandon(session, run_id, epoch)
        for run_id in self._doubtful:
            journals.disown(session, run_id, self._held.get(run_id, 0))

    def settled(self) -> None:
        """Take note that what was owed was given back for good."""
        self._dropped.clear()
        self._doubtful.clear()

    def clear(self) -> None:
        """Forget everything: the driver is gone."""
        self._held.clear()
        self.settled()

    def _let_go(self, work: Appending) -> None:
        if self._held.get(work.run_id) == work.epoch:
            del self._held[work.run_id]
