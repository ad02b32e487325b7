"""HTTP by hand: requests as bytes, and the answers that came back for them."""

from tests.system.attacked import Answer


def request(
    method: str,
    target: str,
    *headers: str,
    body: bytes = b"",
    length: bool = False,
    version: str = "HTTP/1.1",
    close: bool = True,
) -> bytes:
    """One request; ``length`` adds a true Content-Length."""
    lines = [f"{method} {target} {version}", "Host: 127.0.0.1", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    if close:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def chunked(*parts: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """A body in chunks."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + end


def answers_in(raw: bytes) -> list[Answer]:
    """All answers in what came back, without those of 100 Continue.

    Raises :class:`ValueError` where the bytes are not whole answers.
    """
    found = []
    while raw:
        head, sep, rest = raw.partition(b"\r\n\r\n")
        if not sep:
            raise ValueError(f"a head that does not end: {head[:200]!r}")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split()[1])
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        if status == 100:
            raw = rest
            continue
        if "chunked" in headers.get("transfer-encoding", ""):
            body, raw = unchunked(rest)
        elif "content-length" in headers:
            size = int(headers["content-length"])
            if len(rest) < size:
                raise ValueError(f"a body that breaks off: {rest[:200]!r}")
            body, raw = rest[:size], rest[size:]
        else:
            body, raw = rest, b""
        found.append(Answer(status, headers, body))
    return found


def unchunked(rest: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        line, _, rest = rest.partition(b"\r\n")
        size = int(line, 16)
        if size == 0:
            return body, rest.removeprefix(b"\r\n")
        body, rest = body + rest[:size], rest[size + 2 :]
