"""What is measured of a hypothesis: named features, each of which says one thing.

Their signs are fixed by reason: a row long after or before the stop never speaks for its
place, whatever the incidents of a fit happened to hold.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from triage.analysis.facts.stop import NEAREST_FIRST, SECOND, Stop, When
from triage.analysis.joining.claims import is_accusing
from triage.analysis.joining.hypothesis import Hypothesis, is_routine
from triage.analysis.joining.place import Domain, Place, Unplaced
from triage.domain.category import GPU_PARTS, HARDWARE, Category
from triage.domain.evidence import KERNEL_KINDS, Evidence
from triage.domain.finding import Finding
from triage.domain.toml_tables import read_toml

_OUTER: Final = frozenset({Category.STORAGE, Category.HOST_MAINTENANCE, Category.DEPENDENCY})
_HOST_PARTS: Final = HARDWARE - GPU_PARTS - {Category.NETWORK}
_ATTRIBUTED: Final = HARDWARE | _OUTER | {Category.NCCL_TIMEOUT}
# Two roots closer than this are of one moment, beyond what their clocks are known to.
_MOMENT_NS: Final = 2 * SECOND
_MOST_FOLLOWERS: Final = 20
_MOST_ERRORS: Final = 8


class Sign(IntEnum):
    """Which way a feature may speak, whatever the fit says."""

    AGAINST = -1
    EITHER = 0
    FOR = 1


@dataclass(frozen=True, slots=True)
class Feature:
    """``words`` complete "because ..."; those of witnesses are made for each hypothesis."""

    name: str
    sign: Sign
    words: str = ""


WITNESSES: Final = ("kernel", "job", "weak")
_SPEAKS_FOR: Final = frozenset({When.AT, When.UNDATED})

FEATURES: Final = (
    *(
        Feature(f"{witness}_{when}", Sign.FOR if when in _SPEAKS_FOR else Sign.AGAINST)
        for witness in WITNESSES
        for when in When
    ),
    *(
        Feature(name, Sign[one["sign"]], one.get("words", ""))
        for name, one in read_toml("triage.analysis.joining", "features").items()
    ),
)
NAMES: Final = tuple(feature.name for feature in FEATURES)


def measure(
    hypotheses: Sequence[Hypothesis], claims: Sequence[Finding], stop: Stop, *, dumps: bool
) -> list[Mapping[str, float]]:
    """The features of every hypothesis that are not nothing, in the same order.

    ``claims`` are all that detectors say; ``dumps`` whether there are any.
    """
    firsts = [_find_first_ns(cause, stop) for cause in hypotheses]
    beginnings = _find_beginnings(hypotheses, firsts, stop)
    strongest = sorted(
        ((c.strength, c) for c in claims if is_accusing(c)), key=lambda pair: -pair[0]
    )
    measured: list[Mapping[str, float]] = []
    for cause, first in zip(hypotheses, firsts, strict=True):
        value = _describe_rows(cause, stop) | _claim_features(cause)
        if cause.rows:
            elsewhere = next((s for s, claim in strongest if claim not in cause.claims), None)
            own = max((c.strength for c in cause.claims if is_accusing(c)), default=None)
            value["claim"] = (
                compute_logit(own) if own is not None else -compute_logit(elsewhere or 0.5)
            )
        # In this order, in which the terms of the sum are added up.
        value |= _order_features(cause, first, beginnings) | _describe_cause(cause)
        value |= {
            "no_dumps": float(not dumps),
            "rivals": math.log1p(_count_rivals(cause, first, beginnings)),
            "no_trouble": float(stop.job_seen and not stop.trouble),
        }
        measured.append({name: number for name, number in value.items() if number})
    return measured


@dataclass(frozen=True, slots=True)
class _Beginnings:
    """When the hypotheses that count first showed themselves, ns since the epoch: ``times`` of
    all, ``of_places`` of their places, both ascending; ``at`` by place.
    """

    times: list[int]
    of_places: list[int]
    at: Mapping[Place, int]


def _find_beginnings(
    hypotheses: Sequence[Hypothesis], firsts: Sequence[int | None], stop: Stop
) -> _Beginnings:
    """The beginnings of firm errors, where there are any; else of all that general words do not
    tell alone. What needs another source does not make a firm error late.
    """
    firm = [k for k, cause in enumerate(hypotheses) if any(row.is_firm for row in cause.rows)]
    counted = [
        k for k in firm if firsts[k] is not None and not is_routine(hypotheses[k], stop)
    ] or [k for k, cause in enumerate(hypotheses) if not all(row.is_generic for row in cause.rows)]
    times: list[int] = []
    at: dict[Place, int] = {}
    for k in counted:
        first = firsts[k]
        if first is not None:
            times.append(first)
            place = hypotheses[k].place
            at[place] = min(first, at.get(place, first))
    return _Beginnings(sorted(times), sorted(at.values()), at)


def _get_slack_ns(cause: Hypothesis) -> int:
    """Within how many ns something is of one moment with it."""
    return _MOMENT_NS + max((row.error_ns for row in cause.rows), default=0)


def _order_features(
    cause: Hypothesis, first: int | None, beginnings: _Beginnings
) -> dict[str, float]:
    """Whether it was the first to go wrong, by its own beginning; empty where it has none."""
    times = beginnings.times
    if first is None or not times:
        return {}
    slack = _get_slack_ns(cause)
    return {
        "first": float(first <= times[0] + slack),
        "late": float(first > times[0] + slack),
        "earlier_rivals": math.log1p(bisect_left(times, first - slack)),
    }


def _count_rivals(cause: Hypothesis, first: int | None, beginnings: _Beginnings) -> int:
    """How many other places went wrong, no later than it did where that is known."""
    places = beginnings.of_places
    latest = None if first is None else first + _get_slack_ns(cause)
    count = len(places) if latest is None else bisect_right(places, latest)
    own = beginnings.at.get(cause.place)
    if own is not None and (latest is None or own <= latest):
        count -= 1
    return max(count, 0)


def _describe_cause(cause: Hypothesis) -> dict[str, float]:
    """What sort of cause it is, and of what sort of place."""
    return {
        "gpu_part": float(cause.category in GPU_PARTS),
        "host_part": float(cause.category in _HOST_PARTS),
        "network": float(cause.category is Category.NETWORK),
        "outer": float(cause.category in _OUTER),
        "unattributed": float(cause.category is Category.NCCL_TIMEOUT),
        "software": float(cause.category not in _ATTRIBUTED),
        "in_no_node": float(cause.in_no_node),
        "domain": float(isinstance(cause.place, Domain)),
        "votes": math.log1p(cause.votes),
        "unplaced": float(isinstance(cause.place, Unplaced)),
    }


# What says so at the stop, or without a time, and needs no other source.
_RIVALLING: Final = frozenset(
    f"{witness}_{when}"
    for witness in ("kernel", "job")
    for when in (When.AT, When.AFTER, When.UNDATED)
)


def is_rival(features: Mapping[str, float]) -> bool:
    """Whether a hypothesis makes others less likely: noise and old trouble do not."""
    return not _RIVALLING.isdisjoint(features)


def classify_witness(row: Evidence) -> str:
    """``kernel``, ``job`` or ``weak``: what sort of witness a row is."""
    if row.weak or row.is_generic:
        return "weak"
    return "kernel" if row.kind in KERNEL_KINDS else "job"


def _describe_rows(cause: Hypothesis, stop: Stop) -> dict[str, float]:
    """The best row of each sort of witness, and when it was printed.

    Where one of them speaks of the stop, what others said at other times takes nothing from it.
    """
    features: dict[str, float] = {}
    grave = [row for row in cause.rows if not row.is_mild]
    best: dict[str, When] = {}
    for row in grave:
        sort, when = classify_witness(row), stop.of(row)
        best[sort] = min(best.get(sort, when), when, key=NEAREST_FIRST.index)
    at_stop = any(when is When.AT for when in best.values())
    for sort, when in best.items():
        if when in _SPEAKS_FOR or not at_stop:
            features[f"{sort}_{when}"] = 1.0
    words = {(row.signature, row.code) for row in cause.rows if stop.of(row) is When.AT}
    features["habit"] = float(
        any(
            (row.signature, row.code) in words and stop.of(row) in (When.BEFORE, When.STALE)
            for row in cause.rows
        )
    )
    features["mild_only"] = float(bool(cause.rows) and not grave)
    features["both_sources"] = float({"kernel", "job"} <= best.keys())
    features["followers"] = math.log1p(min(cause.followers, _MOST_FOLLOWERS))
    features["driver_advice"] = float(any(row.fields.get("action", "") for row in cause.rows))
    errors = len({(row.signature, row.gpu) for row in grave})
    features["burst"] = math.log1p(min(errors, _MOST_ERRORS) - 1) if grave else 0.0
    return features


def _claim_features(cause: Hypothesis) -> dict[str, float]:
    """What the detectors say of this place."""
    possible = any(claim.ranks and not is_accusing(claim) for claim in cause.claims)
    on_gpu = bool(cause.gpus) and any(
        rank in claim.ranks for claim in cause.claims for rank in cause.ranks[: len(cause.gpus)]
    )
    absent = {rank for claim in cause.claims if claim.is_gap for rank in claim.ranks}
    gone = cause.node is not None and len(absent & set(cause.ranks)) > 1
    return {
        "claim_possible": float(possible),
        "claim_fabric": float(any(not claim.ranks for claim in cause.claims)),
        "gpu_of_claim": float(on_gpu),
        "node_gone": float(gone),
    }


def _find_first_ns(cause: Hypothesis, stop: Stop) -> int | None:
    """When the hypothesis first showed itself about the stop."""
    times = [
        row.at_ns
        for row in cause.rows
        if row.at_ns is not None and not row.is_mild and stop.of(row) in (When.AT, When.AFTER)
    ]
    return min(times, default=None)


def compute_logit(probability: float) -> float:
    """Log-odds; of what is next to certain those of 0.99."""
    clipped = min(max(probability, 0.01), 0.99)
    return math.log(clipped / (1 - clipped))
