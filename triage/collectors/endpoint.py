"""Endpoint: the address of the service, checked once, and how to connect to it."""

from __future__ import annotations

import http.client
import ipaddress
import ssl
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from triage.collectors.options import Misuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triage.collectors.spool import Label


# What a request says beside the job; each is a field of the label.
_ASKED = ("node", "cluster", "attempt", "incident")


class Endpoint(NamedTuple):
    """Where bundles are posted to; ``prefix`` is the path before ``/v1``."""

    host: str
    port: int
    prefix: str
    tls: ssl.SSLContext | None

    @property
    def loopback(self) -> bool:
        """Whether what is sent stays on this node."""
        return _is_loopback(self.host)

    def connect(self, timeout_s: float) -> http.client.HTTPConnection:
        """A connection that is not open yet. Proxies of the environment are not asked."""
        if self.tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        return http.client.HTTPSConnection(
            self.host, self.port, timeout=timeout_s, context=self.tls
        )


def parse_endpoint(url: str, *, ca_file: str | None = None, insecure: bool = False) -> Endpoint:
    """The endpoint at ``url``. Raises :class:`Misuse` with what to give instead."""
    example = "give one like https://triage.example:8000"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Misuse(f"--url is no URL; {example}") from None
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not host:
        raise Misuse(f"--url needs http:// or https:// and a host; {example}")
    if parts.username is not None or parts.password is not None:
        raise Misuse(
            "--url holds a user or password, which every process can read; use --token-file"
        )
    if parts.query or parts.fragment or any(not "!" <= char <= "~" for char in url):
        raise Misuse(f"--url must end with the path; {example}")
    if insecure and not _is_loopback(host):
        raise Misuse("--insecure is for loopback alone; give the authority with --ca-file")
    context = None
    if parts.scheme == "https":
        try:
            context = ssl.create_default_context(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise Misuse(f"--ca-file {ca_file} cannot be used: {error}") from error
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
    default = 443 if context is not None else 80
    return Endpoint(host, port or default, parts.path.rstrip("/"), context)


def make_bundle_path(prefix: str, label: Label) -> str:
    """The path and query of a bundle; names are quoted, ``/`` in them too."""
    asked = {key: value for key in _ASKED if (value := getattr(label, key))}
    return _build_path(prefix, label.job_id, "bundle", asked)


def wanted_path(prefix: str, job_id: str, incident: str, node: str) -> str:
    """The path and query by which to ask what is wanted of a node."""
    return _build_path(prefix, job_id, "wanted", {"incident": incident, "node": node})


def _build_path(prefix: str, job_id: str, name: str, asked: Mapping[str, str]) -> str:
    query = urlencode(asked, quote_via=quote, safe="", errors="surrogateescape")
    path = f"{prefix}/v1/jobs/{quote(job_id, safe='', errors='surrogateescape')}/{name}"
    return f"{path}?{query}" if query else path


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
