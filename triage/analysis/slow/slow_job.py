"""One answer for a job that moves: what makes it slow, dearest first, and what that costs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from triage.analysis.slow.causes import (
    SlowGroup,
    find_pace_change,
    find_slow_groups,
    find_slow_stage,
    measure_common_wait,
    measure_data_wait,
)
from triage.analysis.slow.judge import OddOne, find_odd_ones
from triage.analysis.slow.own_time import OwnTime, measure_own_time
from triage.analysis.snapshots.finished import FinishedOperations, collect_finished_operations
from triage.analysis.snapshots.snapshot import Snapshot
from triage.analysis.waiting.lateness import measure
from triage.domain.arrays import I64
from triage.domain.slow import SlowCause, SlowJob, SlowPart, compute_gpu_hours_per_day

_MAX_PARTS: Final = 8
# Of a step no more than this is believed to be lost.
_MOST_LOST: Final = 0.9
_WORDS: Final = {
    SlowCause.SLOW_GPU: "one worker ({who}) computes longer",
    SlowCause.SLOW_GROUP: "the GPUs of {who} compute longer",
    SlowCause.LATE_HOST: "one host ({who}) is late",
}


def explain_slow_job(snapshot: Snapshot, num_gpus: int) -> SlowJob | None:
    """What makes the job slow; None without durations, and where nothing does."""
    found = find_slow_ranks(snapshot)
    if found is None:
        return None
    rows, times, piped = found.rows, found.times, bool(found.rows.p2p.any())
    stage = find_slow_stage(times, piped=piped)
    groups = find_slow_groups(rows, times)
    pause = measure_data_wait(rows, times)
    # Groups that reach over several pipeline stages.
    lowest = np.full(int(rows.group.max()) + 1, 1 << 40)
    highest = np.full(len(lowest), -1)
    np.minimum.at(lowest, rows.group, times.stage[rows.digest])
    np.maximum.at(highest, rows.group, times.stage[rows.digest])
    waited = measure_common_wait(rows, times, (highest > lowest) & piped)
    # Ranks wait for a slow one, also where that is not seen; links and data cost more beside it.
    lost = max([waited, *(odd.late_ns for odd in found.odd)]) + (stage[1] if stage else 0.0)
    lost += sum(group.lost_ns for group in groups[:1]) + (pause or 0.0)
    ideal_ns = times.step_ns - min(lost, _MOST_LOST * times.step_ns)
    teller = _Teller(snapshot, times.step_ns, ideal_ns, max(num_gpus, len(snapshot.digests)))
    parts = [teller.of_rank(odd) for odd in found.odd]
    parts += [teller.of_group(group) for group in groups]
    if stage is not None:
        ranks = tuple(sorted(snapshot.ranks[times.stage == stage[0]].tolist()))
        what = f"the pipeline stage of rank {ranks[0]} has more to do than the others"
        parts.append(teller.part(SlowCause.SLOW_STAGE, stage[1], what, ranks))
    if pause is not None:
        parts.append(teller.part(SlowCause.INPUT_BOUND, pause, "all ranks wait for their hosts"))
    pace = find_pace_change(rows, times.ends)
    if pace is not None:
        what = f"steps take {pace.after_ns / pace.before_ns - 1:.1%} longer than at first"
        more_ns = pace.after_ns - pace.before_ns
        parts.append(teller.part(SlowCause.SLOW_SINCE, more_ns, what, since_ns=pace.since_ns))
    if not parts:
        return None
    parts.sort(key=lambda part: (-part.ms_per_step, part.cause, part.ranks))
    slowdown = times.step_ns / ideal_ns
    return SlowJob(times.step_ns / 1e6, slowdown, teller.num_gpus, tuple(parts[:_MAX_PARTS]))


@dataclass(frozen=True, slots=True)
class SlowRanks:
    """The rows that were compared, the own times of all digests, and who stands out."""

    rows: FinishedOperations
    times: OwnTime
    odd: tuple[OddOne, ...]


# A detector asks first, then whoever adds up the lost time. The rows of a large job are not kept
# from one to the other: there is no room for them.
_COMPARED: WeakKeyDictionary[Snapshot, SlowRanks | None] = WeakKeyDictionary()
_MOST_KEPT_ROWS: Final = 200_000


def find_slow_ranks(snapshot: Snapshot) -> SlowRanks | None:
    """Who is slow; None without durations, or on too little data."""
    if snapshot in _COMPARED:
        return _COMPARED[snapshot]
    found = _compare_ranks(snapshot)
    if found is None or len(found.rows.digest) <= _MOST_KEPT_ROWS:
        _COMPARED[snapshot] = found
    return found


def _compare_ranks(snapshot: Snapshot) -> SlowRanks | None:
    """As :func:`find_slow_ranks`, computed anew."""
    if not any(digest.history.timed for digest in snapshot.digests[:64]):
        return None
    rows = collect_finished_operations(snapshot)
    times = measure_own_time(rows, len(snapshot.digests))
    if times is None:
        return None
    late = measure(snapshot)
    # Per digest, how late a step its host issues by its own doing.
    late_ns = np.zeros(len(snapshot.digests)) if late is None else late.delay_ms * 1e6
    odd = find_odd_ones(times, late_ns, _number_nodes(snapshot))
    return SlowRanks(rows, times, tuple(odd))


def _number_nodes(snapshot: Snapshot) -> I64:
    """Per digest, a number for its node; -1 where it is not known."""
    numbers: dict[str, int] = {}
    found = np.full(len(snapshot.digests), -1, np.int64)
    for index, rank in enumerate(snapshot.ranks.tolist()):
        node = snapshot.node_of(rank)
        if node is not None:
            found[index] = numbers.setdefault(node, len(numbers))
    return found


class _Teller:
    """Parts of the lost time in words, with their cost."""

    def __init__(self, snapshot: Snapshot, step_ns: float, ideal_ns: float, num_gpus: int) -> None:
        self.snapshot = snapshot
        self.step_ns = step_ns
        self.ideal_ns = ideal_ns
        self.num_gpus = num_gpus

    def part(
        self,
        cause: SlowCause,
        lost_ns: float,
        what: str,
        ranks: tuple[int, ...] = (),
        *,
        one_of: bool = False,
        since_ns: int | None = None,
    ) -> SlowPart:
        share = lost_ns / self.step_ns
        hours = compute_gpu_hours_per_day(share, self.num_gpus)
        text = (
            f"{what}: {lost_ns / 1e6:.3g} ms a step, {lost_ns / self.ideal_ns:.2f} of the slowdown,"
            f" {hours:,.0f} GPU-hours a day at {self.num_gpus:,} GPUs"
        )
        since = None if since_ns is None else datetime.fromtimestamp(since_ns / 1e9, UTC)
        return SlowPart(cause, ranks, lost_ns / 1e6, share, hours, text, since, one_of)

    def of_rank(self, odd: OddOne) -> SlowPart:
        ranks = tuple(sorted(int(self.snapshot.ranks[digest]) for digest in odd.digests))
        who = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}"
        return self.part(odd.cause, odd.late_ns, _WORDS[odd.cause].format(who=who), ranks)

    def of_group(self, slow: SlowGroup) -> SlowPart:
        group = self.snapshot.groups[slow.group]
        what = (
            f"one link among the {len(group.ranks):,} ranks of {group.desc or 'group'}"
            f" (pg {group.name}) is slow, its operations take {slow.times:.1f} times as long"
        )
        ranks = tuple(sorted(group.ranks))
        return self.part(SlowCause.SLOW_LINK, slow.lost_ns, what, ranks, one_of=True)
