"""`agentflow validate`: everything the validator has to say of what the targets lead to."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

if TYPE_CHECKING:
    from agentflow.cli.examination import Examination
    from agentflow.graph.limits import Budget

__all__ = ["validate"]


class Format(enum.StrEnum):
    """How findings are written."""

    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"


def validate(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET",
            help="module:attribute, file.py, file.py:attribute, a JSON or YAML file, or a folder.",
            show_default=False,
        ),
    ],
    format: Annotated[
        Format, typer.Option("--format", help="text for people, the others for programs.")
    ] = Format.text,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings count as errors.")] = False,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", metavar="CODE", help="Only codes that begin so: AF1, AF106."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="CODE", help="No codes that begin so.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Policies that must hold too, in a JSON or YAML file; repeatable.",
        ),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            metavar="NAME=VALUE",
            help="A limit that runs will be given, such as model_calls=3; repeatable.",
        ),
    ] = None,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Print the proved worst case of each workflow.")
    ] = False,
    no_import: Annotated[
        bool,
        typer.Option(
            "--no-import", help="Import nothing: check JSON and YAML as far as they tell."
        ),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Check again when a file changes, until Ctrl-C.")
    ] = False,
) -> None:
    """Check workflows without running them.

    Exit code 0: no errors. 1: errors (with --strict, warnings too). 2: a target or a policy file cannot be read.
    """
    from agentflow.cli.budget import budget_of
    from agentflow.cli.output import claimed_stdout

    selected, ignored = _codes("--select", select), _codes("--ignore", ignore)
    limits = budget_of(budget or ())
    if bounds and format not in (Format.text, Format.json):
        message = f"the format {format} has no place for them; take text or json"
        raise typer.BadParameter(message, param_hint="--bounds")
    if watch:
        from agentflow.cli.watch import watch_targets

        repeated = [
            *(f"--select={code}" for code in selected),
            *(f"--ignore={code}" for code in ignored),
            *(f"--policy={file}" for file in policy or ()),
            *(f"--budget={limit}" for limit in budget or ()),
        ]
        wanted = {"--strict": strict, "--no-import": no_import, "--bounds": bounds}
        switches = [switch for switch, given in wanted.items() if given]
        watch_targets(
            [*targets, *(policy or ())],
            ["validate", f"--format={format}", *switches, *repeated, "--", *targets],
        )
        return
    with claimed_stdout() as stdout:
        found = _examined(targets, policy or (), limits, no_import=no_import)
        found = found.narrowed(selected, ignored)
        _write(found, format, stdout, strict=strict, bounds=bounds)
    raise typer.Exit(found.exit_code(strict=strict))


def _codes(option: str, given: list[str] | None) -> tuple[str, ...]:
    """The beginnings of codes, as `--select AF1 --select AF2` or `--select AF1,AF2`."""
    from agentflow.graph.codes import CODES

    found = tuple(part.strip() for text in given or () for part in text.split(",") if part.strip())
    for part in found:
        if not any(code.startswith(part) for code in CODES):
            raise typer.BadParameter(
                f"no code begins with {part!r}; `agentflow explain` lists them all",
                param_hint=option,
            )
    return found


def _examined(
    targets: list[str], policies: Sequence[str], budget: Budget | None, *, no_import: bool
) -> Examination:
    from agentflow.cli.demands import Demands
    from agentflow.cli.examination import examined
    from agentflow.cli.importing import Imports
    from agentflow.cli.loading import load
    from agentflow.cli.target import parse_target

    with Imports(forbidden=no_import) as imports:
        demands = Demands(policies, budget, imports)
        found = (thing for target in targets for thing in load(parse_target(target), imports))
        return examined(demands.judged(found))


def _write(
    found: Examination, format: Format, stdout: TextIO, *, strict: bool, bounds: bool
) -> None:
    from agentflow.cli.excerpt import Sources

    folder = _root(format)
    found, sources = found.seen_from(folder), Sources(folder)
    match format:
        case Format.text:
            from agentflow.cli.formats.text import text_lines
            from agentflow.cli.output import columns_of
            from agentflow.cli.styled import write_lines

            columns = columns_of(stdout)
            write_lines(text_lines(found, sources, columns=columns, bounds=bounds), stdout)
        case Format.json:
            from agentflow.cli.formats.json import json_text

            stdout.write(json_text(found, strict=strict, bounds=bounds) + "\n")
        case Format.sarif:
            from agentflow.cli.formats.sarif import sarif_text

            stdout.write(sarif_text(found, sources) + "\n")
        case Format.github:
            from agentflow.cli.formats.github import github_lines

            stdout.writelines(f"{line}\n" for line in github_lines(found, sources))


def _root(format: Format) -> Path:
    """Where paths are written from: code hosts want them from the root of the repository."""
    hosted = format in (Format.sarif, Format.github)
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()) if hosted else Path.cwd()
