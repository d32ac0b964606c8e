"""Servers of others, started on this machine for the tests that want them, and only where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["AIMOCK", "MCP", "MODEL", "RECALL", "node", "running"]

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")

MCP = Path(sys.prefix, "mcp")
"""Servers and suites of the Model Context Protocol, and a Node that is new enough for them; `make mcp` installs them."""

AIMOCK = Path(sys.prefix, "aimock", "node_modules", ".bin", "llmock")
"""A mock of vendors that others have made; `make aimock` installs it."""

MODEL = Path(sys.prefix, "model")
"""A small model with its weights, and a server for it; `make model` installs them."""

RECALL = Path(sys.prefix, "recall")
"""A model of what texts mean, with its weights; `make recall` installs them."""


@contextmanager
def running(command: Sequence[str], **variables: str) -> Iterator[str]:
    """A server, from its first line with an address to the end of the block; gives the address."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **variables},
    ) as server:
        assert server.stdout is not None
        try:
            found = next(filter(None, map(_ADDRESS.search, server.stdout)), None)
            assert found is not None, f"{command[0]} ended without an address"
            yield found[0]
        finally:
            server.kill()


def node() -> str | None:
    """Node, which runs the mock."""
    return shutil.which("node")
