"""Targets: which addresses of the web may be asked, judged by the address that a name leads to, not by the name."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from agentflow.errors import AgentflowError

__all__ = ["Resolve", "Target", "TargetRefused", "resolved", "target_of"]

Resolve = Callable[[str, int], Sequence[str]]
"""Gives the IP addresses of a host."""

_PORTS = {"http": 80, "https": 443}
_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# What IANA's registries of special-purpose addresses name besides what the `ipaddress` of every Python knows; and the one
# public address behind which Azure keeps what only its own machines may ask.
_SPECIAL = tuple(
    ipaddress.ip_network(each)
    for each in (
        *("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32"),
        *("2001::/23", "2001:db8::/32", "3fff::/20"),
    )
)


class TargetRefused(AgentflowError):
    """An address of the web is not asked; the message tells why."""

    code = "target_refused"


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be asked: by these IP addresses and no other, whatever the name leads to a moment later."""

    url: str
    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]
    path: str

    @property
    def authority(self) -> str:
        """The host and, where it is not the usual one, the port, as the `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def resolved(host: str, port: int) -> Sequence[str]:
    """The IP addresses that the system knows of a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def target_of(url: str, resolve: Resolve, hosts: Collection[str] | None) -> Target:
    """What a URL leads to, if that may be asked. Blocks while the name is resolved.

    Args:
        url: The URL.
        resolve: Gives the addresses of its host; asked once.
        hosts: Names of hosts that may be asked, with those below them; `None` for all that are public.

    Raises:
        TargetRefused: It is no http or https, names a user, leads to a host that is not allowed, or any of the addresses of its
            host is not public.
    """
    split, port = _split(url)
    host = split.hostname or ""
    if hosts is not None and not any(host == name or host.endswith(f".{name}") for name in hosts):
        raise TargetRefused(f"{url}: {host!r} is none of the hosts that may be asked")
    try:
        addresses = resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise TargetRefused(f"{url}: the host {host!r} is not known ({error})") from error
    if not addresses:
        raise TargetRefused(f"{url}: the host {host!r} has no address")
    for address in addresses:
        if not _is_public(address):
            raise TargetRefused(f"{url}: {host!r} leads to {address}, which is not public")
    path = split.path or "/"
    query = f"?{split.query}" if split.query else ""
    return Target(url, split.scheme, host, port, tuple(addresses), f"{path}{query}")


def _split(url: str) -> tuple[SplitResult, int]:
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError as error:
        raise TargetRefused(f"{url!r} is no URL: {error}") from error
    if split.scheme not in _PORTS or not split.hostname:
        raise TargetRefused(f"{url!r}: only http and https are asked")
    if split.username is not None or split.password is not None:
        raise TargetRefused(f"{split.hostname}: a URL that names a user is not asked")
    # What would end the request line early, or begin another.
    if any(ord(character) <= 32 or ord(character) > 126 for character in url):
        raise TargetRefused(f"{url!r}: it holds characters that are no part of a URL")
    return split, _PORTS[split.scheme] if port is None else port


def _is_public(address: str) -> bool:
    """Whether an IP address, and every one that is hidden in it, is public."""
    # A scope, as in fe80::1%eth0, is that of a link, which is not public.
    if "%" in address:
        return False
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return _is_public(str(ip.ipv4_mapped))
        if ip in _NAT64:
            return _is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        # Everything else outside of it is no address of a host in the internet (RFC 4291, 2.4).
        if ip not in _UNICAST or (ip.sixtofour and not _is_public(str(ip.sixtofour))):
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in each for each in _SPECIAL)
