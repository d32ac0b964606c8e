"""Schemas by their digest: how a provider is asked for objects can depend on the schema, and is kept in a cassette by it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["digest_of"]


def digest_of(schema: Mapping[str, Any]) -> str:
    """What a schema is called; the same for every order of its keys."""
    said = json.dumps(schema, sort_keys=True, default=repr).encode()
    return hashlib.sha256(said).hexdigest()[:16]
