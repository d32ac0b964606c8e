"""The mock server of one cell, in a process of its own, so that what it costs is not counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from bench.scenarios import Unavailable

SOCKETS = 4_096
"""How many files this process and the server may have open, if the system lets them: one is a connection."""

COMMAND = (sys.executable, "-m", "agentflow", "mock-server", "--quiet")


@contextmanager
def answering() -> Iterator[Mapping[str, str]]:
    """Have a server that says what it is told while the block lasts; gives its addresses by vendor.

    Raises:
        Unavailable: It does not start.
    """
    allow(SOCKETS)
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            lines = [server.stdout.readline().strip() for _ in range(2)]
            told = dict(line.split("=", 1) for line in lines if "=" in line)
            if len(told) != len(lines):
                raise Unavailable("the mock server does not start; it needs the extra mock")
            yield {
                "openai": told["OPENAI_BASE_URL"],
                "anthropic": told["ANTHROPIC_BASE_URL"],
            }
        finally:
            server.terminate()


def allow(files: int) -> None:
    """Let this process, and those that it starts, have more files open."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < files:
            most = files if hard == resource.RLIM_INFINITY else min(files, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
