"""What makes two stacks of one process two looks, and what they show."""

import pytest

from tests.support.stacks import COMPUTE, DEVICE, LOADER, REDUCE, case_of, look, thread
from triage.analysis.live.stacks.two_looks import StackMovement
from triage.domain.live.look import Look, Tool


def movement(*looks: Look) -> StackMovement:
    return case_of(*looks).picture.movement[0]


def one(text: str, artifact: str = "rank_0.txt", **fields: object) -> Look:
    return look([text], artifact, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        pytest.param(REDUCE, REDUCE, StackMovement.SAME, id="waits at one place"),
        pytest.param(REDUCE, DEVICE, StackMovement.WENT_ON, id="left its wait"),
        pytest.param(LOADER, LOADER.replace("415", "418"), StackMovement.SAME, id="a poll below"),
        pytest.param(COMPUTE, COMPUTE.replace("96", "99"), StackMovement.BUSY, id="works on"),
        pytest.param(LOADER, REDUCE, StackMovement.BUSY, id="came out of its loader"),
    ],
)
def test_tells_what_moved(before: str, after: str, shown: StackMovement) -> None:
    assert movement(one(before, at_s=100), one(after, at_s=130)) is shown


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(one(REDUCE, "a/rank_0.txt"), one(REDUCE, "b/rank_0.txt"), id="two folders"),
        pytest.param(one(REDUCE, "stacks_1.txt"), one(REDUCE, "stacks_2.txt"), id="numbered"),
    ],
)
def test_takes_them_for_two_looks(first: Look, second: Look) -> None:
    assert movement(first, second) is StackMovement.SAME


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(one(REDUCE, "rank_0.txt"), one(REDUCE, "rank_0.json"), id="text and JSON"),
        pytest.param(
            one(REDUCE, "a/rank_0.txt", node="n0"), one(DEVICE, "b/rank_0.txt", node="n1"),
            id="two nodes",
        ),
        pytest.param(one(REDUCE, at_s=100), one(DEVICE, at_s=100), id="one moment"),
        pytest.param(
            one(REDUCE, "a/rank_0.txt"), one(DEVICE, "b/rank_0.txt", tool=Tool.FAULTHANDLER),
            id="two tools",
        ),
        pytest.param(
            look([thread(0, REDUCE, pid=1)], "a/rank_0.txt"),
            look([thread(0, DEVICE, pid=2)], "b/rank_0.txt"),
            id="two processes",
        ),
    ],
)  # fmt: skip
def test_takes_them_for_one_look(first: Look, second: Look) -> None:
    assert movement(first, second) is StackMovement.ONCE
