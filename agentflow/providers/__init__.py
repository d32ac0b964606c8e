"""Providers: translations between `agentflow.messages` and what vendors speak, each on the vendor's own SDK.

Nothing is imported here, because each needs an extra of its own: `openai`, `anthropic`, `pydantic-ai`, `tiktoken`.
"""

from __future__ import annotations
