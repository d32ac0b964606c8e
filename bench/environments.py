"""The peers' own virtual environments under `.bench/`, so that no peer meets our dependencies or another's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".bench"
REQUIREMENTS = Path(__file__).resolve().parent / "requirements"
INSTALL_SECONDS = 600


class NotInstalled(Exception):
    """A peer's environment could not be made; the message is the reason, in one line."""


def python_of(peer: str) -> Path:
    """The interpreter that measures `peer`: its own environment's, made first if it is missing or out of date.

    The floor and agentflow, which have no requirements file, run in the interpreter that runs this.

    Raises:
        NotInstalled: The environment or an installation failed.
    """
    requirements = REQUIREMENTS / f"{peer}.txt"
    if not requirements.exists():
        return Path(sys.executable)
    folder = HOME / peer
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "installed.txt"
    wanted = requirements.read_text()
    if not python.exists() or not stamp.exists() or stamp.read_text() != wanted:
        create(python, folder, requirements)
        stamp.write_text(wanted)
    return python


def create(python: Path, folder: Path, requirements: Path) -> None:
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n")
    perform([sys.executable, "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    perform([*pip, "--requirement", str(requirements)])


def perform(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{type(error).__name__} while installing") from error
    if done.returncode:
        raise NotInstalled(last_line(done.stderr) or f"{command[1:3]} ended with {done.returncode}")


def last_line(text: str) -> str:
    """The last line that says something, short enough for a table's footnote."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""
