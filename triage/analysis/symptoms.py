"""What was seen first of a stop without a known cause: who gave up, in what, and who says so."""

from collections.abc import Iterator, Sequence
from typing import Final

from triage.analysis.facts.stop import JOB_KINDS, Stop, When, is_by_process
from triage.analysis.waiting.case import make_timestamp
from triage.analysis.watchdogs.positions import GroupPositions
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Trait
from triage.domain.next_step import Symptom
from triage.domain.progress import JobProgress
from triage.domain.report import CollectiveAtFrontier, Suspect, Verdict
from triage.signatures.numbers import parse_small_number

# Categories that name no cause.
_UNKNOWN: Final = frozenset({Category.NCCL_TIMEOUT, Category.NONE, Category.STRAGGLER})

_MAX_TIMEOUTS: Final = 3
# Signature, operation, number and group.
_Key = tuple[str, str | None, int | None, str | None]
_MAX_SYMPTOMS: Final = 5


def list_symptoms(
    verdict: Verdict,
    suspects: Sequence[Suspect],
    rows: Sequence[Evidence],
    groups: Sequence[GroupPositions],
    collectives: Sequence[CollectiveAtFrontier],
    progress: JobProgress | None,
    stop: Stop,
) -> tuple[Symptom, ...]:
    """The first time-outs, then the first other lines, each with how many ranks say it; without
    any line what dumps show, and how the steps ended. Empty where a cause is known.
    """
    named = any(suspect.role is Role.CULPRIT for suspect in suspects)
    if verdict.kind is VerdictKind.HEALTHY or verdict.category not in _UNKNOWN or named:
        return ()
    failing = sorted(
        (row for row in rows if _is_symptom(row) and stop.of(row) not in (When.STALE, When.BOOT)),
        key=lambda row: (row.at_ns is None, row.at_ns or 0, row.artifact, row.line or 0),
    )
    gave_up = [row for row in failing if Trait.TIMEOUT in row.traits]
    others = [row for row in failing if Trait.TIMEOUT not in row.traits]
    found = list(_list_each_once(gave_up, groups))[:_MAX_TIMEOUTS]
    told = {(one.seq_id, one.pg) for one in found}
    found += [
        one
        for one in _list_each_once(others, groups)
        if one.seq_id is None or (one.seq_id, one.pg) not in told
    ]
    if not found:
        found = [_make_dump_symptom(one) for one in collectives[:1]]
    # That the steps ended, or became slower.
    change = None if progress is None else progress.stopped or progress.slowed
    if change is not None:
        since, at = change.since, make_timestamp(change.since.at_ns)
        found.append(Symptom(change.text, artifact=since.artifact, line=since.line, at=at))
    return tuple(found[:_MAX_SYMPTOMS])


def _is_symptom(row: Evidence) -> bool:
    """Whether a process of the job says that it did not go on."""
    if row.kind in (Kind.PROGRESS, Kind.IDENTITY, Kind.TEMPLATE) or Trait.TEARDOWN in row.traits:
        return False
    failing = row.role in (EvidenceRole.CONSEQUENCE, EvidenceRole.ROOT)
    return failing and (row.kind in JOB_KINDS or is_by_process(row))


def _list_each_once(
    rows: Sequence[Evidence], groups: Sequence[GroupPositions]
) -> Iterator[Symptom]:
    """The first row of each kind, operation and group; ``num_ranks`` are those of all its rows."""
    first: dict[_Key, Evidence] = {}
    ranks: dict[_Key, set[int]] = {}
    for row in rows:
        number = parse_small_number(row.fields.get("seq_id") or row.fields.get("at_work"))
        key = (row.signature, row.fields.get("op"), number, _find_group(row, number, groups))
        first.setdefault(key, row)
        ranks.setdefault(key, set()).update(() if row.rank is None else (row.rank,))
    for key, row in first.items():
        _, op, number, group = key
        yield Symptom(
            text=row.text,
            rank=row.rank,
            node=row.node,
            op=op,
            seq_id=number,
            pg=group,
            num_ranks=len(ranks[key]),
            artifact=row.artifact,
            line=row.line,
            at=row.at,
        )


def _find_group(row: Evidence, number: int | None, groups: Sequence[GroupPositions]) -> str | None:
    """The group of a line: as it says itself, else that in which its rank waits for the number."""
    own = row.fields.get("pg_desc") or row.fields.get("guid") or row.fields.get("pg")
    if own or number is None or row.rank is None:
        return own
    for group in groups:
        position = group.of.get(row.rank)
        if position is not None and position.waits == number:
            return group.desc or group.name or None
    return None


def _make_dump_symptom(one: CollectiveAtFrontier) -> Symptom:
    """Where ranks wait by their records."""
    waiting = len(one.waiting)
    many = f"{waiting} ranks wait" if waiting != 1 else "1 rank waits"
    return Symptom(
        text=f"{many} in {one.op} {one.seq_id} of {one.desc or f'group {one.pg}'}",
        rank=one.waiting[0] if waiting == 1 else None,
        op=one.op,
        seq_id=one.seq_id,
        pg=one.desc or one.pg,
        num_ranks=waiting,
    )
