"""Straggler: a rank that makes the others wait, step after step, in a job that does not hang.

Assumes that a blocking collective ends together, so that the rank that issues it last
held up the others, unless it was held up itself (see lateness.py).
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from triage.analysis.waiting.case import Case
from triage.analysis.waiting.lateness import Lateness, measure, measure_anew
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

NAME: Final = "fr.straggler"

# Fewer matched operations than this decide nothing.
_MIN_MATCHED = 20
# Below this, issue times differ by scheduling noise alone.
_MIN_DELAY_MS = 8.0
# ... and what costs less than this share of a step is worth nobody's time.
_MIN_SHARE = 0.02
# ... and from this share on somebody would stop a job for it.
CONVICTS_SHARE = 0.05
# Whom the latest rank holds up passes some of that on: less than this share of its delay may be.
_CONVICTS_BESIDE = 0.5
# A straggler delays steps several times as much as any of its usual peers ...
_TIMES_USUAL = 5.0
# ... and does so in most of them, not in one long pause.
_MIN_HELD_SHARE = 0.5
_MAX_NAMED = 8


def find_stragglers(case: Case) -> Iterator[Finding]:
    """One finding per late rank, with the delay it causes.

    Silent: when ranks are stuck, on fewer than 20 matched operations, and when no
    rank stands out from the others.
    """
    if case.moving or (case.graph.places and not case.in_flight):
        return
    late = measure(case.snapshot)
    if late is None or late.num_steps < 3:
        return
    delay = late.delay_ms
    enough = late.matched >= _MIN_MATCHED
    if enough.sum() < 2:
        return
    # What ranks that are not the latest cause: noise, shared out by chance.
    usual = float(np.median(delay[enough]) if enough.sum() > 2 else delay[enough].min())
    least = max(_MIN_DELAY_MS, _MIN_SHARE * late.step_ms)
    odd = enough & (delay > max(least, _TIMES_USUAL * usual))
    odd &= late.held_share >= _MIN_HELD_SHARE
    # All wait for whom they wait for: a step is no shorter than the delay in it. A record that
    # begins and ends within a step tells of one step less.
    odd &= delay * (late.num_steps - 1) <= late.step_ms * late.num_steps
    if not odd.any():
        return
    latest = odd & (delay >= _CONVICTS_BESIDE * delay[odd].max())
    if latest.sum() > max(1, len(delay) // 4):
        return
    if any(case.snapshot.node_of(int(rank)) is None for rank in case.snapshot.ranks[odd]):
        # Of ranks whose node is not known, a clock that is off by less than the watchdog's pace
        # looks as lateness does: all that ends of operations say of clocks is believed.
        anew = measure_anew(case.snapshot, 0.0)
        odd &= anew.delay_ms > least if anew is not None else False
    if not odd.any():
        return
    top = delay[odd].max()
    # Two nodes that hold up the others alike: one of them passes it on, and nothing says which.
    nodes = {case.snapshot.node_of(int(rank)) for rank in case.snapshot.ranks[odd & latest]}
    for index in np.argsort(-delay, kind="stable")[:_MAX_NAMED].tolist():
        if odd[index] and delay[index] >= top / 4:
            yield _make_claim(case, index, late, usual, top, alone=len(nodes) == 1)


def _make_claim(
    case: Case, index: int, late: Lateness, usual: float, top: float, *, alone: bool
) -> Finding:
    """The claim in words, with its reasons; ``alone`` is whether no other node is as late."""
    rank = int(case.snapshot.ranks[index])
    ms = float(late.delay_ms[index])
    convicted = alone and ms >= max(CONVICTS_SHARE * late.step_ms, _CONVICTS_BESIDE * top)
    text = (
        f"holds up its groups by {ms:.0f} ms a step by its own doing ({usual:.1f} ms is usual"
        f" here), in {late.held_share[index]:.0%} of {late.num_steps} steps,"
        f" {int(late.matched[index])} operations compared"
    )
    if abs(late.offset_ms[index]) >= 1:
        text += f"; its clock was taken to be {late.offset_ms[index]:+.0f} ms off"
    return Finding(
        detector=NAME,
        kind=VerdictKind.STRAGGLER,
        category=Category.STRAGGLER,
        ranks=(rank,),
        strength=0.9 if convicted else 0.45,
        role=Role.CULPRIT if convicted else Role.POSSIBLE,
        summary=f"is late into its collectives and delays every step by {ms:.0f} ms",
        because=(
            case.because(NAME, text, rank),
            *case.stack_reason(NAME, rank, "its last operation came from"),
        ),
        late_ms=ms,
    )
