"""Programs run as a user runs them: a fresh interpreter, warnings as errors, no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PATIENCE = 120


def run(command: list[str] | str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``folder`` (a string through the shell); stderr joins stdout."""
    programs = Path(sys.executable).parent
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONWARNINGS": "error",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "TERM": "dumb",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=_PATIENCE,
        check=False,
    )
