"""One answer for a job that moves: what makes it slow, dearest first, and what that costs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from triage.analysis.clocks.rank_clocks import group_median
from triage.analysis.progress.levels import LEAST_CHANGE, find_levels
from triage.analysis.slow.judge import OddOne, find_odd_ones
from triage.analysis.slow.own_time import OwnTime, measure_own_time
from triage.analysis.snapshots.finished import (
    FinishedOperations,
    collect_finished_operations,
    number_pairs,
)
from triage.analysis.snapshots.snapshot import Snapshot
from triage.analysis.waiting.lateness import measure
from triage.domain.arrays import F64, I64, Flags
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

    def of_group(self, slow: "SlowGroup") -> SlowPart:
        group = self.snapshot.groups[slow.group]
        what = (
            f"one link among the {len(group.ranks):,} ranks of {group.desc or 'group'}"
            f" (pg {group.name}) is slow, its operations take {slow.times:.1f} times as long"
        )
        ranks = tuple(sorted(group.ranks))
        return self.part(SlowCause.SLOW_LINK, slow.lost_ns, what, ranks, one_of=True)


# What all ranks lose alike: slow links, a stage with more to do, waits for data, a slower pace.
#
# None of them is one rank's doing, so none convicts a rank. Each needs several steps, and costs
# more of a step than noise does.

# Groups of the same kind and stage that are needed to call one of them slow.
_LEAST_SIBLINGS: Final = 3
# A link that is slow takes this many times as long, and costs this share of a step.
_LEAST_TIMES: Final = 1.3
_LEAST_SHARE: Final = 0.01
_SIGMAS: Final = 5.0
_LEAST_STEADY: Final = 0.75
# A stage that has more to do than the mean of all, and data that all wait for.
_LEAST_STAGE_SHARE: Final = 0.05
_LEAST_DATA_SHARE: Final = 0.05
_LEAST_DATA_NS: Final = 10e6
# Steps that tell a change of pace.
_LEAST_STEPS: Final = 10


@dataclass(frozen=True, slots=True)
class SlowGroup:
    """A group whose operations take longer, from when all have entered, than its siblings'."""

    group: int
    lost_ns: float
    times: float


@dataclass(frozen=True, slots=True)
class Pace:
    """A lasting change: steps took ``before_ns``, and take ``after_ns`` since ``since_ns``."""

    before_ns: float
    after_ns: float
    since_ns: int


def _measure_transfers(rows: FinishedOperations, good: I64) -> tuple[I64, F64]:
    """For the ``good`` rows, a number for each collective, and of each how long it took: its
    shortest kernel is of the member who came last, and waited for none.
    """
    key = number_pairs(rows.group[good], rows.seq[good])
    took = np.full(int(key.max()) + 1, np.inf)
    np.minimum.at(took, key, rows.lasted[good])
    return key, took


def find_slow_groups(rows: FinishedOperations, times: OwnTime) -> list[SlowGroup]:
    """Groups that transfer more slowly than the others of their kind, the dearest first."""
    good = np.flatnonzero(~rows.p2p & ~np.isnan(rows.lasted))
    if not len(good):
        return []
    # Per collective with all its members: its group, its place in the program and its stage.
    key, took = _measure_transfers(rows, good)
    members = np.bincount(key)
    one = np.zeros(len(took), np.int64)
    one[key] = good
    group = rows.group[one]
    size = np.zeros(int(group.max()) + 1, np.int64)
    np.maximum.at(size, group, members)
    whole = members == size[group]
    kind = number_pairs(rows.desc[one], times.stage[rows.digest[one]])
    place = number_pairs(kind, rows.seq[one])[whole]
    group, took = group[whole], took[whole]
    siblings = np.bincount(place)[place]
    usual = np.where(siblings >= _LEAST_SIBLINGS, group_median(place, took), np.nan)
    compared = ~np.isnan(usual)
    count = int(group.max()) + 1
    group, took, usual = group[compared], took[compared], usual[compared]
    number = np.bincount(group, minlength=count)
    lost = np.bincount(group, took - usual, count) / times.num_steps
    steady = np.bincount(group, took > usual, count) / np.maximum(number, 1)
    ratio = np.bincount(group, took, count) / np.maximum(np.bincount(group, usual, count), 1.0)
    known = number > 0
    if not known.any():
        return []
    sigma = 1.4826 * float(np.median(np.abs(lost[known])))
    odd: Flags = (
        known
        & (lost > max(_SIGMAS * sigma, _LEAST_SHARE * times.step_ns))
        & (steady >= _LEAST_STEADY)
        & (ratio >= _LEAST_TIMES)
    )
    groups = [
        SlowGroup(slow, float(lost[slow]), float(ratio[slow]))
        for slow in np.flatnonzero(odd).tolist()
    ]
    return sorted(groups, key=lambda one: (-one.lost_ns, one.group))


def measure_common_wait(rows: FinishedOperations, times: OwnTime, joins_stages: Flags) -> float:
    """How long a rank waits for its peers in the mean of all ranks, ns a step.

    ``joins_stages`` are groups over several stages: what is waited for there is the pipeline's.
    """
    good = np.flatnonzero(~rows.p2p & ~np.isnan(rows.lasted) & ~joins_stages[rows.group])
    if not len(good):
        return 0.0
    key, took = _measure_transfers(rows, good)
    waited = float((rows.lasted[good] - took[key]).sum())
    return waited / len(np.unique(rows.digest)) / times.num_steps


def find_slow_stage(times: OwnTime, *, piped: bool) -> tuple[int, float] | None:
    """The stage with most to do, and how much more that is than the mean, ns a step; None where
    nothing tells it of one of them.
    """
    stages = int(times.stage.max()) + 1
    told = ~np.isnan(times.own)
    if not piped or stages < 2 or len(np.unique(times.stage[told])) < stages:
        return None
    own = np.array([np.median(times.own[told & (times.stage == k)]) for k in range(stages)])
    most = int(np.argmax(own))
    lost = float(own[most] - own.mean())
    return (most, lost) if lost >= _LEAST_STAGE_SHARE * times.step_ns else None


def measure_data_wait(rows: FinishedOperations, times: OwnTime) -> float | None:
    """How long every host pauses between two steps at the least, ns; None where it is little.

    A host that pauses issues its next operation only after the end of the step was noticed.
    """
    at = np.flatnonzero(times.ends[:-1])
    at = at[(rows.digest[at] == rows.digest[at + 1]) & ~rows.first[at + 1]]
    noticed = rows.completed[at]
    good = ~np.isnan(noticed)
    if good.sum() < len(at) * _LEAST_STEADY or not good.any():
        return None
    pause = (rows.created[at + 1] - noticed)[good]
    # Ends are noticed up to a tenth of a second late, each rank's at its own moment.
    key = number_pairs(rows.group[at][good], rows.seq[at][good])
    longest = np.full(int(key.max()) + 1, -np.inf)
    np.maximum.at(longest, key, pause)
    each = float(np.median(longest))
    # Where some pause alone, the others wait in an operation.
    start = times.start[np.isfinite(times.start)]
    stretch = float(np.median(rows.created[at + 1] - rows.created[at]))
    alike = not len(start) or float(np.percentile(start, 99)) < 0.5 * max(stretch, 1.0)
    least = max(_LEAST_DATA_SHARE * times.step_ns, _LEAST_DATA_NS)
    return each if alike and each >= least else None


def find_pace_change(rows: FinishedOperations, ends: Flags) -> Pace | None:
    """Since when steps take longer for all; None where their pace is one."""
    at = np.flatnonzero(ends)
    same = (np.diff(rows.digest[at]) == 0) & (np.diff(rows.group[at]) == 0)
    one, other = at[:-1][same], at[1:][same]
    if not len(one):
        return None
    key = number_pairs(np.zeros(len(one), np.int64), rows.seq[other])
    lasted = group_median(key, rows.created[other] - rows.created[one])
    first = np.unique(key, return_index=True)[1]
    values, since = lasted[first], rows.created[one][first]
    if len(values) < _LEAST_STEPS or (values <= 0).any():
        return None
    levels = find_levels(values)
    if len(levels) < 2 or levels[-1].middle < levels[0].middle * (1 + LEAST_CHANGE):
        return None
    return Pace(levels[0].middle, levels[-1].middle, int(since[levels[-1].start]))
