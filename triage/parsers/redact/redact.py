"""Secrets in the text of logs, replaced before the text is written anywhere.

Text goes in and comes out in pieces; lines stay lines, so that line numbers are true.
What is found does not depend on where the pieces were cut, and escape sequences within
a secret do not hide it. Dumps are never given here. The kinds are in
:mod:`triage.parsers.redact.kinds`.
"""

from bisect import bisect_right
from typing import Final

import numpy as np

from triage.domain.patterns import compile_re
from triage.parsers.redact.gate import Gate
from triage.parsers.redact.kinds import LONGEST, PEM_BEGIN, SECRETS
from triage.parsers.redact.own import NO_PATTERNS, OwnPatterns

# Looked through at once.
BLOCK: Final = 1 << 18
# A line is looked through as a whole up to this, and beyond it in windows that overlap.
WINDOW: Final = 1 << 17
_CONTEXT: Final = 64
_ESCAPE: Final = b"\x1b"
_ANSI: Final = compile_re(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])"
)
# What of a match is replaced, else all of it.
_GROUPS: Final = frozenset("sqbe")
_REDACTED: Final = b"[redacted:"
# (start, end, number of the secret, where its match begins): what names a secret stands before it.
_Span = tuple[int, int, int, int]


def _build_gate() -> Gate:
    gates: dict[str, int] = {}
    at_bits = 0
    for number, one in enumerate(SECRETS):
        if not one.gates:
            at_bits |= 1 << number
        for gate in one.gates:
            gates[gate] = gates.get(gate, 0) | 1 << number
    return Gate(gates, at_bits)


GATE: Final = _build_gate()


class Redactor:
    """Replaces secrets in one text by ``[redacted:kind]``; ``counts`` says how many of each.

    Patterns of one's ``own`` see what is left, piece by piece: all of it is whole lines, but for
    lines of more than 128 KiB.
    """

    def __init__(self, own: OwnPatterns = NO_PATTERNS) -> None:
        self.own = own
        self.counts: dict[str, int] = {}
        self.pending: list[bytes] = []
        self.pending_bytes = 0
        self.pem: _PemBlock | None = None
        # The end of what was let out of a line that is too long to wait for; else nothing.
        self.left = b""

    def feed(self, data: bytes) -> bytes:
        """Takes the next bytes; gives those of which nothing more can be said."""
        self.pending.append(data)
        self.pending_bytes += len(data)
        if self.pending_bytes < BLOCK:
            return b""
        text = b"".join(self.pending)
        end = text.rfind(b"\n") + 1
        out = [self.lines(text[:end])] if end else []
        start = end
        while len(text) - start > WINDOW:
            part, start = self.window(text, start, len(text) + 1)
            out.append(part)
        rest = text[start:]
        self.pending = [rest]
        self.pending_bytes = len(rest)
        return self.own.replace(b"".join(out), self.counts)

    def finish(self) -> bytes:
        """The last bytes."""
        text = b"".join(self.pending)
        self.pending = []
        self.pending_bytes = 0
        return self.own.replace(self.lines(text), self.counts)

    def lines(self, text: bytes) -> bytes:
        """Whole lines, of which the first may be the rest of a long one."""
        if not self.left:
            return self.from_start(text)
        end = text.find(b"\n")
        end = len(text) if end < 0 else end
        return self.long(text, 0, end) + self.from_start(text[end:])

    def from_start(self, text: bytes) -> bytes:
        """Whole lines."""
        bits: dict[int, int] = {}
        GATE.lines(text, bits)
        if _ESCAPE in text:
            GATE.lines(_ANSI.sub(b"", text), bits)
        if not bits and self.pem is None:
            return text
        feeds = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == 10)
        ends: list[int] = feeds.tolist()
        if not text.endswith(b"\n"):
            ends.append(len(text))
        out: list[bytes] = []
        done = 0
        line = 0
        waiting = sorted(bits, reverse=True)
        while True:
            if self.pem is None:
                while waiting and waiting[-1] < line:
                    waiting.pop()
                if not waiting:
                    break
                line = waiting.pop()
            if line >= len(ends):
                break
            start = ends[line - 1] + 1 if line else 0
            out.append(text[done:start])
            out.append(self.line(text, start, ends[line], bits.get(line, 0)))
            done = ends[line]
            line += 1
        out.append(text[done:])
        return b"".join(out)

    def line(self, text: bytes, start: int, end: int, bits: int) -> bytes:
        """One line without its end."""
        if end - start > WINDOW:
            return self.long(text, start, end)
        line = text[start:end]
        spans = _find_spans(line, 0, bits)
        if self.pem is None:
            self.begin_key(line)
        else:
            spans.extend(self.key_span(line))
        return self.replaced(line, _merge_spans(spans), 0, len(line))

    def begin_key(self, line: bytes) -> None:
        """Notes where a key begins that the line does not end."""
        plain = _ANSI.sub(b"", line)
        for found in PEM_BEGIN.finditer(plain):
            if found["end"] is None and not plain[found.end() :].strip():
                self.pem = _PemBlock(found.start())

    def key_span(self, line: bytes) -> list[_Span]:
        """What of a line belongs to the key that began above it."""
        pem = self.pem
        if pem is None:
            return []
        plain = _Plain(line)
        span = pem.span(plain.text)
        if not pem.open:
            self.pem = None
        if span is None:
            return []
        first, last = plain.back(*span)
        return [(first, last, 0, first)]

    def long(self, text: bytes, start: int, end: int) -> bytes:
        """The rest of a line that is, or was, longer than a window."""
        out: list[bytes] = []
        while start < end:
            part, start = self.window(text, start, end)
            out.append(part)
        self.left = b""
        return b"".join(out)

    def window(self, text: bytes, start: int, end: int) -> tuple[bytes, int]:
        """What can be let out of the line from ``start`` on, and where the next window begins.

        The line has more than a window's bytes, or ends at ``end``.
        """
        view = self.left + text[start : min(end, start + WINDOW)]
        behind = len(self.left)
        last = end - start <= WINDOW
        cut = len(view) if last else behind + WINDOW - LONGEST
        done = cut
        spans: list[_Span] = []
        for one in sorted(_find_spans(view, behind, GATE.whole(view)), key=lambda span: span[3]):
            # What begins behind that is found again in the next window.
            if one[3] < done:
                spans.append(one)
                done = max(done, one[1])
        out = self.replaced(view, _merge_spans(spans), behind, done)
        self.left = view[max(0, done - _CONTEXT) : done]
        return out, start + done - behind

    def replaced(self, line: bytes, spans: list[_Span], start: int, end: int) -> bytes:
        """The line's bytes from ``start`` to ``end``, counted and replaced."""
        if not spans:
            return line[start:end]
        out: list[bytes] = []
        for first, last, number, _ in spans:
            kind = SECRETS[number].kind
            self.counts[kind] = self.counts.get(kind, 0) + 1
            out.append(line[start:first])
            out.append(b"[redacted:%b]" % kind.encode())
            start = last
        out.append(line[start:end])
        return b"".join(out)


def _find_spans(line: bytes, start: int, bits: int) -> list[_Span]:
    """Those of which the match begins at ``start`` or behind it."""
    if not bits:
        return []
    spans = _find_matches(line, start, bits)
    if _ESCAPE in line:
        plain = _Plain(line)
        spans.extend(
            (*plain.back(first, last), number, plain.place(begin))
            for first, last, number, begin in _find_matches(plain.text, plain.forward(start), bits)
        )
    return spans


def _find_matches(line: bytes, start: int, bits: int) -> list[_Span]:
    spans: list[_Span] = []
    while bits:
        number = (bits & -bits).bit_length() - 1
        bits &= bits - 1
        one = SECRETS[number]
        at = start
        while found := one.pattern.search(line, at):
            if one.check is not None and not one.check(found):
                # Within what it is not, another may begin.
                at = found.start() + 1
                continue
            group = found.lastgroup
            first, last = found.span(group) if group in _GROUPS else found.span()
            if not line.startswith(_REDACTED, first):
                spans.append((first, last, number, found.start()))
            at = max(found.end(), found.start() + 1)
    return spans


def _merge_spans(spans: list[_Span]) -> list[_Span]:
    """In their order, those that overlap as one, of the kind that is listed first."""
    if len(spans) < 2:
        return spans
    spans.sort()
    whole = [spans[0]]
    for first, last, number, begin in spans[1:]:
        before = whole[-1]
        if first < before[1]:
            whole[-1] = (before[0], max(before[1], last), min(before[2], number), before[3])
        else:
            whole.append((first, last, number, begin))
    return whole


class _Plain:
    """A line without its escape sequences, and the way back."""

    def __init__(self, line: bytes) -> None:
        # Where each stretch of text begins, without the escapes and with them.
        self.places = [0]
        self.raw = [0]
        parts: list[bytes] = []
        done = length = 0
        for found in _ANSI.finditer(line):
            if found.start() > done:
                parts.append(line[done : found.start()])
                length += found.start() - done
            done = found.end()
            self.places.append(length)
            self.raw.append(done)
        parts.append(line[done:])
        self.text = b"".join(parts)

    def back(self, first: int, last: int) -> tuple[int, int]:
        """A span of the text as one of the line."""
        return self.place(first), self.place(last - 1) + 1

    def place(self, at: int) -> int:
        k = bisect_right(self.places, at) - 1
        return self.raw[k] + at - self.places[k]

    def forward(self, raw: int) -> int:
        """Where in the text the line's byte ``raw`` is, or what follows it."""
        k = bisect_right(self.raw, raw) - 1
        end = self.places[k + 1] if k + 1 < len(self.places) else len(self.text)
        return min(self.places[k] + raw - self.raw[k], end)


# The lines of a key are told by their content, since other ranks write between them, and
# each is replaced on its own: line numbers stay true.

# The last word of a line, in base64.
_BODY: Final = compile_re(
    rb"(?<![A-Za-z0-9+/=])(?P<s>[A-Za-z0-9+/]{4,4096}={0,2})(?:\\n|[\s\"',])*$"
)
# Proc-Type: 4,ENCRYPTED and DEK-Info: AES-256-CBC,0123...
_HEADER: Final = compile_re(rb"(?P<s>DEK-Info: [A-Z0-9-]{1,40},[0-9A-F]{1,64})")
_END: Final = compile_re(rb"-----END [A-Z0-9 ]{0,80}-----|Private-(?:MAC|Hash):")
# As long as this, a word at a line's end is taken for a key's line wherever it stands.
_LONG_WORD: Final = 24
# Of an RSA key of 16,384 bits, with room for what other ranks write.
_MOST_LINES: Final = 2000
_MOST_OTHERS: Final = 50


class _PemBlock:
    """Between the begin of a key, with ``prefix`` bytes before it, and its end."""

    def __init__(self, prefix: int) -> None:
        self.prefix = prefix
        self.lines = 0
        self.others = 0
        self.open = True

    def span(self, line: bytes) -> tuple[int, int] | None:
        """What of the next line belongs to the key."""
        self.lines += 1
        ended = _END.search(line)
        if ended:
            self.open = False
            return ended.start() if ended.start() <= self.prefix else 0, ended.end()
        found = _HEADER.search(line) or _BODY.search(line, max(0, len(line) - 4200))
        if found and self.belongs(found.start("s"), found.end("s")):
            self.others = 0
            return found.span("s")
        self.others += 1
        self.open = self.lines < _MOST_LINES and self.others < _MOST_OTHERS
        return None

    def belongs(self, start: int, end: int) -> bool:
        """Whether a word in base64, from ``start`` to ``end``, is a line of the key."""
        # The last line may be of any length; it stands where the others do.
        return end - start >= _LONG_WORD or start == self.prefix
