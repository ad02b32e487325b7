"""What clients of a service were told, held against each other and against what is there.

A history is a list of operations of clients that run at once, as Jepsen writes them: when each
was invoked, when it ended, and how: ``ok``, ``fail`` (it did nothing), ``gone`` (erased before),
or ``unknown`` (no answer came: it was done or not, maybe later). An operation takes effect at one
moment between its invocation and its end, which for an unknown one lies anywhere after.

:func:`violations` says each way in which that cannot be. It needs no service and no database.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a client asked for; ``READ`` is of an incident, ``LIST`` of its files."""

    UPLOAD = "upload"
    ANNOUNCE = "announce"
    RESOLVE = "resolve"
    DELETE = "delete"
    READ = "read"
    LIST = "list"


class Outcome(StrEnum):
    """How it ended, as far as the client knows."""

    OK = "ok"
    FAIL = "fail"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Times are seconds of one clock; ``ended_s`` is infinite for an unknown one.

    ``subject`` is ``JOB/FILE`` of an upload, the job of an announcement, the id of an artifact or
    an incident of a deletion, and the id of the incident of all others.
    """

    client: str
    """Id of its token."""
    kind: Kind
    subject: str
    invoked_s: float
    ended_s: float
    outcome: Outcome
    note: str = ""
    """What a resolution says, written or read; each is written by one operation."""
    incident: str = ""
    artifact: str = ""
    revision: int = 0
    speaker: str = ""
    """Of a resolution that was read: the token that it names."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Of a list: artifact -> token that brought it."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An artifact in the end; ``subject`` as of the upload."""

    incident: str
    subject: str
    speaker: str


@dataclass(frozen=True, slots=True)
class Ending:
    """What is there when all is quiet."""

    files: Mapping[str, StoredFile]
    """Artifact -> what it is."""
    notes: Mapping[str, tuple[str, str]]
    """Incident -> (note of its resolution, token that said it); empty texts for none."""
    facts: frozenset[tuple[str, str]]
    """(incident, token) of each statement about a job."""
    revisions: Mapping[str, int]


def violations(history: Sequence[Operation], end: Ending) -> list[str]:
    """Every promise that does not hold, in words; empty for a history that can be."""
    checks: tuple[Callable[[Sequence[Operation], Ending], Iterable[str]], ...] = (
        _lost_writes, _doubled_files, _unasked_files, _two_incidents, _revisions_that_fall,
        _stale_lists, _stale_notes, _returned_from_deletion, _wrong_speakers,
    )  # fmt: skip
    return [said for check in checks for said in check(history, end)]


def _of(history: Iterable[Operation], *kinds: Kind) -> list[Operation]:
    return [one for one in history if one.kind in kinds]


def _done(history: Iterable[Operation], *kinds: Kind) -> list[Operation]:
    return [one for one in _of(history, *kinds) if one.outcome is Outcome.OK]


def _deletions(history: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Subject -> deletions of it that were done, or may have been."""
    found = defaultdict(list)
    for one in _of(history, Kind.DELETE):
        if one.outcome is not Outcome.FAIL:
            found[one.subject].append(one)
    return found


def _lost_writes(history: Sequence[Operation], end: Ending) -> Iterator[str]:
    """What was acknowledged is there, unless somebody wanted it deleted."""
    wanted = _deletions(history)
    for one in _done(history, Kind.UPLOAD):
        if wanted.get(one.artifact) or wanted.get(one.incident):
            continue
        if one.artifact not in end.files:
            yield f"lost: {one.artifact}, acknowledged for {one.subject}, is not there"
        elif end.files[one.artifact].subject != one.subject:
            there = end.files[one.artifact].subject
            yield f"lost: {one.artifact} was acknowledged for {one.subject}, is {there}"
    for one in _done(history, Kind.ANNOUNCE):
        if one.incident not in end.revisions and not wanted.get(one.incident):
            yield f"lost: {one.incident}, announced for {one.subject}, is not there"


def _doubled_files(history: Sequence[Operation], end: Ending) -> Iterator[str]:
    """The same file is one artifact, however often and with whatever outcome it was sent."""
    there = defaultdict(set)
    for artifact, one in end.files.items():
        there[one.subject].add(artifact)
    yield from (f"doubled: {k} is {sorted(v)}" for k, v in there.items() if len(v) > 1)
    told = defaultdict(set)
    for upload in _done(history, Kind.UPLOAD):
        told[upload.subject].add(upload.artifact)
    yield from (f"doubled: {k} was called {sorted(v)}" for k, v in told.items() if len(v) > 1)


def _unasked_files(history: Sequence[Operation], end: Ending) -> Iterator[str]:
    """Nothing is there that nobody sent, or that was refused each time."""
    sent = {
        one.subject
        for one in _of(history, Kind.UPLOAD)
        if one.outcome in (Outcome.OK, Outcome.UNKNOWN)
    }
    for artifact, one in end.files.items():
        if one.subject not in sent:
            yield f"unasked: {artifact} is {one.subject}, which was not taken from anybody"


def _two_incidents(history: Sequence[Operation], end: Ending) -> Iterator[str]:  # noqa: ARG001
    """One failure of a job is one incident, until that is deleted."""
    wanted = _deletions(history)
    told = defaultdict(set)
    for one in _done(history, Kind.ANNOUNCE, Kind.UPLOAD):
        if not wanted.get(one.incident):
            told[one.subject.partition("/")[0]].add(one.incident)
    for job, incidents in told.items():
        if len(incidents) > 1:
            yield f"two incidents: {job} is {sorted(incidents)}"


def _revisions_that_fall(history: Sequence[Operation], end: Ending) -> Iterator[str]:
    """Who reads later reads the same revision or a later one, whichever client it is."""
    reads = defaultdict(list)
    for one in _done(history, Kind.READ):
        reads[one.subject].append(one)
    for incident, all_reads in reads.items():
        by_end = sorted(all_reads, key=lambda one: one.ended_s)
        highest, place = 0, 0
        for one in sorted(all_reads, key=lambda one: one.invoked_s):
            while by_end[place].ended_s < one.invoked_s:
                highest, place = max(highest, by_end[place].revision), place + 1
            if one.revision < highest:
                yield f"revision: {incident} was at {highest}, then read as {one.revision}"
        last = end.revisions.get(incident)
        if last is not None and last < by_end[-1].revision:
            yield f"revision: {incident} was at {by_end[-1].revision}, ends as {last}"


def _stale_lists(history: Sequence[Operation], end: Ending) -> Iterator[str]:  # noqa: ARG001
    """A list that is asked for after an upload was acknowledged has the file."""
    wanted = _deletions(history)
    uploads = defaultdict(list)
    for one in _done(history, Kind.UPLOAD):
        uploads[one.incident].append(one)
    for asked in _done(history, Kind.LIST):
        for upload in uploads[asked.subject]:
            if upload.ended_s >= asked.invoked_s or upload.artifact in asked.files:
                continue
            if not any(
                one.invoked_s < asked.ended_s
                for one in (*wanted[upload.artifact], *wanted[upload.incident])
            ):
                whose = "own" if upload.client == asked.client else "acknowledged"
                yield f"stale: a list of {asked.subject} lacks the {whose} {upload.artifact}"


def _stale_notes(history: Sequence[Operation], end: Ending) -> Iterator[str]:
    """A resolution that is read was written, and was not replaced before the read began."""
    writes = defaultdict(list)
    for one in _of(history, Kind.RESOLVE):
        if one.outcome in (Outcome.OK, Outcome.UNKNOWN):
            writes[one.subject].append(one)
    for read in (*_done(history, Kind.READ), *_last_reads(end)):
        of_incident = writes[read.subject]
        before = [w for w in of_incident if w.ended_s < read.invoked_s]
        written = [w for w in of_incident if w.note == read.note and w.invoked_s < read.ended_s]
        if not read.note:
            if before:
                yield f"stale: {read.subject} has no resolution, {before[0].note} was acknowledged"
        elif not written:
            yield f"unasked: {read.subject} is resolved as {read.note}, which nobody wrote"
        elif all(any(w.ended_s < later.invoked_s for later in before) for w in written):
            yield f"stale: {read.subject} is read as {read.note}, which had been replaced"
        elif read.speaker not in {w.client for w in written}:
            yield f"speaker: {read.note} of {read.subject} is put down to {read.speaker}"


def _last_reads(end: Ending) -> Iterator[Operation]:
    """The end as reads after all else."""
    for incident, (note, speaker) in end.notes.items():
        yield Operation(
            "", Kind.READ, incident, math.inf, math.inf, Outcome.OK, note=note, speaker=speaker
        )


def _returned_from_deletion(history: Sequence[Operation], end: Ending) -> Iterator[str]:
    """What was deleted, or was once answered as gone, stays so."""
    gone_since: dict[str, float] = {}
    for one in _of(history, Kind.DELETE):
        if one.outcome in (Outcome.OK, Outcome.GONE):
            gone_since[one.subject] = min(one.ended_s, gone_since.get(one.subject, math.inf))
    for one in _done(history, Kind.UPLOAD, Kind.READ, Kind.LIST, Kind.DELETE):
        subjects = {one.artifact, one.incident, *one.files}
        if one.kind in (Kind.READ, Kind.LIST, Kind.DELETE):
            subjects.add(one.subject)
        for subject in subjects:
            if gone_since.get(subject, math.inf) < one.invoked_s:
                yield f"returned: {subject} was deleted, then a {one.kind} found it"
    for subject in gone_since:
        if subject in end.files or subject in end.revisions:
            yield f"returned: {subject} was deleted, and is there in the end"
    yield from _sent_again(history, gone_since)


def _sent_again(history: Sequence[Operation], gone_since: Mapping[str, float]) -> Iterator[str]:
    """A deleted file that is sent again for its job is refused."""
    erased: dict[str, float] = {}
    for one in _done(history, Kind.UPLOAD):
        since = min(gone_since.get(one.artifact, math.inf), gone_since.get(one.incident, math.inf))
        erased[one.subject] = min(since, erased.get(one.subject, math.inf))
    for one in _done(history, Kind.UPLOAD):
        if one.invoked_s > erased.get(one.subject, math.inf):
            yield f"returned: {one.subject} was deleted, and taken again as {one.artifact}"


def _wrong_speakers(history: Sequence[Operation], end: Ending) -> Iterator[str]:
    """Each file and each statement names a token that brought it."""
    senders = defaultdict(set)
    for one in _of(history, Kind.UPLOAD, Kind.ANNOUNCE):
        if one.outcome is not Outcome.FAIL:
            senders[one.subject].add(one.client)
    jobs = {one.incident: one.subject for one in _done(history, Kind.ANNOUNCE)}
    subjects = {one.artifact: one.subject for one in _done(history, Kind.UPLOAD)}
    for artifact, there in end.files.items():
        if there.speaker not in senders[there.subject]:
            yield f"speaker: {artifact} is put down to {there.speaker}"
    for one in _done(history, Kind.LIST):
        for artifact, speaker in one.files.items():
            if artifact in subjects and speaker not in senders[subjects[artifact]]:
                yield f"speaker: a list puts {artifact} down to {speaker}"
    for one in _done(history, Kind.ANNOUNCE):
        if one.incident in end.revisions and (one.incident, one.client) not in end.facts:
            yield f"speaker: nothing says that {one.client} announced {one.incident}"
    for incident, speaker in end.facts:
        if incident in jobs and speaker not in senders[jobs[incident]]:
            yield f"speaker: {speaker} is said to have spoken of {incident}"
