"""What an answer rests on, and what was odd about it."""

from collections import Counter
from collections.abc import Sequence

from triage.analysis.dump_view import DumpView
from triage.analysis.snapshots.finished import TELLING_UNITS, choose_units_compared
from triage.analysis.waiting.case import Case
from triage.domain.evidence import SILENCED, Evidence
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Coverage, Refused, UnreadLine
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.logs.logset import LogKind, LogSet
from triage.reader.read import find_reader_fault

_MAX_NOTES = 40
_MAX_EXAMPLES = 10
# What is read by signatures.
_TEXTS = (LogKind.KERNEL, LogKind.JOB)


def build_coverage(
    view: DumpView | None,
    dumps: DumpSet,
    logs: LogSet,
    refused: Sequence[Refused],
    notes: Sequence[str],
    unread: Sequence[Evidence] = (),
) -> Coverage:
    """What the answer rests on."""
    unreadable = {*dumps.refused, *logs.refused, *refused}
    all_notes = [*notes, *logs.notes]
    partial: list[Refused] = []
    if view is not None:
        partial = [
            Refused(digest.artifact, digest.partial)
            for digest in view.selection.digests
            if digest.partial is not None
        ]
        all_notes = _dump_notes(
            view.case, [*all_notes, *view.selection.notes], view.selection.digests
        )
    cut = {Refused(look.artifact, look.partial) for look in logs.looks if look.partial is not None}
    partial += sorted(cut, key=lambda one: (one.artifact, one.why))
    if view is not None and view.worlds:
        all_notes = [
            f"the dumps are of {len(view.worlds)} worlds with default process groups or processes"
            f" of their own; this answer is about the {view.worlds[0]}",
            *(f"another world, {other}" for other in view.worlds[1:]),
            *all_notes,
        ]
    all_notes += _log_notes(logs)
    all_notes += _list_silenced_notes(logs)
    # Which own signatures took part: read a line, or silenced it.
    labels = {file.artifact: file.own for file in logs.files}
    own = (row for row in logs.evidence if row.is_own or SILENCED in row.fields)
    took_part = {labels.get(row.artifact, "") for row in own} - {""}
    all_notes += [f"own signatures took part: {label}" for label in sorted(took_part)]
    if fault := find_reader_fault():
        all_notes.append(fault)
    all_notes = list(dict.fromkeys(all_notes))
    if len(all_notes) > _MAX_NOTES:
        all_notes[_MAX_NOTES:] = [f"and {len(all_notes) - _MAX_NOTES} more notes"]
    world = view.case.snapshot.world if view is not None else ()
    return Coverage(
        ranks_expected=len(world) if view is not None else None,
        dumps_read=len(view.selection.digests) if view is not None else 0,
        ranks_without_dump=tuple(
            rank for rank in world if view and rank not in view.case.snapshot.index_of
        ),
        partial=tuple(partial),
        unreadable=tuple(sorted(unreadable, key=lambda refusal: (refusal.artifact, refusal.why))),
        lines_read=sum(file.lines for file in logs.files),
        lines_not_understood=sum(sum(file.not_understood.values()) for file in logs.files)
        + sum(row.count for row in unread),
        notes=tuple(all_notes),
        unread_examples=tuple(
            UnreadLine(row.text, row.artifact, row.line, row.at, row.node)
            for row in unread[:_MAX_EXAMPLES]
        ),
    )


def _log_notes(logs: LogSet) -> list[str]:
    """Lines that could not be read, by reason."""
    reasons: dict[str, list[tuple[int, str]]] = {}
    for file in logs.files:
        for why, count in file.not_understood.items():
            reasons.setdefault(why, []).append((count, file.artifact))
    notes = []
    for why, where in sorted(reasons.items()):
        total = sum(count for count, _ in where)
        first = min(artifact for _, artifact in where)
        notes.append(f"{total} lines not understood: {why} ({first}{' ...' * (len(where) > 1)})")
    for file in logs.files:
        notes += [f"{file.artifact}: {note}" for note in file.notes]
    return notes


def _list_silenced_notes(logs: LogSet) -> list[str]:
    """Lines of ours that a team has silenced, by signature and reason."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in logs.evidence:
        if SILENCED in row.fields:
            name = row.signature if row.code is None else f"{row.signature}:{row.code}"
            counts[name, row.fields[SILENCED]] += row.count
    return [
        f"{count} line{'s' * (count > 1)} of {name} silenced by own signatures: {why}"
        for (name, why), count in sorted(counts.items())
    ]


def read_otherwise(logs: LogSet, in_force: str) -> list[str]:
    """Whether logs were read with other own signatures than ``in_force``, the label of a set."""
    digests = [file.own[:12] for file in logs.files if file.lines and file.kind in _TEXTS]
    num_others = sum(digest != in_force[:12] for digest in digests)
    if not num_others:
        return []
    were = "1 log was" if num_others == 1 else f"{num_others} logs were"
    return [
        f"{were} read with other own signatures than those in force"
        f" ({in_force or 'none'}): `triage retry --signatures --incident ID` reads again what is"
        " still stored"
    ]


def _dump_notes(case: Case, notes: Sequence[str], digests: Sequence[RankDigest]) -> list[str]:
    """What is odd about the dumps and the map of ranks."""
    snapshot = case.snapshot
    facts = snapshot.job
    all_notes = [*notes, *snapshot.notes]
    world = snapshot.membership.world_size
    if facts.world_size and world and facts.world_size != world:
        all_notes.append(
            f"job.json says {facts.world_size} ranks, the dumps' default group has {world}:"
            " the dumps are believed"
        )
    places = len(facts.nodes) * (facts.gpus_per_node or 0)
    if places and world and places < world:
        all_notes.append(
            f"job.json places {places} ranks ({len(facts.nodes)} nodes with {facts.gpus_per_node}"
            f" GPUs), the job has {world}: the nodes of the others are unknown"
        )
    if snapshot.node_of(int(snapshot.ranks[0])) is None:
        all_notes.append("nothing says which rank is on which node: give a job.json with the nodes")
    versions = Counter(digest.version or "older than 1.0" for digest in digests)
    if len(versions) > 1:
        shown = ", ".join(f"{name} ({count} dumps)" for name, count in sorted(versions.items()))
        all_notes.append(f"the dumps are of different formats: {shown}; each was read by its own")
    odd: dict[str, list[str]] = {}
    for digest in digests:
        for note in digest.notes:
            odd.setdefault(note, []).append(digest.artifact)
    for note, artifacts in sorted(odd.items()):
        where = artifacts[0] if len(artifacts) == 1 else f"{len(artifacts)} dumps"
        all_notes.append(f"{where}: {note}")
    compared = choose_units_compared(len(digests))
    if compared < TELLING_UNITS and not case.graph.ends:
        all_notes.append(
            f"of {len(digests):,} dumps the newest {compared} operations of each were compared: who"
            " is late in each step does not show; give the dumps of a part of the job alone"
        )
    if case.in_flight:
        all_notes.append(
            f"a live picture of a running job: {case.live.reasons[0]};"
            " what is unfinished is not taken as stuck"
        )
    return all_notes
