"""The reader: from a document that satisfies the schema to workflows as they were declared, places included.

Nothing is raised for what a name does not lead to: a finding is noted, something stands in for it, and the checks go on, so
that the author is told everything at once.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentflow.errors import SpecError
from agentflow.graph.branching import map_each, parallel, race, subflow
from agentflow.graph.findings import Finding
from agentflow.graph.limits import Retry, Uses
from agentflow.graph.migration import Migration
from agentflow.graph.node import Node, make_node
from agentflow.graph.place import Place
from agentflow.graph.route import Route
from agentflow.graph.schema import Schema
from agentflow.graph.spec.conditions import condition_of
from agentflow.graph.spec.document import Document, document_of
from agentflow.graph.spec.form import flaws
from agentflow.graph.spec.gap import Gap
from agentflow.graph.spec.hints import defaults_of, hint_of, state_of
from agentflow.graph.spec.kind_schema import KINDS
from agentflow.graph.spec.names import Names, NotFound, StandIns
from agentflow.graph.spec.pointer import below
from agentflow.graph.spec.policies import policy_of
from agentflow.graph.workflow import Workflow, assemble

__all__ = ["Reader"]

Data = Mapping[str, Any]
_STAND_INS = StandIns()
_PLAIN = ("inputs", "optional_inputs", "entry", "max_rounds", "on_error", "on_limit", "version", "description", "waive")  # fmt: skip
_PLAIN_OF_NODE = (
    *("id", "description", "requires", "provides", "may_provide"),
    *("starts_round", "on_error", "timeout", "metadata", "waive"),
)


@dataclasses.dataclass(slots=True)
class Reader:
    """Makes workflows from documents.

    Args:
        names: What names lead to.
        findings: What is wrong with the documents themselves.
        workflows: Every workflow that was made of them, outer ones first.
    """

    names: Names
    findings: list[Finding] = dataclasses.field(default_factory=list)
    workflows: list[Workflow[Any]] = dataclasses.field(default_factory=list)
    _files: dict[Path, Workflow[Any] | None] = dataclasses.field(default_factory=dict)

    def read(self, document: Document) -> Workflow[Any] | None:
        """The workflow of a document, `None` when it does not satisfy the schema."""
        found = flaws(document.data)
        id = document.data.get("id")
        for flaw in found:
            self.findings.append(
                Finding(
                    code="AF130",
                    message=flaw.message,
                    hint=flaw.hint,
                    workflow=id if isinstance(id, str) else "",
                    place=Place(document.file, pointer=flaw.pointer),
                )
            )
        return (
            None
            if found
            else _Part(self, document.file, document.data["id"]).workflow(document.data, "")
        )

    def file(self, path: Path) -> Workflow[Any] | None:
        """The workflow of a file, read once however often it is referred to.

        Raises:
            NotFound: It cannot be read, or it holds itself.
        """
        key = path.resolve()
        if key in self._files:
            if self._files[key] is _UNDER_WAY:
                raise NotFound(f"{str(path)!r} holds itself", "take one of the references out")
            return self._files[key]
        try:
            document = document_of(path)
        except SpecError as error:
            raise NotFound(str(error), "") from error
        self._files[key] = _UNDER_WAY
        self._files[key] = self.read(document)
        return self._files[key]

    def begin(self, file: str | None) -> None:
        """Note the file that the outermost document came from, which must not be referred to from below."""
        if file is not None:
            self._files[Path(file).resolve()] = _UNDER_WAY


_UNDER_WAY: Workflow[Any] = Workflow(id="", nodes=())


@dataclasses.dataclass(slots=True)
class _Part:
    """One workflow of a document."""

    reader: Reader
    file: str | None
    id: str
    node_id: str | None = None
    stood_in: bool = False
    unmapped: list[str] = dataclasses.field(default_factory=list)

    def workflow(self, data: Data, pointer: str) -> Workflow[Any]:
        # Its own place in the list comes before those of the workflows that are found in it.
        at = len(self.reader.workflows)
        state, gap = self._state(data, below(pointer, "state"))
        result = data.get("result")
        plain = {name: data[name] for name in _PLAIN if name in data}
        made = assemble(
            data["id"],
            [self._node(node, below(pointer, "nodes", i)) for i, node in enumerate(data["nodes"])],
            place=Place(self.file, pointer=pointer),
            state=state,
            result=None
            if result is None
            else hint_of(result, below(pointer, "result"), self._hint),
            policies=[
                policy_of(policy, self.file, below(pointer, "policies", i), self._member)
                for i, policy in enumerate(data.get("policies", ()))
            ],
            migrations={
                version: self._migration(one, below(pointer, "migrations", version))
                for version, one in data.get("migrations", {}).items()
            },
            **plain,
        )
        made = dataclasses.replace(made, doubts=gap.beside(self.unmapped).doubts)
        if gap.defaults:
            made = dataclasses.replace(made, schema=Schema(fields=gap.defaults))
        if gap.presence:
            # Any field may be there from the start, and may not be.
            made = dataclasses.replace(made, open_inputs=True)
        self.reader.workflows.insert(at, made)
        return made

    def _migration(self, data: Data, pointer: str) -> Migration:
        change = self._function(data["change"], below(pointer, "change"))
        return Migration(change, data.get("nodes", {}))

    def _state(self, data: Data, pointer: str) -> tuple[Any, Gap]:
        """The state schema, and what is not known of it."""
        state = data.get("state")
        if state is None:
            return None, Gap()
        if isinstance(state, dict) and "fields" in state:
            made = state_of(state, pointer, self._hint, self._reducer)
            known = not self.stood_in
            return made, Gap() if known else Gap.of("a type in its state")
        name: str = state if isinstance(state, str) else state["import"]
        stated: list[str] | None = None if isinstance(state, str) else state.get("defaults")
        found = self._find(lambda names: names.state(name), pointer)
        if found is not None:
            self._compare(name, stated, defaults_of(found), below(pointer, "defaults"))
            return found, Gap()
        if stated is None or "inputs" not in data:
            return None, Gap.of(name, presence=True)
        return None, Gap.of(name, defaults=stated)

    def _compare(
        self, name: str, stated: list[str] | None, actual: list[str], pointer: str
    ) -> None:
        if stated is not None and set(stated) != set(actual):
            message = f"{name} has defaults for {_listed(actual)}, not for {_listed(stated)}"
            self._note("AF133", NotFound(message, f"state {json.dumps(actual)}"), pointer)

    def _node(self, data: Data, pointer: str) -> Node:
        place = Place(self.file, pointer=pointer)
        self.node_id = data["id"]
        options: dict[str, Any] = {name: data[name] for name in _PLAIN_OF_NODE if name in data}
        make: Callable[..., Node]
        kind = next((name for name in KINDS if name in data), None)
        if kind is not None:
            make = self._kind(kind, data[kind], below(pointer, kind))
        else:
            make = functools.partial(make_node, self._function(data["run"], below(pointer, "run")))
        options["routes"] = [
            self._route(route, below(pointer, "routes", at))
            for at, route in enumerate(data.get("routes", ()))
        ]
        if "retry" in data:
            options["retry"] = self._retry(data["retry"], below(pointer, "retry"))
        if "uses" in data:
            options["uses"] = Uses(**data["uses"])
        made = make(place=place, **options)
        self.node_id = None
        return made

    def _kind(self, kind: str, data: Data, pointer: str) -> Callable[..., Node]:
        """What makes a node that holds workflows."""
        options = {
            name: data[name] for name in data if name not in ("workflow", "branches", "outputs")
        }
        make: Callable[..., Node]
        if "branches" in data:
            make = parallel if kind == "parallel" else race
            options["branches"] = self._branches(data["branches"], below(pointer, "branches"))
        elif kind == "map_each":
            make = map_each
            options["workflow"] = self._inner(data, {}, pointer)
            if not isinstance(data["over"], str):
                where = below(pointer, "over", "function")
                options["over"] = self._function(data["over"]["function"], where)
        else:
            make = subflow
            options |= self._mapped(data, pointer)
        return functools.partial(_holding, make, options)

    def _mapped(self, data: Data, pointer: str) -> dict[str, Any]:
        outputs = data.get("outputs", {})
        return {
            "workflow": self._inner(data, outputs, pointer),
            "inputs": data.get("inputs", {}),
            "outputs": outputs,
        }

    def _branches(self, data: Sequence[Data], pointer: str) -> dict[str, Workflow[Any] | Node]:
        found: dict[str, Workflow[Any] | Node] = {}
        for at, branch in enumerate(data):
            name, where = branch["name"], below(pointer, at)
            if name in found:
                twice = NotFound(f"two branches have the name {name!r}", "give one of them another")
                self._note("AF103", twice, below(where, "name"))
            found[name] = self._branch(branch, where)
        return found

    def _branch(self, data: Data, pointer: str) -> Workflow[Any] | Node:
        if "inputs" in data or "outputs" in data:
            return subflow(data["name"], **self._mapped(data, pointer))
        inner = self._inner(data, {}, pointer)
        if inner.doubts and isinstance(data["workflow"], str):
            self.unmapped.append(data["workflow"])
        return inner

    def _inner(self, data: Data, outputs: Mapping[str, str], pointer: str) -> Workflow[Any]:
        """The workflow that a node holds, or what stands in for it."""
        inputs = {**data.get("inputs", {}), **({data["item"]: ""} if "item" in data else {})}
        inner, where = data["workflow"], below(pointer, "workflow")
        found: Workflow[Any] | None
        if isinstance(inner, str):
            found = self._find(lambda names: names.workflow(inner, inputs, outputs), where)
        elif "ref" in inner:
            found = self._file(inner["ref"], below(where, "ref"))
        else:
            found = _Part(self.reader, self.file, inner["id"]).workflow(inner, where)
        return found or _STAND_INS.workflow(f"file:{_word(inner)}", inputs, outputs)

    def _file(self, ref: str, pointer: str) -> Workflow[Any] | None:
        folder = Path() if self.file is None else Path(self.file).parent
        try:
            return self.reader.file(folder / ref)
        except NotFound as error:
            self._note("AF132", error, pointer)
            return None

    def _route(self, data: Data, pointer: str) -> Route:
        when, finish = data.get("when"), data.get("finish")
        if isinstance(when, str):
            when = self._function(when, below(pointer, "when"))
        elif when is not None:
            when = condition_of(when, below(pointer, "when"), self._member)
        return Route(
            kind="to" if "to" in data else "deliver" if "deliver" in data else "finish",
            target=data.get("to"),
            field=data.get("deliver"),
            function=None if finish is None else self._function(finish, below(pointer, "finish")),
            when=when,
            reads=tuple(data["reads"]) if "reads" in data else None,
            label=data.get("label"),
            place=Place(self.file, pointer=pointer),
        )

    def _retry(self, data: Data, pointer: str) -> Retry:
        options = dict(data)
        if isinstance(options.get("backoff"), str):
            options["backoff"] = self._function(options["backoff"], below(pointer, "backoff"))
        if "on" in options:
            options["on"] = tuple(
                self._error(name, below(pointer, "on", at)) for at, name in enumerate(options["on"])
            )
        return Retry(**options)

    def _function(self, name: str, pointer: str) -> Any:
        return self._find(lambda names: names.function(name), pointer)

    def _hint(self, name: str, pointer: str) -> Any:
        found = self._find(lambda names: names.hint(name), pointer)
        self.stood_in = self.stood_in or found is Any
        return found

    def _reducer(self, name: str, pointer: str) -> Any:
        return self._find(lambda names: names.reducer(name), pointer)

    def _member(self, name: str, pointer: str) -> Any:
        return self._find(lambda names: names.member(name), pointer)

    def _error(self, name: str, pointer: str) -> Any:
        return self._find(lambda names: names.error(name), pointer)

    def _find(self, ask: Callable[[Names], Any], pointer: str) -> Any:
        try:
            return ask(self.reader.names)
        except NotFound as error:
            self._note("AF131", error, pointer)
            return ask(_STAND_INS)

    def _note(self, code: str, error: NotFound, pointer: str) -> None:
        self.reader.findings.append(
            Finding(
                code=code,
                message=error.message,
                hint=error.hint,
                workflow=self.id,
                node=self.node_id,
                place=Place(self.file, pointer=pointer),
            )
        )


def _holding(
    make: Callable[..., Node], held: Mapping[str, Any], *, place: Place, **options: Any
) -> Node:
    return dataclasses.replace(make(**held, **options), place=place)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"


def _word(data: Any) -> str:
    """An id for what stands in for a file: its name without what an id cannot have."""
    stem = Path(data["ref"]).stem if isinstance(data, dict) else "workflow"
    kept = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in stem)
    return kept if kept[:1].isalpha() else f"_{kept}"
