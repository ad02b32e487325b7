"""A campaign: many incidents drawn by the interruption table of the Llama 3 405B run.

Counts, never percentages: 419 unexpected interruptions in 54 days.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simulator.incidents.truth import IncidentTruth
from simulator.incidents.whole import Wish, simulate_incident
from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_COUNTS, LLAMA3_UNEXPECTED

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


@dataclass(frozen=True, slots=True)
class Campaign:
    """``count`` incidents by the table, and ``healthy`` jobs; each of one of ``ranks`` ranks."""

    count: int = LLAMA3_UNEXPECTED
    healthy: int = 0
    seed: int = 0
    ranks: Sequence[int] = (16, 64)


def draw(
    out: Path, campaign: Campaign, wish: Wish | None = None, *, share: tuple[int, int] = (0, 1)
) -> Iterator[tuple[Path, IncidentTruth]]:
    """Write incidents one at a time, in mixed order; each may be deleted before the next.

    With ``share`` (k, n) only each n-th is written, from the k-th on: n processes
    share a campaign. The folders' names tell nothing. Yields the folder and its truth.
    """
    chance = random.Random(f"campaign/{campaign.seed}")
    leaves = [*leaves_for(campaign.count), *["none"] * campaign.healthy]
    chance.shuffle(leaves)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for place, leaf in enumerate(leaves):
        name = f"{place + 1:04d}-{chance.getrandbits(32):08x}"
        own = replace(
            wish or Wish(),
            ranks=chance.choice(list(campaign.ranks)),
            seed=chance.getrandbits(30),
            id=name,
        )
        if place % share[1] == share[0]:
            yield out / name, simulate_incident(leaf, out / name, own)
