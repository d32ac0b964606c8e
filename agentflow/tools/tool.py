"""Tools: typed functions with a contract, and the decorator that makes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args, overload

from agentflow.graph.argument import FLAG, LIMIT, TEXT, check_arguments, or_none
from agentflow.graph.calling import is_async, routine_of, takes
from agentflow.graph.contract import ANY, Contract, reason_of
from agentflow.graph.excerpt import excerpt
from agentflow.graph.place import Place
from agentflow.messages.tool_spec import ToolSpec
from agentflow.tools.docstring import docstring_of
from agentflow.tools.signature import input_contract
from agentflow.tools.tool_input import ToolInput

__all__ = ["Cached", "NeedsApproval", "OwnAuthorize", "Tool", "tool"]

OwnAuthorize = bool | Callable[..., bool | Awaitable[bool]]
"""A tool's own authorisation: a verdict, or a function `(input, ctx)` or `(input)` that gives one; plain or async."""

Cached = Literal["run"]
"""How long what a tool gave is used again for the same arguments: as long as the run goes on in memory."""

NeedsApproval = bool | Callable[..., bool | Awaitable[bool]]
"""Whether calls need an approval: a verdict, or a function of the arguments that gives one; plain or async."""

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """One thing that can be done, still callable as the function it was made from; made with `@tool`.

    Args:
        id: Its name, for models and for `ctx.tools.invoke`.
        description: What a model is told that it does.
        handler: The function.
        input: What its arguments must be.
        output: What its value must be.
        authorize: Its own authorisation; `None` leaves it to the engine's policy.
        parallel: Whether other calls of the same answer may run at the same time.
        kind: What the author says of it, such as `read`. A declaration: it permits and forbids nothing.
        timeout: Seconds that one try may take.
        retries: How many further tries follow a failed one.
        retry_on: The exception types that are worth another try.
        needs_approval: Whether a person must agree to each call; or a function of the arguments that says so.
        approval_timeout: Seconds after which a call that nobody has agreed to is refused.
        cache: How long a value is used again for the same arguments.
        spec: What a model is told of it.
        is_async: Whether the function is awaited in the loop; another one runs in a worker thread.
    """

    id: str
    description: str
    handler: Callable[..., Any]
    input: ToolInput
    output: Contract = ANY
    authorize: OwnAuthorize | None = None
    parallel: bool = True
    kind: str | None = None
    timeout: float | None = None
    retries: int = 0
    retry_on: tuple[type[Exception], ...] = (Exception,)
    needs_approval: NeedsApproval = False
    approval_timeout: float | None = None
    cache: Cached | None = None
    place: Place = field(default_factory=Place)
    spec: ToolSpec = field(init=False)
    authorize_takes_context: bool = field(init=False)
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        spec = ToolSpec(self.id, self.description, self.input.schema)
        object.__setattr__(self, "spec", spec)
        own = self.authorize
        asked = own is not None and not isinstance(own, bool) and takes(own, 2)
        object.__setattr__(self, "authorize_takes_context", asked)
        object.__setattr__(self, "is_async", is_async(self.handler))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, without an engine and without any check."""
        return self.handler(*args, **kwargs)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        return self.input.schema

    def __repr__(self) -> str:
        return f"<Tool {self.id!r}>"


@overload
def tool(
    fn: Callable[..., Any],
    *,
    id: str | None = None,
    description: str | None = None,
    authorize: OwnAuthorize | None = None,
    parallel: bool = True,
    kind: str | None = None,
    timeout: float | None = None,
    retries: int = 0,
    needs_approval: NeedsApproval = False,
    approval_timeout: float | None = None,
    cache: Cached | None = None,
    output: Any = None,
) -> Tool: ...
@overload
def tool(
    fn: None = None,
    *,
    id: str | None = None,
    description: str | None = None,
    authorize: OwnAuthorize | None = None,
    parallel: bool = True,
    kind: str | None = None,
    timeout: float | None = None,
    retries: int = 0,
    needs_approval: NeedsApproval = False,
    approval_timeout: float | None = None,
    cache: Cached | None = None,
    output: Any = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None, **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool from a typed function, async or plain: `@tool`, `@tool(kind="read")`, or `tool(fn, id="x")`.

    A plain function runs in a worker thread. A parameter annotated `ToolContext`, or named `ctx`, gets the tool context, and
    is not shown to models.

    Args:
        fn: The function; every other parameter has a type.
        id: Letters, digits and `_ - .`, starting with a letter or `_`; default: the function's name.
        description: What a model is told; default: the docstring up to its first section. Its section of parameters, in the
            style of Google, NumPy or Sphinx, describes the parameters.
        authorize: `True`, `False`, or a function `(input, ctx)` or `(input)` that tells whether this call may be made.
        parallel: Whether other calls of the same answer may run at the same time.
        kind: What kind of tool it is, such as `read`; told to policies, checked by nobody.
        timeout: Seconds that one try may take.
        retries: How many further tries follow a failed one.
        needs_approval: `True`, or a function of the arguments (plain or async): the run is suspended until a person has agreed.
            If the function raises, or gives anything but `False`, approval is needed.
        approval_timeout: Seconds after which a call that nobody has agreed to is refused.
        cache: `"run"`: what the tool gave is used again in the same run for the same arguments, and counts as no call.
        output: The type of its value; default: what the function says it returns, or anything.

    Raises:
        TypeError: The function's signature is no contract, or an option has the wrong type.
        ValueError: An option has a value that makes no sense.
    """
    if fn is None:
        return lambda function: _make(function, **options)
    return _make(fn, **options)


def _make(
    function: Any,
    *,
    id: str | None = None,
    description: str | None = None,
    authorize: OwnAuthorize | None = None,
    parallel: bool = True,
    kind: str | None = None,
    timeout: float | None = None,
    retries: int = 0,
    needs_approval: NeedsApproval = False,
    approval_timeout: float | None = None,
    cache: Cached | None = None,
    output: Any = None,
) -> Tool:
    if isinstance(function, Tool):
        function = function.handler
    _check_function(function)
    name = getattr(function, "__name__", "") if id is None else id
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ValueError(
            f"{name!r} is no tool id; it has letters, digits and _ - . and starts with a letter or _: tool(…, id='…')"
        )
    told = {"description": description, "kind": kind, "parallel": parallel}
    check_arguments(f"tool {name!r}", _TOLD, told)
    _check_options(name, authorize, timeout, retries)
    _check_approval(name, needs_approval, approval_timeout)
    if cache is not None and cache not in get_args(Cached):
        raise ValueError(f"tool {name!r}: cache={cache!r}; it is 'run' or nothing")
    documented = docstring_of(function)
    contract = input_contract(function, tool=name, described=documented.parameters)
    return Tool(
        id=name,
        description=documented.description if description is None else description,
        handler=function,
        input=contract,
        output=_output(name, contract.returns if output is None else output),
        authorize=authorize,
        parallel=parallel,
        kind=kind,
        timeout=timeout,
        retries=retries,
        needs_approval=needs_approval,
        approval_timeout=approval_timeout,
        cache=cache,
        place=_place_of(function),
    )


def _check_function(function: Any) -> None:
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"{function!r} cannot be made a tool: give a typed function")
    inner = routine_of(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError(f"{inner.__name__} is a generator; a tool returns its value once")


def _check_options(
    name: str, authorize: OwnAuthorize | None, timeout: float | None, retries: int
) -> None:
    if authorize is not None and not isinstance(authorize, bool):
        if not callable(authorize):
            raise TypeError(f"tool {name!r}: authorize={authorize!r} is no bool and no function")
        if not (takes(authorize, 2) or takes(authorize, 1)):
            raise TypeError(f"tool {name!r}: authorize is called with (input, ctx) or (input)")
    _check_limit(name, "timeout", timeout)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"tool {name!r}: retries={retries!r}; it is a whole number of at least 0")


def _check_approval(name: str, needs: NeedsApproval, timeout: float | None) -> None:
    if not isinstance(needs, bool) and not (callable(needs) and takes(needs, 1)):
        raise TypeError(
            f"tool {name!r}: needs_approval={needs!r}; it is a bool, or a function of the arguments"
        )
    _check_limit(name, "approval_timeout", timeout)


def _check_limit(name: str, option: str, limit: float | None) -> None:
    if limit is not None and not LIMIT.accepts(limit):
        raise ValueError(f"tool {name!r}: {option}={excerpt(limit)}; it is seconds above 0")


_TOLD: Final = {
    "description": or_none(TEXT),
    "kind": or_none(TEXT),
    "parallel": FLAG,
}


def _output(name: str, annotation: Any) -> Contract:
    if annotation is inspect.Signature.empty or annotation is Any:
        return ANY
    try:
        return Contract(annotation)
    except Exception as error:
        # pydantic raises many kinds for a hint that it cannot turn into a validator.
        raise TypeError(
            f"tool {name!r}: no contract can be made of its output type {annotation!r}: {reason_of(error)}"
        ) from error


def _place_of(function: Any) -> Place:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return Place() if code is None else Place(code.co_filename, code.co_firstlineno)
