"""Printed times as moments in UTC: the year, the zone and the time of boot are worked out.

What is assumed is said in the notes, and what cannot be known stays in the error.
A line from the future or from years ago keeps its time and moves nothing else.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import Final, Literal

from triage.domain.evidence import NO_STAMP, Evidence, EvidenceRole, Kind, Stamp, Trait
from triage.parsers.logs.boots import Boots, Dater, Wall
from triage.parsers.logs.logset import LogFile, LogKind, LogSet, TemplateCount
from triage.parsers.logs.progress.series import JobSteps, Place
from triage.parsers.logs.stamps import DAY_NS, MINUTE_NS, SECOND_NS
from triage.parsers.telemetry.samples import TelemetryFile

# A hang may be noticed so late.
_SILENT_NS: Final = 150 * MINUTE_NS
# One node's stale error may lie some hours before the stop; that of three does not.
_KERNEL_VOTES: Final = 3
# Off by less is no zone.
_LEAST_ZONE_NS: Final = 10 * MINUTE_NS
# The logs of one job end within this of each other.
_ONE_END_NS: Final = 15 * MINUTE_NS
_MAX_NOTES: Final = 6
# How far from UTC clocks are that print no zone: one answer for job logs, one for kernel logs. A
# zone is a fact of a whole cluster; a single node that is off has a wrong clock, which is not for
# here. So files vote, and without a clear majority UTC is assumed.
_QUARTER_NS: Final = 15 * MINUTE_NS
# Nearer to a quarter of an hour than this is taken for one.
_SLACK_NS: Final = 3 * MINUTE_NS
# The offsets that somewhere on earth are law, in quarters of an hour.
_BROKEN: Final = (-38, -14, 14, 18, 22, 23, 26, 35, 38, 42, 51)
_OFFSETS: Final = frozenset((*range(-48, 57, 4), *_BROKEN))
# So many of the files that can tell must tell the same.
_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Anchors:
    """Times in UTC that are known without any log.

    ``dump_last_ns`` is the last time in any dump; with ``dump_by_node`` (the last time in
    the dumps of each node) one node's wrong clock does not count. When the job began tells the
    year alone.
    """

    failed_at_ns: int | None = None
    dump_last_ns: int | None = None
    at_ns: int | None = None
    dump_by_node: Mapping[str, int] = field(default_factory=dict)
    started_at_ns: int | None = None

    @property
    def stop_ns(self) -> int | None:
        """When the job stood still, as far as known."""
        if self.dump_ns is not None:
            return self.dump_ns
        return self.failed_at_ns if self.failed_at_ns is not None else self.at_ns

    @property
    def dump_ns(self) -> int | None:
        """The last time in the dumps, of the node in the middle where nodes are told apart."""
        if len(self.dump_by_node) > 2 or self.dump_last_ns is None:
            return median_low(self.dump_by_node.values()) if self.dump_by_node else None
        return self.dump_last_ns


def place(logs: LogSet, anchors: Anchors) -> LogSet:
    """``logs`` with times in UTC. The same logs give the same times, in whatever order."""
    notes: list[str] = []
    rows_of: dict[str, list[Evidence]] = defaultdict(list)
    for row in logs.evidence:
        rows_of[row.artifact].append(row)
    for rows in rows_of.values():
        rows.sort(key=lambda row: row.line or 0)
    files = {file.artifact: file for file in logs.files}
    kind_of = {
        name: files[name].kind if name in files else _guess(rows_of[name]) for name in rows_of
    }
    kind_of |= {name: file.kind for name, file in files.items()}
    year = _find_year_anchor(logs, anchors, notes)
    stop = anchors.stop_ns
    zones = {
        kind: _find_zone(kind, sorted(kind_of), kind_of, rows_of, files, year, stop, anchors, notes)
        for kind in (LogKind.JOB, LogKind.KERNEL)
    }
    if zones[LogKind.KERNEL] is None and zones[LogKind.JOB]:
        zones[LogKind.KERNEL] = _choose_zone_of_job(kind_of, rows_of, year, stop, zones, notes)
    zones[LogKind.TELEMETRY] = 0
    zones[LogKind.CHECKS] = 0  # they are dated with their zone or not at all
    zones[LogKind.LIVE] = 0  # looks are dated by themselves
    boots = Boots(rows_of, files, lambda name: Wall(year, zones[kind_of[name]]), stop, notes)
    evidence = [_date_row(row, boots.dater(row.artifact)) for row in logs.evidence]
    _date_reports(evidence, logs.files, boots)
    in_job_logs = [k for k, row in enumerate(evidence) if kind_of[row.artifact] is LogKind.JOB]
    _date_by_next_line(evidence, in_job_logs, _list_dated_steps(logs.files, boots))
    placed = [_date_file(file, boots.dater(file.artifact)) for file in logs.files]
    times = {
        id(old): new for old, new in zip(logs.evidence, evidence, strict=True) if new is not old
    }
    for file in placed:
        if file.first_at_ns is None and file.last_at_ns is None:
            # Where no line of the file told its span, the evidence does.
            rows = [times.get(id(row), row) for row in rows_of.get(file.artifact, ())]
            span = [row.at_ns for row in rows if row.at_ns is not None]
            file.first_at_ns, file.last_at_ns = min(span, default=None), max(span, default=None)
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"and {len(notes) - _MAX_NOTES} more assumptions about clocks"]
    telemetry = _align_telemetry(logs, zones, stop, notes)
    return replace(
        logs, files=placed, evidence=evidence, notes=[*logs.notes, *notes], telemetry=telemetry
    )


def _align_telemetry(
    logs: LogSet, zones: Mapping[LogKind, int | None], stop: int | None, notes: list[str]
) -> list[TelemetryFile]:
    """Telemetry whose times print no zone, in a zone of the logs in which it covers the stop;
    where none does, in that of the logs, else in UTC.
    """
    bare = [one for one in logs.telemetry if one.zoneless]
    if not bare:
        return logs.telemetry
    of_logs = zones[LogKind.JOB] or zones[LogKind.KERNEL] or 0
    seconds = Counter(row.stamp.zone_s for row in logs.evidence if row.stamp.zone_s is not None)
    printed = sorted(seconds, key=lambda zone_s: (-seconds[zone_s], zone_s))
    tried = dict.fromkeys(
        [of_logs, *(zone_s * SECOND_NS for zone_s in printed), *_last_lines_at(logs, stop), 0]
    )
    ahead_ns = next(
        (zone for zone in tried if any(_is_covering(one, zone, stop) for one in bare)), of_logs
    )
    zone = f"UTC{ahead_ns / 3.6e12:+g} h, as the logs are" if ahead_ns else "UTC"
    notes.append(f"{bare[0].artifact}: times of telemetry without a zone are taken for {zone}")
    return [one.in_zone(ahead_ns) for one in logs.telemetry]


def _last_lines_at(logs: LogSet, stop: int | None) -> list[int]:
    """The zone in which logs end as the dumps do; none or one."""
    if stop is None:
        return []
    last = [one.last_stamp for one in logs.files if one.last_stamp.has_year]
    bare = [one.wall_ns for one in last if one.wall_ns is not None and _is_bare(one)]
    votes = [zone for wall_ns in bare if (zone := _find_nearest_zone(wall_ns - stop)) is not None]
    zone = _choose_zone(votes)
    return [] if zone is None else [zone]


def _is_covering(file: TelemetryFile, ahead_ns: int, stop: int | None) -> bool:
    """Whether the stop lies within a file's times, if these are so far ahead of UTC."""
    grid = file.grid
    return (
        grid is not None
        and stop is not None
        and (grid.start_ns - ahead_ns <= stop <= grid.end_ns - ahead_ns)
    )


def _guess(rows: Sequence[Evidence]) -> LogKind:
    job = sum(row.kind in (Kind.NCCL, Kind.PYTHON, Kind.ELASTIC, Kind.CUDA) for row in rows)
    return LogKind.JOB if job * 2 >= len(rows) else LogKind.KERNEL


def _find_year_anchor(logs: LogSet, anchors: Anchors, notes: list[str]) -> int | None:
    """The moment about which times without a year lie."""
    known = anchors.failed_at_ns or anchors.stop_ns
    stamps = [row.stamp for row in logs.evidence]
    stamps += [one for file in logs.files for one in (file.first_stamp, file.last_stamp)]
    missing = any(one.wall_ns is not None and not one.has_year for one in stamps)
    if known is None:
        full = sorted(one.wall_ns for one in stamps if one.wall_ns is not None and one.has_year)
        known = _find_newest_in_company(full) or anchors.started_at_ns
        if missing and known is None:
            notes.append("no log prints a year: dates are right but for the year")
    return known


def _find_newest_in_company(times: Sequence[int]) -> int | None:
    """The newest of sorted ``times`` that has others in the day before it."""
    need = min(3, len(times) // 10)
    for index in range(len(times) - 1, -1, -1):
        if index - bisect_left(times, times[index] - DAY_NS) >= need:
            return times[index]
    return times[-1] if times else None


def _find_zone(
    kind: LogKind,
    names: Sequence[str],
    kind_of: Mapping[str, LogKind],
    rows_of: Mapping[str, Sequence[Evidence]],
    files: Mapping[str, LogFile],
    year: int | None,
    stop: int | None,
    anchors: Anchors,
    notes: list[str],
) -> int | None:
    """The zone of the files of one kind that print none, in ns; None where nothing tells it."""
    mine = [name for name in names if kind_of[name] is kind]
    bare = [name for name in mine if any(_is_bare(row.stamp) for row in rows_of.get(name, ()))]
    if not bare:
        return 0
    printed = {
        row.stamp.zone_s
        for name in mine
        for row in rows_of.get(name, ())
        if row.stamp.zone_s is not None
    } - {0}
    reader = Wall(year, 0)
    votes = [
        _vote_zone(kind, rows_of[name], files.get(name), reader, stop, anchors) for name in bare
    ]
    cast = [one for one in votes if one is not False]
    zone = _choose_zone(cast)
    if kind is LogKind.KERNEL and zone and cast.count(zone) < _KERNEL_VOTES:
        zone = None
    if zone is None and len(printed) == 1:
        zone = printed.pop() * SECOND_NS
        why = "as other logs print it"
        rows = [row for name in mine for row in rows_of.get(name, ())]
        if _do_ends_meet(rows, reader, 0) and not _do_ends_meet(rows, reader, zone):
            zone = 0
    else:
        why = "by when they report the stop"
    if zone is None and kind is LogKind.JOB:
        zone = _choose_zone_of_kernels(kind_of, rows_of, reader, anchors)
        why = "as kernel logs print it, whose errors are then of its end"
    if zone is not None and abs(zone) >= _LEAST_ZONE_NS:
        what = "job logs" if kind is LogKind.JOB else "kernel logs"
        notes.append(f"times without a zone in {what} are taken for UTC{_format_zone(zone)}, {why}")
    return zone


def _do_ends_meet(rows: Sequence[Evidence], reader: Wall, zone_ns: int) -> bool:
    """Whether the last lines that print a zone and the last that print none are of one time, if
    these are of ``zone_ns``.
    """
    zoned = [
        read[0] for row in rows if row.stamp.zone_s is not None and (read := reader(row.stamp))
    ]
    bare = [read[0] for row in rows if _is_bare(row.stamp) and (read := reader(row.stamp))]
    if not zoned or not bare:
        return False
    return abs(max(bare) - zone_ns - max(zoned)) <= _ONE_END_NS


def _is_bare(stamp: Stamp) -> bool:
    return stamp.wall_ns is not None and stamp.zone_s is None


def _vote_zone(
    kind: LogKind,
    rows: Sequence[Evidence],
    file: LogFile | None,
    reader: Wall,
    stop: int | None,
    anchors: Anchors,
) -> int | Literal[False] | None:
    """The zone that one file speaks for; None where it fits none, False where it cannot tell."""
    if stop is None:
        return False
    starts, ends = [], []
    for row in rows:
        read = reader(row.stamp) if _is_bare(row.stamp) else None
        if read is None or abs(read[0] - stop) > 2 * DAY_NS:
            continue
        ran_ns = _read_ran_ns(row)
        if ran_ns is not None:
            starts.append(read[0] - ran_ns)
        if row.role in (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE):
            ends.append((reader(row.last_stamp) or read)[0])
    end = anchors.failed_at_ns if anchors.failed_at_ns is not None else stop
    # Lines about the stop as they stand: then there is nothing to explain.
    if any(min(stop, end) - 5 * MINUTE_NS <= ns <= end + 10 * MINUTE_NS for ns in ends):
        return 0
    if starts and anchors.dump_ns is not None:
        return _find_nearest_zone(median_low(starts) - anchors.dump_ns)
    if kind is LogKind.JOB:
        last = reader(file.last_stamp) if file is not None and _is_bare(file.last_stamp) else None
        if last is not None and abs(last[0] - end) <= 2 * DAY_NS:
            if abs(last[0] - end) <= _LEAST_ZONE_NS:
                return 0
            ends.append(last[0])
    if not ends:
        return False
    apart = max(ends) - end
    # A log that falls silent an hour or two before the end may well be of a job that hung.
    if -_SILENT_NS < apart < 0:
        return False
    # A process that waits prints nothing: its log ends, or its errors begin, where the dumps do.
    still = [] if anchors.dump_ns is None else [max(ends) - stop, min(ends) - stop]
    if kind is LogKind.JOB and anchors.failed_at_ns is None:
        return next((zone for one in still if (zone := _find_nearest_zone(one))), False)
    return _find_nearest_zone(apart) or next(
        (zone for one in still if (zone := _find_nearest_zone(one))), None
    )


def _choose_zone_of_kernels(
    kind_of: Mapping[str, LogKind],
    rows_of: Mapping[str, Sequence[Evidence]],
    reader: Wall,
    anchors: Anchors,
) -> int | None:
    """The one zone that kernel logs print, where with it more of what they tell, and the end by
    ``job.json``, is of the end of the job logs than with UTC.
    """
    failing = (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE)
    ends: dict[str, int] = {}
    told: list[int] = []
    printed: set[int] = set()
    for name, rows in rows_of.items():
        for row in rows:
            read = reader(row.last_stamp) or reader(row.stamp)
            if read is None or row.role not in failing or row.is_mild:
                continue
            if kind_of[name] is LogKind.JOB and _is_bare(row.stamp):
                ends[name] = max(read[0], ends.get(name, read[0]))
            elif kind_of[name] is LogKind.KERNEL and row.stamp.zone_s is not None:
                printed.add(row.stamp.zone_s)
                told.append(read[0])
    if len(printed) != 1 or not ends:
        return None
    zone, window = printed.pop() * SECOND_NS, _ONE_END_NS
    told += [] if anchors.failed_at_ns is None else [anchors.failed_at_ns]
    with_zone = sum(any(abs(end - zone - ns) <= window for end in ends.values()) for ns in told)
    as_utc = sum(any(abs(end - ns) <= window for end in ends.values()) for ns in told)
    return zone if with_zone > as_utc else None


def _choose_zone_of_job(
    kind_of: Mapping[str, LogKind],
    rows_of: Mapping[str, Sequence[Evidence]],
    year: int | None,
    stop: int | None,
    zones: Mapping[LogKind, int | None],
    notes: list[str],
) -> int | None:
    """The job logs' zone, where kernels' lines come nearer to the stop with it than as UTC."""
    zone = zones[LogKind.JOB]
    if zone is None or stop is None:
        return None
    reader = Wall(year, 0)
    times = [
        read[0]
        for name, rows in sorted(rows_of.items())
        if kind_of[name] is LogKind.KERNEL
        for row in rows
        if _is_bare(row.stamp) and row.role in (EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE)
        for read in [reader(row.last_stamp) or reader(row.stamp)]
        if read is not None
    ]
    window = 15 * MINUTE_NS
    with_zone = sum(abs(ns - zone - stop) <= window for ns in times)
    as_utc = sum(abs(ns - stop) <= window for ns in times)
    if with_zone <= as_utc:
        return None
    notes.append(
        f"times without a zone in kernel logs are taken for UTC{_format_zone(zone)}, as in the"
        f" job logs"
    )
    return zone


def _format_zone(zone_ns: int) -> str:
    minutes = abs(zone_ns) // MINUTE_NS
    return f"{'-' if zone_ns < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _date_reports(evidence: list[Evidence], files: Sequence[LogFile], boots: Boots) -> None:
    """Give the rows of a report whose first lines alone say a time that time: when it was made."""
    made = {
        file.artifact: date
        for file in files
        if file.last_stamp == NO_STAMP
        and (date := boots.dater(file.artifact)(file.first_stamp, 0)) is not None
    }
    for k, row in enumerate(evidence):
        if row.at_ns is None and Trait.OF_A_REPORT in row.traits and row.artifact in made:
            at_ns, error_ns = made[row.artifact]
            evidence[k] = row.dated(at_ns, at_ns, error_ns)


# A traceback without times, and the launcher's dated line that says what came of it.
NEXT_LINES: Final = 20


# The launcher may hear of it so much later, where a step above says that the job still ran.
_MOST_LATE_NS: Final = MINUTE_NS


def _list_dated_steps(files: Sequence[LogFile], boots: Boots) -> dict[str, list[tuple[int, int]]]:
    """Artifact -> line and time of each of its steps that prints one, in the order of lines."""
    return {
        file.artifact: [
            (step.place.line, date[0])
            for step in file.progress.steps
            if (date := boots.dater(file.artifact)(step.place.stamp, step.place.line)) is not None
        ]
        for file in files
        if file.progress is not None
    }


def _date_by_next_line(
    evidence: list[Evidence],
    chosen: Sequence[int],
    steps: Mapping[str, Sequence[tuple[int, int]]],
) -> None:
    """Give rows of ``chosen`` that print no time that of a row a few lines below them: a process
    writes its traceback bare, and who hears of it the time. It was printed behind the step above.
    """
    below: dict[str, Evidence] = {}
    # Lines that undated rows hold between that one and here: a flood makes nothing far apart.
    told: Counter[str] = Counter()
    bare = {k for k in chosen if evidence[k].at_ns is None}
    places = [(evidence[k].line or 0, True, k) for k in chosen]
    # What was said again and again is dated by what stands below its last line, too.
    places += [
        (row.last_line or 0, False, k) for k in bare if (row := evidence[k]).last_line != row.line
    ]
    for line, is_first, k in sorted(places, key=lambda one: (-one[0], one[1], one[2])):
        row = evidence[k]
        if k not in bare:
            below[row.artifact] = row
            told[row.artifact] = 0
            continue
        told[row.artifact] += row.count if is_first else 1
        near = below.get(row.artifact)
        if near is None or near.line is None or row.line is None:
            continue
        begun_ns = _find_begin_ns(near, row)
        if begun_ns is None or near.line - line >= NEXT_LINES + told[row.artifact]:
            continue
        last_ns = begun_ns if row.last_at_ns is None else row.last_at_ns
        error_ns = near.error_ns + SECOND_NS
        own = steps.get(row.artifact, ())
        above = bisect_left(own, (line, 0)) - 1
        if above >= 0 and 0 <= begun_ns - own[above][1] <= _MOST_LATE_NS:
            error_ns = max(error_ns, begun_ns - own[above][1])
        evidence[k] = row.dated(begun_ns, last_ns, error_ns)


def _find_begin_ns(near: Evidence, row: Evidence) -> int | None:
    """When what ``near`` tells of began: a root elsewhere, where a rank has waited, as its wait
    did.
    """
    same = row.rank is not None and row.rank == near.rank
    if Trait.TIMEOUT not in near.traits or same or row.role is not EvidenceRole.ROOT:
        return near.at_ns
    ran_ns = _read_ran_ns(near)
    return None if near.at_ns is None or ran_ns is None else near.at_ns - ran_ns


def _read_ran_ns(row: Evidence) -> int | None:
    """For how long what ``row`` tells of had run, in ns."""
    ran = row.fields.get("ran_ms", "")
    return int(ran) * 1_000_000 if ran.isdecimal() and len(ran) < 12 else None


def _date_row(row: Evidence, date: Dater) -> Evidence:
    first = date(row.stamp, row.line)
    if first is None:
        return row
    last = date(row.last_stamp, row.line)
    return row.dated(first[0], first[0] if last is None else last[0], first[1])


def _date_file(file: LogFile, date: Dater) -> LogFile:
    first, last = date(file.first_stamp, 0), date(file.last_stamp, file.lines)
    return replace(
        file,
        first_at_ns=None if first is None else first[0],
        last_at_ns=None if last is None else last[0],
        templates=tuple(_date_template(one, date) for one in file.templates),
        progress=None if file.progress is None else _date_steps(file.progress, date),
    )


def _date_steps(progress: JobSteps, date: Dater) -> JobSteps:
    return replace(
        progress,
        steps=tuple(replace(one, place=_date_place(one.place, date)) for one in progress.steps),
        marks=tuple(
            replace(one, places=tuple(_date_place(place, date) for place in one.places))
            for one in progress.marks
        ),
    )


def _date_place(place: Place, date: Dater) -> Place:
    if place.stamp == NO_STAMP:
        return place
    read = date(place.stamp, place.line)
    return place if read is None else Place(place.line, place.order, place.stamp, read[0])


def _date_template(one: TemplateCount, date: Dater) -> TemplateCount:
    first, last = date(one.first_stamp, one.first_line), date(one.last_stamp, one.last_line)
    if first is None and last is None:
        return one
    return replace(
        one,
        first_at_ns=None if first is None else first[0],
        last_at_ns=None if last is None else last[0],
    )


def _find_nearest_zone(difference_ns: int) -> int | None:
    """A difference as a possible zone in ns; None where it is none."""
    steps = (difference_ns + _QUARTER_NS // 2) // _QUARTER_NS
    if steps not in _OFFSETS or abs(difference_ns - steps * _QUARTER_NS) > _SLACK_NS:
        return None
    return steps * _QUARTER_NS


def _choose_zone(votes: Iterable[int | None]) -> int | None:
    """The zone that most files vote for; None without a clear one."""
    cast = list(votes)
    counts = Counter(vote for vote in cast if vote is not None)
    if not counts:
        return None
    zone, count = min(counts.items(), key=lambda one: (-one[1], abs(one[0]), one[0]))
    return zone if count >= _SHARE * len(cast) else None
