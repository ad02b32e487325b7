"""What all formats of telemetry share: a reader of samples, and the file that comes out of it.

A job's log is never claimed: every whole line of the first bytes has to be a line of the
format, or the first line has to name columns that only telemetry has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from triage.domain.file_kind import FileKind
from triage.domain.patterns import compile_re
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.format import Head, ReadLines
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream
from triage.parsers.telemetry.exposition import read_exposition
from triage.parsers.telemetry.grid import Gridded
from triage.parsers.telemetry.labels import is_gpu_table, parse_header
from triage.parsers.telemetry.metrics import find_metric
from triage.parsers.telemetry.query_result import read_query_result
from triage.parsers.telemetry.samples import Form, ReadBytes, Samples, Tally, TelemetryFile
from triage.parsers.telemetry.table import read_table

LOOK_BYTES: Final = 16 << 10
MOST_LINES: Final = 200
_FAR: Final = "samples carry a time far from all others and were left out"


ReadSamples = Callable[[ReadBytes, Tally, str | None], Iterator[Samples]]
"""A reader of one form of telemetry: batches of samples, each to be used before the next is asked
for. The last argument is whose they are where they do not say.

Bad lines are counted in the tally and passed over. Raises :class:`triage.errors.Corrupt` where
nothing more can be read.
"""


@dataclass(frozen=True, slots=True)
class TelemetryFormat:
    """``begins`` looks at the first 16 KiB, without a byte order mark where they are text."""

    form: Form
    begins: Callable[[bytes], bool]
    read_samples: ReadSamples
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The form, as answers print it."""
        return self.form.value

    @property
    def kind(self) -> FileKind:
        """Telemetry."""
        return FileKind.TELEMETRY

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is telemetry of this form."""
        return self.begins(head.data[:LOOK_BYTES].removeprefix(b"\xef\xbb\xbf"))

    def read(self, stream: LogStream, _read_lines: ReadLines) -> Outcome | Refused:
        """The samples as stretches of time, or why not one can be used."""
        tally, gridded = Tally(), Gridded()
        try:
            node = parse_node(stream.artifact)
            for batch in self.read_samples(stream.read_up_to, tally, node):
                gridded.add(batch)
        except ArtifactError as error:
            if not tally.samples:
                return Refused(stream.artifact, str(error))
            tally.notes.append(str(error))
        if gridded.far:
            tally.notes.append(f"{gridded.far:,} {_FAR}")
        tally.notes += [f"line {first}: {why}" for why, (_, first) in sorted(tally.skipped.items())]
        file = LogFile(
            stream.artifact,
            LogKind.TELEMETRY,
            lines=tally.lines,
            not_understood={why: count for why, (count, _) in sorted(tally.skipped.items())},
            notes=(*stream.notes, *tally.notes),
        )
        kept = TelemetryFile(
            stream.artifact,
            self.form,
            tally.samples,
            tally.zoneless > 0,
            gridded.grid(),
            tuple((*home, uuid) for uuid, home in tally.gpus.of_uuid.items() if home is not None),
        )
        return Outcome(file, size_bytes=stream.total, telemetry=kept)


def iterate_whole_lines(text: bytes) -> Iterator[bytes]:
    """The first lines that are whole and not empty; all of a short text are whole."""
    lines = text.split(b"\n", MOST_LINES)
    if len(text) >= LOOK_BYTES and len(lines) > 1:
        lines.pop()
    return (line for one in lines[:MOST_LINES] if (line := one.strip()))


# The text that exporters of Prometheus print, such as dcgm-exporter.
#
# ::
#
#     # TYPE DCGM_FI_DEV_GPU_TEMP gauge
#     DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="n3"} 61 1795143855000

# `DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61`, with a time behind it or none.
_SAMPLE: Final = compile_re(
    rb"([A-Za-z_:][A-Za-z0-9_:]*)[ \t]*(?:\{[^\n]*\})?[ \t]+"
    rb"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|NaN|Inf)(?:[ \t]+-?[0-9]+)?[ \t]*"
)
_DESCRIBED: Final = compile_re(rb"# ?(?:HELP|TYPE) ([A-Za-z_:][A-Za-z0-9_:]*)")
# No line of the format begins so; most files are told by this alone.
_NO_NAME: Final = b"<[{0123456789"


def _is_exposition(text: bytes) -> bool:
    """Whether all lines are of the format, and one of them says what only a scrape says."""
    start = text.lstrip()[:1]
    if not start or start in _NO_NAME:
        return False
    sure = False
    samples = described = 0
    for line in iterate_whole_lines(text):
        if line.startswith(b"#"):
            described += 1
            sure = sure or _DESCRIBED.match(line) is not None
            continue
        found = _SAMPLE.fullmatch(line)
        if found is None:
            return False
        samples += 1
        sure = sure or find_metric(found[1].decode()) is not None
    return sure and (samples > 0 or described == MOST_LINES)


EXPOSITION: Final = TelemetryFormat(Form.EXPOSITION, _is_exposition, read_exposition)


# Tables of telemetry as text: nvidia-smi's CSV, and tables with a column of times.
#
# ::
#
#     timestamp, index, temperature.gpu
#     2026/11/21 03:04:15.000, 0, 61

# No first line of a table begins so; most files are told by this alone.
_NO_HEADER: Final = b"<[{0123456789"


def _is_table(text: bytes) -> bool:
    """Whether the first line names columns of telemetry, and a row of as many follows."""
    start = text.lstrip()[:1]
    if not start or start in _NO_HEADER:
        return False
    rows = (line for line in iterate_whole_lines(text) if not line.startswith(b"#"))
    columns = parse_header(next(rows, b""))
    if columns is None:
        return False
    if columns.time < 0 and not any(mark in name for name in columns.names for mark in "._"):
        return False
    if is_gpu_table(columns) or (columns.time < 0 and columns.names_node):
        return False  # what GPUs, or nodes, do at one moment
    row = next(rows, None)
    return row is None or row.count(columns.delimiter.encode()) >= len(columns.names) - 1


TABLE: Final = TelemetryFormat(Form.TABLE, _is_table, read_table)


# An answer of the Prometheus API.
#
# ::
#
#     {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, ...}]}}

_ANSWER: Final = compile_re(rb'\s*\{[^\[]{0,4096}"(?:resultType|result|status)"')


def _is_query_result(text: bytes) -> bool:
    """Whether a file that begins so is an answer of the API, with series in it."""
    return _ANSWER.match(text) is not None and b'"metric"' in text and b'"result"' in text


QUERY_RESULT: Final = TelemetryFormat(Form.QUERY_RESULT, _is_query_result, read_query_result)
