"""A PostgreSQL server of our own: made in an empty folder, reached by a socket in it, and gone with it.

Tests that only need a database take the server of the environment variable AGENTFLOW_TEST_POSTGRESQL, if it names one. This
starts one from the machine's own PostgreSQL programs: `initdb` and `pg_ctl` refuse to work for root, so for root they work as the
user `postgres`, whom Debian's packages make.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self
from urllib.parse import quote

__all__ = ["NoPostgresql", "PostgresServer", "programs"]

SYSTEM_USER = "postgres"


class NoPostgresql(Exception):
    """No server can be started here; the message says why."""


def programs() -> Path:
    """The folder of the newest PostgreSQL server programs of this machine.

    Raises:
        NoPostgresql: There are none.
    """
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    found.sort(key=lambda folder: int(folder.parent.name))
    on_path = shutil.which("initdb")
    if not found and on_path:
        found = [Path(on_path).resolve().parent]
    if not found:
        raise NoPostgresql(
            "there are no PostgreSQL server programs here: install them (Debian: apt-get install postgresql), "
            "or name a server by AGENTFLOW_TEST_POSTGRESQL"
        )
    return found[-1]


class PostgresServer:
    """One server, running while the block lasts: `with PostgresServer() as server`.

    Args:
        sync: Whether it waits for the disk. Without that, what it has committed survives its own end, but not the machine's.
    """

    def __init__(self, *, sync: bool = False) -> None:
        self._sync = sync
        self._programs = programs()
        self._user = _server_user()
        self._folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._folder.chmod(0o700)
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        try:
            self._run(
                "initdb",
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start it, unless it is running, and wait until it answers. It listens on no network."""
        if self._is_running:
            return
        sync = "on" if self._sync else "off"
        options = f"-k {self._folder} -c listen_addresses='' -c max_connections=60 -c fsync={sync}"
        log = str(self._folder / "log")
        self._run("pg_ctl", "--wait", "--log", log, "--options", options, "start")

    def stop(self) -> None:
        """Stop it at once, as a crash does: what was committed is there afterwards."""
        if self._is_running:
            self._run("pg_ctl", "--wait", "--mode=immediate", "stop")

    @property
    def _is_running(self) -> bool:
        return (self._folder / "data" / "postmaster.pid").exists()

    def restart(self) -> None:
        """Stop it at once, and start it again."""
        self.stop()
        self.start()

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql://postgres@/postgres?host={quote(str(self._folder), safe='')}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if self._user is not None:
            ids = [f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}"]
            command = ["setpriv", *ids, "--clear-groups", *command]
        environment = {**os.environ, "PGDATA": str(self._folder / "data"), "LC_ALL": "C"}
        # Its output goes to a file: a server that has inherited a pipe would keep a reader of it waiting.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=self._folder,
                check=False,
            )
            if done.returncode:
                output.seek(0)
                said = output.read().decode(errors="replace").strip()
                raise NoPostgresql(f"{program} failed with {done.returncode}: {said}")


def _server_user() -> pwd.struct_passwd | None:
    """The user to work as; `None` for the one who runs this."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        raise NoPostgresql(
            f"root cannot run a server, and there is no user {SYSTEM_USER!r}"
        ) from None
