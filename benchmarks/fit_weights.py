"""Fit the ranking's weights on simulated campaigns, in one command.

    python benchmarks/fit_weights.py --seeds 1001 1002 1003 --write

Every incident of the campaigns is read and its hypotheses are measured; those
that name the right cause at the right place are the hits of a logistic
regression. A second one, over the incidents' best rivals, sets the scale. The
seeds must be apart from those that results are judged on; both are recorded in
the weights file, with the figures of a part that was held out.
"""

import argparse
import json
import math
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from triage.analysis.hypothesis import Hypothesis
from triage.analysis.weigh import FARTHEST, FEATURES, Model

from benchmarks.campaign_cases import Setting, cases, settings
from triage.simulator.incidents.truth import IncidentTruth

WEIGHTS = Path(__file__).parents[1] / "triage" / "analysis" / "weights.json"
# Strength of the ridge: features that are rarely seen stay small.
RIDGE_C = 0.5
# What may only speak for a cause, and only against one: a sum that people read must not say
# that a fatal error at the stop clears its node, whatever the campaigns happened to hold.
FOR = frozenset(
    {
        "kernel_at", "kernel_undated", "job_at", "job_undated", "weak_at", "claim_culprit",
        "gpu_of_claim", "both_sources", "votes", "first", "followers", "leaf", "driver_advice",
        "burst", "claim_fabric",
    }
)  # fmt: skip
AGAINST = frozenset(
    {
        "kernel_stale", "job_stale", "weak_stale", "weak_before", "mild_only", "claims_elsewhere",
        "late", "earlier_rivals", "unattributed", "no_trouble", "rivals",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """One hypothesis: its incident, its features, and whether it is right."""

    incident: int
    features: dict[str, float]
    right: bool


def examples(setting: Setting) -> list[Example]:
    """The hypotheses of one campaign."""
    folder = Path(tempfile.mkdtemp(prefix="triage-fit-"))
    found = []
    try:
        for number, (weighed, truth) in enumerate(cases(setting, folder)):
            if (
                weighed.stop.job_seen
                and not weighed.stop.trouble
                and not (weighed.dumps_say and weighed.dumps_say.heard)
            ):
                continue  # a healthy job: nobody asks the model
            found += [
                Example(number, dict(one.features), is_right(one, truth))
                for one in weighed.fused.hypotheses
            ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def is_right(one: Hypothesis, truth: IncidentTruth) -> bool:
    """Whether it names an accepted category at the guilty place."""
    if str(one.category) not in {truth.category, *truth.accepted}:
        return False
    if not truth.culprit_nodes and not truth.culprit_ranks:
        return one.shared or one.node is None
    if one.leaf is not None:
        return bool(set(one.nodes) & {*truth.culprit_nodes, *truth.affected_nodes})
    if one.node is not None:
        return one.node in truth.culprit_nodes
    return bool(set(one.ranks) & set(truth.culprit_ranks))


def fit(found: Sequence[Example]) -> Model:
    """Both steps on all examples."""
    table = np.array([[one.features.get(name, 0.0) for name in FEATURES] for one in found])
    right = np.array([one.right for one in found])
    weights, bias = ridge(table, right)
    model = Model(bias, weights, 1.0, 0.0, 0.0)
    own, ahead = standings(found, model)
    second = LogisticRegression(C=1e3, max_iter=5000)
    second.fit(np.column_stack([own, ahead]), right)
    scale, margin = (float(value) for value in second.coef_[0])
    return Model(model.bias, weights, scale, margin, float(second.intercept_[0]))


def ridge(table: np.ndarray, right: np.ndarray) -> tuple[dict[str, float], float]:
    """Logistic regression with a ridge and signs that may not turn; scikit-learn's has no signs."""
    sign = np.where(right, 1.0, -1.0)
    wide = np.column_stack([table, np.ones(len(table))])

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        odds = sign * (wide @ values)
        slope = -sign / (1 + np.exp(np.clip(odds, -30, 30)))
        total = np.logaddexp(0, -odds).sum() + (values[:-1] ** 2).sum() / (2 * RIDGE_C)
        return float(total), wide.T @ slope + np.append(values[:-1], 0.0) / RIDGE_C

    bounds = [
        (0.0, None) if name in FOR else (None, 0.0) if name in AGAINST else (None, None)
        for name in FEATURES
    ]
    start = np.zeros(len(FEATURES) + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)])
    values = found.x.tolist()
    kept = {name: value for name, value in zip(FEATURES, values, strict=False) if value}
    return kept, float(values[-1])


def standings(found: Sequence[Example], model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of each example, and by how much it leads its best rival."""
    own = np.array([model.log_odds(one.features) for one in found])
    best: dict[int, list[float]] = {}
    for one, odds in zip(found, own.tolist(), strict=True):
        best[one.incident] = sorted([*best.get(one.incident, []), odds], reverse=True)[:2]
    ahead = []
    for one, odds in zip(found, own.tolist(), strict=True):
        top = best[one.incident]
        rival = None if len(top) < 2 else (top[1] if odds == top[0] else top[0])
        ahead.append(FARTHEST if rival is None else max(-FARTHEST, min(FARTHEST, odds - rival)))
    return own, np.array(ahead)


def figures(found: Sequence[Example], model: Model) -> dict[str, float]:
    """How the model does: log loss, calibration error, share of incidents whose best is right."""
    own, ahead = standings(found, model)
    odds = model.scale * own + model.margin * ahead + model.offset
    belief = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    right = np.array([one.right for one in found], dtype=float)
    clipped = np.clip(belief, 1e-6, 1 - 1e-6)
    loss = -float(np.mean(right * np.log(clipped) + (1 - right) * np.log(1 - clipped)))
    tops: dict[int, tuple[float, float]] = {}
    for one, said, is_so in zip(found, belief.tolist(), right.tolist(), strict=True):
        if one.incident not in tops or said > tops[one.incident][0]:
            tops[one.incident] = (said, is_so)
    said = np.array([top[0] for top in tops.values()])
    so = np.array([top[1] for top in tops.values()])
    return {
        "examples": len(found), "incidents": len(tops), "log_loss": round(loss, 4),
        "best_is_right": round(float(so.mean()), 4), "ece_of_best": round(ece(said, so), 4),
    }  # fmt: skip


def ece(said: np.ndarray, so: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error over equal bins of probability."""
    place = np.minimum((said * bins).astype(int), bins - 1)
    total = 0.0
    for one in range(bins):
        here = place == one
        if here.any():
            total += here.mean() * abs(said[here].mean() - so[here].mean())
    return float(total)


def gather(seeds: Iterable[int], count: int, jobs: int) -> list[Example]:
    """Examples of campaigns in every setting; incidents numbered through."""
    wanted = [one for seed in seeds for one in settings(seed, count)]
    found: list[Example] = []
    base = 0
    with ProcessPoolExecutor(jobs) as pool:
        for part in pool.map(examples, wanted):
            found += [Example(base + one.incident, one.features, one.right) for one in part]
            base += 1 + max((one.incident for one in part), default=0)
    return found


def main() -> None:
    """Gather, fit, show, and write if asked."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--seeds", type=int, nargs="+", default=[1001, 1002])
    options.add_argument("--held-out", type=int, nargs="+", default=[1901])
    options.add_argument("--count", type=int, default=150, help="incidents a campaign")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--keep", type=Path, help="keep the examples there, or take them from it")
    options.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    given = options.parse_args()
    if given.keep is not None and given.keep.exists():
        raw = json.loads(given.keep.read_text(encoding="utf-8"))
        train, held = ([Example(*one) for one in raw[part]] for part in ("train", "held"))
    else:
        train = gather(given.seeds, given.count, given.jobs)
        held = gather(given.held_out, given.count, given.jobs)
        if given.keep is not None:
            kept = {
                name: [[one.incident, one.features, one.right] for one in part]
                for name, part in (("train", train), ("held", held))
            }
            given.keep.write_text(json.dumps(kept), encoding="utf-8")
    model = fit(train)
    record = {
        "about": "weights of triage/analysis/weigh.py; made by benchmarks/fit_weights.py",
        "data": {
            "campaign": "llama3, every setting of benchmarks/campaign_cases.py",
            "seeds": given.seeds, "held_out_seeds": given.held_out, "count": given.count,
        },
        "figures": {"train": figures(train, model), "held_out": figures(held, model)},
        "bias": round(model.bias, 4),
        "scale": round(model.scale, 4),
        "margin": round(model.margin, 4),
        "offset": round(model.offset, 4),
        "weights": {name: round(value, 4) for name, value in sorted(model.weights.items())},
    }  # fmt: skip
    print(json.dumps(record, indent=1))
    if given.write and math.isfinite(model.bias):
        WEIGHTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
