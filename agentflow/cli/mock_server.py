"""`agentflow mock-server`: a mock model behind the wire formats of OpenAI and Anthropic, until Ctrl-C."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentflow.mock import MockServer, RulesFile, Served

__all__ = ["mock_server"]


def mock_server(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 for a free one.")
    ] = 0,
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            metavar="FILE",
            help="A JSON or YAML file of rules. Default: a model that says what it is told.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Where to listen. The default is loopback, which no other machine reaches.",
        ),
    ] = "127.0.0.1",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not tell of each request.")
    ] = False,
) -> None:
    """Serve a mock model to clients of OpenAI and Anthropic.

    It listens until Ctrl-C. The base URLs are printed on stdout, as the variables that the vendors' own clients read; each request is told on
    stderr. `agentflow schema mock-rules` prints what a rules file may hold.

    Exit code 0: ended by Ctrl-C or SIGTERM. 1: the port is taken. 2: the rules cannot be read, or the extra is missing.
    """
    import anyio

    from agentflow.cli.interrupt import interrupts
    from agentflow.run.signal import CancelSignal

    server = _opened(_file(rules), host=host, port=port, quiet=quiet)
    stopped = CancelSignal()
    with server, interrupts(stopped, lambda _: None):
        sys.stdout.write(f"OPENAI_BASE_URL={server.openai_url}\nANTHROPIC_BASE_URL={server.url}\n")
        # Whoever started it may wait for these lines.
        sys.stdout.flush()
        anyio.run(stopped.wait)


def _file(rules: Path | None) -> RulesFile:
    from agentflow.cli.refusal import refuse
    from agentflow.errors import SpecError
    from agentflow.mock import read_rules

    if rules is None:
        return read_rules({"rules": [{"generator": "echo"}]})
    try:
        return read_rules(rules)
    except SpecError as error:
        refuse(str(error))


def _opened(file: RulesFile, *, host: str, port: int, quiet: bool) -> MockServer:
    from agentflow.cli.refusal import refuse

    try:
        return file.server(host=host, port=port, told=None if quiet else _tell).open()
    except ImportError as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"cannot listen on {host}, port {port}: {error.strerror or error}", 1)


def _tell(served: Served, outcome: str) -> None:
    # From the server's thread; a terminal that has gone is no reason to answer no more.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{served.method} {served.path} {outcome}\n")
        sys.stderr.flush()
