"""Slow device: a rank whose GPU computes longer than its peers', in a job that does not hang.

Needs dumps with timing on (durations). Assumes that ranks of one group do the same work between
two of its operations, so that the one with the shortest kernels came last by its own doing.
"""

from collections.abc import Iterator
from typing import Final

from triage.analysis.slow.judge import OddOne
from triage.analysis.slow.slow_job import SlowRanks, find_slow_ranks
from triage.analysis.waiting.case import Case
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.slow import SlowCause

NAME: Final = "fr.slow_device"

# From this share of a step on somebody would stop a job for it.
_CONVICTS_SHARE: Final = 0.01
_MAX_NAMED: Final = 8
_WORDS: Final = {
    SlowCause.SLOW_GPU: "computes {ratio:.1%} longer than its peers on its GPU and delays",
    SlowCause.SLOW_GROUP: "are slow together, compute {ratio:.1%} longer than all others and delay",
    SlowCause.LATE_HOST: "has a host that is late into its collectives and delays",
}


def find_slow_devices(case: Case) -> Iterator[Finding]:
    """One finding per slow rank, or group of ranks that are slow alike.

    Silent: without durations, when ranks are stuck, on fewer than three steps, and where nobody
    stands out beyond the noise of all.
    """
    if case.moving or (case.graph.places and not case.in_flight):
        return
    found = find_slow_ranks(case.snapshot)
    if found is None:
        return
    for odd in found.odd[:_MAX_NAMED]:
        yield _make_claim(case, odd, found)


def _make_claim(case: Case, odd: OddOne, found: SlowRanks) -> Finding:
    ranks = tuple(sorted(int(case.snapshot.ranks[digest]) for digest in odd.digests))
    ms, step_ms = odd.late_ns / 1e6, found.times.step_ns / 1e6
    summary = f"{_WORDS[odd.cause].format(ratio=odd.ratio)} every step by {ms:.3g} ms"
    text = (
        f"{ms:.3g} ms a step of {step_ms:.4g} ms are its own doing, by how long its kernels"
        f" ran: {odd.sigmas:.0f} times the noise of all ranks, in {odd.steady:.0%} of"
        f" {found.times.num_steps} steps"
    )
    if not odd.sure:
        text += "; no group is near enough to tell its host from its GPU"
    convicted = ms >= _CONVICTS_SHARE * step_ms and odd.sure
    return Finding(
        detector=NAME,
        kind=VerdictKind.STRAGGLER,
        category=Category.STRAGGLER,
        ranks=ranks,
        strength=0.9 if convicted else 0.45,
        role=Role.CULPRIT if convicted else Role.POSSIBLE,
        summary=summary,
        because=(case.because(NAME, text, ranks[0]),),
        late_ms=ms,
    )
