"""Lock files: held as long as their process lives, seen by everybody, cleared away when nobody needs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentflow.stores.driver import Driver, process_began
from agentflow.stores.lock import DriverLock, driver_is_alive, lock_path, sweep_locks


def test_a_lock_is_seen_as_long_as_it_is_held(tmp_path: Path) -> None:
    path = lock_path(tmp_path / "runs.db", 7)
    assert driver_is_alive(path) is False
    lock = DriverLock(path)
    assert driver_is_alive(path) is True
    with pytest.raises(OSError, match="unavailable"):
        DriverLock(path)
    assert driver_is_alive(path) is True
    lock.release()
    assert driver_is_alive(path) is False
    assert list(tmp_path.iterdir()) == []
    lock.release()


def test_a_sweep_takes_what_the_dead_have_left_and_nothing_else(tmp_path: Path) -> None:
    database = tmp_path / "odd[name]*.db"
    dead, known, alive = (lock_path(database, key) for key in (1, 2, 3))
    stranger = tmp_path / f"{database.name}-driver-manual.txt"
    for path in (dead, known, stranger):
        path.touch()
    lock = DriverLock(alive)
    sweep_locks(database, known={2})
    assert set(tmp_path.iterdir()) == {known, alive, stranger}
    lock.release()


def test_a_lock_that_may_not_be_looked_at_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refused)
    assert driver_is_alive(tmp_path / "runs.db-driver-1") is None


def test_a_process_is_told_from_a_later_one_of_the_same_number() -> None:
    mine = process_began(os.getpid())
    assert mine
    assert process_began(os.getpid()) == mine
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with child:
        assert (process_began(child.pid) or 0) >= mine
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        # What is left of a killed process until its parent asks for it is no process.
        assert process_began(child.pid) is None
    assert process_began(child.pid) is None


def test_two_drivers_of_one_process_are_two() -> None:
    first, second = Driver.here("m"), Driver.here("m")
    assert first.key != second.key
    assert (first.pid, first.began) == (second.pid, second.began)
