"""Recurring problems: do incidents of one planted cause come out as one problem.

    python -m benchmarks.problems [--seeds 25] [--large 10000] [--json FILE]

Whole incidents of twelve causes are simulated on nodes drawn anew, analysed and grouped: the
adjusted Rand index says how far problems and causes agree (1 is all, 0 is chance). Then many
incidents are made of these, with other nodes and words, and grouped again, on one core. Status 1
below 0.9, beyond 10 s, or where a problem has hardware and software.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from sklearn.metrics import adjusted_rand_score

import triage
from benchmarks.table import aligned, machine, write_json
from simulator.incidents.whole import Wish, simulate_incident
from triage.analysis.fingerprint import PART, Fingerprint, make_fingerprint
from triage.analysis.problems import Occurrence, Problem, group_incidents

CAUSES = (
    "gpu-fell-off", "hbm-dbe", "gsp-timeout", "nvlink", "nic-firmware", "disk-dead",
    "machine-check", "power-supply", "user-error", "segfault", "collective-mismatch", "host-oom",
)  # fmt: skip
LEAST_AGREEMENT = 0.9
MOST_S = 10.0


def simulate_occurrences(seeds: int) -> tuple[list[Occurrence], dict[str, str]]:
    """So many incidents of each cause as they are grouped, and the cause of each by its id."""
    found: list[Occurrence] = []
    causes: dict[str, str] = {}
    for seed in range(seeds):
        for cause in CAUSES:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "incident"
                simulate_incident(cause, path, Wish(ranks=16, seed=1000 + seed, entries=40))
                fingerprint = make_fingerprint(triage.analyze(path).to_dict())
            if fingerprint is not None:
                incident_id = f"inc_{len(causes):05d}"
                causes[incident_id] = cause
                found.append(Occurrence(incident_id, 1, fingerprint))
    return found, causes


def multiply(known: list[Occurrence], number: int) -> list[Occurrence]:
    """So many incidents like these: other nodes, and some words more."""
    chance = random.Random(number)
    return [
        replace(one, incident_id=f"inc_{k:06d}", fingerprint=_vary(one.fingerprint, chance))
        for k, one in enumerate(chance.choice(known) for _ in range(number))
    ]


def _vary(fingerprint: Fingerprint, chance: random.Random) -> Fingerprint:
    features = {
        f"{PART}{chance.randrange(500)}" if name.startswith(PART) else name: value
        for name, value in fingerprint.features.items()
    }
    word = f"words:{chance.choice('abcdefgh')}{chance.randrange(200)}"
    return replace(fingerprint, features={**features, word: 0.1})


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Planted causes, and the problems made of them.")
    parser.add_argument("--seeds", type=int, default=25, help="incidents of each cause")
    parser.add_argument("--large", type=int, default=10_000, help="incidents to group at once")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    known, causes = simulate_occurrences(asked.seeds)
    problems = group_incidents(known)
    place = {one: k for k, problem in enumerate(problems) for one in problem.incident_ids}
    agreement = adjusted_rand_score([causes[one] for one in place], [*place.values()])
    mixed = _count_mixed(problems, known)
    many = multiply(known, asked.large)
    began = time.process_time()
    large = group_incidents(many)
    large_s = time.process_time() - began
    mixed += _count_mixed(large, many)
    rows = []
    for cause in CAUSES:
        parts = Counter(place[one] for one in place if causes[one] == cause)
        largest, number = parts.most_common(1)[0]
        beside = len(problems[largest].incident_ids) - number
        rows.append((cause, f"{parts.total()}", f"{number}", f"{len(parts)}", f"{beside}"))
    print(aligned(("cause", "incidents", "in its largest", "problems", "others in it"), rows))
    print(
        f"\n{len(known):,} incidents: {len(problems)} problems of {len(CAUSES)} causes, adjusted"
        f" Rand index {agreement:.3f}; with hardware and software: {mixed}"
        f"\n{len(many):,} incidents: {len(large)} problems in {large_s:.1f} s of one core"
        f"\n{machine()}"
    )
    facts = {"agreement": agreement, "mixed": mixed, "large_s": large_s, "large": len(many)}
    head = ("cause", "incidents", "in_largest", "problems", "others")
    write_json(asked.json, "problems", [dict(zip(head, row, strict=True)) for row in rows], **facts)
    return int(agreement < LEAST_AGREEMENT or mixed > 0 or large_s > MOST_S)


def _count_mixed(problems: list[Problem], known: list[Occurrence]) -> int:
    """Problems whose incidents are of more than one stratum."""
    strata = {one.incident_id: one.fingerprint.stratum for one in known}
    return sum(len({strata[one] for one in problem.incident_ids}) > 1 for problem in problems)


if __name__ == "__main__":
    sys.exit(main())
