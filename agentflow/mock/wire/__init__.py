"""The wire formats that the mock server speaks: from a body to what was asked, from chunks to events and bodies."""

from __future__ import annotations
