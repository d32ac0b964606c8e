"""`agentflow graph`: a workflow as a picture, with what the validator found marked in it."""

from __future__ import annotations

import enum
import sys
from typing import Annotated

import typer

__all__ = ["graph"]


class Format(enum.StrEnum):
    """The language of the picture."""

    mermaid = "mermaid"
    dot = "dot"


def graph(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="module:attribute, file.py, file.py:attribute, or a JSON or YAML file.",
            show_default=False,
        ),
    ],
    format: Annotated[
        Format, typer.Option("--format", help="mermaid for pages, dot for Graphviz.")
    ] = Format.mermaid,
) -> None:
    """Draw a workflow; findings are marked in the picture.

    A workflow that is refused can be drawn too. Exit code 2: there is none to draw.
    """
    from agentflow.cli.importing import Imports
    from agentflow.cli.loading import load
    from agentflow.cli.output import claimed_stdout
    from agentflow.cli.single import single_workflow
    from agentflow.cli.target import parse_target
    from agentflow.graph.counted import counted
    from agentflow.graph.draw import to_dot, to_mermaid

    with claimed_stdout() as stdout, Imports() as imports:
        workflow, report = single_workflow(load(parse_target(target), imports), target)
        findings = report.findings
        picture = to_dot if format is Format.dot else to_mermaid
        stdout.write(picture(workflow, findings).rstrip("\n") + "\n")
        if findings:
            number = counted(len(findings), "finding")
            sys.stderr.write(f"{number} marked; `agentflow validate {target}` tells them\n")
