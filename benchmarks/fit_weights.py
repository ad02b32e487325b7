"""Fit the weights of belief on incidents of several generators, in one command.

    python -m benchmarks.fit_weights --seeds 1001 1002 --folders C1 F1 --write
    python -m benchmarks.fit_weights --keep examples.json --leave-out F1

Every incident is read and what rows say of it is measured; the hypotheses that name the right
cause at the right place are the hits of a logistic regression whose signs are fixed by reason.
A second one, over the incidents' best rivals, sets the scale. Incidents weigh equally, however
many lines each has. ``--folders`` are campaigns as `benchmarks.field.make` writes them;
``--leave-out`` fits on all generators but one, and shows the figures on that one. Seeds and
folders must be apart from those that results are judged on.
"""

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from benchmarks.campaign_cases import (
    Expected,
    Setting,
    folder_cases,
    settings,
    simulated_cases,
    weighed_of,
)
from triage.analysis.facts.stop import When
from triage.analysis.joining.belief import find_best_rivals
from triage.analysis.joining.features import FEATURES, NAMES, WITNESSES
from triage.analysis.joining.hypothesis import Hypothesis
from triage.analysis.joining.model import FARTHEST, Model
from triage.errors import TriageError

WEIGHTS = Path(__file__).parents[1] / "triage" / "analysis" / "joining" / "weights.json"
# In how many parts a folder is given to the processes.
SHARES = 8
# Strength of the ridge: features that are rarely seen stay small.
RIDGE_C = 0.5
# The places of features of which the first is never weighed less than the second.
MORE_THAN = [
    (NAMES.index(f"{witness}_{When.AT}"), NAMES.index(f"{witness}_{When.UNDATED}"))
    for witness in WITNESSES
]


@dataclass(frozen=True, slots=True)
class Example:
    """One hypothesis: its generator and incident, its features, and whether it is right."""

    generator: str
    incident: int
    features: dict[str, float]
    right: bool


def accepts(right: Expected, one: Hypothesis) -> bool:
    """Whether ``one`` names an accepted category at the guilty place."""
    if str(one.category) not in right.categories:
        return False
    near = right.nodes | right.behind
    if one.reached and one.in_no_node and near:
        return bool(set(one.reached) & near)
    if not right.nodes and not right.ranks:
        return not one.names_somebody
    if one.node is not None:
        return one.node in right.nodes
    return bool(set(one.ranks) & right.ranks)


def examples_of(cases: Iterable[tuple[Path, Expected]]) -> list[Example]:
    """The hypotheses that rows make; none of a healthy job, of which nobody asks the model."""
    found: list[Example] = []
    for number, (path, right) in enumerate(cases):
        try:
            weighed = weighed_of(path)
        except TriageError as error:
            print(json.dumps({"incident": right.id, "error": str(error)}))
            continue
        if weighed.stop.job_seen and not weighed.stop.trouble and not weighed.findings:
            continue
        for belief in weighed.joined.beliefs:
            if belief.features:
                good = accepts(right, belief.hypothesis)
                found.append(Example(right.generator, number, dict(belief.features), good))
    return found


def simulated(setting: Setting) -> list[Example]:
    """The examples of one campaign of `triage simulate`."""
    return examples_of(simulated_cases(setting))


def foldered(part: tuple[Path, tuple[int, int]]) -> list[Example]:
    """The examples of a share of a campaign that lies in a folder."""
    campaign, share = part
    return examples_of(folder_cases(campaign, share=share))


def gather(seeds: Iterable[int], count: int, folders: Iterable[Path], jobs: int) -> list[Example]:
    """Examples of all generators; incidents numbered through."""
    own = [one for seed in seeds for one in settings(seed, count)]
    parts = [(campaign, (turn, SHARES)) for campaign in folders for turn in range(SHARES)]
    found: list[Example] = []
    base = 0
    with ProcessPoolExecutor(jobs) as pool:
        for part in [*pool.map(simulated, own), *pool.map(foldered, parts)]:
            found += [
                Example(one.generator, base + one.incident, one.features, one.right) for one in part
            ]
            base += 1 + max((one.incident for one in part), default=0)
    return found


def fit(found: Sequence[Example]) -> Model:
    """Both steps on all examples."""
    table = np.array([[one.features.get(name, 0.0) for name in NAMES] for one in found])
    right = np.array([one.right for one in found])
    share = shares(found)
    weights, bias = ridge(table, right, share)
    model = Model(bias, weights, 1.0, 0.0, 0.0)
    own, ahead = standings(found, model)
    second = LogisticRegression(C=1e3, max_iter=5000)
    second.fit(np.column_stack([own, ahead]), right, sample_weight=share)
    scale, margin = (float(value) for value in second.coef_[0])
    return Model(model.bias, weights, scale, margin, float(second.intercept_[0]))


def shares(found: Sequence[Example]) -> np.ndarray:
    """The weight of each example: all of an incident together weigh as much as another's."""
    counts = Counter(one.incident for one in found)
    each = len(found) / len(counts)
    return np.array([each / counts[one.incident] for one in found])


def ridge(
    table: np.ndarray, right: np.ndarray, share: np.ndarray
) -> tuple[dict[str, float], float]:
    """Logistic regression with a ridge and signs that may not turn; scikit-learn's has no signs.

    A line that a clock dates to the stop has what one without a time has, and more.
    """
    sign = np.where(right, 1.0, -1.0)
    table = table.copy()
    for at, undated in MORE_THAN:
        table[:, undated] += table[:, at]
    wide = np.column_stack([table, np.ones(len(table))])

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        odds = sign * (wide @ values)
        slope = -sign * share / (1 + np.exp(np.clip(odds, -30, 30)))
        total = (share * np.logaddexp(0, -odds)).sum() + (values[:-1] ** 2).sum() / (2 * RIDGE_C)
        return float(total), wide.T @ slope + np.append(values[:-1], 0.0) / RIDGE_C

    bounds = [(0.0 if one.sign > 0 else None, 0.0 if one.sign < 0 else None) for one in FEATURES]
    start = np.zeros(len(FEATURES) + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)])
    values = found.x.tolist()
    for at, undated in MORE_THAN:
        values[at] += values[undated]
    kept = {name: value for name, value in zip(NAMES, values, strict=False) if value}
    return kept, float(values[-1])


def standings(found: Sequence[Example], model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of each example, and by how much it leads its best rival."""
    own = np.array([model.log_odds(one.features) for one in found])
    ahead = np.full(len(found), FARTHEST)
    together: dict[int, list[int]] = defaultdict(list)
    for place, one in enumerate(found):
        together[one.incident].append(place)
    for places in together.values():
        odds = own[places].tolist()
        rivals = find_best_rivals(odds, [found[place].features for place in places])
        for place, mine, rival in zip(places, odds, rivals, strict=True):
            if rival is not None:
                ahead[place] = max(-FARTHEST, min(FARTHEST, mine - rival))
    return own, ahead


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


def by_generator(found: Sequence[Example], model: Model) -> dict[str, dict[str, float]]:
    """The figures of each generator."""
    return {
        name: figures([one for one in found if one.generator == name], model)
        for name in sorted({one.generator for one in found})
    }


def record_of(found: Sequence[Example], model: Model, left_out: str | None) -> dict[str, object]:
    """What is written into the weights file."""
    return {
        "about": "weights of triage/analysis/joining; made by benchmarks/fit_weights.py",
        "generators": sorted({one.generator for one in found} - {left_out}),
        "left_out": left_out,
        "figures": by_generator(found, model),
        "bias": round(model.bias, 4),
        "scale": round(model.scale, 4),
        "margin": round(model.margin, 4),
        "offset": round(model.offset, 4),
        "weights": {name: round(value, 4) for name, value in sorted(model.weights.items())},
    }


def gathered(given: argparse.Namespace) -> list[Example]:
    """The examples that were kept, or those of all generators."""
    if given.keep is not None and given.keep.exists():
        return [Example(*one) for one in json.loads(given.keep.read_text(encoding="utf-8"))]
    found = gather(given.seeds, given.count, given.folders, given.jobs)
    if given.keep is not None:
        kept = [[one.generator, one.incident, one.features, one.right] for one in found]
        given.keep.write_text(json.dumps(kept), encoding="utf-8")
    return found


def main() -> None:
    """Gather, fit, show, and write if asked."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--seeds", type=int, nargs="*", default=[1001])
    options.add_argument("--count", type=int, default=150, help="incidents a campaign")
    options.add_argument("--folders", type=Path, nargs="*", default=[], help="campaigns")
    options.add_argument("--leave-out", help="a generator that is judged and not fitted")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--keep", type=Path, help="keep the examples there, or take them from it")
    options.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    given = options.parse_args()
    found = gathered(given)
    model = fit([one for one in found if one.generator != given.leave_out])
    record = record_of(found, model, given.leave_out)
    print(json.dumps(record, indent=1))
    if given.write and math.isfinite(model.bias):
        WEIGHTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
