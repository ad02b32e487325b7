"""How well it is told on the day of a return whether the node fails again.

    python -m benchmarks.recurrence RECORD.csv --nodes 400

``RECORD.csv`` is a table of outages: ``node``, ``from_day`` and ``to_day`` (or times), ``cause``
and ``detail``. Each return is judged with what was known on its day, the model fitted to the
record's own past. Beside it stand the share of all (known afterwards, so it flatters), the share
of the cause so far, and fleets whose outcomes were shuffled among returns.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from triage.fleet.record.columns import Floats
from triage.fleet.record.faults import faults_of
from triage.fleet.repairs.features import compute_features
from triage.fleet.repairs.model import Judged, judge_chances, walk_forward
from triage.fleet.repairs.returns import Returns, build_returns
from triage.reliability import record_from_frames

SPANS = (7.0, 30.0)
PRIOR_RETURNS = 5.0


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Judge the chances of recurrence on a record.")
    parser.add_argument("record")
    parser.add_argument("--nodes", type=int, required=True, help="nodes of the fleet")
    parser.add_argument("--shuffled", type=int, default=20, help="shuffled records")
    asked = parser.parse_args()
    record = record_from_frames(outages=pd.read_csv(asked.record), nodes=asked.nodes)
    began = time.perf_counter()
    faults = faults_of(record)
    returns = build_returns(faults)
    print(f"{len(faults):,} faults, {len(returns):,} returns, {returns.days:,.1f} days")
    if not returns.over(SPANS[1]).any():
        print("no return was watched for 30 days: there is nothing to judge")
        return
    for one, by_cause in zip(of_model(returns), of_cause(returns), strict=True):
        print("\n".join(lines_of(one, by_cause)))
    print(f"in {time.perf_counter() - began:.2f} s")
    tests = [judged_at(mixed(returns, seed), 7.0) for seed in range(asked.shuffled)]
    areas = [one.auc for one in tests if one.auc is not None]
    if not areas:
        return
    beyond = sum(one.auc_low is not None and one.auc_low > 0.5 for one in tests)
    print(
        f"outcomes shuffled among returns, {len(areas)} times: AUC {np.mean(areas):.3f} on"
        f" average ({min(areas):.3f} to {max(areas):.3f}), its interval above 0.5 in {beyond}"
    )


def of_model(returns: Returns) -> Iterator[Judged]:
    """The chances of the product, over 7 and 30 days."""
    for days in SPANS:
        yield judged_at(returns, days)


def judged_at(returns: Returns, days: float) -> Judged:
    """The chances of the product, held against what came."""
    chances = walk_forward(returns, compute_features(returns))
    within, over = chances.within_7 if days == SPANS[0] else chances.within_30, returns.over(days)
    return judge_chances(within[over], returns.failed(days)[over], days)


def of_cause(returns: Returns) -> Iterator[Judged]:
    """The share that failed again after the same cause so far, held back by that of all."""
    for days in SPANS:
        shares, over = shares_of_cause(returns, days), returns.over(days)
        yield judge_chances(shares[over], returns.failed(days)[over], days)


def shares_of_cause(returns: Returns, days: float) -> Floats:
    """Of each return, the share after its cause among those whose time was over by then."""
    failed, found = returns.failed(days), np.zeros(len(returns))
    for row, day in enumerate(returns.day.tolist()):
        known = returns.over(days, day)
        usual = (failed[known].sum() + PRIOR_RETURNS / 3) / (known.sum() + PRIOR_RETURNS)
        same = known & (returns.cause == returns.cause[row])
        found[row] = (failed[same].sum() + PRIOR_RETURNS * usual) / (same.sum() + PRIOR_RETURNS)
    return found


def mixed(returns: Returns, seed: int) -> Returns:
    """The same returns with the times to the next fault shuffled among them."""
    gap = np.random.default_rng(seed).permutation(returns.next_day - returns.day)
    next_day = returns.day + gap
    return replace(returns, next_day=np.where(next_day < returns.days, next_day, np.inf))


def lines_of(one: Judged, by_cause: Judged) -> Iterator[str]:
    """One span: how far told apart, the surprise beside others, the deciles."""
    yield (
        f"within {one.within_days:g} days: {one.num_failed:,} of {one.num_returns:,} returns"
        f" ({share(one.num_failed / max(one.num_returns, 1))}), said {share(one.mean_chance)}"
    )
    if one.auc is None or by_cause.auc is None:
        yield "  all of them failed again, or none: nothing to tell apart"
        return
    yield f"  AUC {one.auc:.3f} ({one.auc_low:.3f} to {one.auc_high:.3f}); cause {by_cause.auc:.3f}"
    yield (
        f"  log loss {one.log_loss:.4f}; share of all {one.base_log_loss:.4f}; cause"
        f" {by_cause.log_loss:.4f}"
    )
    yield "  decile     n    said  failed  95 % interval"
    for number, row in enumerate(one.deciles, 1):
        off = "" if row.low <= row.chance <= row.high else "  outside"
        yield (
            f"  {number:6d}  {row.num_returns:4d}  {share(row.chance):>6}  {share(row.observed):>6}"
            f"  {share(row.low)} to {share(row.high)}{off}"
        )
    if one.deciles:
        off_by = [abs(row.chance - row.observed) for row in one.deciles]
        mean, most = 100 * np.mean(off_by), 100 * max(off_by)
        yield f"  off by {mean:.1f} points on average, {most:.1f} at most"


def share(value: float | None) -> str:
    """``42.1 %``."""
    return "-" if value is None else f"{100 * value:.1f} %"


if __name__ == "__main__":
    main()
