"""The one who reads from a store: on connections of its own, so that reads never wait behind writes."""

from __future__ import annotations

from collections.abc import Sequence

from agentflow.errors import StoreError
from agentflow.stores.journals import Journals
from agentflow.stores.session import Backend
from agentflow.stores.worker import Job
from agentflow.stores.writer import CLOSE

__all__ = ["Reader"]


class Reader:
    """Reads from one database."""

    def __init__(self, backend: Backend, journals: Journals) -> None:
        self._backend = backend
        self._journals = journals

    def perform(self, jobs: Sequence[Job]) -> None:
        """Do a batch; each job gets its answer or its error."""
        for job in jobs:
            if job.work is CLOSE:
                self._backend.close()
                continue
            try:
                with self._backend.reading() as session:
                    job.answer = self._journals.read(session, job.work)
            except StoreError as error:
                job.error = error
            except Exception as error:
                job.error = self._backend.failure("read", error)
