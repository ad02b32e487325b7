"""What makes two stacks of one process two looks, and what they show."""

import pytest

from tests.support.stacks import COMPUTE, DEVICE, LOADER, REDUCE, case_of, look, thread
from triage.analysis.live.stacks.rank_stack import StackMovement
from triage.domain.live.look import Look, Tool


def movement(*looks: Look) -> StackMovement:
    return case_of(*looks).picture.ranks[0].moved


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


def cut(text: str, kept: int) -> str:
    """The first frames of a stack, as a file that was cut still has them."""
    return ") ".join(text.split(") ")[:kept]) + ")"


@pytest.mark.parametrize("whole", [REDUCE, DEVICE, LOADER, COMPUTE])
@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_stack_that_is_cut_is_no_movement(whole: str, kept: int) -> None:
    part = cut(whole, kept)
    for before, after in ((whole, part), (part, whole)):
        case = case_of(one(before, at_s=100), one(after, at_s=130))
        assert case.picture.ranks[0].moved is StackMovement.SAME
        assert case.picture.ranks[0].point is case_of(one(whole)).picture.ranks[0].point


def test_a_cut_traceback_lacks_its_inside() -> None:
    part = "step" + REDUCE.partition(") step")[2]
    looks = [one(text, tool=Tool.TRACEBACK, at_s=at) for text, at in ((REDUCE, 100), (part, 130))]
    assert movement(*looks) is StackMovement.SAME


def test_what_is_cut_and_differs_tells_nothing() -> None:
    part = cut(REDUCE, 3)
    assert movement(one(DEVICE, at_s=100), one(part, at_s=130)) is StackMovement.ONCE


def test_a_rank_that_returned_from_a_call_moved() -> None:
    outside = REDUCE.partition(") step")[2]
    assert movement(one(REDUCE, at_s=100), one(f"step{outside}", at_s=130)) is not (
        StackMovement.SAME
    )


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
