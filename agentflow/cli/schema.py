"""`agentflow schema`: the JSON Schemas of what agentflow reads and writes."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["schema"]


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="A schema, such as workflow; without one, all are listed."
        ),
    ] = None,
) -> None:
    """Print a JSON Schema."""
