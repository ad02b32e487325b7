"""Stragglers by heat: how often the throttling GPU is named, with and without telemetry.

Whole simulated incidents of a job that one rank makes wait, and what sensors show beside it::

    culprit   the GPU of that rank throttles for heat: it is to be named
    none      nothing throttles: the rank is late for another reason
    other     a GPU of another node throttles, and its rank is not late
    mate      a GPU beside that of the late rank throttles
    rack      the air of a whole rack gets warm, and most of its GPUs throttle

In all but the first case nobody's GPU may be convicted of heat, nor any node cordoned for it.
Ends with status 1 when one is.

    python -m benchmarks.thermal --count 40 --seed 9001
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simulator.incidents.telemetry import HEATS
from simulator.incidents.truth import IncidentTruth
from simulator.incidents.whole import Wish, simulate_incident
from triage import analyze
from triage.domain.category import Role

# Where telemetry lies in an incident's folder.
TELEMETRY = ("telemetry", "nvidia-smi.csv", "nvidia-smi.csv.gz")


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer: ``named`` is the true GPU convicted of heat, ``rank`` the late rank convicted
    of anything, ``blamed`` somebody convicted of heat who is not guilty of it.
    """

    named: bool
    rank: bool
    blamed: bool
    cordoned: bool


def seen(path: Path, truth: IncidentTruth, heat: str) -> Seen:
    """Analyse and judge."""
    answer = analyze(path).answer
    convicted = [one for one in answer.suspects if one.role is Role.CULPRIT]
    hot = [one for one in convicted if str(one.category) in ("gpu_thermal", "chassis", "power")]
    guilty = truth.gpus if heat == "culprit" else ()
    right = [
        one for one in hot if set(one.gpus) & set(guilty) or named_by_rank(one.ranks, truth, heat)
    ]
    return Seen(
        named=bool(right),
        rank=any(set(one.ranks) & set(truth.culprit_ranks) for one in convicted),
        blamed=len(right) < len(hot),
        cordoned=bool(answer.verdict.cordon) and heat != "culprit",
    )


def named_by_rank(ranks: tuple[int, ...], truth: IncidentTruth, heat: str) -> bool:
    """Whether the guilty rank stands for its GPU, whose bus id nothing told."""
    return heat == "culprit" and bool(set(ranks[:1]) & set(truth.culprit_ranks))


def draw(heat: str, count: int, seed: int, sizes: list[int], skew_s: float) -> Iterator[Wish]:
    """``count`` incidents, reproducible by ``seed``."""
    for number in range(count):
        ranks = sizes[number % len(sizes)]
        yield Wish(ranks=ranks, seed=seed * 1000 + number, skew_s=skew_s, telemetry=True, heat=heat)


def without_telemetry(path: Path) -> None:
    """Take the sensors' files out of an incident."""
    for found in sorted(path.rglob("*")):
        if found.name in TELEMETRY:
            shutil.rmtree(found) if found.is_dir() else found.unlink()


def main() -> int:
    """Draw, judge, print; 1 when somebody was blamed who is not guilty."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=40, help="incidents of each case")
    options.add_argument("--seed", type=int, default=9001)
    options.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    options.add_argument("--skew-ms", type=float, default=4.0, help="clocks off by up to this")
    asked = options.parse_args()
    wrong = 0
    print(f"{asked.count} incidents a case, ranks {asked.ranks}, seed {asked.seed}")
    print("| case | telemetry | GPU named | late rank convicted | innocents convicted | cordoned |")
    print("|---|---|---:|---:|---:|---:|")
    for heat in ("culprit", *(one for one in HEATS if one != "culprit")):
        sums: dict[str, Counter[str]] = {"with": Counter(), "without": Counter()}
        for wish in draw(heat, asked.count, asked.seed, asked.ranks, asked.skew_ms / 1e3):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "incident"
                truth = simulate_incident("thermal-straggler", path, wish)
                for way in ("with", "without"):
                    if way == "without":
                        without_telemetry(path)
                    one = seen(path, truth, heat)
                    told = ("named", "rank", "blamed", "cordoned")
                    sums[way].update(name for name in told if getattr(one, name))
                    if way == "with" and (one.blamed or one.cordoned):
                        print(f"  blamed: {heat} {wish.ranks} seed {wish.seed}", file=sys.stderr)
        for way, found in sums.items():
            share = f"{found['named'] / asked.count:.1%}" if heat == "culprit" else "-"
            print(
                f"| {heat} | {way} | {share} | {found['rank'] / asked.count:.1%} |"
                f" {found['blamed']} | {found['cordoned']} |",
                flush=True,
            )
        wrong += sums["with"]["blamed"] + sums["with"]["cordoned"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
