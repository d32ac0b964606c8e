"""Journals in tables: what a store does in one transaction, in named SQL that every database has in its own words.

What is done together was asked for at the same time, so it may be done in any order: appends go first, in a few statements for
all of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from agentflow.errors import StaleClaim, StoreError
from agentflow.run.entries import SNAPSHOT, Claim, Entry, NewRun, RunInfo, StoredStatus
from agentflow.stores.driver import Driver, Time, micros, moment
from agentflow.stores.numbering import number_after
from agentflow.stores.session import Backend, Row, Session

__all__ = ["Appending", "Claimed", "Claiming", "Finding", "Journals", "Pruning", "Reading"]


@dataclass(frozen=True, slots=True)
class Claiming:
    """A claim that is asked for."""

    run_id: str
    new: NewRun | None
    suspended: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim that was given, and what the run was before."""

    claim: Claim
    before: StoredStatus
    due: datetime | None


@dataclass(frozen=True, slots=True)
class Appending:
    """Entries that are to be written."""

    run_id: str
    epoch: int
    entries: Sequence[Entry]
    status: StoredStatus | None = None
    due: datetime | None = None

    @property
    def gives_back(self) -> bool:
        """Whether the run is not driven any more afterwards."""
        return self.status is not None and self.status != "running"


@dataclass(frozen=True, slots=True)
class Reading:
    """Entries that are to be read."""

    run_id: str
    after: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Runs that are looked for."""

    run_id: str | None
    status: StoredStatus | None
    due: datetime | None
    limit: int


@dataclass(frozen=True, slots=True)
class Pruning:
    """Runs that are to be deleted."""

    run_id: str | None
    older_than: datetime | None
    statuses: Collection[StoredStatus]


_DRIVER: Final = 10
"""The column of a run's driver, behind those of its info."""


class Journals:
    """The journals of one database, as one driver writes and reads them.

    Args:
        backend: The database.
        driver: Who writes.
        time: Stamps what is written.
        server_time: Whether leases are judged by the clock of the database's server.
    """

    def __init__(self, backend: Backend, driver: Driver, time: Time, *, server_time: bool) -> None:
        self._backend = backend
        self._driver = driver
        self._time = time
        self._server_time = server_time

    def write(self, session: Session, works: Sequence[Any]) -> list[Any]:
        """Do what is asked for, and give the answers; one that could not be done has its error as its answer."""
        answers: dict[int, Any] = {}
        appends = [(at, work) for at, work in enumerate(works) if isinstance(work, Appending)]
        if appends:
            done = self._append(session, [work for _, work in appends])
            answers.update(zip((at for at, _ in appends), done, strict=True))
        for at, work in enumerate(works):
            if isinstance(work, Claiming):
                answers[at] = self._claim(session, work)
            elif isinstance(work, Pruning):
                answers[at] = self._prune(session, work)
        return [answers[at] for at in range(len(works))]

    def read(self, session: Session, work: Reading | Finding) -> Any:
        """The entries, or the runs, that are asked for."""
        if isinstance(work, Finding):
            return self._find(session, work)
        if work.after is None:
            rows = session.rows("entries_from_snapshot", {"run_id": work.run_id})
        else:
            rows = session.rows("entries_after", {"run_id": work.run_id, "after": work.after})
        return [Entry(*row) for row in rows]

    # Appending.

    def _append(self, session: Session, works: Sequence[Appending]) -> list[Exception | None]:
        now = micros(self._time.now())
        run_ids = [work.run_id for work in works]
        fences = session.fences(self._driver.key, run_ids)
        entries: list[tuple[int, int, str, str]] = []
        snapshots: list[dict[str, Any]] = []
        returned: list[dict[str, Any]] = []
        answers: list[Exception | None] = []
        for work in works:
            run_key, epoch, last = fences.get(work.run_id, (0, 0, 0))
            if epoch != work.epoch:
                answers.append(StaleClaim(f"run {work.run_id!r} was claimed by somebody else"))
                continue
            try:
                end = number_after(work.run_id, last, work.entries)
            except StoreError as error:
                answers.append(error)
                continue
            answers.append(None)
            for entry in work.entries:
                if entry.kind == SNAPSHOT:
                    snapshots.append(
                        {"run_key": run_key, "number": entry.number, "body": entry.body}
                    )
                else:
                    entries.append((run_key, entry.number, entry.kind, entry.body))
            fences[work.run_id] = (run_key, epoch, end)
            if work.gives_back:
                del fences[work.run_id]
                due = None if work.due is None else micros(work.due)
                returned.append(
                    {"run_key": run_key, "status": work.status, "due": due, "updated": now}
                )
        if entries:
            # All of them as one value: they cost one statement, however many they are.
            text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
            session.change("add_entries", {"entries": text, "written": now})
        if snapshots:
            session.change_many("put_snapshot", snapshots)
        if returned:
            session.change_many("give_back", returned)
        return answers

    def append_one(self, session: Session, work: Any, *, patient: bool = True) -> bool:
        """Write one entry by one statement that is a transaction of its own, if no more is asked for; tells whether it was done.

        If it was not, the reason is found out by `write`.

        Raises:
            Busy: Another process writes just now, and `patient` is off.
        """
        if not isinstance(work, Appending):
            return False
        if len(work.entries) != 1 or work.gives_back or work.entries[0].kind == SNAPSHOT:
            return False
        (entry,) = work.entries
        params = {
            "run_id": work.run_id,
            "epoch": work.epoch,
            "driver": self._driver.key,
            "number": entry.number,
            "kind": entry.kind,
            "body": entry.body,
            "written": micros(self._time.now()),
        }
        return session.change_alone("append_one", params, patient=patient) == 1

    def abandon(self, session: Session, run_id: str, epoch: int) -> None:
        """Let others have a run that could not be given back when it should have been."""
        params = {"run_id": run_id, "epoch": epoch, "driver": self._driver.key}
        session.change("abandon", params)

    def disown(self, session: Session, run_id: str, held: int) -> None:
        """Let others have a run that may have been claimed without anybody's knowing it, unless `held` is its newest epoch."""
        params = {"run_id": run_id, "held": held, "driver": self._driver.key}
        session.change("disown", params)

    # Claiming.

    def _claim(self, session: Session, work: Claiming) -> Claimed | RunInfo | None:
        known = session.rows("run", {"run_id": work.run_id})
        if not known:
            if work.new is None:
                return None
            if self._add(session, work.run_id, work.new):
                info = self._info(session.rows("run", {"run_id": work.run_id})[0])
                return Claimed(Claim(work.run_id, info.epoch, info), "interrupted", None)
            # Somebody else has made it in between.
            known = session.rows("run", {"run_id": work.run_id})
        info = self._seen(session, known[0])
        waits = info.status == "suspended" and work.suspended
        if info.status != "interrupted" and not waits:
            return info
        seen = {"run_id": work.run_id, "epoch": info.epoch, "status": known[0][4]}
        taken = session.change("take_run", {**seen, "driver": self._driver.key})
        (row,) = session.rows("run", {"run_id": work.run_id})
        if not taken:
            return self._seen(session, row)
        now = self._info(row)
        return Claimed(Claim(work.run_id, now.epoch, now), info.status, info.due)

    def _add(self, session: Session, run_id: str, new: NewRun) -> bool:
        added = session.change(
            "add_run",
            {
                "run_id": run_id,
                "workflow_id": new.workflow_id,
                "workflow_version": new.workflow_version,
                "fingerprint": new.fingerprint,
                "created": micros(new.created),
                "driver": self._driver.key,
            },
        )
        return added > 0

    # Finding.

    def _find(self, session: Session, work: Finding) -> list[RunInfo]:
        dead = self.dead(session)
        params: dict[str, Any] = {"limit": work.limit}
        if work.run_id is not None:
            statement, params = "run", {"run_id": work.run_id}
        elif work.due is not None:
            statement, params["due"] = "runs_due", micros(work.due)
        elif work.status is not None:
            interrupted = work.status == "interrupted"
            statement = "runs_interrupted" if interrupted else "runs_of_status"
            params["dead"] = session.several(dead)
            if not interrupted:
                params["status"] = work.status
        else:
            statement = "runs"
        infos = [self._info(row, dead) for row in session.rows(statement, params)]
        found = [
            info
            for info in infos
            if work.status in (None, info.status)
            and (work.due is None or (info.due is not None and info.due <= work.due))
        ]
        return found[: work.limit]

    def _seen(self, session: Session, row: Row) -> RunInfo:
        """A run as it is, `interrupted` when it is driven by nobody alive."""
        driver = row[_DRIVER]
        if driver is None or driver == self._driver.key:
            return self._info(row)
        known = self._drivers(session.rows("driver", {"driver": driver, "now": self._now()}))
        gone = {driver} if not known else self._backend.dead(session, known)
        return self._info(row, gone)

    @staticmethod
    def _info(row: Row, dead: Collection[int] = ()) -> RunInfo:
        (
            run_id,
            workflow_id,
            version,
            fingerprint,
            status,
            created,
            updated,
            last,
            epoch,
            due,
            by,
        ) = row
        return RunInfo(
            run_id=run_id,
            workflow_id=workflow_id,
            workflow_version=version,
            fingerprint=fingerprint,
            status="interrupted" if status == "running" and by in dead else status,
            created=moment(created),
            updated=moment(updated),
            last=last,
            epoch=epoch,
            due=None if due is None else moment(due),
        )

    # Drivers.

    def renew(self, session: Session, lease: float) -> None:
        """Say that this driver is alive, for `lease` seconds from now."""
        driver = self._driver
        session.change(
            "renew_driver",
            {
                "driver": driver.key,
                "machine": driver.machine,
                "pid": driver.pid,
                "began": driver.began,
                "now": self._now(),
                "lease": int(lease * 1_000_000),
            },
        )

    def dead(self, session: Session) -> set[int]:
        """The drivers that are dead, of all that are known."""
        return self._backend.dead(
            session, self._drivers(session.rows("drivers", {"now": self._now()}))
        )

    def retire(self, session: Session) -> None:
        """Give back everything, and be forgotten."""
        session.change("abandon_all", {"driver": self._driver.key})
        session.change("drop_driver", {"driver": self._driver.key})

    def sweep(self, session: Session) -> None:
        """Forget dead drivers that have left nothing to be taken over."""
        for key in self.dead(session):
            session.change("drop_driver", {"driver": key})
        self._backend.sweep(session)

    def _drivers(self, rows: Sequence[Row]) -> list[tuple[Driver, bool]]:
        mine = self._driver.key
        return [(Driver(*row[:4]), bool(row[4])) for row in rows if row[0] != mine]

    def _now(self) -> int | None:
        return None if self._server_time else micros(self._time.now())

    # Pruning.

    def _prune(self, session: Session, work: Pruning) -> int:
        if work.run_id is not None:
            rows = session.rows("prunable_run", {"run_id": work.run_id})
        else:
            older = None if work.older_than is None else micros(work.older_than)
            params = {
                "older_than": older,
                "statuses": session.several(work.statuses),
                "dead": session.several(self.dead(session)),
            }
            rows = session.rows("prunable", params)
        keys = [{"run_key": key} for (key,) in rows]
        if keys:
            # The run goes first: whoever still writes to it waits, and then finds that it is gone.
            for statement in ("delete_run", "delete_entries", "delete_snapshot"):
                session.change_many(statement, keys)
        return len(keys)
