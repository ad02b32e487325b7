"""Lines put into a log at a time, in the envelope in which the log itself prints.

The envelope is that of a neighbouring line with its times moved; a line whose
envelope is not understood is never taken for a model, and a log without any stays as it is.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from simulator.perturb.stamps import SECOND_NS, moved
from triage.domain.evidence import Stamp
from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.state import Envelope

_DAY_NS: Final = 86_400 * SECOND_NS
_EPOCH: Final = re.compile(r"audit\((\d{10})\.(\d{3}):")
_KERNEL: Final = re.compile(r"kernel: (?:\[ *\d+\.\d+\] ?)?$")
_KMSG: Final = re.compile(r"^(\d{1,5},)(\d{1,19})(?=,\d{1,15},[^;]*;)")
_YEAR_2000: Final = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * SECOND_NS


@dataclass(frozen=True, slots=True)
class Line:
    """What is to be printed, when; ``program`` is None for a line of the kernel."""

    at_ns: int
    text: str
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Printed:
    """A line of a log: what stands before and behind its text, and its time where it has one."""

    before: str
    text: str
    behind: str
    at_ns: int | None
    kernel: bool


class Placed:
    """A log whose lines have their places in time; ``boot_ns`` where they count from a boot."""

    def __init__(self, lines: Sequence[Printed], boot_ns: int | None = None) -> None:
        self.boot_ns = boot_ns
        self.lines = list(lines)
        self.times: list[int] = []
        last = min((line.at_ns for line in lines if line.at_ns is not None), default=0)
        for line in lines:
            last = max(last, line.at_ns or 0)
            self.times.append(last)
        self.models = [place for place, line in enumerate(lines) if line.at_ns is not None]

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last time; None where no line has one."""
        return (self.times[0], self.times[-1]) if self.models else None

    def with_lines(self, more: Sequence[Line]) -> bytes | None:
        """The log with ``more`` in it; None where its envelope is not understood."""
        if not self.models:
            return None
        added: dict[int, list[str]] = {}
        for new in sorted(more, key=lambda line: line.at_ns):
            place = bisect_right(self.times, new.at_ns)
            added.setdefault(place, []).append(self.wrapped(new, place))
        out: list[str] = []
        num_added = 0
        for place, line in enumerate(self.lines):
            for text in added.get(place, ()):
                num_added += 1
                out.append(_renumbered(text, num_added - (place <= self.models[0])))
            out.append(_renumbered(line.before + line.text + line.behind, num_added))
        for text in added.get(len(self.lines), ()):
            num_added += 1
            out.append(_renumbered(text, num_added))
        return encoded(out)

    def wrapped(self, line: Line, place: int) -> str:
        """The line as this log prints it, at a place in it."""
        model = self.lines[self.models[max(bisect_right(self.models, place - 1) - 1, 0)]]
        at_ns = model.at_ns or 0
        year = datetime.fromtimestamp(at_ns // SECOND_NS, UTC).year
        by = line.at_ns - at_ns
        before = moved(model.before, by, year=year)
        text = line.text
        if line.program is not None:
            named = _KERNEL.sub(f"{line.program}: ", before)
            before, text = (named, text) if named != before else (before, f"{line.program}: {text}")
        if model.behind:
            text = json.dumps(text)[1:-1]
        return before + text + moved(model.behind, by, year=year)


def _renumbered(line: str, by: int) -> str:
    """A record of /dev/kmsg keeps its place in the row of numbers."""
    return _KMSG.sub(lambda match: match[1] + str(int(match[2]) + by), line) if by else line


def encoded(lines: Sequence[str]) -> bytes:
    """Lines as the bytes of a log."""
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")


def placed(data: bytes, end_ns: int | None) -> Placed:
    """The lines of a log. ``end_ns`` says the year where none is printed, and the boot where
    nothing else does: the last line is then taken to be of that time.
    """
    texts = data.decode("utf-8", "surrogateescape").splitlines()
    envelopes = [read_envelope(text) for text in texts]
    ups = [up for envelope in envelopes if (up := envelope.stamp.uptime_ns) is not None]
    boot = _boot_of(envelopes)
    if boot is None and ups:
        boot = (end_ns or _YEAR_2000) - ups[-1]
    lines = [
        _printed(text, envelope, _at_of(envelope.stamp, boot, end_ns))
        for text, envelope in zip(texts, envelopes, strict=True)
    ]
    return Placed(lines, boot)


def _printed(line: str, envelope: Envelope, at_ns: int | None) -> Printed:
    text = envelope.text
    if text and line.endswith(text):
        return Printed(line[: -len(text)], text, "", at_ns, envelope.kernel)
    if text and line.startswith("{"):
        for quoted in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
            before, found, behind = line.partition(quoted)
            if found:
                return Printed(before, quoted, behind, at_ns, envelope.kernel)
    return Printed(line, "", "", None, envelope.kernel)


def _boot_of(envelopes: Sequence[Envelope]) -> int | None:
    """When the node started, by a line that carries both clocks."""
    for envelope in reversed(envelopes):
        uptime_ns = envelope.stamp.uptime_ns
        if uptime_ns is not None and (epoch := _EPOCH.search(envelope.text)) is not None:
            return int(epoch[1]) * SECOND_NS + int(epoch[2]) * 1_000_000 - uptime_ns
    return None


def _at_of(stamp: Stamp, boot: int | None, end_ns: int | None) -> int | None:
    if stamp.wall_ns is None:
        return None if stamp.uptime_ns is None or boot is None else stamp.uptime_ns + boot
    at_ns = stamp.wall_ns - (stamp.zone_s or 0) * SECOND_NS
    return at_ns if stamp.has_year else _in_year(at_ns, end_ns)


def _in_year(at_ns: int, end_ns: int | None) -> int:
    """A time of the year 2000, in the latest year in which it is not long behind ``end_ns``."""
    at = datetime.fromtimestamp(at_ns // SECOND_NS, UTC)
    last = datetime.fromtimestamp((end_ns or _YEAR_2000) // SECOND_NS + 86_400, UTC)
    for year in (last.year, last.year - 1):
        try:
            dated = at.replace(year=year)
        except ValueError:
            continue
        if dated <= last:
            return int(dated.timestamp()) * SECOND_NS + at_ns % SECOND_NS
    return at_ns


def is_kernel_log(data: bytes) -> bool:
    """Whether most of the first lines are the kernel's."""
    lines = data[:8192].decode("utf-8", "replace").splitlines()[:12]
    kernel = sum(read_envelope(line).kernel for line in lines)
    return bool(lines) and kernel * 2 >= len(lines)
