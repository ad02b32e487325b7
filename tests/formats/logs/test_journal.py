"""Journals whose records take several lines: each becomes one line, at the line of its message."""

# ruff: noqa: E501 - real lines are as long as they are

import io

import pytest

from triage.formats.format import Head
from triage.formats.logs.journal import EXPORT_JOURNAL, MAX_RECORD, PRETTY_JOURNAL, VERBOSE_JOURNAL
from triage.formats.streams import StreamReader
from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader
from triage.parsers.logs.source import HEAD_BYTES, LogStream

AT_US = 1_772_303_242_299_621
AT = "2026-02-28T18:27:22.299621+00:00"
XID = "NVRM: Xid (PCI:0000:4c:00): 79, GPU has fallen off the bus."
HEAD = "Sat 2026-02-28 18:27:22.299621 {} [s=8d8a31c7;i=194cb8a;b=8d8a31c7;m=5;t=6;x=7]\n"
KERNEL = f"<3>1 {AT} n3 kernel - - - {XID}"


def one_line_records(stream: LogStream) -> LogStream:
    head = Head(stream.head)
    for journal in (VERBOSE_JOURNAL, EXPORT_JOURNAL, PRETTY_JOURNAL):
        if journal.claims(head):
            return journal.one_line_records(stream)
    return stream


def stream_of(data: bytes) -> LogStream:
    rest = io.BytesIO(data[HEAD_BYTES:])
    return LogStream("n.log", data[:HEAD_BYTES], rest.read)


def lines_of(data: bytes, piece: int = 1 << 20) -> list[bytes]:
    """The lines of what is read, which are as many as those of the file."""
    stream = one_line_records(stream_of(data))
    out = bytearray()
    buffer = bytearray(piece)
    while got := stream.fill(memoryview(buffer)):
        out += buffer[:got]
    assert out.removesuffix(b"\n").count(b"\n") == data.removesuffix(b"\n").count(b"\n")
    return bytes(out).split(b"\n")


def said(data: bytes) -> list[tuple[int, str]]:
    return [(k, line.decode()) for k, line in enumerate(lines_of(data), start=1) if line]


def field(name: bytes, value: bytes) -> bytes:
    """A field of the export format that is no plain text."""
    return name + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"


FORMS = [
    pytest.param(
        (HEAD.format("UTC") + f"    PRIORITY=3\n    _TRANSPORT=kernel\n    _HOSTNAME=n3\n    MESSAGE={XID}\n").encode(),
        [(5, KERNEL)],
        id="verbose, message last",
    ),
    pytest.param(
        (HEAD.format("PST") + f"    MESSAGE={XID}\n    _HOSTNAME=n3\n    PRIORITY=3\n    _TRANSPORT=kernel\n").encode(),
        [(2, KERNEL.replace("+00:00", "-08:00"))],
        id="verbose, message first, the head's zone",
    ),
    pytest.param(
        (HEAD.format("CST") + f"    MESSAGE={XID}\n    _HOSTNAME=n3\n    PRIORITY=3\n    _TRANSPORT=kernel\n").encode(),
        [(2, KERNEL.replace("+00:00", ""))],
        id="verbose, an abbreviation of several zones",
    ),
    pytest.param(
        (HEAD.format("CST") + f"    _SOURCE_REALTIME_TIMESTAMP={AT_US}\n    MESSAGE=a\n            b=c\n    SYSLOG_IDENTIFIER=slurmd\n    _PID=77\n    _HOSTNAME=n3\nbehind it\n").encode(),
        [(3, f"<6>1 {AT} n3 slurmd 77 - - a\\nb=c"), (8, "behind it")],
        id="verbose, a message of two lines, the source's time",
    ),
    pytest.param(
        (f"-- Boot 8d8a --\n{HEAD.format('UTC')}    _HOSTNAME=n3\n    _SOURCE_MONOTONIC_TIMESTAMP=87123456\n    _TRANSPORT=kernel\n    PRIORITY=3\n    MESSAGE={XID}").encode(),
        [(1, "-- Boot 8d8a --"), (7, KERNEL.replace("NVRM", "[   87.123456] NVRM"))],
        id="verbose, an uptime, no line end",
    ),
    pytest.param(
        f"__CURSOR=s=1\n__REALTIME_TIMESTAMP={AT_US}\nMESSAGE={XID}\nPRIORITY=3\n_TRANSPORT=kernel\n_HOSTNAME=n3\n\n".encode(),
        [(3, KERNEL)],
        id="export",
    ),
    pytest.param(
        b"_HOSTNAME=n3\n" + field(b"MESSAGE", b"two\nlines\n\nx=1") + f"SYSLOG_FACILITY=3\nPRIORITY=4\n_COMM=slurmd\n__REALTIME_TIMESTAMP={AT_US}\n\n\nMESSAGE=no more\n".encode(),
        [(2, f"<28>1 {AT} n3 slurmd - - - two\\nlines\\n\\nx=1"), (13, "<6>1 - - - - - - no more")],
        id="export, a value with a length",
    ),
    pytest.param(
        f"__REALTIME_TIMESTAMP={AT_US}\n_TRANSPORT=kernel\nPRIORITY=3\n".encode() + field(b"COREDUMP", b"x\n" * 1_100_000) + f"MESSAGE={XID}\n_HOSTNAME=n3\n\n".encode(),
        [(1_100_006, KERNEL)],
        id="export, a value too long to be held",
    ),
    pytest.param(
        f'{{\n\t"PRIORITY" : "3",\n\t"_HOSTNAME" : "n3",\n\t"MESSAGE" : "{XID}",\n\t"_TRANSPORT" : "kernel",\n\t"__REALTIME_TIMESTAMP" : "{AT_US}"\n}}\n'.encode(),
        [(4, KERNEL)],
        id="json-pretty",
    ),
    pytest.param(
        f'{{\n\t"__REALTIME_TIMESTAMP" : "{AT_US}",\n\t"MESSAGE" : [\n\t\t104,\n\t\t105\n\t]\n}}\n'.encode(),
        [(3, f"<6>1 {AT} - - - - - hi")],
        id="json-pretty, bytes",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "lines"), FORMS)
def test_makes_each_record_one_line_at_its_message(
    data: bytes, lines: list[tuple[int, str]]
) -> None:
    assert said(data) == lines


@pytest.mark.parametrize(
    "data",
    [
        f"{KERNEL}\n".encode(),
        b"PATH=/usr/bin\nHOME=/root\n\nMESSAGE=no journal\n",
        b'{"__REALTIME_TIMESTAMP":"1772303242299621","MESSAGE":"x"}\n',
        b'{\n  "kind": "List",\n  "items": []\n}\n',
        b"Sat 2026-02-28 18:27:22 UTC n3 kernel: x [s=1]\n    indented\n",
        b"we have seen __REALTIME_TIMESTAMP=1772303242299621 here\n",
    ],
    ids=["syslog", "environment", "json", "list", "short-full", "quoted"],
)
def test_leaves_other_logs_as_they_are(data: bytes) -> None:
    stream = stream_of(data)

    assert one_line_records(stream) is stream


@pytest.mark.parametrize("piece", [700, 4096, 1 << 20])
def test_reads_the_same_wherever_it_is_cut(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in FORMS:
        data = form.values[0]
        assert isinstance(data, bytes)
        if len(data) > 10_000:
            continue
        data = (data if data.endswith(b"\n") else data + b"\n") * 300
        monkeypatch.undo()
        whole = lines_of(data)
        monkeypatch.setattr("triage.formats.logs.journal.PIECE", piece)
        assert lines_of(data) == whole, form.id


@pytest.mark.parametrize(
    "data",
    [
        HEAD.format("UTC").encode() + b"    MESSAGE=x\n" + b"    A=" + b"x" * (MAX_RECORD + 10),
        b"__REALTIME_TIMESTAMP=1772303242299621\nMESSAGE=x\nBROKEN\nabcdefghijkl\nmore\n",
        b"__REALTIME_TIMESTAMP=1772303242299621\nMESSAGE=x\nBROKEN\nabc",
        b"__REALTIME_TIMESTAMP=1772303242299621\nMESSAGE=x\n" + b"y" * (MAX_RECORD + 10),
        b'{\n\t"__REALTIME_TIMESTAMP" : "1772303242299621",\n\t"MESSAGE" : "x',
    ],
    ids=["endless field", "no length", "cut length", "no lines", "cut object"],
)
def test_survives_what_is_broken(data: bytes) -> None:
    lines = lines_of(data if data.endswith(b"\n") else data + b"\n")

    assert any(b"x" in line for line in lines)


def test_reads_rows_with_place_and_time() -> None:
    data = b"".join(form.values[0] + b"\n" for form in FORMS[:2])  # type: ignore[operator]

    outcome = StreamReader(LineReader(get_standard(), DEFAULT_BOUNDS, False)).read(stream_of(data))

    assert outcome.file.kind is LogKind.KERNEL
    row = outcome.rows[0]
    assert (row.line, row.node, row.signature, row.weak) == (5, "n3", "nvidia.xid", False)
    assert row.stamp.wall_ns == AT_US * 1000


@pytest.mark.parametrize("before", ["\x1e", "data: "], ids=["json-seq", "json-sse"])
def test_reads_the_other_forms_of_json(before: str) -> None:
    line = f'{before}{{"__REALTIME_TIMESTAMP":"{AT_US}","_HOSTNAME":"n3","_TRANSPORT":"kernel","MESSAGE":"{XID}"}}'

    data = f"{line}\n\n".encode()
    row = (
        StreamReader(LineReader(get_standard(), DEFAULT_BOUNDS, False))
        .read(stream_of(data))
        .rows[0]
    )

    assert (row.node, row.line, row.stamp.wall_ns) == ("n3", 1, AT_US * 1000)
    assert read_envelope(line.lstrip("\x1e")).kernel
