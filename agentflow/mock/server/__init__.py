"""The mock server: a model behind the wire formats of others. Everything here but `MockServer` needs the extra `mock`."""

from __future__ import annotations
