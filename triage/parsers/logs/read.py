"""The lines of a log to evidence.

The compiled scan sees every byte once and hands on groups of lines that look
alike; Python reads one line of each group. The lines behind a line, which some
signatures want, always lie in the buffer: a chunk ends that much before its end,
so that no result depends on where chunks are cut.
"""

import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.domain.category import GPU_PARTS, HARDWARE, Category
from triage.domain.evidence import ECHO, NO_STAMP, Evidence, EvidenceRole, Kind, Stamp, Trait
from triage.domain.patterns import compile_re
from triage.parsers.live.stacks.in_log import ABOVE, HEAD_SIGNATURE, DumpsInLog
from triage.parsers.logs import scan
from triage.parsers.logs.catalogue import Catalogue
from triage.parsers.logs.envelope import clean, compute_relative_stamps, read_envelope
from triage.parsers.logs.first_minutes import is_soon_after_boot, list_boots, mark_as_boot
from triage.parsers.logs.host_lines import add_headings, collect_hosts, place_row
from triage.parsers.logs.join import Mask, Outcome
from triage.parsers.logs.layout import Layout, detect_layout, find_node_of_file
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.mask import collapse_key
from triage.parsers.logs.newest_first import read_oldest_first
from triage.parsers.logs.progress.collect import Collector
from triage.parsers.logs.rows import (
    add_last_line,
    make_row,
    merge_rows,
    read_line,
    weigh_by_program,
)
from triage.parsers.logs.source import LogStream
from triage.parsers.logs.state import Envelope
from triage.reader.read import CauseReader, load_reader, make_match, reread_row

# Of a group's last line only the time is read.
_LAST_BYTES: Final = 1024
# The last lines of a log, of which one should have a time.
_TAIL_BYTES: Final = 4096
_LAST_LINES: Final = 8
# A traceback and what follows it say no time.
_STAMPED_LINES: Final = 100
_SHOWN_CHARACTERS: Final = 200
# How loggers and people name what went wrong, in whatever words it is told.
_ERROR_WORDS: Final = compile_re(
    r"\b(?:ERROR|FATAL|CRITICAL|PANIC)\b|\b(?i:fatal|exception|crash(?:ed)?|abort(?:ed|ing)"
    r"|(?<!\b0 )(?<!\bno )(?:failed|died)|killed|cannot continue|giving up)\b"
    r"(?!\W{0,3}(?:0|none)\b)"
)
# Tells the keys of a reader's groups from those of the scan.
_UNFAMILIAR: Final = 0x5E0D
# A ring of dmesg; what prints times since the line before is never larger than a few of it.
_MAX_RELATIVE: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class LogBounds:
    """What one log may ask for; sizes in bytes."""

    chunk: int = 8 << 20
    line: int = 64 << 10
    """A line is read so far."""
    context: int = 8 << 10
    """What is looked at behind a line."""
    each: int = 200_000
    """Lines that are kept one by one where their signature asks for it."""
    quiet: int = 512
    """Lines of progress and of channels that are told apart by more than their words."""
    groups: int = 200_000
    """Groups of lines that look alike."""

    misses: int = 64
    """Groups of one shape that no signature knows, before the shape is passed over."""
    noise: int = 2_000
    """Groups of one shape that only tell who is where, or that a job moves."""
    ranked_noise: int = 20_000
    """The same where each rank prints its own."""
    sampled: int = 100
    """Behind the first of a quiet shape of which each line tells something, one in so many is."""
    unsure: int = 32
    """Shapes of lines that are kept though neither a signature nor the reader can place them."""
    unfamiliar: int = 1_000
    """Shapes of lines that no signature knows, the last ones, which a trained reader is asked
    for."""
    counted: int = 8 << 20
    """A log is counted by templates up to this size: what is larger is a flood, and the
    answer has to wait for it."""

    @property
    def ahead(self) -> int:
        """What must lie in the buffer behind the start of the last line of a chunk."""
        return self.line + self.context + 1


DEFAULT_BOUNDS: Final = LogBounds()


@dataclass(slots=True)
class Group:
    """Lines that look alike: what the first one says, and the text of the last one."""

    rows: list[Evidence]
    key: int
    count: int
    first_line: int
    last_line: int
    node: str | None = None
    last_raw: bytes | None = None


class LineReader:
    """Reads streams as lines of logs; one set of buffers per thread.

    ``templates`` counts every line under its template as well, and asks the trained reader for
    those that no signature knows.
    """

    def __init__(self, catalogue: Catalogue, bounds: LogBounds, templates: bool) -> None:
        self.model = load_reader() if templates else None
        self.catalogue = catalogue
        self.bounds = bounds
        self.templates = templates
        self.local = threading.local()

    def read(self, stream: LogStream) -> Outcome:
        """One log to its end."""
        if not hasattr(self.local, "tables"):
            self.local.tables = scan.Tables()
            self.local.buffer = bytearray(self.bounds.chunk + self.bounds.ahead)
        stream = read_oldest_first(stream)
        return LogReader(self, stream, self.local.tables, self.local.buffer).read()


class LogReader:
    """One log on its way through the buffer."""

    def __init__(
        self, reader: LineReader, stream: LogStream, tables: scan.Tables, buffer: bytearray
    ) -> None:
        self.catalogue = reader.catalogue
        self.bounds = reader.bounds
        self.templates = reader.templates
        self.reader = reader.model
        self.stream = stream
        self.tables = tables
        self.buffer = buffer
        self.bytes = np.frombuffer(buffer, np.uint8)
        self.scanner = scan.Scanner(self.catalogue.automaton, tables, max_line=self.bounds.line)
        self.layout: Layout = detect_layout(stream.head)
        self.progress = Collector(tables.steps, label=self.layout.label)
        self.groups: dict[int, Group | None] = {}
        # Noise of a kernel, by its key whatever the hour: an hour more of it is no news.
        self.chatter: dict[int, Group] = {}
        self.harmless: set[int] = set()
        self.left: dict[int, int] = {}
        self.told: dict[int, bool] = {}
        # Lines since one was read, of the shapes of which one in many is.
        self.sampled: dict[int, int] = {}
        self.hosts: Counter[str] = Counter()
        self.hostless = 0
        self.kernel_lines = 0
        self.job_lines = 0
        self.not_kept = 0
        self.filled = 0
        self.last_stamp = NO_STAMP
        self.whole = bytearray()
        self.size_bytes = 0
        self.checksum = 0
        self.dumps: DumpsInLog | None = None
        self.above = b""
        # Where in the buffer the first head of a stack stands, and in which line.
        self.first_head: tuple[int, int] | None = None

    def read(self) -> Outcome:
        """Everything that the log gives."""
        quiet = self.bounds.each if self.layout.seated else self.bounds.quiet
        self.tables.start(self.bounds.each, self.templates, quiet)
        state = self.tables.state
        view = memoryview(self.buffer)
        ended = False
        while not ended:
            asked = len(view) - self.filled
            got = self.stream.fill(view[self.filled :])
            ended = got < asked
            if self.layout.relative and len(self.whole) < _MAX_RELATIVE:
                self.whole += view[self.filled : self.filled + got]
            self.checksum = zlib.crc32(view[self.filled : self.filled + got], self.checksum)
            self.filled += got
            self.size_bytes += got
            if self.size_bytes > self.bounds.counted:
                self.templates = False
            cut = self.filled if ended else self.filled - self.bounds.ahead
            begun = int(state[scan.LINE]) + 1
            self.scan_chunk(cut)
            self.take_dumps(begun, self.filled if ended else int(state[scan.POS]))
            if ended:
                self.look_at_tail()
                break
            pos = int(state[scan.POS])
            self.above = bytes(self.buffer[max(0, pos - ABOVE) : pos])
            self.buffer[: self.filled - pos] = self.buffer[pos : self.filled]
            self.filled -= pos
            state[scan.POS] = 0
        return self.outcome()

    def scan_chunk(self, cut: int) -> None:
        """Scan the buffer up to ``cut`` and take over what was found."""
        wrap = self.layout.wrap
        status = scan.FULL
        while status == scan.FULL:
            status = self.scanner.run(self.bytes, self.filled, cut, wrap, self.templates)
            self.take_groups()
            self.progress.take(self.buffer)

    def take_dumps(self, begun: int, end: int) -> None:
        """Stacks among the lines of this chunk, which begins with line ``begun``."""
        head, self.first_head = self.first_head, None
        if self.dumps is not None and self.dumps.is_open:
            head = 0, begun
        if head is None:
            return
        if self.dumps is None:
            self.dumps = DumpsInLog(self.stream.artifact, label=self.layout.label)
        place, line = head
        above = self.above if place < ABOVE else b""
        above += self.buffer[max(0, place - ABOVE) : place]
        self.dumps.take(bytes(self.buffer[place:end]), line, above)

    def take_groups(self) -> None:
        """Read the first lines of new groups; add to known ones."""
        count = int(self.tables.state[scan.GROUPS])
        for row in self.tables.groups[:count].tolist():
            key, lines, first_start, first_end, first_line, start, end, last_line, shape, same = row
            known = self.groups.get(key)
            if known is None and (known := self.chatter.get(same)) is not None:
                self.groups[key] = known
                self.harmless.add(first_line)
            if known is None:
                if key in self.groups or not self.worth_reading(shape, lines):
                    continue
                known = self.groups[key] = self.group(first_start, first_end, first_line)
                self.learn(shape, known)
                if known is None:
                    continue
                known.count = 0
                if self.is_noise(known):
                    self.harmless.add(first_line)
                if same and self.is_noise(known) and not self.layout.relative:
                    self.chatter[same] = known
            if known.rows[0].signature == HEAD_SIGNATURE:
                head = first_start, first_line
                self.first_head = min(self.first_head or head, head)
            known.count += lines
            later = last_line > known.last_line
            if later or (lines > 1 and last_line == known.last_line):
                known.last_line = last_line
                known.last_raw = bytes(self.buffer[start : min(end, start + _LAST_BYTES)])
        self.tables.clear_groups()

    def is_noise(self, group: Group) -> bool:
        """Whether a group's lines are of no weight at any hour."""
        each = self.catalogue.each
        return all(
            row.role is EvidenceRole.NOISE and row.signature not in each for row in group.rows
        )

    def worth_reading(self, shape: int, lines: int) -> bool:
        """Whether one more group of lines of this shape can tell something new."""
        if self.left.get(shape, 1) > 0:
            if len(self.groups) < self.bounds.groups + self.bounds.each:
                return True
            self.not_kept += lines
        elif shape in self.sampled:
            self.sampled[shape] += lines
            if self.sampled[shape] >= self.bounds.sampled:
                self.sampled[shape] = 0
                return True
        elif self.told.get(shape):
            self.not_kept += lines
        return False

    def learn(self, shape: int, group: Group | None) -> None:
        """What the first groups of a shape say bounds how many are read after them."""
        if group is None:
            if not self.told.get(shape):
                self.left[shape] = self.left.get(shape, self.bounds.misses) - 1
            return
        if not self.told.get(shape):
            self.told[shape] = True
            ranked = any(row.rank is not None for row in group.rows)
            if all(row.signature in self.catalogue.sampled for row in group.rows):
                self.sampled[shape] = 0
                self.left[shape] = self.bounds.misses
            elif not self.is_noise(group):
                self.left[shape] = self.bounds.each
            else:
                self.left[shape] = self.bounds.ranked_noise if ranked else self.bounds.noise
        self.left[shape] -= 1

    def group(self, start: int, end: int, line: int) -> Group | None:
        """Read the first line of a group; None for one that says nothing."""
        text = clean(bytes(self.buffer[start:end]))

        def after() -> Iterator[Envelope]:
            return self.lines_behind(end)

        envelope, rows = read_line(
            text,
            after,
            self.catalogue,
            self.stream.artifact,
            line,
            label=self.layout.label,
            system=self.layout.system,
        )
        if not rows:
            return None
        if envelope.kernel or self.layout.own_words:
            self.kernel_lines += 1
        else:
            self.job_lines += 1
        if envelope.node is not None:
            self.hosts[envelope.node] += 1
        elif envelope.stamp != NO_STAMP:
            self.hostless += 1
        payload = envelope.text[:4096].encode("utf-8", "replace")
        key = int(collapse_key(np.frombuffer(bytearray(payload), np.uint8), 0, len(payload)))
        if not envelope.kernel and not self.layout.kernel:
            rows = [self.doubt(self.reread(self.echo(row), envelope), envelope) for row in rows]
        return Group(rows, key, 1, line, line, envelope.node)

    def echo(self, row: Evidence) -> Evidence:
        """What only a kernel may say, said by something else."""
        if row.signature in self.catalogue.kernel_only and not row.weak:
            return replace(row, weak=True, fields={**row.fields, ECHO: "1"})
        return row

    def reread(self, row: Evidence, envelope: Envelope) -> Evidence:
        """An error in any words as what the reader takes them for, where it is sure enough; and one
        of a GPU whose part a pattern leaves open, as of the part that it is sure of; and one that a
        checker of collectives raised, as that of a mismatch.
        """
        any_words, is_open = Trait.ANY_WORDS in row.traits, row.category is Category.GPU
        is_raised = row.category is Category.SOFTWARE_USER and row.kind is Kind.PYTHON
        if self.reader is None or not (any_words or is_open or is_raised):
            return row
        (said,) = self.reader.read([_join_program(envelope)])
        names_part = said.is_sure and (
            (is_open and said.category in GPU_PARTS)
            or (is_raised and said.category is Category.COLLECTIVE_MISMATCH)
        )
        return reread_row(row, said) if names_part or (any_words and said.is_telling) else row

    def doubt(self, row: Evidence, envelope: Envelope) -> Evidence:
        """A process's words of a failed part as weak where the reader takes them for talk; of wrong
        results, which patterns tell by many words, as what it is sure of where that is no part.
        """
        reports = row.role is EvidenceRole.ROOT and row.category in HARDWARE and not row.weak
        if not reports or self.reader is None:
            return row
        (said,) = self.reader.read([_join_program(envelope)])
        if row.kind is Kind.NUMERICS and said.is_sure and said.category not in HARDWARE:
            return reread_row(row, said)
        return replace(row, weak=True) if said.is_harmless else row

    def lines_behind(self, end: int) -> Iterator[Envelope]:
        """The lines behind the one that ends at ``end``, without empty ones."""
        stop = min(self.filled, end + self.bounds.context)
        for found in _LINE.finditer(self.buffer, end, stop):
            if not found[0].isspace():
                yield read_envelope(clean(found[0]), label=self.layout.label)

    def look_at_tail(self) -> None:
        """The time of the last lines. So much of them is in the buffer wherever it was cut."""
        behind = min(_TAIL_BYTES, self.bounds.context)
        tail = bytes(self.buffer[max(0, self.filled - behind) : self.filled])
        for raw in reversed(_LINE_ENDS.split(tail)[-_STAMPED_LINES:]):
            stamp = read_envelope(clean(raw), label=self.layout.label).stamp
            if stamp != NO_STAMP:
                self.last_stamp = stamp
                return

    def error_at_end(self, lines: int) -> tuple[int, str] | None:
        """An error among the last lines, of ``lines`` in all, which no signature knows."""
        behind = min(_TAIL_BYTES, self.bounds.context)
        tail = bytes(self.buffer[max(0, self.filled - behind) : self.filled])
        texts = tail.removesuffix(b"\n").split(b"\n")[-_LAST_LINES:]
        for line, raw in enumerate(texts, start=lines - len(texts) + 1):
            text = read_envelope(clean(raw), label=self.layout.label).text
            if _ERROR_WORDS.search(text) and self.catalogue.match(text, ()) is None:
                return line, text[:_SHOWN_CHARACTERS]
        return None

    def outcome(self) -> Outcome:
        """What the file came down to."""
        state = self.tables.state
        lines = int(state[scan.LINE])
        if self.filled and self.buffer[self.filled - 1] != 10:
            lines += 1
        kind = self.kind()
        hosts = self.hosts | self.layout.hosts
        node = find_node_of_file(self.stream.artifact, kind, hosts, self.hostless)
        file = LogFile(self.stream.artifact, kind, node, lines, own=self.catalogue.own)
        if state[scan.TOO_LONG]:
            file.not_understood["too long"] = int(state[scan.TOO_LONG])
        notes = list(self.stream.notes)
        if self.not_kept:
            notes.append(f"{self.not_kept:,} lines of shapes seen too often were passed over")
        file.notes = tuple(notes)
        if kind is LogKind.KERNEL:
            file.harmless = frozenset(self.harmless)
        file.first_stamp = self.layout.first_stamp.set_zone(self.layout.zone_s)
        file.checksum = self.checksum
        file.system = self.layout.system
        file.job_id = self.layout.job_id if kind is LogKind.JOB else ""
        file.last_stamp = self.last_stamp.set_zone(self.layout.zone_s)
        if self.templates and self.reader is not None:
            self.take_unfamiliar(self.reader)
        if not self.layout.kernel:
            file.progress = self.progress.result()
        if file.progress is not None and file.progress.steps:
            file.error_at_end = self.error_at_end(lines)
        rows = merge_rows(add_headings(self.finished(node)), self.catalogue.each)
        looks = self.dumps.looks() if self.dumps is not None and kind is LogKind.JOB else ()
        outcome = Outcome(file, rows, size_bytes=self.size_bytes, looks=looks)
        if self.templates:
            outcome.masks = self.masks()
            outcome.uncounted = int(state[scan.OTHER_LINES])
        return outcome

    def kind(self) -> LogKind:
        """Whether kernels or processes wrote most of the lines."""
        if self.layout.own_words:
            return LogKind.KERNEL
        kernel = self.kernel_lines + self.layout.kernel_lines
        job = self.job_lines + self.layout.job_lines
        return LogKind.KERNEL if kernel and kernel >= job else LogKind.JOB

    def finished(self, node: str | None) -> Iterator[tuple[Evidence, int]]:
        """The rows of all groups, with the time of their last line."""
        seen = self.hosts | self.layout.hosts
        hosts = collect_hosts(self.stream.artifact, seen, self.layout.names)
        num_labels = len(self.layout.numbers)
        stamps: list[Stamp] = []
        if self.layout.relative:
            stamps = compute_relative_stamps(clean(raw) for raw in bytes(self.whole).split(b"\n"))
        groups = {id(one): one for one in self.groups.values() if one is not None}.values()
        boots = list_boots(row for group in groups for row in group.rows)
        for group in groups:
            last: Stamp | None = None
            if group.last_raw is not None:
                text_ = clean(group.last_raw)
                last = read_envelope(text_, label=self.layout.label).stamp
            for row in group.rows:
                stamp = row.stamp
                if stamps and group.last_line <= len(stamps):
                    stamp, last = stamps[group.first_line - 1], stamps[group.last_line - 1]
                row = place_row(row, group.node, hosts, node, num_labels)
                if group.count > 1 or stamps:
                    row = replace(
                        row,
                        count=group.count,
                        stamp=stamp,
                        last_stamp=stamp if last is None else last,
                        fields=add_last_line(row, group.last_line),
                    )
                if self.layout.zone_s is not None:
                    zone_s = self.layout.zone_s
                    stamp, last = row.stamp.set_zone(zone_s), row.last_stamp.set_zone(zone_s)
                    row = replace(row, stamp=stamp, last_stamp=last)
                if is_soon_after_boot(row.last_stamp, boots):
                    row = mark_as_boot(row)
                yield row, 0 if row.signature in self.catalogue.as_one else group.key

    def masks(self) -> list[Mask]:
        """(text, lines, first, last) of every template mask."""
        arena = self.tables.arena
        return [
            (arena[begin:end].tobytes(), lines, first, last)
            for _, lines, first, last, begin, end, *_ in self.list_masks()
        ]

    def list_masks(self) -> list[list[int]]:
        """The columns of every template mask."""
        count = int(self.tables.state[scan.TEMPLATES])
        found: list[list[int]] = self.tables.masks[:count].tolist()
        return found

    def take_unfamiliar(self, model: CauseReader) -> None:
        """What a trained reader takes the lines for that no signature knows."""
        known = {group.first_line for group in self.groups.values() if group is not None}
        known |= self.harmless
        unknown = [
            row
            for row in self.list_masks()
            if row[2] not in known
            and _FRAME.search(self.buffer, max(row[6] - 400, 0), row[6]) is None
        ]
        unknown.sort(key=lambda row: -row[3])
        unknown = sorted(unknown[: self.bounds.unfamiliar], key=lambda row: row[2])
        lines = [self.buffer[row[6] : min(row[7], row[6] + _LAST_BYTES)] for row in unknown]
        envelopes = [read_envelope(clean(bytes(one)), label=self.layout.label) for one in lines]
        texts = [_join_program(one) for one in envelopes]
        num_unsure = 0
        for row, envelope, text, said in zip(
            unknown, envelopes, texts, model.read(texts), strict=True
        ):
            if said.category is None and not (said.is_unsure and num_unsure < self.bounds.unsure):
                continue
            num_unsure += said.is_unsure
            key, count, first, last, _, _, _, _, start, end = row
            match = make_match(text, said)
            found = make_row(match, envelope, self.stream.artifact, first)
            found = weigh_by_program(found, match, envelope, system=self.layout.system)
            group = Group([found], key, count, first, last, envelope.node)
            group.last_raw = bytes(self.buffer[start : min(end, start + _LAST_BYTES)])
            self.groups[key ^ _UNFAMILIAR] = group


def _join_program(envelope: Envelope) -> str:
    """What the reader sees of a line: the program that prints it, and its words."""
    return f"{envelope.program or ''} {envelope.text}".strip()


# Behind where a frame of a traceback is stands its code, which tells nothing.
_FRAME: Final = compile_re(
    rb"  File \"[^\"\n]{1,300}\", line \d{1,9}, in [^\n]{1,80}\r?\n[^\n]{0,60}\Z"
)
_LINE_ENDS: Final = compile_re(rb"[\r\n]+")
_LINE: Final = compile_re(rb"[^\r\n]+")
