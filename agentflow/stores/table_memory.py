"""A memory that keeps what agents remember in tables, beside the journals of the same database."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import anyio

from agentflow.agents.memory.turn import Thread, Turn, messages_of, text_of
from agentflow.errors import StoreError
from agentflow.stores.session import Backend, Row, Session
from agentflow.stores.worker import Job, Worker

__all__ = ["TableMemory"]

_CLOSE: Final = object()
"""The work of giving back the session."""


@dataclass(frozen=True, slots=True)
class _Desk:
    process: int
    worker: Worker


class TableMemory:
    """A `ConversationHistory` and a `WorkingMemory` on a database.

    It opens itself when it is first used, and is closed by whoever has made it: `async with …` or `await memory.close()`.

    Args:
        backend: The database.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._session: Session | None = None
        self._state = threading.Lock()
        self._turn = threading.Lock()
        self._desk: _Desk | None = None

    async def load(self, thread: Thread, *, last: int) -> Sequence[Turn]:
        found = await self._read("latest_turns", {**_place(thread), "last": last})
        return [Turn(id, messages_of(body)) for id, body in reversed(found)]

    async def append(self, thread: Thread, turn: Turn) -> None:
        place = {**_place(thread), "turn": turn.id}
        row = {**place, "body": text_of(turn.messages)}

        def write(session: Session) -> None:
            session.begin()
            session.change_many("add_turn", [row])
            session.change("drop_turn_records", {**place, "place": 0})
            session.commit()

        await self._do(write)

    async def record(self, thread: Thread, turn: Turn, *, at: int) -> None:
        place = {**_place(thread), "turn": turn.id}
        rows = [
            {**place, "place": number, "body": text_of((message,))}
            for number, message in enumerate(turn.messages, start=at)
        ]

        def write(session: Session) -> None:
            session.begin()
            session.change("drop_turn_records", {**place, "place": at})
            session.change_many("add_turn_record", rows)
            session.commit()

        await self._do(write)

    async def recorded(self, thread: Thread, turn_id: str) -> Sequence[Turn]:
        found = await self._read("turn_records", {**_place(thread), "turn": turn_id})
        if not found:
            return []
        return [Turn(turn_id, tuple(m for (body,) in found for m in messages_of(body)))]

    async def find(self, resource: str, turn_ids: Sequence[str]) -> Sequence[Turn]:
        def read(session: Session) -> list[Row]:
            turns = session.several(turn_ids)
            return session.rows("turns_by_id", {"resource": resource, "turns": turns})

        return [Turn(id, messages_of(body)) for id, body in await self._do(read)]

    async def forget(self, resource: str, thread: str | None = None) -> None:
        of = {"resource": resource, "thread": thread}

        def write(session: Session) -> None:
            session.begin()
            session.change("forget_turns", of)
            session.change("forget_turn_records", of)
            session.commit()

        await self._do(write)

    async def get(self, resource: str) -> str | None:
        found = await self._read("working_memory", {"resource": resource})
        return found[0][0] if found else None

    async def put(self, resource: str, text: str) -> None:
        row = {"resource": resource, "body": text}

        def write(session: Session) -> None:
            session.change_alone("put_working_memory", row)

        await self._do(write)

    async def drop(self, resource: str) -> None:
        def write(session: Session) -> None:
            session.change_alone("drop_working_memory", {"resource": resource})

        await self._do(write)

    async def close(self) -> None:
        """Give back the connection; it opens itself again when it is used again."""
        with self._state:
            desk, self._desk = self._desk, None
        if desk is None or desk.process != os.getpid():
            # The thread of the process that has opened it is not here.
            return
        with anyio.CancelScope(shield=True):
            await desk.worker.do(_CLOSE)
        desk.worker.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _read(self, statement: str, params: dict[str, Any]) -> list[Row]:
        found: list[Row] = await self._do(lambda session: session.rows(statement, params))
        return found

    async def _do(self, work: Callable[[Session], Any]) -> Any:
        """Have something done in the thread, to its end: what is written is not cut off in the middle."""
        return await self._opened().finish(work)

    def _opened(self) -> Worker:
        with self._state:
            if self._desk is None:
                worker = Worker(f"{self._backend.name}: memory", self._perform)
                self._desk = _Desk(os.getpid(), worker)
            if self._desk.process != os.getpid():
                raise StoreError(
                    f"the memory in {self._backend.name} was used in another process: make another one after the fork"
                )
            return self._desk.worker

    # In the thread.

    def _perform(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if job.work is _CLOSE:
                self._leave()
                self._backend.let_go()
                continue
            try:
                job.answer = self._done(job.work)
            except StoreError as error:
                job.error = error
            except Exception as error:
                job.error = self._backend.failure("used as a memory", error)
        if self._backend.untidy:
            self._backend.tidy(self._turn)

    def _done(self, work: Callable[[Session], Any]) -> Any:
        known = self._session is not None
        try:
            return self._attempt(work)
        except Exception as error:
            if not known or not self._backend.broken(error):
                raise
        # The connection was lost since it was used last. Everything here may be done twice.
        return self._attempt(work)

    def _attempt(self, work: Callable[[Session], Any]) -> Any:
        if self._session is None:
            self._session = self._backend.connect()
        session = self._session
        try:
            return work(session)
        except Exception as error:
            session.rollback()
            if self._backend.broken(error):
                self._leave()
            raise

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _place(thread: Thread) -> dict[str, Any]:
    return {"resource": thread.resource, "thread": thread.id}
