"""The steps and marks of a log as plain values for a stored extract, and back."""

from typing import Any, Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.parsers.logs.progress.series import JobSteps, Mark, MarkKind, Place, Quantity, Step

__all__ = ["progress_from", "progress_values"]

# A quantity is kept by its place in the list: new ones go to its end.
QUANTITIES: Final = tuple(Quantity)
NUMBER_OF: Final = {quantity: number for number, quantity in enumerate(QUANTITIES)}
MARKS: Final = {str(one): one for one in MarkKind}


def progress_values(progress: JobSteps) -> list[Any]:
    """[lines sampled, steps, marks]; words that many steps share are kept once."""
    words: dict[str | None, int] = {}
    steps = [
        [
            *place_values(one.place),
            words.setdefault(one.counter, len(words)),
            one.index,
            one.rank,
            one.local_rank,
            words.setdefault(one.node, len(words)),
            [part for key, value in one.values.items() for part in (NUMBER_OF[key], plain(value))],
        ]
        for one in progress.steps
    ]
    marks = [
        [str(one.kind), one.text, one.count, [place_values(place) for place in one.places]]
        for one in progress.marks
    ]
    return [progress.seen, list(words), steps, marks]


def progress_from(values: Any) -> JobSteps:
    """The progress of :func:`progress_values`; what a newer release knows more is passed over."""
    seen, words, steps, marks, *_ = values
    return JobSteps(
        tuple(step_from(one, words) for one in steps),
        tuple(
            Mark(MARKS[kind], text, count, tuple(place_from(place) for place in places))
            for kind, text, count, places, *_ in marks
            if kind in MARKS
        ),
        seen,
    )


def place_values(place: Place) -> list[Any]:
    stamp = place.stamp
    if stamp == NO_STAMP:
        return [place.line, place.order, None]
    return [
        place.line,
        place.order,
        [stamp.wall_ns, stamp.uptime_ns, stamp.has_year, stamp.zone_s, stamp.error_ns],
    ]


def place_from(values: Any) -> Place:
    line, order, stamp, *_ = values
    return Place(line, order, NO_STAMP if stamp is None else Stamp(*stamp))


def step_from(values: Any, words: list[Any]) -> Step:
    line, order, stamp, counter, index, rank, local_rank, node, numbers, *_ = values
    return Step(
        place_from((line, order, stamp)),
        words[counter],
        index,
        {
            QUANTITIES[key]: float(value)
            for key, value in zip(numbers[::2], numbers[1::2], strict=True)
            if key < len(QUANTITIES)
        },
        rank,
        local_rank,
        words[node],
    )


def plain(value: float) -> float | str:
    """A number that JSON can hold: it knows neither NaN nor infinity."""
    return value if abs(value) < float("inf") else str(value)
