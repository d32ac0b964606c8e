"""`agentflow schema`: the JSON Schemas of what agentflow reads and writes."""

from __future__ import annotations

import difflib
import json
import sys
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
    from agentflow.run.schemas import SCHEMAS

    if name is None:
        sys.stdout.writelines(f"{each}\n" for each in SCHEMAS)
        return
    make = SCHEMAS.get(name.removesuffix(".schema.json"))
    if make is None:
        close = difflib.get_close_matches(name, SCHEMAS, n=1)
        meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(SCHEMAS)}"
        raise typer.BadParameter(f"there is no schema {name!r}; {meant}", param_hint="NAME")
    sys.stdout.write(json.dumps(make(), indent=2, ensure_ascii=False) + "\n")
