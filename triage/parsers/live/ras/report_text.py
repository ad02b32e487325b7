"""The text that ``ncclras`` prints: a table of communicators, then what is odd about some.

It lists ranks of small groups only, so that where most ranks are behind, those that it lists are
the ones ahead: the counts say it, and never the list. Sample::

    #1-0 (5e2b7741c09fd3a8) MISMATCH
      Communicator ranks have different AllGather operation counts
      7 ranks have launched up to operation 88202
      Rank 5 has launched up to operation 88201 -- GPU 5 managed by process 48206 on node 10.0.0.1
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Final

from triage.domain.live.communicator import Communicator, CommunicatorRank, Presence
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import UNKNOWN_PROCESS, Process, Reply, ReplyKind
from triage.domain.patterns import compile_re
from triage.errors import ArtifactError

# The largest communicator that is believed, and the most members that are kept of a report.
MAX_RANKS: Final = 1 << 20
_REMOTE: Final = "remote process error"


NO_COMMUNICATOR: Final = (
    "NCCL RAS knows no communicator: none has been set up yet, the ranks hang in the set-up, or the"
    " job has given them up"
)
# All ranks have launched the same: a hang on the device, or in what is not counted, looks alike.
NO_PROOF: Final = (
    "NCCL RAS shows nobody behind; it counts what hosts launched, never what completed, and neither"
    " sends nor captured graphs: that is no proof of health"
)


def _is_remote(error: str | None) -> bool:
    return (error or "").lower() == _REMOTE


@dataclass(slots=True)
class Group:
    """Members of which a line says how many they are and what they have in common."""

    topic: str
    num_ranks: int
    count: int | None = None
    status: str | None = None
    error: str | None = None
    listed: int = 0


@dataclass(slots=True)
class CommunicatorParts:
    """``groups`` are those that the report counts, with or without a list of their ranks."""

    hash: int
    size: int
    line: int
    members: dict[int, CommunicatorRank] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    group: Group | None = None
    contradictions: int = 0

    def add(
        self,
        rank: int,
        process: Process,
        presence: Presence = Presence.ANSWERED,
        *,
        counts: Mapping[str, int] | None = None,
        status: str | None = None,
        error: str | None = None,
        line: int | None = None,
    ) -> None:
        """What a line says of a rank. A rank that the communicator cannot have is left out."""
        known = self.members.get(rank) or CommunicatorRank(rank, process, line=line)
        other = UNKNOWN_PROCESS not in (known.process, process) and known.process != process
        if rank >= (self.size or MAX_RANKS) or len(self.members) >= MAX_RANKS or other:
            self.contradictions += 1
            return
        error = error or known.error
        self.members[rank] = replace(
            known,
            process=process if known.process == UNKNOWN_PROCESS else known.process,
            presence=known.presence if presence is Presence.ANSWERED else presence,
            launched={**(known.launched or {}), **(counts or {})} or None,
            status=status or known.status,
            error=error,
            remote_error=_is_remote(error),
        )

    def settle(
        self, silent: Mapping[tuple[str | None, int | None], Presence], all_of: Process | None
    ) -> None:
        """Say of missing members whose process is dead or silent that they are. ``all_of`` is the
        process that does not answer where it is one: old releases print a missing rank alone.
        """
        missing = [one for one in self.members.values() if one.presence is Presence.MISSING]
        for one in missing:
            is_lone = len(missing) == 1 and one.process == UNKNOWN_PROCESS
            process = all_of if is_lone and all_of is not None else one.process
            presence = silent.get((process.host, process.pid), Presence.MISSING)
            self.members[one.rank] = replace(one, process=process, presence=presence)

    def communicator(self) -> Communicator:
        """What is known of it."""
        members = tuple(self.members[rank] for rank in sorted(self.members))
        size = max(self.size, members[-1].rank + 1 if members else 0)
        return Communicator(
            self.hash, size, members, self.rest(), line=self.line, unlisted=self.unlisted()
        )

    def unlisted(self) -> dict[str, dict[int, int]]:
        """Operation -> how many were launched -> by how many ranks that are not listed."""
        found: dict[str, dict[int, int]] = {}
        for one in self.groups:
            if one.count is not None and one.topic and not one.listed:
                levels = found.setdefault(one.topic, {})
                levels[one.count] = levels.get(one.count, 0) + one.num_ranks
        return found

    def rest(self) -> CommunicatorRank | None:
        """The members that are not listed, by the least that is said of any of them."""
        unlisted = [one for one in self.groups if not one.listed]
        if not unlisted and len(self.members) >= self.size:
            return None
        counts = {topic: min(levels) for topic, levels in self.unlisted().items()}
        statuses = sorted({one.status for one in unlisted if one.status is not None})
        errors = [one.error for one in unlisted if one.error is not None]
        error = next((one for one in errors if not _is_remote(one)), next(iter(errors), None))
        return CommunicatorRank(
            -1,
            UNKNOWN_PROCESS,
            launched=counts or None,
            status="init" if "init" in statuses else next(iter(statuses), None),
            error=error,
            remote_error=_is_remote(error),
            line=self.line,
        )

    def notes(self) -> list[str]:
        """What the reader should know of it."""
        found = []
        for topic, levels in sorted(self.unlisted().items()):
            least = min(levels)
            counts = [(one.launched or {}).get(topic) for one in self.members.values()]
            if all(count is None or count > least for count in counts):
                found.append(
                    f"communicator {self.hash:016x}: {levels[least]} ranks are behind and RAS does"
                    " not list them (what it lists is ahead): ask for JSON, or verbosely"
                )
        if self.contradictions:
            found.append(
                f"communicator {self.hash:016x}: {self.contradictions} lines contradict its size or"
                " other lines and were left out"
            )
        return found


# The title stands within this much of the beginning; what a shell printed may stand before it.
_HEAD_CHARS: Final = 4096
_MAX_LINE: Final = 2000
_MAX_LINES: Final = 2_000_000
# A loop that asked each minute for a day has fewer.
_MAX_REPORTS: Final = 2_000

_VERSION: Final = compile_re(r"^(?:NCCL|RCCL|NCCLX) version .{1,200}$", re.MULTILINE)
_SUMMARY: Final = compile_re(r"^Job summary[ \t]*\r?\n=+[ \t]*\r?$", re.MULTILINE)
# "      2          8            1         16       16": nodes, processes, GPUs per process, both
_MOST: Final = r"(?:\d{1,9}-)?(\d{1,9})"
_JOB_ROW: Final = compile_re(rf"^ {{2,}}[\d-]+ +{_MOST} +[\d-]+ +\d+ +(\d{{1,9}}) *$")
# "    0         1         2       7-8        16        16   RUNNING  INCOMPLETE,MISMATCH"
_GROUP_ROW: Final = compile_re(
    rf"^ {{2,}}(\d{{1,9}}) +\d+ +[\d-]+ +[\d-]+ +{_MOST} +\d+ +[A-Z]+ +[A-Z,]+ *$"
)
# "#0-0 (cf264af53edbe986) INCOMPLETE"
_SECTION: Final = compile_re(
    r"^#(\d{1,9})-(\d{1,9}) \((?:0x)?([0-9a-f]{1,16})\b[^)]{0,80}\) (\w+)", re.I
)
_ALONE: Final = compile_re(r"^(INCOMPLETE|DEAD|TIMEOUT)$")
_WHOSE: Final = (
    r"GPU (?P<gpu>\d{1,9})(?: \(NVML (?P<nvml>\d{1,9})\))? managed by process (?P<pid>\d{1,9})"
    r" on node (?P<host>\S+)"
)
# "  Process 51306 on node 10.20.0.12 managing GPUs 4,5"
_PROCESS: Final = compile_re(
    r"^ +Process (?P<pid>\d{1,9}) on node (?P<host>\S+) managing GPUs? (?P<gpu>\d{1,9})"
    r"(?P<more>[,\d]*)(?: \(NVML (?P<nvml>\d{1,9})[,\d]*\))?"
)
_RANK: Final = compile_re(
    r"^ +Rank (?P<rank>\d{1,9})"
    r"(?: has (?:launched up to operation (?P<count>\d{1,18})|(?P<none>not launched any operations)"
    r"|status (?P<status>\w+))| reported (?P<error>[^-\n]{1,80}?))?"
    rf"(?: -- {_WHOSE}| \[process information not found\])?[ \t]*$"
)
_MISSING: Final = compile_re(r"^ +The missing ranks?: ([\d, -]{1,2000})$")
_NUMBER: Final = compile_re(r"\b\d{1,9}\b")
_RANKS: Final = compile_re(
    r"^ +(?P<ranks>\d{1,9}) ranks? (?:have|has|reported)"
    r"(?: launched up to operation (?P<count>\d{1,18})| (?P<none>not launched any operations)"
    r"| status (?P<status>\w+)| (?P<error>[A-Z][^-\n]{1,80}))[ \t]*$"
)
_DIFFERENT: Final = compile_re(r"^ +Communicator ranks have different (\w+)(?: operation counts)?$")
_PRESENCES: Final = {ReplyKind.UNREACHABLE: Presence.DEAD, ReplyKind.SILENT: Presence.UNRESPONSIVE}
_STATUSES: Final = frozenset({"init", "running", "finalize", "abort"})


def is_ras_text(text: str) -> bool:
    """Whether a file that begins with ``text`` is a report of RAS; a log that quotes one is not."""
    head = text[:_HEAD_CHARS]
    version, summary = _VERSION.search(head), _SUMMARY.search(head)
    return version is not None and summary is not None and version.start() < summary.start()


def parse_text(text: str, artifact: str) -> Sequence[Look]:
    """One look for each report in the text: a loop may have appended several to one file.

    Raises :class:`ArtifactError` where there is none.
    """
    starts = [found.start() for found in islice(_SUMMARY.finditer(text), _MAX_REPORTS)]
    if not starts:
        raise ArtifactError("no report of NCCL RAS: there is no job summary")
    looks = []
    before = text.count("\n", 0, starts[0])
    for start, end in pairwise([*starts, len(text)]):
        looks.append(_TextReport(artifact, before).read(text[start:end]))
        before += text.count("\n", start, end)
    return looks


class _TextReport:
    """One report while its lines are read; ``before`` lines stand before it."""

    def __init__(self, artifact: str, before: int) -> None:
        self.artifact = artifact
        self.before = before
        self.sizes: dict[int, int] = {}
        self.num_gpus: int | None = None
        self.per_node: int | None = None
        self.parts: dict[int, CommunicatorParts] = {}
        self.replies: dict[tuple[str | None, int | None], Reply] = {}
        self.notes: list[str] = []
        self.complete = False
        # Where in the report a line stands.
        self.section = ""
        self.part: CommunicatorParts | None = None
        self.topic = ""

    def read(self, text: str) -> Look:
        """The look; lines that are not known are passed over."""
        lines = text.split("\n", _MAX_LINES)[:_MAX_LINES]
        for place, line in enumerate(lines, start=self.before + 1):
            self.read_line(line[:_MAX_LINE].rstrip("\r"), place)
        silent = {key: _PRESENCES[one.kind] for key, one in self.replies.items()}
        lone = next(iter(self.replies.values())).process if len(self.replies) == 1 else None
        for part in self.parts.values():
            part.settle(silent, lone)
        communicators = tuple(self.parts[key].communicator() for key in sorted(self.parts))
        for part in self.parts.values():
            self.notes += part.notes()
        if self.sizes and self.complete and not (self.parts or self.replies):
            self.notes.append(NO_PROOF)
        return Look(
            self.artifact,
            Tool.RAS,
            communicators=communicators,
            replies=tuple(self.replies.values()),
            notes=tuple(dict.fromkeys(self.notes)),
            partial=None if self.complete else "the report of RAS is cut: its end is missing",
            num_gpus=self.num_gpus,
            per_node=self.per_node,
        )

    def read_line(self, line: str, place: int) -> None:
        if line.startswith("#"):
            self.begin_section(line, place)
        elif line.startswith(" "):
            self.read_inside(line, place)
        elif _ALONE.match(line):
            self.section, self.part, self.topic = line, None, ""
        elif line.startswith("Warnings"):
            self.complete = True
        elif line.startswith("No communicator data collected"):
            self.notes.append(NO_COMMUNICATOR)
        elif line.startswith("ERROR: "):
            self.notes.append(f"the RAS server answered: {line[:200]}")

    def begin_section(self, line: str, place: int) -> None:
        found = _SECTION.match(line)
        self.part, self.topic = None, ""
        if found is None:
            return
        group, key = int(found[1]), int(found[3], 16)
        self.section = found[4].upper()
        if key not in self.parts:
            self.parts[key] = CommunicatorParts(key, self.sizes.get(group, 0), place)
        self.part = self.parts[key]

    def read_inside(self, line: str, place: int) -> None:
        """A line of a table, of a list of processes, or of what is odd in a communicator."""
        if self.part is None:
            if self.section in ("DEAD", "INCOMPLETE"):
                self.read_process(line, place)
            elif not self.section:
                self.read_tables(line)
            return
        part = self.part
        if found := _RANK.match(line):
            self.read_rank(part, found, place)
        elif found := _RANKS.match(line):
            part.group = Group(self.topic, int(found["ranks"]), *_parse_state(found))
            part.groups.append(part.group)
        elif found := _DIFFERENT.match(line):
            word = found[1].lower()
            self.topic = "all" if word == "collective" else word
            part.group = None
        elif found := _MISSING.match(line):
            for word in _NUMBER.findall(found[1]):
                part.add(int(word), UNKNOWN_PROCESS, Presence.MISSING, line=place)
        elif line.strip():
            part.group = None

    def read_tables(self, line: str) -> None:
        if found := _GROUP_ROW.match(line):
            if len(self.sizes) < MAX_RANKS:
                self.sizes[int(found[1])] = int(found[2])
        elif found := _JOB_ROW.match(line):
            self.per_node, self.num_gpus = int(found[1]), int(found[2])

    def read_process(self, line: str, place: int) -> None:
        found = _PROCESS.match(line)
        if found is None:
            return
        process = _parse_process(found)
        dead = self.section == "DEAD"
        kind = ReplyKind.UNREACHABLE if dead else ReplyKind.SILENT
        words = "considered dead" if dead else "sent no data in time"
        known = self.replies.setdefault(
            (process.host, process.pid), Reply(process, "ras", kind, words, place)
        )
        if dead and known.kind is ReplyKind.SILENT:
            self.replies[process.host, process.pid] = Reply(process, "ras", kind, words, place)

    def read_rank(self, part: CommunicatorParts, found: re.Match[str], place: int) -> None:
        rank, process = int(found["rank"]), _parse_process(found)
        if self.section == "INCOMPLETE":
            part.add(rank, process, Presence.MISSING, line=place)
            return
        count, status, error = _parse_state(found)
        if found["error"] is not None:
            part.add(rank, process, error=error, line=place)
        elif count is not None or status is not None:
            part.group = None
            counts = {self.topic: count} if self.topic and count is not None else None
            part.add(rank, process, counts=counts, status=status, line=place)
        elif (group := part.group) is not None:
            # It is listed below a line that says what its group has in common.
            group.listed += 1
            counts = None if group.count is None else {group.topic: group.count}
            status, error = group.status, group.error
            part.add(rank, process, counts=counts, status=status, error=error, line=place)


def _parse_process(found: re.Match[str]) -> Process:
    """The process that a line names, with its GPU where it has one alone; else an unknown one."""
    named = found.groupdict()
    if named["pid"] is None:
        return UNKNOWN_PROCESS
    gpus = (None if named.get("more") else named[key] for key in ("gpu", "nvml"))
    gpu, nvml = (None if text is None else int(text) for text in gpus)
    return Process(host=named["host"][:256], pid=int(named["pid"]), gpu=gpu, nvml_gpu=nvml)


def _parse_state(found: re.Match[str]) -> tuple[int | None, str | None, str | None]:
    """(operations, status, error) as a line says them: 0 operations where it says that there are
    none, None for what it does not speak of.
    """
    count = None if found["count"] is None else int(found["count"])
    status = (found["status"] or "").lower()
    error = " ".join((found["error"] or "").split())[:80]
    return (
        0 if found["none"] is not None else count,
        status if status in _STATUSES else None,
        None if error.lower() in ("", "ok", "no error") else error,
    )
