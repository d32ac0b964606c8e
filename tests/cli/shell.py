"""The shell as tests use it: in this process where that is faithful, as a process of its own where it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from typer.testing import CliRunner

from agentflow.cli.main import app

PATIENCE = 60
"""Seconds after which a process that hangs is given up."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Project:
    """A folder with files of an author, and the shell in it."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def agentflow(self, *arguments: str, stdin: str | bytes | None = None) -> Ended:
        """Run a command in this process, without a terminal."""
        done = CliRunner().invoke(app, arguments, input=stdin, prog_name="agentflow")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Ended(done.exit_code, done.stdout, done.stderr)

    def process(self, *arguments: str, stdin: str = "") -> Ended:
        """Run a command as a process of its own, to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.variables(),
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-W", "error", "-m", "agentflow", *arguments]

    def variables(self) -> dict[str, str]:
        return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **self.environment}


@contextmanager
def interrupts_heeded() -> Iterator[None]:
    """Processes started in the block take Ctrl-C seriously, also when the tests run in the background and ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
