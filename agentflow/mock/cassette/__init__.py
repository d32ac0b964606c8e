"""Cassettes: what a real model was asked and answered, kept in a readable file and played again."""

from __future__ import annotations
