"""The tape: the exchanges of a cassette, as they lie in its file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentflow.mock.cassette.text import kept

__all__ = ["Exchange", "Tape", "read_tape", "write_tape"]

VERSION = 1
"""The version of the form; a file of another is refused."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked, and what came of it, as `agentflow schema cassette` has them."""

    request: Mapping[str, Any]
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tape:
    """What a cassette holds.

    Args:
        provider: What is to be known of the provider besides its answers, by name.
        exchanges: In the order in which they began.
    """

    provider: Mapping[str, Any] = field(default_factory=dict)
    exchanges: tuple[Exchange, ...] = ()


def read_tape(path: str | os.PathLike[str]) -> Tape:
    """The tape in a file.

    Raises:
        SpecError: The file cannot be read, or is no cassette; the message tells the places.
    """
    # What reads files of workflows reads these too; nobody else has to wait until it is loaded.
    from agentflow.graph.spec.document import document_of
    from agentflow.mock.cassette.schema import cassette_schema
    from agentflow.mock.form import check_form

    document = document_of(path, wanted="the list 'exchanges'")
    check_form(document, cassette_schema)
    data = document.data
    return Tape(
        provider=data.get("provider", {}),
        exchanges=tuple(
            # Texts that were written by hand may have all their lines in one.
            Exchange(kept(each["request"], str), each["answer"])
            for each in data["exchanges"]
        ),
    )


def write_tape(path: Path, tape: Tape) -> None:
    """Write a tape in one step, so that the file is whole whatever happens."""
    data = {
        "version": VERSION,
        "provider": dict(tape.provider),
        "exchanges": [
            {"request": exchange.request, "answer": exchange.answer} for exchange in tape.exchanges
        ],
    }
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
