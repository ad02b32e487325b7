"""Slow ranks from timed dumps: how often a slow GPU is named, and whom healthy jobs accuse.

Every job has noise of a real size: each kernel's work varies by 5 %, devices differ for good by
0.5 % (one sigma), hosts prepare a step in 1.6 ms or so, clocks of nodes are apart.

    python -m benchmarks.slow_ranks [--ranks 1024] [--count 40] [--share 0.05] [--spread 0.005]
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.table import aligned, machine, write_json

KINDS = ("slow-gpu", "straggler", "healthy", "slow-link", "slow-stage", "slow-since", "input-bound")
# Tensor and pipeline sizes that jobs have.
SHAPES = ((8, 4), (8, 1), (4, 2), (1, 1), (2, 4), (8, 8))


def main() -> int:
    """Simulate, analyse, count."""
    options = arguments()
    print(f"{machine()}; {options.ranks} ranks, devices of 1 ± {options.spread}\n")
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in options.kinds}
    seconds: list[float] = []
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.count):
            for kind in options.kinds:
                said = judged(kind, options.seed * 1000 + number, options, Path(scratch), seconds)
                counts[kind][said["outcome"]] += 1
                records.append(said)
                if said["outcome"] in ("missed", "innocent"):
                    print(said, file=sys.stderr, flush=True)
    heads = ("right", "missed", "innocent")
    rows = [(kind, *(str(found[head]) for head in heads)) for kind, found in counts.items()]
    print(aligned(("fault", *heads), rows))
    print(f"\nan answer takes {sum(seconds) / max(len(seconds), 1):.1f} s")
    write_json(options.json, "slow_ranks", records)
    return 1 if any(found["innocent"] for found in counts.values()) else 0


def judged(
    kind: str, seed: int, options: argparse.Namespace, scratch: Path, seconds: list[float]
) -> dict[str, Any]:
    """One job: ``right``, ``missed``, or ``innocent`` where another rank is convicted."""
    import triage
    from simulator import simulate

    chance = random.Random(f"{kind}/{seed}")
    tp, pp = chance.choice([some for some in SHAPES if options.ranks % (some[0] * some[1]) == 0])
    pp = max(pp, 2) if kind == "slow-stage" else pp
    run_ahead, delay_ms = chance.random() < 0.8, 6.0 if kind == "straggler" else 60.0
    folder = scratch / "job"
    truth = simulate(
        kind, folder, ranks=options.ranks, tp=tp, pp=pp, seed=seed, frames=0, timing=True,
        skew_ms=chance.choice((0.0, 5.0, 500.0)), run_ahead=run_ahead, spread=options.spread,
        slow_share=options.share, batched_p2p=chance.random() < 0.7, delay_ms=delay_ms,
    )  # fmt: skip
    began = time.perf_counter()
    answer = triage.analyze(folder).answer
    seconds.append(time.perf_counter() - began)
    shutil.rmtree(folder)
    convicted = {r for one in answer.suspects if one.role == "culprit" for r in one.ranks}
    outcome = "right"
    if convicted - set(truth.culprit_ranks):
        outcome = "innocent"
    elif truth.culprit_ranks and convicted != set(truth.culprit_ranks):
        outcome = "missed"
    return {
        "kind": kind, "seed": seed, "tp": tp, "pp": pp, "run_ahead": run_ahead,
        "outcome": outcome, "culprits": list(truth.culprit_ranks),
        "convicted": sorted(convicted)[:8], "summary": answer.verdict.summary[:120],
    }  # fmt: skip


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--count", type=int, default=40, help="jobs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.05, help="how much longer it computes")
    parser.add_argument("--spread", type=float, default=0.005, help="among healthy devices")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
