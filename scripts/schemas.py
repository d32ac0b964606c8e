"""Write `schemas/` from the code; with `--check`, compare and change nothing."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from pathlib import Path

from agentflow.run.schemas import SCHEMAS

FOLDER = Path(__file__).resolve().parent.parent / "schemas"


def expected() -> dict[str, str]:
    """Return the text that each file of the folder should have."""
    return {
        f"{name}.schema.json": json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
        for name, make in SCHEMAS.items()
    }


def differences(folder: Path = FOLDER) -> str:
    """Return what `folder` should have and has not, as a diff; empty when they agree."""
    wanted = expected()
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    lines: list[str] = []
    for name in sorted({*wanted, *present}):
        lines += difflib.unified_diff(
            present.get(name, "").splitlines(),
            wanted.get(name, "").splitlines(),
            f"schemas/{name}",
            f"schemas/{name} as the code has it",
            lineterm="",
        )
    return "\n".join(lines)


def main() -> int:
    """Write the folder, or with `--check` print how it differs and return 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    if parser.parse_args().check:
        found = differences()
        if found:
            print(found)
            print("schemas/ is not what the code says: run make schemas", file=sys.stderr)
        return 1 if found else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in expected().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
