"""Live pulls: dumps taken from healthy jobs that run, of every shape; all must be silent.

Silent is: nobody named, nothing to cordon, the verdict healthy or inconclusive. What one
moment cannot tell from a hang is counted too, so that the share of it is known.

    python -m benchmarks.live_pulls [--count 1000] [--seed 1] [--show 20] [--json FILE]
"""

import argparse
import json
import multiprocessing
import os
import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import aligned, machine, write_json

QUIET = ("healthy", "inconclusive")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said of one pull; ``asked`` is what the job was."""

    asked: dict[str, Any]
    kind: str
    category: str
    named: tuple[int, ...]
    cordon: tuple[str, ...]
    detector: str

    @property
    def silent(self) -> bool:
        """Nobody named, nothing to cordon, no stop claimed."""
        return not self.named and not self.cordon and self.kind in QUIET


def main() -> int:
    """Pull, analyse, count."""
    options = arguments()
    seeds = [options.seed * 1_000_003 + k for k in range(options.count)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        outcomes = list(pool.map(pulled, seeds, chunksize=8))
    print(f"{machine()}; {options.count} pulls, seed {options.seed}\n")
    said = Counter((one.kind, one.category) for one in outcomes)
    rows = [(kind, category, str(count)) for (kind, category), count in said.most_common()]
    print(aligned(("verdict", "category", "pulls"), rows))
    print()
    print(aligned(("job", "pulls", "silent", "named", "cordon"), by_trait(outcomes)))
    loud = [one for one in outcomes if not one.silent]
    for one in loud[: options.show]:
        print(f"loud: {one.kind} {one.category} {one.detector} {one.named[:4]} {one.asked}")
    write_json(options.json, "live_pulls", [asdict(one) for one in outcomes])
    cordons = sum(bool(one.cordon) for one in outcomes)
    named = sum(bool(one.named) for one in outcomes)
    print(
        f"\n{len(outcomes)} pulls, {len(outcomes) - len(loud)} silent, {named} named somebody,"
        f" {cordons} with a cordon"
    )
    return 1 if cordons else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, default=20, help="how many loud answers are listed")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def pulled(seed: int) -> Outcome:
    """Simulate a healthy job, pull its dumps, analyse them."""
    from simulator import Pulls, simulate
    from triage import analyze

    job, pulls, as_json = drawn(seed)
    lost = left_out(seed, job["ranks"])
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "job"
        simulate("healthy-live", out, **job, pulls=Pulls(**pulls))
        if as_json:
            for file in sorted((out / "fr").iterdir()):
                file.write_bytes(json_form(file.read_bytes()))
        for rank in lost:
            (out / "fr" / f"comm_lib_trace_rank_{rank}").unlink()
        report = analyze(out).to_dict()
    suspects = report["suspects"]
    return Outcome(
        asked=job | pulls | {"json": as_json, "lost": lost},
        kind=report["verdict"]["kind"],
        category=report["verdict"]["category"],
        named=tuple(rank for one in suspects for rank in one["ranks"]),
        cordon=tuple(report["verdict"]["cordon"]),
        detector=suspects[0]["because"][0]["detector"] if suspects else "",
    )


def drawn(seed: int) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """A job and how it is pulled, by chance."""
    chance = random.Random(f"live/{seed}")
    ranks = chance.choice([4, 8, 8, 16, 16, 32, 64])
    tp = chance.choice([size for size in (1, 2, 4, 8) if ranks % size == 0])
    pp = chance.choice([size for size in (1, 1, 2, 4) if (ranks // tp) % size == 0])
    dp = ranks // tp // pp
    job = {
        "ranks": ranks,
        "tp": tp,
        "pp": pp,
        "ep": 2 if dp % 2 == 0 and chance.random() < 0.25 else 1,
        "seed": seed,
        "entries": chance.choice([40, 100, 200, 400]),
        "frames": 0,
        "timing": chance.random() < 0.3,
        "run_ahead": chance.random() < 0.6,
        "batched_p2p": chance.random() < 0.5,
        "skew_ms": chance.choice([0.0, 0.0, 5.0, 500.0]),
        "only_active": chance.random() < 0.25,
        "version": chance.choice(["2.4", "2.10", "2.10"]),
        "job_json": chance.random() < 0.7,
    }
    saves = chance.random() < 0.2
    pulls = {
        "spread_ms": chance.choice([0.0, 20.0, 300.0, 800.0, 3000.0, 20000.0, 60000.0]),
        "ranks_together": chance.choice([1, 1, 8]),
        "slow": chance.choice([1.0, 10.0, 100.0, 300.0]),
        "save_every": chance.choice([1, 3]) if saves else 0,
        "save_ms": chance.choice([200.0, 2000.0]) if saves else 0.0,
    }
    return job, pulls, chance.random() < 0.25


def left_out(seed: int, ranks: int) -> list[int]:
    """The ranks whose files were not collected, in one pull of six."""
    chance = random.Random(f"lost/{seed}")
    share = chance.choice([0.1, 0.2, 0.3, 0.5]) if chance.random() < 1 / 6 else 0.0
    return [rank for rank in range(1, ranks) if chance.random() < share]


def json_form(data: bytes) -> bytes:
    """A dump of the simulator as the recorder's JSON handler writes it."""
    dump = pickle.loads(data)  # noqa: S301 - written by the simulator right before
    for row in dump.get("pg_status", {}).values():
        row.update({key: str(value) for key, value in row.items()})
    for entry in dump["entries"]:
        entry.pop("frames", None)
        entry["process_group"] = list(entry["process_group"])
        for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            entry[key] = entry[key] or 0
    if not dump["entries"]:
        del dump["entries"]
    return json.dumps(dump | {"nccl_comm_state": {}}).encode()


def by_trait(outcomes: list[Outcome]) -> list[tuple[str, ...]]:
    """Rows of pulls that have something in common."""
    traits: dict[str, Callable[[dict[str, Any]], Any]] = {
        "all": lambda _: True,
        "with timing": lambda one: one["timing"],
        "without timing": lambda one: not one["timing"],
        "only-active": lambda one: one["only_active"],
        "send/recv": lambda one: one["pp"] > 1,
        "experts": lambda one: one["ep"] > 1,
        "runs ahead": lambda one: one["run_ahead"],
        "spread of 1 s and more": lambda one: one["spread_ms"] >= 1000,
        "node by node": lambda one: one["ranks_together"] > 1,
        "checkpoints": lambda one: one["save_every"],
        "JSON": lambda one: one["json"],
        "files missing": lambda one: one["lost"],
    }
    rows = []
    for name, has in traits.items():
        those = [one for one in outcomes if has(one.asked)]
        counts = (
            len(those),
            sum(one.silent for one in those),
            sum(bool(one.named) for one in those),
            sum(bool(one.cordon) for one in those),
        )
        rows.append((name, *map(str, counts)))
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
