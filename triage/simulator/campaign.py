"""A campaign: many incidents drawn by the interruption table of the Llama 3 405B run.

Counts, never percentages: 419 unexpected interruptions in 54 days.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_COUNTS, LLAMA3_UNEXPECTED
from triage.simulator.incidents.truth import IncidentTruth
from triage.simulator.incidents.whole import Wish, simulate_incident

__all__ = ["SPLIT", "draw", "leaves_for"]

# How a row with several leaves is split: judgement, the table does not say.
SPLIT = {
    "Faulty GPU": {"gpu": 116, "nvlink": 32},
    "Software Bug": {
        "software_user": 14, "software_framework": 10, "collective_mismatch": 6,
        "host_stall": 6, "gpu_oom": 7, "host_oom": 6, "numerical": 5,
    },
    "Dependency": {"dependency": 1, "storage": 1},
}  # fmt: skip


def leaves_for(count: int) -> list[str]:
    """``count`` leaves in the proportions of the table; exactly the table for 419."""
    weights: dict[str, int] = {}
    for row, number in LLAMA3_COUNTS.items():
        single = next(leaf.value for leaf in Category if LLAMA3_ROW[leaf] == row)
        weights.update(SPLIT.get(row, {single: number}))
    share = {leaf: weight * count / LLAMA3_UNEXPECTED for leaf, weight in weights.items()}
    whole = {leaf: int(part) for leaf, part in share.items()}
    by_rest = sorted(share, key=lambda leaf: whole[leaf] - share[leaf])
    for leaf in by_rest[: count - sum(whole.values())]:
        whole[leaf] += 1
    return [leaf for leaf, number in whole.items() for _ in range(number)]


def draw(
    out: Path, *, count: int = LLAMA3_UNEXPECTED, seed: int = 0, ranks: Sequence[int] = (16, 64),
    missing: float = 0.0, skew_s: float = 3.0, healthy: int = 0, kernel_lines: int = 30,
    job_lines: int = 40, dumps: bool = True, share: tuple[int, int] = (0, 1),
) -> Iterator[tuple[Path, IncidentTruth]]:  # fmt: skip
    """Write incidents one at a time, in mixed order; each may be deleted before the next.

    With ``share`` (k, n) only each n-th is written, from the k-th on: n processes
    share a campaign. The folders' names tell nothing. Yields the folder and its truth.
    """
    chance = random.Random(f"campaign/{seed}")
    leaves = [*leaves_for(count), *["none"] * healthy]
    chance.shuffle(leaves)
    wish = Wish(
        missing=missing, skew_s=skew_s, kernel_lines=kernel_lines, job_lines=job_lines, dumps=dumps
    )
    Path(out).mkdir(parents=True, exist_ok=True)
    for place, leaf in enumerate(leaves, 1):
        name = f"{place:04d}-{chance.getrandbits(32):08x}"
        one = replace(wish, ranks=chance.choice(list(ranks)), seed=chance.getrandbits(30), id=name)
        if (place - 1) % share[1] != share[0]:
            continue
        path = Path(out) / name
        yield path, simulate_incident(leaf, path, one)
