"""The guarded fetch: a page of the public web as text, and nothing from anywhere else."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Collection
from urllib.parse import urljoin

import anyio
import anyio.to_thread

from agentflow.mock.web.target import Resolve, Target, TargetRefused, resolved, target_of

__all__ = ["Connect", "GuardedFetch"]

Connect = Callable[[str, int, float], socket.socket]
"""Connects to an IP address and port, within seconds."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml")
_BLOCK = 16_384


def _connected(address: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((address, port), seconds)


class GuardedFetch:
    """A loader that fetches from the public web: `await GuardedFetch()("https://example.org/")`.

    Each target, that of a redirect too, is judged by all the IP addresses that its name leads to, and connected to by the address
    that was judged, so that a name which leads elsewhere a moment later changes nothing. Loopback, private, link-local and
    other addresses that are not public are refused, also inside of IPv6 ones. Proxies, cookies and credentials are not used.

    Args:
        hosts: Names of hosts that may be asked, with those below them; default: all that are public.
        seconds: How long all of it may take.
        most: How many bytes are read; what follows is left out.
        redirects: How many are followed.
        resolve: Gives the addresses of a host; default: the system's.
        connect: Opens the connection; default: a socket.
    """

    def __init__(
        self,
        *,
        hosts: Collection[str] | None = None,
        seconds: float = 10.0,
        most: int = 500_000,
        redirects: int = 3,
        resolve: Resolve = resolved,
        connect: Connect = _connected,
    ) -> None:
        self._hosts = None if hosts is None else frozenset(map(str.lower, hosts))
        self._seconds = seconds
        self._most = most
        self._redirects = redirects
        self._resolve = resolve
        self._connect = connect

    async def __call__(self, url: str) -> str:
        """The text of a page, with its markup.

        Raises:
            TargetRefused: The target, or that of a redirect, may not be asked; or it has no text.
            OSError: It cannot be reached, or not in time.
        """
        with anyio.fail_after(self._seconds):
            return await anyio.to_thread.run_sync(self._fetch, url, abandon_on_cancel=True)

    def _fetch(self, url: str) -> str:
        deadline = time.monotonic() + self._seconds
        for _ in range(self._redirects + 1):
            target = target_of(url, self._resolve, self._hosts)
            found = self._asked(target, deadline)
            if isinstance(found, str):
                return found
            url = urljoin(url, found.location)
        raise TargetRefused(f"{url}: more than {self._redirects} redirects lead there")

    def _asked(self, target: Target, deadline: float) -> str | _Redirect:
        connection = _Pinned(target, self._connect, _left(deadline))
        try:
            connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", target.authority)
            connection.putheader("Accept", "text/*, application/json")
            connection.putheader("User-Agent", "agentflow-mock")
            connection.endheaders()
            answer = connection.getresponse()
            location = answer.headers.get("location")
            if answer.status in _REDIRECTS and location is not None:
                return _Redirect(location)
            if answer.status != 200:
                raise OSError(f"{target.url}: the server answered with status {answer.status}")
            kind = answer.headers.get_content_type()
            if not kind.startswith(_TEXTS):
                raise TargetRefused(f"{target.url}: {kind} is no text")
            body = self._body(connection, answer, deadline)
            return body.decode(_charset(answer), "replace")
        except http.client.HTTPException as error:
            raise OSError(f"{target.url}: the answer cannot be read: {error!r}") from error
        finally:
            connection.close()

    def _body(
        self, connection: _Pinned, answer: http.client.HTTPResponse, deadline: float
    ) -> bytes:
        body = bytearray()
        while len(body) < self._most:
            # A server that sends a byte now and then does not get more time than all of it may take.
            connection.patience(_left(deadline))
            block = answer.read1(min(_BLOCK, self._most - len(body)))
            if not block:
                break
            body += block
        return bytes(body)


class _Redirect:
    """Where an answer says to look instead."""

    def __init__(self, location: str) -> None:
        self.location = location


class _Pinned(http.client.HTTPConnection):
    """A connection to the address that was judged; the name is for the certificate and for the server only."""

    def __init__(self, target: Target, connect: Connect, seconds: float) -> None:
        super().__init__(target.host, target.port, timeout=seconds)
        self._target = target
        self._open = connect
        self._seconds = seconds

    def connect(self) -> None:
        """Connect."""
        self.sock = self._open(self._target.address, self._target.port, self._seconds)
        if self._target.scheme == "https":
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self._target.host)

    def patience(self, seconds: float) -> None:
        """How long the next read may take."""
        if self.sock is not None:
            self.sock.settimeout(seconds)


def _left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the page did not come in time")
    return seconds


def _charset(answer: http.client.HTTPResponse) -> str:
    name = answer.headers.get_content_charset("utf-8")
    try:
        "".encode(name)
    except LookupError:
        return "utf-8"
    return name
