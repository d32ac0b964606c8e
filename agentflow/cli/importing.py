"""Imports of users' modules: each as if Python had been started in its folder, quiet, and without a way to end the process."""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self, TypeVar

__all__ = ["ImportFailed", "Imports"]

T = TypeVar("T")


class ImportFailed(Exception):
    """Code of the author raised: `what` tells which (`module 'x'`), `name` is its name, `error` what it raised."""

    def __init__(self, what: str, name: str, error: BaseException) -> None:
        self.what = what
        self.name = name
        self.error = error
        super().__init__(what, name, error)


class Imports:
    """Imports modules and files while the block lasts, and takes back what that changed of the interpreter.

    Files that belong to no package are imported as top-level modules of their folder. Two folders may each have a `tools.py`:
    when the folder changes, what a program started in the new one could not see is forgotten, so that nobody gets the
    other's.

    Args:
        forbidden: Whether nothing may be imported; then only what needs no import can be loaded.
    """

    def __init__(self, *, forbidden: bool = False) -> None:
        self.forbidden = forbidden
        self._folders: list[Path] = []
        self._entered: set[Path] = set()
        self._path: list[str] = []
        self._before: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        self._path = list(sys.path)
        self._before = frozenset(sys.modules)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folders = []
        self._forget()
        sys.path[:] = self._path

    def module(self, name: str) -> ModuleType:
        """The module of that name, searched from the working folder first.

        Raises:
            ImportFailed: It could not be imported, whatever the reason.
        """
        self._enter_folder(Path.cwd())
        return _module(name, name, lambda: importlib.import_module(name))

    def file(self, path: Path) -> ModuleType:
        """The module that a Python file holds, as part of its package if it belongs to one.

        Raises:
            ImportFailed: It could not be imported, whatever the reason.
        """
        path = path.resolve()
        folder, name = _home(path)
        self._enter_folder(folder)
        if "." in name or path.name == "__init__.py":
            return _module(name, str(path), lambda: importlib.import_module(name))
        loaded = sys.modules.get(name)
        if loaded is not None and _lies_at(loaded, path):
            return loaded
        if loaded is None and _is_found(name, path):
            return _module(name, str(path), lambda: importlib.import_module(name))
        while name in sys.modules:
            # Named like a module that is in use, of the standard library perhaps: that one must stay what it is.
            name += "_"
        return _module(name, str(path), lambda: _executed(name, path))

    def call(self, name: str, function: Callable[[], T]) -> T:
        """What a function of an imported module returns.

        Raises:
            ImportFailed: It raised, whatever the reason.
        """
        return _guarded(f"function {name!r}", name, sys.argv[0], function)

    def beside(self, path: Path, read: Callable[[], T]) -> T:
        """What `read` returns, which imports what a file names; modules are searched from the file's folder first.

        Raises:
            ImportFailed: It raised, whatever the reason.
        """
        self._enter_folder(path.resolve().parent)
        return _guarded(f"the file {str(path)!r}", str(path), str(path), read)

    def _enter_folder(self, folder: Path) -> None:
        # The folder first, as for a script in it; the working folder next, as for `python -m`.
        folders = list(dict.fromkeys([folder, Path.cwd()]))
        if folders == self._folders:
            return
        self._folders = folders
        self._entered.update(folders)
        self._forget()
        sys.path[:] = [*map(str, folders), *self._path]
        importlib.invalidate_caches()

    def _forget(self) -> None:
        """Forget the modules that would now be found elsewhere or nowhere."""
        tops = {name.partition(".")[0] for name in sys.modules} - self._before
        strange = {top for top in tops if self._is_strange(top)}
        for name in list(sys.modules):
            if name.partition(".")[0] in strange:
                del sys.modules[name]

    def _is_strange(self, top: str) -> bool:
        folder = _folder_of(sys.modules.get(top))
        if folder not in self._entered:
            # Installed, or built in: the same for everybody.
            return False
        return folder != next((here for here in self._folders if _holds(here, top)), None)


def _home(path: Path) -> tuple[Path, str]:
    """The folder that has to be on the path, and the name that the module has from there."""
    parts = [] if path.name == "__init__.py" else [_identifier(path.stem)]
    folder = path.parent
    while (folder / "__init__.py").exists() and folder != folder.parent:
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _identifier(stem: str) -> str:
    # A dot would make a package of what stands before it.
    return stem.replace(".", "_")


def _is_found(name: str, path: Path) -> bool:
    """Whether an import of `name` would load the file."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path


def _executed(name: str, path: Path) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _module(name: str, argument: str, load: Callable[[], ModuleType]) -> ModuleType:
    return _guarded(f"module {name!r}", name, argument, load)


def _guarded(what: str, name: str, argument: str, code: Callable[[], T]) -> T:
    try:
        with _program(argument):
            return code()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # SystemExit among them, and whatever test tools raise to skip a module.
        raise ImportFailed(what, name, error) from error


@contextlib.contextmanager
def _program(argument: str) -> Iterator[None]:
    """What a module sees of its surroundings: its own name as the only argument, and nothing to read."""
    arguments, stdin = sys.argv, sys.stdin
    sys.argv, sys.stdin = [argument], io.StringIO()
    try:
        yield
    finally:
        sys.argv, sys.stdin = arguments, stdin


def _lies_at(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).resolve() == path


def _folder_of(module: ModuleType | None) -> Path | None:
    """The folder in which a top-level module or package was found."""
    package = next(iter(getattr(module, "__path__", ())), None)
    file = package or getattr(module, "__file__", None)
    return Path(file).parent if isinstance(file, str) else None


def _holds(folder: Path, top: str) -> bool:
    return (folder / f"{top}.py").exists() or (folder / top).is_dir()
