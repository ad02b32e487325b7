"""The steps of one log as arrays: which of its lines are the training, and their quantities.

A log may count in several words (``iteration``, a bar, an epoch's batches) and hold the bars
of other things. The counter with most lines that measure something is the training's.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64
from triage.domain.progress import ProgressPoint
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.series import Place, Quantity, Step

SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The time of a step at some lines: ``steps[places[k]]`` took ``values[k]``.

    In seconds where ``in_seconds``; else it is the reciprocal of a rate.
    """

    places: I64
    values: F64
    in_seconds: bool


@dataclass(slots=True)
class Course:
    """The training as one log tells it.

    ``counted`` are the lines of its counter, in order; ``others`` its lines without a count.
    ``at`` is the step of each counted line (epochs laid one behind the other), ``ns`` its
    time, NaN where it has none. ``seen`` is the number of lines that ``counted`` stand for.
    """

    file: LogFile
    counted: list[Step]
    others: list[Step]
    at: F64
    ns: F64

    def get(self, quantity: Quantity) -> tuple[list[Step], F64]:
        """The lines that print a quantity, in order, and it: the counter's, else the others'."""
        for some in (self.counted, self.others):
            lines = [line for line in some if quantity in line.values]
            if len(lines) >= min(3, len(some)) and lines:
                return lines, np.array([line.values[quantity] for line in lines])
        return [], np.zeros(0)

    @property
    def total(self) -> int | None:
        """The step at which the job will be done; None where it counts within an epoch."""
        steps = [line.values.get(Quantity.STEP) for line in self.counted]
        if None in steps:
            return None
        totals = [
            line.values[Quantity.TOTAL] for line in self.counted if Quantity.TOTAL in line.values
        ]
        in_epochs = any(Quantity.EPOCH in line.values for line in self.counted)
        if not totals or (in_epochs and bool((np.diff(np.array(steps, float)) < 0).any())):
            return None
        return int(totals[-1])


def make_progress_point(file: LogFile, place: Place, step: float | None = None) -> ProgressPoint:
    """A place of a log as the outside sees it."""
    number = None if step is None or not np.isfinite(step) else int(step)
    in_zone = place.stamp.zone_s is not None
    return ProgressPoint(file.artifact, place.line, number, place.at_ns, in_zone)


def read_course(file: LogFile) -> Course | None:
    """The training in one log; None where it prints no step."""
    progress = file.progress
    if progress is None or not progress.steps:
        return None
    groups: dict[tuple[str, float], list[Step]] = defaultdict(list)
    for line in progress.steps:
        total = line.values.get(Quantity.TOTAL, 0.0) if line.counter == "bar" else 0.0
        groups[line.counter, total].append(line)
    others = groups.pop(("", 0.0), [])
    if not groups:
        # Lines without a count: each is one more.
        counted = [line for line in others if Quantity.COMPUTE_S not in line.values]
        at = np.array([float(one.index) for one in counted])
        return Course(file, counted, others, at, _get_times(counted)) if counted else None

    def weigh_lines(key: tuple[str, float]) -> tuple[int, float]:
        """How likely lines are the training: by what they measure, then by how many they are."""
        lines = groups[key]
        measured = sum(len(line.values) for line in lines[:16]) / min(16, len(lines))
        return int(len(lines) * min(measured, 6)), key[1]

    best = max(groups, key=weigh_lines)
    rest = [one for key in groups if key != best for one in groups[key]]
    merged = sorted([*others, *rest], key=lambda line: line.place.order)
    counted = groups[best]
    return Course(file, counted, merged, _count_steps(counted), _get_times(counted))


def _count_steps(lines: list[Step]) -> F64:
    """The step of each line; that of a bar goes on over its epochs."""
    at = np.array([line.values[Quantity.STEP] for line in lines])
    if not all(Quantity.EPOCH in line.values and Quantity.TOTAL in line.values for line in lines):
        return at
    if not (np.diff(at) < 0).any():
        return at
    epoch = np.array([line.values[Quantity.EPOCH] for line in lines])
    total = np.array([line.values[Quantity.TOTAL] for line in lines])
    laid: F64 = at + (epoch - epoch.min()) * total.max()
    return laid


def _get_times(lines: list[Step]) -> F64:
    return np.array(
        [np.nan if line.place.at_ns is None else float(line.place.at_ns) for line in lines]
    )
