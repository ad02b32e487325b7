"""What one log gave as plain values for a stored extract, and back."""

from typing import Any, Final

from triage.domain.category import Category
from triage.domain.evidence import NO_STAMP, Blame, Evidence, EvidenceRole, Kind, Stamp, Trait
from triage.domain.live.look import Look
from triage.parsers.extract.digest import Interned
from triage.parsers.extract.looks import decode_looks, encode_looks
from triage.parsers.logs.join import Mask, Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.progress.series import JobSteps, Mark, MarkKind, Place, Quantity, Step

_KINDS: Final = {str(one): one for one in Kind}
_ROLES: Final = {str(one): one for one in EvidenceRole}
_BLAMES: Final = {str(one): one for one in Blame}
_CATEGORIES: Final = {str(one): one for one in Category}
_TRAITS: Final = {str(one): one for one in Trait}
_LOG_KINDS: Final = {str(one): one for one in LogKind}


def log_values(log: Outcome) -> list[Any]:
    """The log's file, rows and masks; the text of the masks goes beside it, see
    :func:`mask_bytes`.
    """
    file = log.file
    return [
        file.artifact,
        str(file.kind),
        file.node,
        file.lines,
        file.not_understood,
        list(file.notes),
        _stamp_values(file.first_stamp),
        _stamp_values(file.last_stamp),
        log.size_bytes,
        log.uncounted,
        [_encode_row(row, file.artifact) for row in log.rows],
        [[len(text), lines, first, last] for text, lines, first, last in log.masks],
        *_encode_later_values(file, log.looks),
    ]


def _encode_later_values(file: LogFile, looks: tuple[Look, ...]) -> list[Any]:
    """What extracts of earlier releases do not have; nothing where there is none of it."""
    progress = None if file.progress is None else _encode_progress(file.progress)
    if file.job_id or file.checksum or file.system or file.error_at_end:
        told = [file.job_id, file.checksum]
        if file.system or file.error_at_end:
            told += [file.system, *(file.error_at_end or ())]
        return [progress, sorted(file.harmless), encode_looks(looks), file.own, *told]
    if file.own:
        return [progress, sorted(file.harmless), encode_looks(looks), file.own]
    if looks:
        return [progress, sorted(file.harmless), encode_looks(looks)]
    if file.harmless:
        return [progress, sorted(file.harmless)]
    return [] if progress is None else [progress]


def mask_bytes(log: Outcome) -> bytes:
    """The text of all masks, one behind the other; it need not be UTF-8."""
    return b"".join(text for text, *_ in log.masks)


def _stamp_values(stamp: Stamp) -> list[Any] | None:
    if stamp == NO_STAMP:
        return None
    return [stamp.wall_ns, stamp.uptime_ns, stamp.has_year, stamp.zone_s, stamp.error_ns]


def _encode_row(row: Evidence, artifact: str) -> list[Any]:
    return [
        None if row.artifact == artifact else row.artifact,
        row.line,
        row.signature,
        str(row.kind),
        str(row.role),
        row.text,
        None if row.category is None else str(row.category),
        [str(one) for one in row.also],
        row.code,
        row.parent_code,
        str(row.blame),
        row.weak,
        row.node,
        row.rank,
        row.local_rank,
        row.cuda_device,
        row.pid,
        row.gpu,
        row.peer,
        row.count,
        _stamp_values(row.stamp),
        0 if row.last_stamp == row.stamp else _stamp_values(row.last_stamp),
        row.at_ns,
        row.last_at_ns,
        row.error_ns,
        dict(row.fields),
        *([sorted(row.traits)] if row.traits else []),
    ]


def decode_log(values: Any, masks: bytes, interned: Interned) -> Outcome:
    """The log of :func:`log_values`. ValueError, TypeError and KeyError mean damage."""
    (
        artifact, kind, node, lines, not_understood, notes, first, last,
        size_bytes, uncounted, rows, marks, *later,
    ) = values  # fmt: skip
    file = LogFile(
        artifact=artifact,
        kind=_LOG_KINDS[kind],
        node=node,
        lines=lines,
        not_understood=not_understood,
        notes=tuple(notes),
        first_stamp=_decode_stamp(first),
        last_stamp=_decode_stamp(last),
        progress=_decode_progress(later[0]) if later and later[0] is not None else None,
        harmless=frozenset(map(int, later[1])) if len(later) > 1 else frozenset(),
        own=later[3] if len(later) > 3 else "",
        job_id=later[4] if len(later) > 4 else "",
        checksum=int(later[5]) if len(later) > 5 else 0,
        system=bool(later[6]) if len(later) > 6 else False,
        error_at_end=(int(later[7]), later[8]) if len(later) > 8 else None,
    )
    return Outcome(
        file,
        [_decode_row(row, artifact, interned) for row in rows],
        _decode_masks(marks, masks, interned),
        size_bytes,
        uncounted,
        looks=decode_looks(later[2]) if len(later) > 2 else (),
    )


def _decode_stamp(values: Any) -> Stamp:
    return NO_STAMP if values is None else Stamp(*values)


def _decode_row(values: Any, artifact: str, interned: Interned) -> Evidence:
    (
        own, line, signature, kind, role, text, category, also, code, parent_code, blame,
        weak, node, rank, local_rank, cuda_device, pid, gpu, peer, count, stamp, last,
        at_ns, last_at_ns, error_ns, fields, *traits,
    ) = values  # fmt: skip
    at = _decode_stamp(stamp)
    return Evidence(
        artifact if own is None else own,
        line,
        interned.text(signature),
        _KINDS[kind],
        _ROLES[role],
        interned.text(text),
        None if category is None else _CATEGORIES[category],
        tuple([_CATEGORIES[one] for one in also]) if also else (),
        code,
        parent_code,
        _BLAMES[blame],
        weak,
        interned.text(node),
        rank,
        local_rank,
        cuda_device,
        pid,
        gpu,
        peer,
        count,
        at,
        at if last == 0 else _decode_stamp(last),
        at_ns,
        last_at_ns,
        error_ns,
        fields,
        frozenset(_TRAITS[one] for one in traits[0]) if traits else frozenset(),
    )


def _decode_masks(marks: Any, texts: bytes, interned: Interned) -> list[Mask]:
    found: list[Mask] = []
    offset = 0
    for length, lines, first, last in marks:
        text = texts[offset : offset + length]
        offset += length
        found.append((interned.text(text), lines, first, last))
    if offset != len(texts):
        raise ValueError("the masks are longer than their lengths say")
    return found


# A quantity is kept by its place in the list: new ones go to its end.
_QUANTITIES: Final = tuple(Quantity)
_NUMBER_OF: Final = {quantity: number for number, quantity in enumerate(_QUANTITIES)}
_MARKS: Final = {str(one): one for one in MarkKind}


def _encode_progress(progress: JobSteps) -> list[Any]:
    """[lines sampled, steps, marks]; words that many steps share are kept once."""
    words: dict[str | None, int] = {}
    steps = [
        [
            *_place_values(one.place),
            words.setdefault(one.counter, len(words)),
            one.index,
            one.rank,
            one.local_rank,
            words.setdefault(one.node, len(words)),
            [
                part
                for key, value in one.values.items()
                for part in (_NUMBER_OF[key], _make_plain(value))
            ],
        ]
        for one in progress.steps
    ]
    marks = [
        [str(one.kind), one.text, one.count, [_place_values(place) for place in one.places]]
        for one in progress.marks
    ]
    return [progress.seen, list(words), steps, marks]


def _decode_progress(values: Any) -> JobSteps:
    """The progress of :func:`progress_values`; what a newer release knows more is passed over."""
    seen, words, steps, marks, *_ = values
    return JobSteps(
        tuple(_decode_step(one, words) for one in steps),
        tuple(
            Mark(_MARKS[kind], text, count, tuple(_decode_place(place) for place in places))
            for kind, text, count, places, *_ in marks
            if kind in _MARKS
        ),
        seen,
    )


def _place_values(place: Place) -> list[Any]:
    stamp = place.stamp
    if stamp == NO_STAMP:
        return [place.line, place.order, None]
    return [
        place.line,
        place.order,
        [stamp.wall_ns, stamp.uptime_ns, stamp.has_year, stamp.zone_s, stamp.error_ns],
    ]


def _decode_place(values: Any) -> Place:
    line, order, stamp, *_ = values
    return Place(line, order, NO_STAMP if stamp is None else Stamp(*stamp))


def _decode_step(values: Any, words: list[Any]) -> Step:
    line, order, stamp, counter, index, rank, local_rank, node, numbers, *_ = values
    return Step(
        _decode_place((line, order, stamp)),
        words[counter],
        index,
        {
            _QUANTITIES[key]: float(value)
            for key, value in zip(numbers[::2], numbers[1::2], strict=True)
            if key < len(_QUANTITIES)
        },
        rank,
        local_rank,
        words[node],
    )


def _make_plain(value: float) -> float | str:
    """A number that JSON can hold: it knows neither NaN nor infinity."""
    return value if abs(value) < float("inf") else str(value)
