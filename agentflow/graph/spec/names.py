"""Names: `module:attribute`, the only way in which data can speak of a function or a type.

`name_of` gives the name of a thing; `Imports` finds the thing of a name; `StandIns` makes do without, for a specification
that is to be checked and drawn, but not run, in a place where its code is not.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import importlib
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Protocol

import typing_extensions

from agentflow.errors import SpecError
from agentflow.graph.kinds import RESULT
from agentflow.graph.node import Node, make_node
from agentflow.graph.place import Place
from agentflow.graph.reducer import Reducer
from agentflow.graph.route import route
from agentflow.graph.spec.gap import Gap
from agentflow.graph.workflow import Workflow, assemble

__all__ = ["NAME", "Imports", "Names", "NoName", "NotFound", "StandIns", "name_of"]

_WORD = r"[^\W\d]\w*"
NAME = rf"^{_WORD}(\.{_WORD})*:{_WORD}(\.{_WORD})*$"
"""What a name looks like, as a regular expression that JSON Schema understands as well."""


class NotFound(Exception):
    """A name leads to nothing, or to something of the wrong kind."""

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


class NoName(NotFound):
    """A thing has no name under which it can be imported."""


def name_of(thing: Any) -> str:
    """The name under which `thing` can be imported, seen to lead to it.

    Raises:
        NoName: There is none.
    """
    if isinstance(thing, StandIn):
        raise NoName(
            f"{thing.__module__}:{thing.__qualname__} was not imported, so nothing is known of it",
            "read the specification with imports",
        )
    if isinstance(thing, functools.partial):
        raise NoName(
            "a partial has no name that can be imported",
            "write a function at the top of a module that makes the call",
        )
    module, path = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not module or not path:
        raise NoName(
            f"an object of the class {type(thing).__name__} has no name that can be imported",
            "write a function at the top of a module that calls it",
        )
    name = f"{module}:{path}"
    if "<lambda>" in path:
        raise NoName(
            "a lambda has no name that can be imported",
            "make it a function at the top of a module, with def",
        )
    if "<" in path:
        raise NoName(
            f"{path} is defined inside a function, so it cannot be imported",
            "move it to the top of its module",
        )
    try:
        found = _found(name)
    except NotFound as error:
        raise NoName(f"{name} cannot be imported: {error.message}", error.hint) from error
    if not _is(found, thing):
        raise NoName(
            f"the name {name} leads to something else",
            "give it a name of its own at the top of its module",
        )
    return name


def _is(found: Any, thing: Any) -> bool:
    if isinstance(found, Node):
        # `@node` puts the node in the place of the function that it was made from.
        found = found.run
    # A method is made anew each time it is looked up.
    return found is thing or (isinstance(found, types.MethodType) and bool(found == thing))


def _found(name: str) -> Any:
    if not re.match(NAME, name):
        raise NotFound(f"{name!r} is no name that can be imported", "write it as module:attribute")
    module, _, path = name.partition(":")
    try:
        value: Any = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        # Importing runs the author's module, which may raise anything, or end the program.
        hint = "mend the module, or the name"
        if isinstance(error, ModuleNotFoundError):
            hint = "install it, or start where it can be imported"
        raise NotFound(
            f"{module!r} cannot be imported: {type(error).__name__}: {error}", hint
        ) from error
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            if module == "__main__":
                hint = "the name was made by another program about itself: move it to a module"
            else:
                close = difflib.get_close_matches(part, dir(value), n=1)
                hint = (
                    f"did you mean {close[0]!r}?" if close else "define it there, or mend the name"
                )
            raise NotFound(f"{name!r} leads to nothing: there is no {part!r}", hint) from None
    return value


class Names(Protocol):
    """What a name leads to; each method raises `NotFound`."""

    def function(self, name: str, /) -> Any:
        """A function; of a node the one it was made from."""

    def hint(self, name: str, /) -> Any:
        """A type."""

    def state(self, name: str, /) -> Any:
        """A state schema, `None` when it is not imported."""

    def error(self, name: str, /) -> Any:
        """An exception type."""

    def reducer(self, name: str, /) -> Reducer:
        """A reducer."""

    def member(self, name: str, /) -> Any:
        """A member of an enum."""

    def workflow(
        self, name: str, inputs: Mapping[str, str], outputs: Mapping[str, str], /
    ) -> Workflow[Any]:
        """A workflow that takes `inputs` and gives `outputs`."""


class Imports:
    """Names lead to what is imported under them."""

    def function(self, name: str, /) -> Any:
        found = _found(name)
        return found.run if isinstance(found, Node) and found.run is not None else found

    def hint(self, name: str, /) -> Any:
        found = _found(name)
        if not _is_hint(found):
            _refuse(name, found, "a type", "name a class")
        return found

    def state(self, name: str, /) -> Any:
        return _found(name)

    def error(self, name: str, /) -> Any:
        return _found(name)

    def reducer(self, name: str, /) -> Reducer:
        found = _found(name)
        if not isinstance(found, Reducer):
            _refuse(name, found, "a reducer", "make one with agentflow.Reducer(delta, apply)")
        return found

    def member(self, name: str, /) -> Any:
        found = _found(name)
        if not isinstance(found, enum.Enum):
            _refuse(name, found, "a member of an enum", "name it as module:Class.MEMBER")
        return found

    def workflow(
        self, name: str, _inputs: Mapping[str, str], _outputs: Mapping[str, str], /
    ) -> Workflow[Any]:
        found = _found(name)
        if not isinstance(found, Workflow):
            _refuse(name, found, "a workflow", "make one with define_workflow")
        return found


def _is_hint(value: Any) -> bool:
    kinds = (type, typing.NewType, typing_extensions.TypeAliasType)
    return isinstance(value, kinds) or bool(typing.get_origin(value)) or value is Any


def _refuse(name: str, found: Any, wanted: str, hint: str) -> NoReturn:
    raise NotFound(f"{name!r} is {found!r}, not {wanted}", hint)


class StandIn:
    """Stands for a function that was not imported: it has its name, and refuses to be called."""

    def __init__(self, name: str, /) -> None:
        self._name = name
        self.__module__, _, self.__qualname__ = name.partition(":")
        self.__name__ = self.__qualname__.rpartition(".")[2]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __call__(self, _state: Any, ctx: Any = None) -> NoReturn:  # noqa: ARG002 - as bodies have it
        raise SpecError(
            f"{self.__module__}:{self.__qualname__} was not imported",
            hint="a workflow that was read without imports can be checked and drawn, not run",
        )

    def __repr__(self) -> str:
        # As a condition or a drawing would show the thing itself.
        return self.__qualname__


class StandIns:
    """Names lead to something that is as good for checking, and of which nothing is claimed that is not known."""

    def function(self, name: str, /) -> Any:
        return StandIn(name)

    def hint(self, _name: str, /) -> Any:
        return Any

    def state(self, _name: str, /) -> Any:
        return None

    def error(self, name: str, /) -> Any:
        module, _, path = name.partition(":")
        return type(
            path.rpartition(".")[2], (Exception,), {"__module__": module, "__qualname__": path}
        )

    def reducer(self, name: str, /) -> Reducer:
        return Reducer(Any, StandIn(name), name)

    def member(self, name: str, /) -> Any:
        return StandIn(name)

    def workflow(
        self, name: str, inputs: Mapping[str, str], outputs: Mapping[str, str], /
    ) -> Workflow[Any]:
        """A workflow of one node that takes what it is given and provides what is asked of it."""
        asked: Iterable[str] = dict.fromkeys(
            source for source in outputs.values() if source != RESULT
        )
        function = StandIn(name)
        only = make_node(
            function,
            place=Place(),
            id=function.__name__,
            description="not imported",
            provides=asked,
            routes=(route.finish(function),),
        )
        made = assemble(function.__name__, (only,), place=None, optional_inputs=tuple(inputs))
        return dataclasses.replace(made, doubts=Gap.of(name).doubts)
