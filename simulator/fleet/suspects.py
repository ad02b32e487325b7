"""What a triage that errs says of an interruption: right, wrong, or a tie."""

from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.fleet.columns import Columns
from simulator.fleet.wish import FleetWish
from triage.domain.category import Category

_Ints = npt.NDArray[np.int64]

_SCORE_FIRST: Final = 0.97
_SCORE_WRONG: Final = 0.75
_SCORE_SECOND: Final = 0.1
OTHERS: Final = (
    (Category.SOFTWARE_USER, 54),
    (Category.HOST_MAINTENANCE, 32),
    (Category.NCCL_TIMEOUT, 7),
    (Category.DEPENDENCY, 2),
)
"""Causes that no node has, and how many of the Llama 3 interruptions were theirs."""


def accuse(
    wish: FleetWish,
    chance: np.random.Generator,
    columns: Columns,
    nodes: _Ints,
    culprit: int,
    category: Category,
    part: str | None,
) -> int | None:
    """Suspects of the newest interruption, of a run on ``nodes``; the node that is convicted."""
    others = nodes[nodes != culprit]
    drawn = chance.random()
    if drawn < wish.wrong_first and len(others):
        innocent = int(chance.choice(others))
        columns.accuse(innocent, 1, _SCORE_WRONG, category, convicted=True)
        if chance.random() < 0.5:
            columns.accuse(culprit, 2, _SCORE_SECOND, category, part=part)
        return innocent
    if drawn < wish.wrong_first + wish.tie and len(others):
        size = min(int(chance.integers(1, 3)), len(others))
        tied = [culprit, *chance.choice(others, size, replace=False).tolist()]
        columns.accuse_all(np.sort(tied), 0.9 / len(tied), category)
        return None
    columns.accuse(culprit, 1, _SCORE_FIRST, category, convicted=True, part=part)
    if len(others) and chance.random() < 0.15:
        columns.accuse(int(chance.choice(others)), 2, _SCORE_SECOND, category)
    return culprit


def accuse_of_software(
    wish: FleetWish,
    chance: np.random.Generator,
    columns: Columns,
    at: float,
    run: int,
    nodes: _Ints,
) -> None:
    """An interruption that no node caused; now and then a node is accused of it."""
    categories = [category for category, _ in OTHERS]
    counts = np.array([count for _, count in OTHERS], dtype=float)
    category = categories[int(chance.choice(len(OTHERS), p=counts / counts.sum()))]
    if chance.random() < wish.blames_for_software:
        columns.add_stop(at, run, Category.GPU, None)
        columns.accuse_all(chance.choice(nodes, 1), _SCORE_WRONG, Category.GPU)
    else:
        columns.add_stop(at, run, category, None)


def accuse_behind_leaf(
    chance: np.random.Generator, columns: Columns, at: float, run: int, behind: _Ints
) -> None:
    """An interruption by a leaf switch; every second time nodes behind it are accused."""
    columns.add_stop(at, run, Category.NETWORK, None)
    if chance.random() < 0.5:
        named = chance.choice(behind, min(2, len(behind)), replace=False)
        columns.accuse_all(np.sort(named), 0.9 / len(named), Category.NETWORK)
