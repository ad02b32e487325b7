"""Guard: whether an address may be called, and at which IP addresses.

All addresses of a name are looked at, and one that is not public refuses the name. The
sender connects to what was looked at and never asks for the name again, so an answer that
changes in between (DNS rebinding) reaches nothing.
"""

import ipaddress
import queue
import re
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import idna

from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.errors import Place, Unprocessable, UsageError

# Web URL: an address to send to, taken apart strictly.
#
# Libraries differ on odd addresses (``http://a@b\c``, ``http://0x7f.1``), and a guard that
# reads one host while the client calls another guards nothing. What is odd is refused here,
# and the client is given the parts, never the text.

Host = str | ipaddress.IPv4Address | ipaddress.IPv6Address

_MAX_CHARS = 2_048
_PORTS = {"http": 80, "https": 443}

# RFC 3986, appendix B; the target holds what may stand in a request line and nothing else.
_PARTS = compile_re(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]+)(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?",
    re.IGNORECASE,
)
_TARGET = compile_re(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*")
_AUTHORITY = compile_re(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = compile_re(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")

# 127.1, 2130706433, 0x7f000001: what ends in a number is an IPv4 address to some readers.
_NUMBER = compile_re(r"(?:[0-9]+|0x[0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class WebUrl:
    """The parts: ``scheme`` in lower case, ``host`` as a name in ASCII or as an address."""

    scheme: str
    host: Host
    port: int
    target: str

    @property
    def explicit_port(self) -> int | None:
        """The port where the scheme does not imply it."""
        return None if self.port == _PORTS[self.scheme] else self.port

    @property
    def host_header(self) -> str:
        """What stands in ``Host``: an IPv6 address in brackets, the port where it matters."""
        host = f"[{self.host}]" if isinstance(self.host, ipaddress.IPv6Address) else str(self.host)
        return host if self.explicit_port is None else f"{host}:{self.port}"


class _BadAddress(Exception):
    """Why an address cannot be used; it does not repeat the address, whose path may be a secret."""


def parse_url(url: str, *, where: str = "body/url") -> WebUrl:
    """The parts of ``url``. Raises :class:`Unprocessable` with ``where`` as its place."""
    try:
        return _parse_parts(url)
    except _BadAddress as error:
        raise Unprocessable(
            f"the address cannot be used: {error}",
            hint="give an address such as https://hooks.example.com/triage",
            places=(Place(where, str(error)),),
        ) from None


def _parse_parts(url: str) -> WebUrl:
    if len(url) > _MAX_CHARS:
        raise _BadAddress(f"longer than {_MAX_CHARS:,} characters")
    if any(char.isspace() or not char.isprintable() or char == "\\" for char in url):
        raise _BadAddress("holds a blank, a control character or a backslash")
    if "#" in url:
        raise _BadAddress("holds a fragment (#), which is never sent")
    parts = _PARTS.fullmatch(url)
    if parts is None:
        raise _BadAddress("not of the form https://host[:port]/path")
    target = f"{parts['path'] or '/'}{parts['query'] or ''}"
    if not _TARGET.fullmatch(target):
        raise _BadAddress("its path or query holds a character that has to be written %XX")
    scheme = parts["scheme"].lower()
    if "@" in parts["authority"]:
        raise _BadAddress("holds a user name or password")
    authority = _AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        raise _BadAddress("its host or port cannot be read")
    port = int(authority["port"] or _PORTS[scheme])
    if not 0 < port < 65_536:
        raise _BadAddress("its port is not 1 to 65535")
    return WebUrl(scheme, _parse_host(authority["host"]), port, target)


def _parse_host(text: str) -> Host:
    if text.startswith("["):
        try:
            address = ipaddress.IPv6Address(text[1:-1])
        except ValueError:
            raise _BadAddress("the host in brackets is not an IPv6 address") from None
        if address.scope_id is not None:
            raise _BadAddress("the address names a network interface")
        return address
    try:
        name = text if text.isascii() else idna.encode(text, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise _BadAddress("the host is not an international host name") from None
    name = name.lower().removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return ipaddress.IPv4Address(name)
        except ValueError:
            raise _BadAddress("an IPv4 address is written 192.0.2.1 and no other way") from None
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _BadAddress("the host is not a host name")
    return name


Resolve = Callable[[str, int], Sequence[str]]
"""(host, port) to addresses; raises ``OSError`` when there are none or no answer came."""

RESOLVE_TIMEOUT_S = 5.0
# One text for both: else whoever may name an address asks our resolver for names inside.
_NOT_PUBLIC = "the host does not resolve, or not to public addresses alone"
_NAME = compile_re(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")


@dataclass(frozen=True, slots=True)
class Checked:
    """An address that may be called now, at one of ``addresses`` and at no other."""

    url: WebUrl
    addresses: tuple[str, ...]


# A message to an address inside would let whoever makes subscriptions reach what only this
# machine reaches: its own ports, the cluster, the cloud's metadata. IPv6 is taken by what is
# allowed (global unicast) and not by what is refused, and an IPv4 address inside an IPv6
# one (mapped, NAT64, 6to4, ISATAP) is judged as what it is.

_Address = IPv4Address | IPv6Address

_NETWORKS = read_toml("triage.notify", "guard")
_NOT_PUBLIC_V4 = tuple(map(IPv4Network, _NETWORKS["v4"]))
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, _NETWORKS["v6"]))
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
_LOW_32 = 0xFFFF_FFFF


def parse_resolved_address(text: str) -> _Address:
    """The answer of a resolver as an address; a mapped IPv4 address becomes an IPv4 one.

    Raises ``ValueError`` when it is none.
    """
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_public(address: _Address) -> bool:
    """Whether ``address`` is one of the internet, and every address inside it is too."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & _LOW_32))
    if address not in _GLOBAL_UNICAST or any(address in network for network in _NOT_PUBLIC_V6):
        return False
    if address in _6TO4:
        return is_public(IPv4Address(int(address) >> 80 & _LOW_32))
    if int(address) >> 32 & _LOW_32 in _ISATAP:
        return is_public(IPv4Address(int(address) & _LOW_32))
    return True


class Guard:
    """Lets through what is public and https, and what the operator has allow-listed.

    ``allow`` holds host names, IP addresses and CIDRs, as ``setting`` does. A host
    that is named, or whose every address lies in a CIDR, may be private and plain http.
    ``resolve`` is asked once a check, and not at all for a host that is an IP address.

    Raises :class:`UsageError` for an entry that is none of these.
    """

    def __init__(
        self,
        allow: Sequence[str] = (),
        *,
        resolve: Resolve | None = None,
        setting: str = "TRIAGE_WEBHOOK_ALLOW",
    ) -> None:
        self._resolve = resolve or resolve_by_system
        names: set[str] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for entry in filter(None, (text.strip().lower().removesuffix(".") for text in allow)):
            try:
                networks.append(ip_network(entry.removeprefix("[").removesuffix("]"), strict=False))
            except ValueError:
                if not _NAME.fullmatch(entry):
                    raise UsageError(
                        f"{setting}: {entry!r} is neither a host name nor an address"
                        " nor a CIDR; give it without scheme, port and path"
                    ) from None
                names.add(entry)
        self._names = frozenset(names)
        self._networks = tuple(networks)

    def lists(self, url: str, *, where: str = "body/url") -> bool:
        """Whether the list names the host of ``url``, or the network of its address.

        Raises :class:`Unprocessable` for what is no address; nothing is resolved.
        """
        host = parse_url(url, where=where).host
        named = str(host) in self._names
        return named or (
            not isinstance(host, str) and self._listed(parse_resolved_address(str(host)))
        )

    def check(self, url: str, *, where: str = "body/url") -> Checked:
        """The parts of ``url`` and the addresses to connect to.

        Raises :class:`Unprocessable`, with ``where`` as its place. Neither the address nor
        what its name resolves to is repeated: the first may hold a secret, and the second
        would tell whoever may subscribe how the inside is numbered.
        """
        parsed = parse_url(url, where=where)
        addresses = self._addresses(parsed, where)
        if str(parsed.host) not in self._names:
            inside = [self._listed(address) for address in addresses]
            if not all(
                listed or is_public(address)
                for listed, address in zip(inside, addresses, strict=True)
            ):
                raise _make_refusal(where, _NOT_PUBLIC)
            if parsed.scheme != "https" and not all(inside):
                raise _make_refusal(where, "plain http is for receivers that are allow-listed")
        return Checked(parsed, tuple(dict.fromkeys(map(str, addresses))))

    def _addresses(self, url: WebUrl, where: str) -> tuple[_Address, ...]:
        if not isinstance(url.host, str):
            return (parse_resolved_address(str(url.host)),)
        try:
            addresses = tuple(map(parse_resolved_address, self._resolve(url.host, url.port)))
        except (OSError, ValueError, UnicodeError):
            addresses = ()
        if not addresses:
            raise _make_refusal(where, _NOT_PUBLIC)
        return addresses

    def _listed(self, address: _Address) -> bool:
        return any(
            address.version == network.version and address in network for network in self._networks
        )


def resolve_by_system(host: str, port: int) -> tuple[str, ...]:
    """All addresses that the system's resolver has for ``host``, within 5 s.

    Raises ``OSError``.
    """
    answers: queue.SimpleQueue[tuple[str, ...] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as failed:
            answers.put(failed if isinstance(failed, OSError) else OSError(str(failed)))
        else:
            answers.put(tuple(str(address[0]) for *_, address in infos))

    # getaddrinfo takes no timeout, so its thread is left behind when it does not answer.
    threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=RESOLVE_TIMEOUT_S)
    except queue.Empty:
        raise TimeoutError("the resolver did not answer") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _make_refusal(where: str, why: str) -> Unprocessable:
    return Unprocessable(
        f"the address may not be called: {why}",
        hint="check the name; use a public https address, or let the operator name the host or"
        " its network in TRIAGE_WEBHOOK_ALLOW",
        places=(Place(where, why),),
    )
