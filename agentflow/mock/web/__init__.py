"""Web sources for mock models: off unless a rule asks for them, guarded where they fetch, offline where a loader is given."""

from __future__ import annotations
