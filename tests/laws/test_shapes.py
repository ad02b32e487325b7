"""The same evidence in another shape gives the same answer."""

import pytest

from simulator.perturb.registry import ALL
from tests.laws.drills import finds_something, kept

INCIDENTS = ("hbm-job-only", "collective-mismatch", "logs-nic-w16", "nccl-never-joins-w8")
SHAPES = tuple(one.name for one in ALL if one.law == 0)


PAIRS = [
    pytest.param(change, name, id=f"{change}-{name}")
    for change in SHAPES
    for name in INCIDENTS
    if finds_something(change, name)
]


@pytest.mark.parametrize(("change", "name"), PAIRS)
def test_another_shape_moves_nothing(change: str, name: str) -> None:
    assert not kept(name, change)
