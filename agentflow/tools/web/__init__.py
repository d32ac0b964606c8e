"""The public web for models: pages as text, and nothing from anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentflow.tools.web.page import WebPage, text_of_page
from agentflow.tools.web.target import TargetRefused
from agentflow.tools.web.tool import fetch_tool

__all__ = ["GuardedFetch", "TargetRefused", "WebPage", "fetch_tool", "text_of_page"]

if TYPE_CHECKING:
    from agentflow.tools.web.fetch import GuardedFetch


def __getattr__(name: str) -> Any:
    # The one thing here that speaks HTTP; whoever only wants to know what is refused does not load a client for it.
    if name == "GuardedFetch":
        from agentflow.tools.web.fetch import GuardedFetch

        return GuardedFetch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
