"""A line of a log to rows of evidence, and rows that say the same to one with a count."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import (
    ACTOR,
    BY_FILE,
    HOST,
    LAST_LINE,
    NO_STAMP,
    OWN_RANK,
    Evidence,
    EvidenceRole,
    Stamp,
    Trait,
)
from triage.domain.patterns import compile_re
from triage.parsers.logs.catalogue import Catalogue
from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.stamps import read_time
from triage.parsers.logs.state import Envelope
from triage.signatures.pci import normalize_bus_id
from triage.signatures.program.process_names import Whose, classify_owner, is_job_service
from triage.signatures.registry import Match
from triage.signatures.scheduler.node_names import collect_event_fields
from triage.signatures.signature import Scope

MAX_TEXT: Final = 300
# Lines of one message that were packed into one line, and rows that they may give.
_MAX_PARTS: Final = 400
_MAX_FOLLOWING: Final = 64
_HOUR_NS: Final = 3_600_000_000_000
_LINE_ENDS: Final = compile_re(r"\\r\\n|\\n|[\r\n\x0b\x0c\x85\u2028\u2029]+")
_OWN_FIELDS: Final = frozenset(
    {"gpu", "node", "rank", "local_rank", "cuda_device", "pid", "code", "parent_code", "peer"}
)
# What a signature says of its lines, unless the reading says better.
_MEANT: Final = ("role", "category", "also", "blame", "weak", "traits")
_NUMBER: Final = compile_re(r"[0-9]{1,9}", re.ASCII)
# snapd[1336]: what it says
_PROGRAM: Final = compile_re(r"(?P<name>[A-Za-z(][\w./()@:-]{0,60}?)(?P<pid>\[\d{1,9}\])?: ")


def read_line(
    text: str,
    after: Callable[[], Iterable[Envelope]],
    catalogue: Catalogue,
    artifact: str,
    line: int,
    *,
    label: "re.Pattern[str] | None" = None,
    system: bool = False,
) -> tuple[Envelope, list[Evidence]]:
    """What one line says; a message packed into one line may say several things.

    ``after`` gives the lines behind it, and is called where a signature wants them.
    ``system`` says that the node's own services write into this log too.
    """
    envelope = read_envelope(text, label=label)
    payload = envelope.text
    if envelope.partial:
        payload += _read_continuation(after())
    rows: list[Evidence] = []
    if "\n" in payload or "\\n" in payload:
        parts = [part for part in _LINE_ENDS.split(payload, _MAX_PARTS) if part.strip()]
        for index, part in enumerate(parts):
            inner = envelope if index == 0 else _nest_envelope(envelope, part)
            match = catalogue.match(inner.text if index else part, parts[index + 1 :])
            if match is not None:
                rows.append(make_row(match, inner, artifact, line))
        if rows:
            return envelope, rows
    # A progress bar has no line end of its own: what it says stands before what follows it.
    bar = text[: -len(payload)] if payload and text.endswith(payload) else ""
    following = Following(after()) if catalogue.context else ()
    match = catalogue.match(payload, following)
    if match is not None:
        match = _attach_bar(match, bar, following) if "%|" in bar else match
        rows.append(
            weigh_by_program(
                make_row(match, envelope, artifact, line), match, envelope, system=system
            )
        )
    if "%|" in bar and (behind := catalogue.match(bar, ())) is not None:
        rows.append(make_row(behind, envelope, artifact, line))
    return envelope, rows


def _attach_bar(match: Match, bar: str, following: Sequence[str]) -> Match:
    """The same match with the bar before it in sight, where its signature can use that."""
    signature = match.signature
    found = signature.pattern.search(bar + match.found.string, len(bar))
    if found is None or signature.read is None:
        return match
    reading = signature.read(found, following[: signature.context])
    return match if reading is None else Match(signature, found, reading)


def _read_continuation(after: Iterable[Envelope]) -> str:
    """The rest of a line that a container runtime cut into parts."""
    parts = []
    for one in after:
        parts.append(one.text)
        if not one.partial:
            break
    return "".join(parts)


def _nest_envelope(outer: Envelope, part: str) -> Envelope:
    """A line inside a message: its own prefixes, and the rest from the message's."""
    inner = read_envelope(part)
    return replace(
        outer,
        text=inner.text,
        rank=outer.rank if inner.rank is None else inner.rank,
        local_rank=outer.local_rank if inner.local_rank is None else inner.local_rank,
        stamp=outer.stamp if inner.stamp.wall_ns is None else inner.stamp,
    )


class Following(Sequence[str]):
    """The payloads of the first ``most`` lines behind a line, each read when somebody looks at it;
    most signatures never do.
    """

    def __init__(
        self,
        lines: Iterable[Envelope],
        most: int = _MAX_FOLLOWING,
        known: list[str] | None = None,
    ) -> None:
        self.lines = iter(lines)
        self.most = most
        self.known = [] if known is None else known

    def read(self) -> Sequence[str]:
        """All of them, at once."""
        for one in self.lines if len(self.known) < self.most else ():
            self.known.append(one.text)
            if len(self.known) >= self.most:
                break
        return self.known[: self.most]

    def __len__(self) -> int:
        return len(self.read())

    def __getitem__(self, index: int | slice) -> "str | Sequence[str]":  # type: ignore[override]
        if isinstance(index, slice) and index.start is None and index.stop is not None:
            return Following(self.lines, index.stop, self.known)
        return self.read()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.read())


def make_row(match: Match, envelope: Envelope, artifact: str, line: int) -> Evidence:
    """The row that a match in a line is; ``node`` is set where the line itself blames one."""
    signature, reading = match.signature, match.reading
    named = {name: value for name, value in match.found.groupdict().items() if value is not None}
    named.update(reading.fields)
    if envelope.node is None and "node" not in named:
        named.update(collect_event_fields(match.found.string[:MAX_TEXT]))
    fields = {name: value for name, value in named.items() if name not in _OWN_FIELDS}
    if envelope.address is not None:
        fields.setdefault("address", envelope.address)
    gpu = reading.gpu or named.get("gpu")
    rank = _number(named.get("rank"))
    if envelope.rank is not None and (rank is None or envelope.rank != envelope.task):
        rank = envelope.rank  # only a task's label knows less than the line itself
    told = _number(reading.fields.get("of_rank"))
    if told is not None:
        rank = told  # the line speaks of that rank, whoever prints it
        if told == envelope.rank:
            del fields["of_rank"]
    if envelope.actor is not None:
        fields.setdefault(ACTOR, envelope.actor)
    if envelope.printed_by is not None:
        fields.setdefault("printed_by", envelope.printed_by)
    if envelope.task is not None:
        fields["task"] = str(envelope.task)
        if envelope.rank_in_text or _number(named.get("rank")) == rank == envelope.task:
            fields[OWN_RANK] = str(rank)
    stamp = envelope.stamp
    if stamp == NO_STAMP and "time" in fields:
        stamp = read_time(fields["time"]) or stamp  # tables and the scheduler tell it in words
    text = envelope.text if reading.text is None else reading.text
    row = Evidence(
        artifact=artifact,
        line=line,
        signature=reading.signature or signature.id,
        kind=signature.kind,
        text=text if len(text) <= MAX_TEXT else _cut_excerpt(match),
        code=_number(named.get("code")) if reading.code is None else reading.code,
        parent_code=(
            _number(named.get("parent_code"))
            if reading.parent_code is None
            else reading.parent_code
        ),
        node=named.get("node"),
        rank=rank,
        local_rank=_get_earlier(_number(named.get("local_rank")), envelope.local_rank),
        cuda_device=_get_earlier(_number(named.get("cuda_device")), envelope.cuda_device),
        pid=_get_earlier(_number(named.get("pid")), envelope.pid),
        gpu=None if gpu is None else normalize_bus_id(gpu),
        peer=reading.peer or named.get("peer"),
        stamp=stamp,
        last_stamp=stamp,
        fields=fields,
        **{
            name: getattr(signature, name) if (said := getattr(reading, name)) is None else said
            for name in _MEANT
        },
    )
    return row if envelope.kernel else _weigh_by_sentence(row, match)


# Levels at which no process says that a part has failed, in front of what a rank prints.
_AT_EASE: Final = compile_re(r"\W{0,4}(?:INFO|DEBUG|TRACE|NOTE|NOTICE)\b", re.IGNORECASE)
# A quotation mark behind a word opens one: see runbook 'Xid 79: ...'; in "msg": "...", in
# Error('...') and behind the words of a report none does: Cuda failure '...', reason '...'.
_OPENS: Final = compile_re(
    r"""(?<=[\w,)] )(?<!failure )(?<!error )(?<!reason )(?<!message )['"`]"""
    r"""|\braise [\w.]{1,80}\(['"]""",
    re.IGNORECASE,
)


def _weigh_by_sentence(row: Evidence, match: Match) -> Evidence:
    """The words of a failed part as weak where a rank says them at ease, or where they stand
    inside the quotation marks of a sentence: somebody talks of such failures.
    """
    if row.category not in HARDWARE or row.weak:
        return row
    text, begin, end = match.found.string, match.found.start(), match.found.end()
    quoted = any(
        opened[0][-1] not in text[opened.end() : begin] and opened[0][-1] in text[end:]
        for opened in _OPENS.finditer(text, 0, begin)
    )
    if quoted or (row.rank is not None and _AT_EASE.match(text)):
        return replace(row, weak=True)
    return row


def weigh_by_program(row: Evidence, match: Match, envelope: Envelope, *, system: bool) -> Evidence:
    """A job's words in the system log of a node count by the program that wrote them.

    A desktop's library that is not there, an update that finds no server and a mail
    daemon that is told to stop are no matter of a job. A program that nobody knows
    convicts nobody.
    """
    if match.signature.scope is not Scope.JOB or row.rank is not None:
        return row
    if envelope.node is None and not envelope.kernel:
        return row
    tag = _PROGRAM.match(envelope.text)
    if envelope.program is not None:
        program, process = envelope.program, True
    elif tag is not None and match.found.start() >= tag.end() - 2:
        program, process = tag["name"], tag["pid"] is not None
    else:
        return row
    name = program.rsplit("/", 1)[-1]
    owner = classify_owner(name)
    if owner is Whose.JOB or is_job_service(name):
        return row
    traits = row.traits | {Trait.NOT_THE_JOB, Trait.GENERIC}
    if owner is Whose.SERVICE:
        return replace(
            row,
            role=EvidenceRole.NOISE,
            category=Category.NONE,
            also=(),
            weak=True,
            traits=traits,
        )
    if system and process:
        return replace(row, role=EvidenceRole.ADVICE, weak=True, traits=traits)
    return row


def _cut_excerpt(match: Match) -> str:
    """What the pattern found, with the few whole words before it that there is room for; where it
    found no words, the beginning.
    """
    text, start = match.found.string, match.found.start() if match.found[0] else 0
    begin = max(0, min(start - 40, len(text) - MAX_TEXT))
    if begin:
        begin = text.find(" ", begin - 1, match.found.start()) + 1 or begin
    return text[begin : begin + MAX_TEXT]


def _get_earlier(one: int | None, other: int | None) -> int | None:
    return other if one is None else one


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def merge_rows(rows: Iterable[tuple[Evidence, object]], apart: frozenset[str]) -> list[Evidence]:
    """Rows that say the same joined, unless an hour of quiet lies between them.

    Each row comes with what tells it from others of its signature. Those of the
    signatures in ``apart`` stay as they are.
    """
    kept: list[Evidence] = []
    alike: dict[object, list[Evidence]] = {}
    for row, key in rows:
        if row.signature in apart:
            kept.append(row)
        else:
            alike.setdefault((row.signature, *_get_identity(row), key), []).append(row)
    for group in alike.values():
        kept += _split_bursts(group) if len(group) > 1 else group
    kept.sort(key=lambda row: (row.line or 0, row.signature, row.text))
    return kept


def _get_identity(row: Evidence) -> tuple[object, ...]:
    return (
        row.node,
        row.rank,
        row.local_rank,
        row.cuda_device,
        row.code,
        row.gpu,
        row.peer,
        row.category,
        row.role,
        row.parent_code,
        row.fields.get("printed_by"),
        row.fields.get(ACTOR),
        row.fields.get("address"),
        BY_FILE in row.fields,
        row.fields.get(HOST),
    )


def _get_instant(stamp: Stamp) -> int | None:
    return stamp.uptime_ns if stamp.wall_ns is None else stamp.wall_ns


def _order(row: Evidence) -> tuple[bool, int, int]:
    at = _get_instant(row.stamp)
    return row.stamp.wall_ns is None, at or 0, row.line or 0


def _split_bursts(group: list[Evidence]) -> list[Evidence]:
    """One row for each time that this was said again and again."""
    found: list[Evidence] = []
    for row in sorted(group, key=_order):
        last = found[-1] if found else None
        if last is None or _is_quiet_between(last.last_stamp, row.stamp):
            found.append(row)
        else:
            found[-1] = _join_rows(last, row)
    return found


def _is_quiet_between(before: Stamp, after: Stamp) -> bool:
    """Whether more than an hour lies between two times of one clock."""
    if (before.wall_ns is None) != (after.wall_ns is None):
        return False
    one, other = _get_instant(before), _get_instant(after)
    return one is not None and other is not None and other - one > _HOUR_NS


def _join_rows(row: Evidence, more: Evidence) -> Evidence:
    later = max((row.last_stamp, more.last_stamp), key=lambda stamp: _get_instant(stamp) or 0)
    last_line = max(row.last_line or 0, more.last_line or 0)
    if (more.line or 0) < (row.line or 0):
        row = replace(row, line=more.line, text=more.text)
    fields = add_last_line(row, last_line)
    return replace(row, count=row.count + more.count, last_stamp=later, fields=fields)


def add_last_line(row: Evidence, last_line: int) -> Mapping[str, str]:
    """The fields of a row that stands for lines up to ``last_line``."""
    if row.line is None or last_line <= row.line:
        return row.fields
    return {**row.fields, LAST_LINE: str(last_line)}
