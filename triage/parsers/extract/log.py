"""What one log gave as plain values for a stored extract, and back."""

from math import isfinite
from typing import Any, Final

from triage.domain.evidence import Evidence
from triage.domain.packing import (
    AS_IT_IS,
    Packing,
    Way,
    decode_stamp,
    encode_stamp,
    make_listed,
)
from triage.parsers.extract.digest import Interned
from triage.parsers.extract.looks import decode_looks, encode_looks
from triage.parsers.logs.join import Mask, Outcome
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.series import JobSteps, Mark, MarkKind, Place, Quantity, Step

_FILE: Final = Packing(
    LogFile,
    ("artifact", "kind", "node", "lines", "not_understood", "notes", "first_stamp", "last_stamp"),
)
_ROW: Final = Packing(Evidence, stamp=AS_IT_IS, last_stamp=AS_IT_IS)
_SIGNATURE, _TEXT, _NODE, _STAMP, _LAST, _TRAITS = map(
    _ROW.names.index, ("signature", "text", "node", "stamp", "last_stamp", "traits")
)
_PLACE: Final = Packing(Place, ("line", "order", "stamp"))
_MARK: Final = Packing(Mark, places=make_listed(Way(_PLACE.encode, _PLACE.decode), tuple))
# Progress, harmless lines, looks, own signatures, job, checksum, system, line and text of an error.
_NONE_OF_IT: Final = (None, (), None, "", "", 0, False, None, None)


def log_values(log: Outcome) -> list[Any]:
    """The log's file, rows and masks; the text of the masks goes beside it, see
    :func:`mask_bytes`.
    """
    file, looks = log.file, log.looks
    # What extracts of earlier releases do not have; nothing where there is none of it.
    later = [file.progress, file.harmless, looks, file.own, file.job_id, file.checksum, file.system]
    later += file.error_at_end or ()
    while later and not later[-1]:
        later.pop()
    written = [
        None if file.progress is None else _encode_progress(file.progress),
        sorted(file.harmless),
        encode_looks(looks),
        *later[3:],
    ]
    return [
        *_FILE.encode(file),
        log.size_bytes,
        log.uncounted,
        [_encode_row(row, file.artifact) for row in log.rows],
        [[len(text), lines, first, last] for text, lines, first, last in log.masks],
        *written[: len(later)],
    ]


def mask_bytes(log: Outcome) -> bytes:
    """The text of all masks, one behind the other; it need not be UTF-8."""
    return b"".join(text for text, *_ in log.masks)


def _encode_row(row: Evidence, artifact: str) -> list[Any]:
    values = _ROW.encode(row)
    if row.artifact == artifact:
        values[0] = None
    values[_STAMP] = encode_stamp(row.stamp)
    values[_LAST] = 0 if row.last_stamp == row.stamp else encode_stamp(row.last_stamp)
    return values if row.traits else values[:_TRAITS]


def decode_log(values: Any, masks: bytes, interned: Interned) -> Outcome:
    """The log of :func:`log_values`. ValueError, TypeError and KeyError mean damage."""
    size_bytes, uncounted, rows, marks, *later = values[len(_FILE.names) :]
    later += _NONE_OF_IT[len(later) :]
    progress, harmless, looks, own, job_id, checksum, system, line, text, *_ = later
    file = LogFile(
        **dict(zip(_FILE.names, _FILE.read(values[: len(_FILE.names)]), strict=True)),
        progress=None if progress is None else _decode_progress(progress),
        harmless=frozenset(map(int, harmless)),
        own=own,
        job_id=job_id,
        checksum=int(checksum),
        system=bool(system),
        error_at_end=None if text is None else (int(line), text),
    )
    return Outcome(
        file,
        [_decode_row(row, file.artifact, interned) for row in rows],
        _decode_masks(marks, masks, interned),
        size_bytes,
        uncounted,
        looks=() if looks is None else decode_looks(looks),
    )


def _decode_row(values: Any, artifact: str, interned: Interned) -> Evidence:
    row = _ROW.read(values[: len(_ROW.names)])  # what a newer release knows more is passed over
    if row[0] is None:
        row[0] = artifact
    for place in (_SIGNATURE, _TEXT, _NODE):
        row[place] = interned.text(row[place])
    last = row[_LAST]
    row[_STAMP] = decode_stamp(row[_STAMP])
    row[_LAST] = row[_STAMP] if last == 0 else decode_stamp(last)
    return Evidence(*row)


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


def _encode_progress(progress: JobSteps) -> list[Any]:
    """[lines sampled, words, steps, marks]; words that many steps share are kept once."""
    words: dict[str | None, int] = {}
    steps = [
        [
            *_PLACE.encode(one.place),
            words.setdefault(one.counter, len(words)),
            one.index,
            one.rank,
            one.local_rank,
            words.setdefault(one.node, len(words)),
            [
                # JSON knows neither NaN nor infinity.
                part
                for key, value in one.values.items()
                for part in (_NUMBER_OF[key], value if isfinite(value) else str(value))
            ],
        ]
        for one in progress.steps
    ]
    return [progress.seen, list(words), steps, [_MARK.encode(one) for one in progress.marks]]


def _decode_progress(values: Any) -> JobSteps:
    """The progress of :func:`_encode_progress`; what a newer release knows more is passed over."""
    seen, words, steps, marks, *_ = values
    known = frozenset(map(str, MarkKind))
    return JobSteps(
        tuple(_decode_step(one, words) for one in steps),
        tuple(_MARK.decode(one[: len(_MARK.names)]) for one in marks if one[0] in known),
        seen,
    )


def _decode_step(values: Any, words: list[Any]) -> Step:
    line, order, stamp, counter, index, rank, local_rank, node, numbers, *_ = values
    return Step(
        _PLACE.decode((line, order, stamp)),
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
