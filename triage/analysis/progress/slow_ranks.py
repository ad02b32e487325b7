"""Ranks that take longer than their peers for the same step, where each prints its own time.

The assumption: all ranks do the same work. Then the middle one is the measure, and the
spread of all is the noise. Ranks that do other work by design (the first and the last stage
of a pipeline, the first rank of each group) have a pattern, and are not told. A time that
holds the wait for others is alike on all ranks and tells nothing; the time that a rank
computes tells it.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import numpy as np

from triage.analysis.progress.course import point_of
from triage.analysis.progress.levels import LEAST_CHANGE, noise_of
from triage.domain.progress import SlowRank
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.series import Quantity, Step

__all__ = ["slow_ranks_of"]

LEAST_PEERS: Final = 4
LEAST_LINES: Final = 3
SIGMAS: Final = 5.0
# Noise of medians is never believed to be less.
LEAST_NOISE: Final = 0.004
# More than this share are no exceptions: the work is not alike.
MOST_SLOW: Final = 0.3
# At least this share of a rank's lines must lie above its peers.
STEADY: Final = 0.8
WORDS: Final = {
    Quantity.COMPUTE_S: "its own computing",
    Quantity.STEP_S: "its steps",
    Quantity.STEPS_PER_S: "its steps",
    Quantity.TOKENS_PER_S: "its tokens",
    Quantity.SAMPLES_PER_S: "its samples",
    Quantity.TFLOPS: "its operations",
}

Seat = tuple[str | None, int | None, int | None]


def slow_ranks_of(files: Iterable[LogFile]) -> tuple[SlowRank, ...]:
    """The slow ranks of all logs, slowest first; none where fewer than four print their times."""
    lines = [
        (seat_of(file, line), file, line)
        for file in files
        if file.progress is not None
        for line in file.progress.steps
    ]
    for quantity in WORDS:
        by_seat: dict[Seat, list[tuple[LogFile, Step, float]]] = defaultdict(list)
        for seat, file, line in lines:
            value = line.values.get(quantity, 0.0)
            if seat is not None and 0 < value < float("inf"):
                time = (
                    value if str(quantity).endswith("_s") and "per" not in quantity else 1 / value
                )
                by_seat[seat].append((file, line, time))
        found = slow_among(by_seat, quantity)
        if found is not None:
            return found
    return ()


def seat_of(file: LogFile, line: Step) -> Seat | None:
    """Who prints a line: its rank, else its place on its node; None where nothing tells."""
    node = line.node or file.node
    if line.rank is not None:
        return node, line.rank, None
    return (
        (node, None, line.local_rank) if node is not None and line.local_rank is not None else None
    )


def slow_among(
    by_seat: dict[Seat, list[tuple[LogFile, Step, float]]], quantity: Quantity
) -> tuple[SlowRank, ...] | None:
    """The slow ones among those who print one quantity; None where too few do."""
    full = {seat: some for seat, some in by_seat.items() if len(some) >= LEAST_LINES}
    if len(full) < LEAST_PEERS:
        return None
    middles = {seat: float(np.median([time for *_, time in some])) for seat, some in full.items()}
    values = np.array(list(middles.values()))
    usual = float(np.median(values))
    limit = usual * (1 + max(LEAST_CHANGE, SIGMAS * max(noise_of(values / usual), LEAST_NOISE)))
    slow = [
        seat
        for seat, middle in middles.items()
        if middle >= limit
        and np.mean([time > usual * (1 + LEAST_CHANGE / 2) for *_, time in full[seat]]) >= STEADY
    ]
    if len(slow) > MOST_SLOW * len(full) or by_design(slow, list(full)):
        return ()
    slow.sort(key=lambda seat: (-middles[seat], str(seat)))
    return tuple(
        SlowRank(
            rank=seat[1],
            node=seat[0],
            local_rank=seat[2],
            ratio=middles[seat] / usual,
            peers=len(full),
            example=point_of(full[seat][-1][0], full[seat][-1][1].place),
            what=WORDS[quantity],
        )
        for seat in slow
    )


def by_design(slow: list[Seat], placement: list[Seat]) -> bool:
    """Whether slow ranks lie as stages or members of groups do: they have more to do."""
    ranks = sorted(seat[1] for seat in slow if seat[1] is not None)
    every = [seat[1] for seat in placement if seat[1] is not None]
    if len(ranks) < 2 or len(ranks) != len(slow):
        return False
    gaps = {other - one for one, other in pairwise(ranks)}
    if len(gaps) > 1:
        return False
    if gaps == {1}:
        return ranks[0] == min(every) or ranks[-1] == max(every)
    return len(ranks) > 2
