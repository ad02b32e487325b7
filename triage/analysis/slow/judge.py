"""Who is slow by own times: one device, one host, all devices of a group; or nobody.

Who stands out does so beyond the noise of all ranks, by a share of the work that is worth a
repair, in most steps, and the whole job waits for it. Many that stand out at once are a pattern
of the program, and convict nobody.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.slow.own_time import LEAST_COMPARED, OwnTime
from triage.domain.arrays import F64, I64, Flags
from triage.domain.slow import SlowCause

# Of 16,384 ranks, chance takes one to 4 standard deviations.
_SIGMAS: Final = 5.0
# A device that needs less more than its peers is one of a usual lot.
_LEAST_RATIO: Final = 0.025
# What costs less of a step is worth nobody's time.
_LEAST_SHARE: Final = 0.005
# A host must be late by more: it prepares each step a little differently, with a long tail.
_LEAST_HOST_SHARE: Final = 0.03
_HOST_SIGMAS: Final = 8.0
_LEAST_STEADY: Final = 0.75
# The whole job waits for at least this part of what a rank is behind its nearest peers.
_LEAST_WIDE: Final = 0.5
# A host that issues late by this part of what its rank is behind is the cause.
_HOST_PART: Final = 0.5
# More than this many, and this share of all, are no exceptions.
_MANY: Final = 8
_MANY_SHARE: Final = 0.05
# Groups of a stage that are compared as a whole.
_LEAST_GROUPS: Final = 4
# Where the nearest group runs less of a step, what is host and what is device is not told apart.
_LEAST_COVERED: Final = 8


@dataclass(frozen=True, slots=True)
class OddOne:
    """Digests that are slow together: ``late_ns`` a step, ``ratio`` of their own time.

    ``sigmas`` is how far that stands above the noise of all. ``sure`` is false where host and
    device cannot be told apart.
    """

    cause: SlowCause
    digests: tuple[int, ...]
    late_ns: float
    ratio: float
    sigmas: float
    steady: float
    sure: bool = True


def find_odd_ones(times: OwnTime, host_late_ns: F64, group_of: I64) -> list[OddOne]:
    """The slow ones, the slowest first.

    ``host_late_ns`` is, per digest, by how much it issues operations late by its own doing;
    ``group_of`` is which digests compute together (a node), -1 for unknown.
    """
    values = times.own[np.isfinite(times.own) & (times.own > 0)]
    usual = float(np.median(values)) if len(values) else 0.0
    if usual <= 0:
        return []
    own = _find_lone_ones(times, host_late_ns, usual)
    if len(own) > max(_MANY, _MANY_SHARE * len(times.own)):
        return []
    named = {digest for one in own for digest in one.digests}
    together = [] if named else _find_slow_groups(times, group_of, usual)
    return sorted([*own, *together], key=lambda one: -one.late_ns)


def _estimate_sigma(values: F64) -> float:
    """The noise of values whose middle is 0 for those that are alike."""
    finite = values[np.isfinite(values)]
    return float(1.4826 * np.median(np.abs(finite))) if len(finite) else 0.0


def _find_lone_ones(times: OwnTime, host_late_ns: F64, usual: float) -> list[OddOne]:
    covered = times.compared >= max(LEAST_COMPARED, _LEAST_COVERED * times.num_steps)
    within = np.nan_to_num(times.within, nan=-np.inf)
    start = np.nan_to_num(times.start, nan=-np.inf)
    wide = np.nan_to_num(times.wide, nan=-np.inf)
    of_device = (
        (within > _compute_floor(times.within, usual, times.step_ns, _LEAST_SHARE))
        & (wide > _LEAST_WIDE * within)
        & (times.steady >= _LEAST_STEADY)
        & covered
    )
    of_host = (
        (start > _compute_floor(times.start, 0.0, times.step_ns, _LEAST_HOST_SHARE, _HOST_SIGMAS))
        & (wide > _LEAST_WIDE * start)
        & (times.start_steady >= _LEAST_STEADY)
        & covered
        & ~of_device
    )
    # Nobody stands near enough to tell more: only that the job waits for this one.
    of_either = (
        wide > _compute_floor(times.wide, usual, times.step_ns, _LEAST_HOST_SHARE)
    ) & ~covered
    found = []
    for late, chosen, steady, of_hosts in (
        (times.within, of_device, times.steady, False),
        (times.start, of_host, times.start_steady, True),
        (times.wide, of_either, np.ones(len(wide)), False),
    ):
        sigma = max(_estimate_sigma(late), 1.0)
        for digest in np.flatnonzero(chosen).tolist():
            late_ns = float(late[digest])
            # Or the host issues late by as much as the rank is behind.
            host = of_hosts or bool(host_late_ns[digest] >= _HOST_PART * late_ns)
            cause = SlowCause.LATE_HOST if host else SlowCause.SLOW_GPU
            ratio, share, sure = (
                late_ns / usual,
                float(steady[digest]),
                host or bool(covered[digest]),
            )
            found.append(OddOne(cause, (digest,), late_ns, ratio, late_ns / sigma, share, sure))
    return found


def _compute_floor(
    values: F64, usual: float, step_ns: float, share: float, sigmas: float = _SIGMAS
) -> float:
    return max(sigmas * _estimate_sigma(values), _LEAST_RATIO * usual, share * step_ns)


def _find_slow_groups(times: OwnTime, group_of: I64, usual: float) -> list[OddOne]:
    """Groups whose members are all slow, against the other groups of their stage."""
    known = np.flatnonzero((group_of >= 0) & np.isfinite(times.wide))
    if not len(known):
        return []
    count = int(group_of.max()) + 1
    size = np.bincount(group_of[known], minlength=count)
    if (size > 1).sum() < _LEAST_GROUPS:
        return []
    middle = np.full(count, np.nan)
    lowest = np.full(count, np.inf)
    np.minimum.at(lowest, group_of[known], times.wide[known])
    for group in np.flatnonzero(size > 1).tolist():
        middle[group] = np.median(times.wide[known[group_of[known] == group]])
    middle -= np.nanmedian(middle)
    odd: Flags = np.nan_to_num(middle, nan=-np.inf) > _compute_floor(
        middle, usual, times.step_ns, _LEAST_HOST_SHARE
    )
    odd &= lowest > _LEAST_WIDE * np.nan_to_num(middle, nan=np.inf)
    if odd.sum() > max(1, _MANY_SHARE * len(middle)):
        return []
    return [
        OddOne(
            SlowCause.SLOW_GROUP,
            tuple(known[group_of[known] == group].tolist()),
            float(middle[group]),
            float(middle[group] / usual),
            float(middle[group] / max(_estimate_sigma(middle), 1.0)),
            1.0,
        )
        for group in np.flatnonzero(odd).tolist()
    ]
