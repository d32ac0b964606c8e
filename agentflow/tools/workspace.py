"""Workspaces: toolkits with which an agent works its way through files, in many small steps."""

from __future__ import annotations

from agentflow.tools.toolkit import Toolkit

__all__ = ["Workspace"]


class Workspace(Toolkit):
    """A toolkit that works on a workspace, such as a folder of files: an agent that has one takes 100 steps by default."""

    __slots__ = ()
