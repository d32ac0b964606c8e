"""The ids of runs."""

from __future__ import annotations

import os
import time

__all__ = ["new_run_id"]


def new_run_id() -> str:
    """A new id, a UUID of version 7 (RFC 9562): unique, and sorted by time."""
    stamp = time.time_ns() // 1_000_000
    noise = os.urandom(10).hex()
    text = f"{stamp:012x}"
    variant = "89ab"[int(noise[3], 16) & 3]
    return f"{text[:8]}-{text[8:]}-7{noise[:3]}-{variant}{noise[4:7]}-{noise[7:19]}"
