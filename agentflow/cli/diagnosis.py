"""What is wrong with a target that could not be imported, as findings: no traceback for a mistake that a line can tell."""

from __future__ import annotations

from pathlib import Path
from traceback import FrameSummary

from agentflow.cli.found import Found
from agentflow.cli.frames import authors_frames
from agentflow.cli.importing import ImportFailed
from agentflow.errors import DefinitionError
from agentflow.graph.findings import Finding, Report
from agentflow.graph.place import Place

__all__ = ["diagnosis"]

_GUARD = 'put what only a script does under `if __name__ == "__main__":`'


def diagnosis(name: str, failed: ImportFailed) -> Found:
    """Why an import failed; if it was because a definition was refused, everything that is wrong with that."""
    error = failed.error
    if not isinstance(error, DefinitionError):
        frames = authors_frames(error.__traceback__)
        return Found(name, Report("", (_finding(failed, error, frames),)))
    if error.workflow is None:
        return Found(name, Report(error.workflow_id, error.findings))
    return Found(name, error.workflow.report, error.workflow)


def _finding(failed: ImportFailed, error: BaseException, frames: list[FrameSummary]) -> Finding:
    what = failed.what
    place = Place(frames[-1].filename, frames[-1].lineno) if frames else None
    details = tuple(_told(frame) for frame in frames) if len(frames) > 1 else ()

    def found(code: str, message: str, hint: str) -> Finding:
        return Finding(code=code, message=message, hint=hint, place=place, details=details)

    match error:
        case SyntaxError(filename=str(file), lineno=int(line)) if not file.startswith("<"):
            message = f"{Path(file).name} is no valid Python: {error.msg}"
            return Finding(code="AF003", message=message, place=Place(file, line), details=details)
        case ModuleNotFoundError(name=str(missing)) if (
            _leads_to(failed.name, missing) and not frames
        ):
            message = f"there is no module {missing!r}"
            return found("AF001", message, _searched(missing))
        case ModuleNotFoundError(name=str(missing)):
            message = f"{what} needs the module {missing!r}, which cannot be found"
            return found("AF004", message, _missing(missing))
        case ImportError() | AttributeError() if "circular import" in str(error):
            message = f"{what} is imported while it is being imported"
            hint = "move what both modules need into a third one, or import inside a function"
            return found("AF005", f"{message}: {_first_line(error)}", hint)
        case SystemExit():
            message = f"{what} ends the process when it is loaded: sys.exit({error.code!r})"
            return found("AF002", message, _GUARD)
        case EOFError():
            message = f"{what} reads from stdin when it is loaded"
            return found("AF002", message, _GUARD)
        case _:
            message = f"{what} raised {type(error).__name__}: {_first_line(error)}"
            return found("AF002", message.rstrip(": "), "")


def _leads_to(module: str, missing: str) -> bool:
    return module == missing or module.startswith(f"{missing}.")


def _searched(missing: str) -> str:
    if Path(missing).exists() or Path(f"{missing}.py").exists():
        return f"did you mean the file {missing}.py?"
    return "modules are searched from the working folder and where this Python finds its own"


def _missing(missing: str) -> str:
    return f"install what provides {missing.partition('.')[0]!r} where agentflow runs, or start in the folder that holds it"


def _told(frame: FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno}: {(frame.line or '').strip()}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
