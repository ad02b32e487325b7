"""A journal that prints a record over several lines, as a log: one line a record.

``journalctl -o verbose`` prints a head with the time and then ``    KEY=value`` lines;
``-o export`` prints ``KEY=value`` lines up to an empty one, and a field that is no plain text
as its name, eight bytes of length and the value; ``-o json-pretty`` prints an object over
lines of its own. Fields stand in any order.

    Sat 2026-02-28 18:27:22.299621 UTC [s=8d8a31c7;i=194cb8a;b=8d8a31c7]
        PRIORITY=3
        _TRANSPORT=kernel
        _HOSTNAME=r02-dgx18
        MESSAGE=NVRM: Xid (PCI:0000:4c:00): 79, GPU has fallen off the bus.

becomes, at the line of its message (the others are left empty, so that places stay true):

    <3>1 2026-02-28T18:27:22.299621+00:00 r02-dgx18 kernel - - - NVRM: Xid (PCI:0000:4c:00): ...

Lines outside of records stay as they are. Only the record at hand is held.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.format import Head, ReadLines
from triage.formats.logs.json_document import JSON_DOCUMENT
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.source import HEAD_BYTES, LogStream
from triage.parsers.logs.stamps import parse_zone_s
from triage.parsers.logs.wrapped import get_text

# Looked at to tell whether a log is a journal of this kind.
_SNIFFED: Final = 16 << 10
PIECE: Final = 1 << 20
# A record larger than this is no record: its lines stay as they are.
MAX_RECORD: Final = 4 << 20
# A value that is longer, as of a core dump, is passed over.
_MAX_VALUE: Final = 1 << 20
_LARGEST_VALUE: Final = 4 << 30
_MAX_MESSAGE: Final = 32 << 10

_Form = Callable[[bytes, bool], tuple[bytes, bytes]]
_Fields = Mapping[bytes, bytes]

_WANTED: Final = (
    b"MESSAGE|PRIORITY|SYSLOG_FACILITY|SYSLOG_IDENTIFIER|SYSLOG_PID|_PID|_COMM|_TRANSPORT"
    b"|_HOSTNAME|_SOURCE_REALTIME_TIMESTAMP|__REALTIME_TIMESTAMP|_SOURCE_MONOTONIC_TIMESTAMP"
    b"|__MONOTONIC_TIMESTAMP"
)
_HEAD: Final = (
    rb"[A-Z][a-z]{2} (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?: ([A-Za-z0-9+:-]{1,9}))?"
    rb" \[s=[0-9a-f]{1,64}(?:;[a-z]=[0-9a-f]{1,64}){0,8}\]\r?\n"
)
_VERBOSE_HEAD: Final = compile_re(rb"^" + _HEAD, re.MULTILINE)
_VERBOSE: Final = compile_re(rb"^" + _HEAD + rb"((?:[ \t]+[^\n]*\n)+)", re.MULTILINE)
_VERBOSE_FIELD: Final = compile_re(
    rb"^ {4}(" + _WANTED + rb")=([^\n]*(?:\n {6,}[^\n]*)*)", re.MULTILINE
)
_PRETTY_HEAD: Final = compile_re(rb"^\{\r?\n", re.MULTILINE)
_PRETTY: Final = compile_re(rb"^\{\r?\n((?:[ \t]+[^\n]*\n)+)\}[ \t\r]*\n", re.MULTILINE)
_PRETTY_FIELD: Final = compile_re(rb'^[ \t]+"__REALTIME_TIMESTAMP"[ ]?:', re.MULTILINE)
_PRETTY_MESSAGE: Final = compile_re(rb'^[ \t]+"MESSAGE"[ ]?:', re.MULTILINE)
_EXPORT: Final = compile_re(rb"^__REALTIME_TIMESTAMP=\d{15,17}\r?\n", re.MULTILINE)
_EXPORT_RUN: Final = compile_re(rb"(?:[A-Z_][A-Z0-9_]{0,63}=[^\n]*\n)+")
_EXPORT_FIELD: Final = compile_re(rb"^(" + _WANTED + rb")=([^\n]*)", re.MULTILINE)
_EXPORT_NAME: Final = compile_re(rb"([A-Z_][A-Z0-9_]{0,63})\n")
_STAMPED: Final = b"__REALTIME_TIMESTAMP"
_NOT_A_WORD: Final = compile_re(r"[^\w.:@/()-]+")
_LINE_ENDS: Final = compile_re(rb"\r?\n(?: {6,})?")


@dataclass(frozen=True, slots=True)
class JournalFormat:
    """``begins`` looks at the first 16 KiB; ``converter`` makes who turns records into lines."""

    name: str
    begins: Callable[[bytes], bool]
    converter: Callable[[], _Form]
    words: tuple[str, ...] = ()
    kind: None = None

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is a journal in this form."""
        return self.begins(head.data[:_SNIFFED])

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """The records as lines of a log."""
        lines = self.one_line_records(stream)
        # Where a record could not be read, the lines left may be a document of another kind.
        if JSON_DOCUMENT.claims(Head(lines.head, lines.artifact)):
            return JSON_DOCUMENT.read(lines, read_lines)
        return read_lines(lines)

    def one_line_records(self, stream: LogStream) -> LogStream:
        """``stream`` with each record on one line."""
        reader = _Records(stream, self.converter())
        head = bytearray()
        while len(head) < HEAD_BYTES and (part := reader.read(PIECE)):
            head += part
        return LogStream(stream.artifact, bytes(head), reader.read, stream.notes)


def _is_verbose(head: bytes) -> bool:
    """Whether ``journalctl -o verbose`` printed it."""
    return b" [s=" in head and _VERBOSE.search(head) is not None


def _is_export(head: bytes) -> bool:
    """Whether ``journalctl -o export`` printed it."""
    return _STAMPED in head and _EXPORT.search(head) is not None


def _is_pretty(head: bytes) -> bool:
    """Whether ``journalctl -o json-pretty`` printed it."""
    return (
        _STAMPED in head
        and _PRETTY_HEAD.search(head) is not None
        and _PRETTY_FIELD.search(head) is not None
    )


class _Records:
    """A stream read piece by piece through a form, which hands back what is not ended yet."""

    def __init__(self, stream: LogStream, form: _Form) -> None:
        self.stream = stream
        self.form = form
        self.rest = b""
        self.ended = False

    def read(self, _size: int) -> bytes:
        """The next lines; none at the end."""
        out = b""
        while not out and not self.ended:
            piece = self.stream.read_up_to(PIECE)
            self.ended = len(piece) < PIECE
            out, self.rest = self.form(self.rest + piece, self.ended)
        return out


def _convert_records(
    data: bytes,
    ended: bool,
    begins: "re.Pattern[bytes]",
    records: "re.Pattern[bytes]",
    line: "Callable[[re.Match[bytes]], tuple[int, bytes] | None]",
) -> tuple[bytes, bytes]:
    """Records that begin with a line of their own, each on one line; the last may go on."""
    cut = len(data)
    if ended:
        data = data if data.endswith(b"\n") or not data else data + b"\n"
        cut = len(data)
    else:
        starts = [found.start() for found in begins.finditer(data)]
        cut = starts[-1] if starts else data.rfind(b"\n") + 1
        if len(data) - cut > MAX_RECORD:
            cut = data.rfind(b"\n") + 1 or len(data)
    out = []
    at = 0
    for found in records.finditer(data, 0, cut):
        one = line(found)
        if one is None:
            continue
        before, text = one
        lines = found[0].count(b"\n")
        out += [data[at : found.start()], b"\n" * before, text, b"\n" * (lines - before)]
        at = found.end()
    out.append(data[at:cut])
    return b"".join(out), data[cut:]


# --- verbose


def _convert_verbose(data: bytes, ended: bool) -> tuple[bytes, bytes]:
    """``journalctl -o verbose``."""
    return _convert_records(data, ended, _VERBOSE_HEAD, _VERBOSE, _convert_verbose_record)


def _convert_verbose_record(found: "re.Match[bytes]") -> tuple[int, bytes] | None:
    fields: dict[bytes, bytes] = {}
    before = 0
    body = found[4]
    for one in _VERBOSE_FIELD.finditer(body):
        name, value = one.groups()
        if name == b"MESSAGE" and name not in fields:
            before = 1 + body.count(b"\n", 0, one.start())
        fields.setdefault(name, value)
    return before, _format_syslog_line(fields, lambda: _head_time(found))


def _head_time(found: "re.Match[bytes]") -> str:
    """The time in the head of a record, with the zone where its abbreviation is one place's."""
    date, clock, zone = (None if one is None else one.decode() for one in found.group(1, 2, 3))
    seconds = None if zone is None else parse_zone_s(zone)
    shown = "" if seconds is None else _format_offset(seconds)
    return f"{date}T{clock}{shown}"


def _format_offset(seconds: int) -> str:
    minutes = abs(seconds) // 60
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


# --- json-pretty


def _convert_pretty(data: bytes, ended: bool) -> tuple[bytes, bytes]:
    """``journalctl -o json-pretty``."""
    return _convert_records(data, ended, _PRETTY_HEAD, _PRETTY, _convert_pretty_record)


def _convert_pretty_record(found: "re.Match[bytes]") -> tuple[int, bytes] | None:
    try:
        value = json.loads(found[0].decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "__REALTIME_TIMESTAMP" not in value:
        return None
    # A field that was given twice is a list.
    plain = {
        key: one[0] if isinstance(one, list) and one and isinstance(one[0], str) else one
        for key, one in value.items()
    }
    texts = {key: get_text(one) for key, one in plain.items()}
    fields = {key.encode(): text.encode() for key, text in texts.items() if text is not None}
    at = _PRETTY_MESSAGE.search(found[0])
    before = 0 if at is None else found[0].count(b"\n", 0, at.start())
    return before, _format_syslog_line(fields)


# --- export


class _Export:
    """``journalctl -o export``: fields until an empty line, some of them with a length."""

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.lines = 0
        self.before = 0
        self.skip = 0

    def form(self, data: bytes, ended: bool) -> tuple[bytes, bytes]:
        """As many records as have ended, and the bytes behind them that say too little yet."""
        if ended and not data.endswith(b"\n"):
            data += b"\n"
        out: list[bytes] = []
        at = self.skipped(data)
        while at < len(data):
            step = self.next(data, at, ended, out)
            if step == at:
                break
            at = step
        if ended:
            self.end(out)
        return b"".join(out), b"" if ended else data[at:]

    def skipped(self, data: bytes) -> int:
        """Past the rest of a value that is too long to be held."""
        size = min(self.skip, len(data))
        self.skip -= size
        self.lines += data.count(b"\n", 0, size)
        return size

    def next(self, data: bytes, at: int, ended: bool, out: list[bytes]) -> int:
        """Behind what stands at ``at``; the same place where it is not all there."""
        run = _EXPORT_RUN.match(data, at)
        if run is not None:
            for one in _EXPORT_FIELD.finditer(run[0]):
                self.take(one[1], one[2], run[0].count(b"\n", 0, one.start()))
            self.lines += run[0].count(b"\n")
            return run.end()
        stop = data.find(b"\n", at) + 1
        if not stop:
            if len(data) - at <= MAX_RECORD:
                return at
            stop = len(data)  # no line at all
        name = _EXPORT_NAME.match(data, at)
        if name is not None and (self.fields or self.lines):
            return self.value(data, at, name, ended)
        self.end(out)
        out.append(data[at:stop])
        return stop

    def value(self, data: bytes, at: int, name: "re.Match[bytes]", ended: bool) -> int:
        """Behind a field that is printed with its length."""
        begin = name.end() + 8
        if begin > len(data):
            self.lines += ended
            return name.end() if ended else at
        size = int.from_bytes(data[name.end() : begin], "little")
        if size > _LARGEST_VALUE:
            self.lines += 1
            return name.end()
        if size > _MAX_VALUE:
            self.skip = begin - at + size + 1
            return at + self.skipped(data[at:])
        end = begin + size + 1
        if end > len(data) and not ended:
            return at
        self.take(name[1], data[begin : begin + size], 0)
        self.lines += data.count(b"\n", at, end)
        return min(end, len(data))

    def take(self, name: bytes, value: bytes, lines: int) -> None:
        if name == b"MESSAGE" and name not in self.fields:
            self.before = self.lines + lines
        self.fields.setdefault(name, value)

    def end(self, out: list[bytes]) -> None:
        """The record that ends here, if one has begun."""
        if self.lines:
            after = self.lines - self.before
            out += [b"\n" * self.before, _format_syslog_line(self.fields), b"\n" * after]
        self.fields = {}
        self.lines = self.before = 0


# --- the line


def _format_syslog_line(fields: _Fields, printed: Callable[[], str] | None = None) -> bytes:
    """A record as syslog writes it by RFC 5424; empty where it says nothing.

    ``printed`` gives the time that stands in the head of the record.
    """
    message = fields.get(b"MESSAGE")
    if message is None:
        return b""
    text = message[:_MAX_MESSAGE].rstrip()
    if b"\n" in text:
        text = _LINE_ENDS.sub(rb"\\n", text)
    at = _number(fields, b"_SOURCE_REALTIME_TIMESTAMP", b"__REALTIME_TIMESTAMP")
    if at is not None and 10**15 <= at < 4 * 10**15:
        time = f"{_format_second(at // 10**6)}.{at % 10**6:06d}+00:00"
    else:
        time = "-" if printed is None else printed()
    if fields.get(b"_TRANSPORT") == b"kernel":
        origin = "kernel -"
        up = _number(fields, b"_SOURCE_MONOTONIC_TIMESTAMP", b"__MONOTONIC_TIMESTAMP")
        if up is not None and not text.startswith(b"["):
            text = b"[%5d.%06d] %b" % (*divmod(up, 10**6), text)
    else:
        name = _format_word(fields.get(b"SYSLOG_IDENTIFIER") or fields.get(b"_COMM"))
        origin = f"{name[:48]} {_format_word(fields.get(b'_PID') or fields.get(b'SYSLOG_PID'))}"
    level = _compute_priority(fields.get(b"SYSLOG_FACILITY"), fields.get(b"PRIORITY"))
    head = f"<{level}>1 {time} {_format_word(fields.get(b'_HOSTNAME'))} {origin} - - "
    return head.encode() + text


@lru_cache(maxsize=4096)
def _format_word(value: bytes | None) -> str:
    """A field as one word; "-" for none."""
    text = (value or b"")[:253].decode("utf-8", "replace").strip()
    return _NOT_A_WORD.sub("_", text) or "-"


@lru_cache(maxsize=512)
def _compute_priority(facility: bytes | None, level: bytes | None) -> int:
    """The number in front of a line of syslog."""
    of, how = (one.strip() if one else b"" for one in (facility, level))
    return (int(of) % 24 * 8 if of.isdigit() and len(of) < 4 else 0) + (
        int(how) % 8 if how.isdigit() and len(how) < 4 else 6
    )


@lru_cache(maxsize=512)
def _format_second(at_s: int) -> str:
    """Seconds since the epoch as text."""
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%S}"


def _number(fields: _Fields, *names: bytes) -> int | None:
    """The first of some fields that is a number."""
    for name in names:
        value = fields.get(name)
        if value is not None:
            value = value.rstrip()
            if value.isdigit() and len(value) <= 17:
                return int(value)
    return None


VERBOSE_JOURNAL: Final = JournalFormat("journal_verbose", _is_verbose, lambda: _convert_verbose)
EXPORT_JOURNAL: Final = JournalFormat("journal_export", _is_export, lambda: _Export().form)
PRETTY_JOURNAL: Final = JournalFormat("journal_json_pretty", _is_pretty, lambda: _convert_pretty)
