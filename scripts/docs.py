"""Write the generated pages of `docs/` from the code and the examples; with `--check`, compare and change nothing.

`docs/findings.md` is made of the table of codes and of the programs in `docs/findings/`: for a code, `CODE_bad.py` has the
finding and `CODE_good.py` is the mended form; `.yaml` and `.json` do as well, and further files of an example are called
`CODE_bad_NAME`. The page shows what `agentflow validate` says of the bad one. A first line `# $ command` names
another command.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import inspect
import os
import pkgutil
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from typer.testing import CliRunner

import agentflow.errors
from agentflow.cli.main import app
from agentflow.errors import AgentflowError
from agentflow.graph.codes import CODES, Code
from agentflow.run.facts import FACT_KINDS

DOCS = Path(__file__).resolve().parent.parent / "docs"
EXAMPLES = DOCS / "findings"
SUFFIXES = (".py", ".yaml", ".json")
MADE = "<!-- Made by `make docs` from {}; do not edit it here. -->"
FAMILIES = {
    "AF0": "Targets that cannot be read",
    "AF1": "Declarations and structure",
    "AF2": "Data flow",
    "AF3": "Conditions",
    "AF4": "Rounds and budgets",
    "AF5": "Policies",
    "AF6": "Types and contracts",
    "AF7": "Waivers",
}
_COMMAND = "# $ "


# --- the examples of the findings --------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """The files of one example, the main one first, and the command that is run on it."""

    files: tuple[Path, ...]

    @property
    def own_command(self) -> str:
        """The command that the main file names, if it names one."""
        first = self.files[0].read_text(encoding="utf-8").partition("\n")[0]
        return first.removeprefix(_COMMAND) if first.startswith(_COMMAND) else ""

    @property
    def command(self) -> str:
        """What is run in the folder of the examples."""
        return self.own_command or f"agentflow validate {self.files[0].name}"

    def texts(self) -> Iterator[tuple[str, str]]:
        """The name of each file, and its text as a page shows it."""
        for file in self.files:
            text = file.read_text(encoding="utf-8")
            yield file.name, text.partition("\n")[2] if text.startswith(_COMMAND) else text


def example_of(code: str, form: str) -> Example | None:
    """Return the `bad` or `good` example of a code, if it has one."""
    main = [EXAMPLES / f"{code}_{form}{suffix}" for suffix in SUFFIXES]
    found = [path for path in main if path.exists()]
    others = sorted(path for path in EXAMPLES.glob(f"{code}_{form}_*") if path.is_file())
    return Example((*found, *others)) if found else None


def missing() -> list[str]:
    """Return what has to be added, a line for each example that a code lacks."""
    what = {
        "bad": "a small complete program that has this finding and no other",
        "good": "the same program mended, without any finding",
    }
    return [
        f"{code} has no {form} example: add docs/findings/{code}_{form}.py (or .yaml, .json), {what[form]}"
        for code in CODES
        for form in what
        if example_of(code, form) is None
    ]


def output_of(example: Example) -> tuple[int, str]:
    """Run the command of an example in its folder; return its exit code and what it prints."""
    program, *arguments = shlex.split(example.command)
    if program == "python":
        done = subprocess.run(
            [sys.executable, *arguments], cwd=EXAMPLES, capture_output=True, text=True, check=False
        )
        # Python makes the path of a program absolute.
        return done.returncode, (done.stdout + done.stderr).replace(f"{EXAMPLES}{os.sep}", "")
    with contextlib.chdir(EXAMPLES):
        # In this process: a hundred examples would take a minute to start.
        ended = CliRunner().invoke(app, arguments, prog_name=program)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return ended.exit_code, ended.stdout


# --- the pages ---------------------------------------------------------------------------------


def findings_page() -> str:
    """Return `docs/findings.md`."""
    lines = [
        "# Findings",
        "",
        MADE.format("`agentflow/graph/codes.py` and the programs in `docs/findings/`"),
        "",
        "What the validator may say. A code keeps its meaning and its severity for good. An **error** is something with",
        "which a run could go wrong, and `define_workflow` refuses it; a **warning** points at what is useless or",
        "suspicious; an **info** is a fact worth knowing. A finding can be accepted at its node, or for the whole",
        'workflow, with a reason: `waive={"AF210": "why"}`; the report lists what was waived. Codes without which there is',
        "nothing that could be run say that they cannot be waived.",
        "",
        "`agentflow validate` prints them, `agentflow explain CODE` tells what a code means, `validate(…)` and",
        "`DefinitionError.findings` have them as values. What the specifications below name is in",
        "[faq.py](findings/faq.py).",
        "",
        "| code | severity | title |",
        "|---|---|---|",
        *(f"| [{c.code}](#{c.code.lower()}) | {c.severity} | {c.title} |" for c in CODES.values()),
    ]
    family = ""
    for code in CODES.values():
        if code.code[:3] != family:
            family = code.code[:3]
            lines += ["", f"## {FAMILIES.get(family, f'{family}xx')}"]
        lines += ["", *_entry(code)]
    return "\n".join(lines) + "\n"


def _entry(code: Code) -> Iterator[str]:
    yield f"### {code.code}"
    yield ""
    firm = "" if code.waivable else " It cannot be waived."
    yield f"**{code.title[0].upper()}{code.title[1:]}** ({code.severity}). {code.reason}{firm}"
    bad, good = example_of(code.code, "bad"), example_of(code.code, "good")
    if bad is not None:
        yield from _shown(bad)
        yield from _run(bad)
    if good is not None:
        yield ""
        yield "Mended:"
        yield from _shown(good)
        if good.own_command:
            yield from _run(good)


def _shown(example: Example) -> Iterator[str]:
    for name, text in example.texts():
        yield ""
        if len(example.files) > 1:
            yield f"`{name}`"
            yield ""
        yield f"```{_language(name, text)}"
        yield text.strip("\n")
        yield "```"


def _language(name: str, text: str) -> str:
    if name.endswith(".py"):
        return "python no-run"
    try:
        yaml.safe_load(text)
    except yaml.YAMLError:
        return "text"
    return name.rpartition(".")[2]


def _run(example: Example) -> Iterator[str]:
    yield ""
    yield "```console"
    yield f"$ {example.command}"
    yield output_of(example)[1].rstrip("\n")
    yield "```"


def facts_page() -> str:
    """Return `docs/facts.md`."""
    lines = [
        "# Facts",
        "",
        MADE.format("`FACT_KINDS` in `agentflow/run/facts.py`"),
        "",
        "What observers and readers are told. Every fact has `kind`, `seq`, `time`, `run_id`, `workflow_id` and",
        "`workflow_version`; `parent_run_id`, `node_id`, `visit`, `round`, `attempt` and `call_id` where they apply; and the",
        "`data` below. `content` is there only for observers that ask for content of that kind.",
        "",
        "| kind | what it tells |",
        "|---|---|",
        *(f"| `{kind}` | {text} |" for kind, text in FACT_KINDS.items()),
    ]
    return "\n".join(lines) + "\n"


def errors_page() -> str:
    """Return `docs/errors.md`."""
    summary, _, tree, *notes = inspect.cleandoc(agentflow.errors.__doc__ or "").split("\n\n")
    lines = [
        "# Errors",
        "",
        MADE.format("`agentflow/errors.py`"),
        "",
        summary,
        "",
        "```text",
        inspect.cleandoc(tree),
        "```",
        "",
        "\n\n".join(notes),
        "",
        "| error | code | what it means |",
        "|---|---|---|",
        *map(_error_row, _errors()),
        "",
        "Some rooms have errors of their own, which stand beside what raises them:",
        "",
        "| error | from | code | what it means |",
        "|---|---|---|---|",
        *map(_room_row, room_errors()),
    ]
    return "\n".join(lines) + "\n"


def room_errors() -> list[type[AgentflowError]]:
    """Return the public errors that are not in `agentflow.errors`, sorted by where they are."""
    found: list[type[AgentflowError]] = []
    for room in pkgutil.walk_packages(agentflow.__path__, "agentflow."):
        if room.name.endswith("__main__"):
            continue
        module = importlib.import_module(room.name)
        named = (getattr(module, name, None) for name in getattr(module, "__all__", ()))
        found += [
            each
            for each in named
            if isinstance(each, type)
            and issubclass(each, AgentflowError)
            and each.__module__ == room.name
        ]
    return sorted(
        (each for each in found if each.__module__ != "agentflow.errors"),
        key=lambda each: (each.__module__, each.__name__),
    )


def _errors() -> Iterator[type[AgentflowError]]:
    waiting: list[type[AgentflowError]] = [AgentflowError]
    while waiting:
        error = waiting.pop(0)
        yield error
        waiting[:0] = [
            each for each in error.__subclasses__() if each.__module__ == error.__module__
        ]


def _room_row(error: type[AgentflowError]) -> str:
    name, code, text = _error_row(error).strip("| ").split(" | ", 2)
    return f"| {name} | `{error.__module__}` | {code} | {text} |"


def _error_row(error: type[AgentflowError]) -> str:
    summary = inspect.cleandoc(error.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    return f"| `{error.__name__}` | `{error.code}` | {summary} |"


PAGES = {"findings.md": findings_page, "facts.md": facts_page, "errors.md": errors_page}


# --- the command -------------------------------------------------------------------------------


def differences(folder: Path = DOCS) -> str:
    """Return how the pages differ from what they should be, as a diff; empty when they do not."""
    lines: list[str] = []
    for name, make in PAGES.items():
        page = folder / name
        present = page.read_text(encoding="utf-8") if page.exists() else ""
        lines += difflib.unified_diff(
            present.splitlines(),
            make().splitlines(),
            f"docs/{name}",
            f"docs/{name} as it should be",
            lineterm="",
        )
    return "\n".join(lines)


def main() -> int:
    """Write the pages, or with `--check` print how they differ; return 1 when something is amiss."""
    parser = argparse.ArgumentParser(description=inspect.cleandoc(__doc__ or ""))
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    lacking = missing()
    print("".join(f"{line}\n" for line in lacking), file=sys.stderr, end="")
    if parser.parse_args().check:
        found = differences()
        if found:
            print(found)
            print("docs/ is not what the code says: run make docs", file=sys.stderr)
        return 1 if found or lacking else 0
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
    return 1 if lacking else 0


if __name__ == "__main__":
    raise SystemExit(main())
