"""How much is believed of each hypothesis: named features, fitted weights, probabilities.

Rules decide what is possible (propose.py); this decides how much. The model is a
logistic regression on features that each say one thing; a second step compares
a hypothesis with its best rival, which makes the probabilities of one incident
agree with each other. Weights are data: see weights.json and how it was made.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import orjson

from triage.analysis.hypothesis import Hypothesis
from triage.analysis.roles import mild
from triage.analysis.stop import SECOND, Stop, When
from triage.domain.category import HARDWARE, Category, Role
from triage.domain.evidence import Evidence, Kind

__all__ = ["FEATURES", "Model", "load_model", "measure", "weigh"]

GPU_PARTS: Final = frozenset(
    {
        Category.GPU, Category.GPU_HBM, Category.GPU_SRAM, Category.GPU_GSP,
        Category.GPU_THERMAL, Category.NVLINK, Category.SDC,
    }
)  # fmt: skip
OUTER: Final = frozenset({Category.STORAGE, Category.HOST_MAINTENANCE, Category.DEPENDENCY})
KERNEL_KINDS: Final = frozenset(
    {
        Kind.XID, Kind.SXID, Kind.GPU, Kind.ECC, Kind.PCIE, Kind.NIC, Kind.LINK, Kind.STORAGE,
        Kind.MEMORY, Kind.CPU, Kind.POWER, Kind.THERMAL, Kind.OOM, Kind.LOCKUP, Kind.KERNEL,
    }
)  # fmt: skip
# Two roots closer than this are of one moment, beyond what their clocks are known to.
MOMENT_NS: Final = 2 * SECOND
FARTHEST: Final = 8.0

FEATURES: Final = (
    "kernel_at", "kernel_before", "kernel_stale", "kernel_after", "kernel_undated",
    "job_at", "job_before", "job_stale", "job_after", "job_undated",
    "weak_at", "weak_before", "weak_stale", "weak_after", "weak_undated",
    "mild_only", "both_sources", "followers", "first", "late", "earlier_rivals",
    "gpu_part", "host_part", "network", "software", "outer", "unattributed",
    "shared", "leaf", "votes", "unplaced",
    "claim_culprit", "claim_possible", "claim_fabric", "claim_bare", "gpu_of_claim",
    "claims_elsewhere", "no_dumps", "rivals", "no_trouble", "driver_advice", "burst", "habit",
    "node_gone",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Model:
    """Weights per feature, and how a hypothesis is held against its best rival.

    ``log-odds = bias + sum(weights * features)``;
    ``probability = sigmoid(scale * log-odds + margin * (log-odds - best rival's) + offset)``.
    """

    bias: float
    weights: Mapping[str, float]
    scale: float
    margin: float
    offset: float

    def log_odds(self, features: Mapping[str, float]) -> float:
        """The first step, for one hypothesis."""
        return self.bias + sum(
            self.weights.get(name, 0.0) * value for name, value in features.items()
        )

    def probability(self, own: float, rival: float | None) -> float:
        """The second step; ``rival`` is the best log-odds among the others, None for no other."""
        ahead = FARTHEST if rival is None else max(-FARTHEST, min(FARTHEST, own - rival))
        return sigmoid(self.scale * own + self.margin * ahead + self.offset)


@cache
def load_model() -> Model:
    """The weights that the package was released with."""
    raw = orjson.loads(resources.files("triage.analysis").joinpath("weights.json").read_bytes())
    return Model(
        float(raw["bias"]), {k: float(v) for k, v in raw["weights"].items()},
        float(raw["scale"]), float(raw["margin"]), float(raw["offset"]),
    )  # fmt: skip


def weigh(hypotheses: Sequence[Hypothesis], model: Model) -> list[Hypothesis]:
    """``hypotheses`` with their features measured, best first."""
    for one in hypotheses:
        one.weight = model.log_odds(one.features)
    best = sorted((one.weight for one in hypotheses), reverse=True)[:2]
    for one in hypotheses:
        rival = best[1] if len(best) > 1 and one.weight == best[0] else best[0]
        one.belief = model.probability(one.weight, rival if len(best) > 1 else None)
    return sorted(hypotheses, key=Hypothesis.order)


def measure(hypotheses: Sequence[Hypothesis], stop: Stop, *, dumps: bool) -> None:
    """Set the features of every hypothesis."""
    firsts = {id(one): first_at(one, stop) for one in hypotheses}
    # What needs another source does not make a firm error late.
    firm = [one for one in hypotheses if any(not row.weak for row in one.rows)]
    told = [one for one in firm if firsts[id(one)] is not None] or list(hypotheses)
    times = sorted(time for one in told if (time := firsts[id(one)]) is not None)
    claimed = {one.place for one in hypotheses if any(culprit(one))}
    firsts_of_places: dict[tuple[str, int], int] = {}
    for one in told:
        first = firsts[id(one)]
        if first is not None:
            known = firsts_of_places.get(one.place, first)
            firsts_of_places[one.place] = min(known, first)
    for one in hypotheses:
        found = row_features(one, stop) | claim_features(one)
        own = firsts[id(one)]
        if own is not None:
            slack = MOMENT_NS + max((row.error_ns for row in one.rows), default=0)
            found["first"] = float(own <= times[0] + slack)
            found["late"] = float(own > times[0] + slack)
            found["earlier_rivals"] = math.log1p(bisect_left(times, own - slack))
        found |= {
            "gpu_part": float(one.category in GPU_PARTS),
            "host_part": float(one.category in HARDWARE - GPU_PARTS - {Category.NETWORK}),
            "network": float(one.category is Category.NETWORK),
            "outer": float(one.category in OUTER),
            "unattributed": float(one.category is Category.NCCL_TIMEOUT),
            "software": float(one.category not in HARDWARE | OUTER | {Category.NCCL_TIMEOUT}),
            "shared": float(one.shared),
            "leaf": float(one.leaf is not None),
            "votes": math.log1p(one.votes),
            "unplaced": float(one.place == ("", -1) and not one.shared),
            "claims_elsewhere": float(bool(claimed - {one.place}) and one.place not in claimed),
            "no_dumps": float(not dumps),
            "rivals": math.log1p(rivals_of(one, own, firsts_of_places)),
            "no_trouble": float(stop.job_seen and not stop.trouble),
        }
        one.features = {name: value for name, value in found.items() if value}


def rivals_of(one: Hypothesis, own: int | None, firsts: Mapping[tuple[str, int], int]) -> int:
    """How many other places went wrong, not clearly later than this one."""
    if own is None:
        return len(firsts) - (one.place in firsts)
    slack = MOMENT_NS + max((row.error_ns for row in one.rows), default=0)
    return sum(first <= own + slack for place, first in firsts.items() if place != one.place)


def strength_of(row: Evidence) -> str:
    """``kernel``, ``job`` or ``weak``: what sort of witness a row is."""
    if row.weak:
        return "weak"
    return "kernel" if row.kind in KERNEL_KINDS else "job"


def row_features(one: Hypothesis, stop: Stop) -> dict[str, float]:
    """The best row of each sort of witness, and when it was printed."""
    found: dict[str, float] = {}
    seen = {stop.of(row) for row in one.rows}
    found["habit"] = float(When.AT in seen and bool(seen & {When.BEFORE, When.STALE}))
    grave = [row for row in one.rows if not mild(row)]
    order = (When.AT, When.AFTER, When.UNDATED, When.BEFORE, When.STALE)
    for sort in ("kernel", "job", "weak"):
        times = {stop.of(row) for row in grave if strength_of(row) == sort}
        if times:
            found[f"{sort}_{min(times, key=order.index)}"] = 1.0
    sorts = {name.partition("_")[0] for name in found} - {"habit"}
    found["mild_only"] = float(bool(one.rows) and not grave)
    found["both_sources"] = float({"kernel", "job"} <= sorts)
    found["followers"] = math.log1p(min(one.followers, 20))
    found["driver_advice"] = float(any(row.fields.get("action", "") for row in one.rows))
    found["burst"] = (
        math.log1p(min(len({(r.signature, r.gpu) for r in grave}), 8) - 1) if grave else 0
    )
    return found


def culprit(one: Hypothesis) -> list[float]:
    return [f.strength for f in one.findings if f.role is Role.CULPRIT and f.ranks]


def claim_features(one: Hypothesis) -> dict[str, float]:
    """What the detectors claim of this place, as log-odds."""
    convicted = culprit(one)
    possible = [f.strength for f in one.findings if f.role is not Role.CULPRIT and f.ranks]
    on_gpu = bool(one.gpus) and any(
        rank in f.ranks for f in one.findings for rank in one.ranks[: len(one.gpus)]
    )
    return {
        "claim_culprit": logit(max(convicted)) if convicted else 0.0,
        "claim_possible": float(bool(possible)),
        "claim_fabric": float(any(not f.ranks for f in one.findings)),
        "claim_bare": float(bool(one.findings) and not one.rows),
        "gpu_of_claim": float(on_gpu),
        "node_gone": float(node_gone(one)),
    }


def node_gone(one: Hypothesis) -> bool:
    """Whether several ranks of the node left no dump: the node went, and not a process."""
    absent = {rank for f in one.findings if f.detector == "fr.no_dump" for rank in f.ranks}
    return one.node is not None and len(absent) > 1


def first_at(one: Hypothesis, stop: Stop) -> int | None:
    """When the hypothesis first showed itself about the stop."""
    times = [
        row.at_ns
        for row in one.rows
        if row.at_ns is not None and not mild(row) and stop.of(row) in (When.AT, When.AFTER)
    ]
    return min(times, default=None)


def logit(probability: float) -> float:
    clipped = min(max(probability, 0.01), 0.99)
    return math.log(clipped / (1 - clipped))


def sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, value))))
