r"""Web URL: an address to send to, taken apart strictly.

Libraries differ on odd addresses (``http://a@b\c``, ``http://0x7f.1``), and a guard that
reads one host while the client calls another guards nothing. What is odd is refused here,
and the client is given the parts, never the text.
"""

import ipaddress
import re
from dataclasses import dataclass

import idna

from triage.domain.patterns import compile_re
from triage.errors import Place, Unprocessable

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


def parse_url(url: str, *, where: str = "body/url") -> WebUrl:
    """The parts of ``url``.

    Raises :class:`Unprocessable` with ``where`` as its place. The message does not repeat
    the address: its path may be a secret.
    """
    if len(url) > _MAX_CHARS:
        raise _make_refusal(where, f"longer than {_MAX_CHARS:,} characters")
    if any(char.isspace() or not char.isprintable() or char == "\\" for char in url):
        raise _make_refusal(where, "holds a blank, a control character or a backslash")
    if "#" in url:
        raise _make_refusal(where, "holds a fragment (#), which is never sent")
    parts = _PARTS.fullmatch(url)
    if parts is None:
        raise _make_refusal(where, "not of the form https://host[:port]/path")
    target = f"{parts['path'] or '/'}{parts['query'] or ''}"
    if not _TARGET.fullmatch(target):
        raise _make_refusal(where, "its path or query holds a character that has to be written %XX")
    scheme = parts["scheme"].lower()
    if "@" in parts["authority"]:
        raise _make_refusal(where, "holds a user name or password")
    authority = _AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        raise _make_refusal(where, "its host or port cannot be read")
    port = int(authority["port"] or _PORTS[scheme])
    if not 0 < port < 65_536:
        raise _make_refusal(where, "its port is not 1 to 65535")
    return WebUrl(scheme, _parse_host(authority["host"], where), port, target)


def _parse_host(text: str, where: str) -> Host:
    if text.startswith("["):
        try:
            address = ipaddress.IPv6Address(text[1:-1])
        except ValueError:
            raise _make_refusal(where, "the host in brackets is not an IPv6 address") from None
        if address.scope_id is not None:
            raise _make_refusal(where, "the address names a network interface")
        return address
    name = _encode_ascii_host(text, where).removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return ipaddress.IPv4Address(name)
        except ValueError:
            raise _make_refusal(
                where, "an IPv4 address is written 192.0.2.1 and no other way"
            ) from None
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _make_refusal(where, "the host is not a host name")
    return name


def _encode_ascii_host(text: str, where: str) -> str:
    if text.isascii():
        return text.lower()
    try:
        return idna.encode(text, uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise _make_refusal(where, "the host is not an international host name") from None


def _make_refusal(where: str, why: str) -> Unprocessable:
    return Unprocessable(
        f"the address cannot be used: {why}",
        hint="give an address such as https://hooks.example.com/triage",
        places=(Place(where, why),),
    )
