"""Dumps of faulthandler among the lines of a job log."""

import io
from collections.abc import Sequence
from itertools import zip_longest

import pytest

from tests.support.stack_texts import LOADER, REDUCE, faulthandler_text
from triage.domain.live.look import Look
from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader, LogBounds
from triage.parsers.logs.source import open_stream

STEPS = "".join(f"2026-03-14 02:40:{k:02d} INFO trainer: step {k} loss 2.31\n" for k in range(20))
SMALL = LogBounds(chunk=700, line=512, context=256)


def looks(text: str, name: str = "job.log", bounds: LogBounds = DEFAULT_BOUNDS) -> Sequence[Look]:
    stream = open_stream(io.BytesIO(text.encode()), name)
    assert stream is not None
    return LineReader(get_standard(), bounds, templates=False).read(stream).looks


def of_rank(rank: int, text: str) -> list[str]:
    return [f"[rank{rank}]: {line}\n" for line in text.rstrip("\n").split("\n")]


def mixed(*dumps: list[str]) -> str:
    """Lines of several ranks in turn."""
    return "".join(line for lines in zip_longest(*dumps, fillvalue="") for line in lines)


@pytest.mark.parametrize("bounds", [DEFAULT_BOUNDS, SMALL], ids=["whole", "in chunks"])
def test_a_dump_in_the_log_of_a_rank_is_a_look(bounds: LogBounds) -> None:
    text = STEPS + "Timeout (0:00:10)!\n" + faulthandler_text(LOADER) + STEPS
    (look,) = looks(text, "logs/rank_3.log", bounds)

    assert [(one.process.rank, one.is_main, one.line) for one in look.stacks] == [
        (3, False, 22), (3, True, 26),
    ]  # fmt: skip
    assert [frame.function for frame in look.stacks[1].frames][:2] == ["get", "_next_data"]


@pytest.mark.parametrize("bounds", [DEFAULT_BOUNDS, SMALL], ids=["whole", "in chunks"])
def test_mixed_lines_go_to_their_ranks(bounds: LogBounds) -> None:
    dumps = [of_rank(rank, faulthandler_text(LOADER if rank == 2 else REDUCE)) for rank in range(4)]
    (look,) = looks(STEPS + mixed(*dumps) + STEPS, bounds=bounds)

    mains = {one.process.rank: one.frames[0].function for one in look.stacks if one.is_main}
    assert mains == {0: "all_reduce", 1: "all_reduce", 2: "get", 3: "all_reduce"}


def test_crashes_of_many_ranks_at_once_are_no_looks() -> None:
    crash = "Fatal Python error: Aborted\n\n" + faulthandler_text()

    assert not looks(STEPS + mixed(*(of_rank(rank, crash) for rank in range(4))) + STEPS)


def test_a_second_dump_is_a_second_look() -> None:
    once = STEPS + faulthandler_text(LOADER)
    first, second = looks(once + once.replace("0x00007f", "0x00007e"), "rank_3.log")

    assert [one.is_main for one in first.stacks] == [one.is_main for one in second.stacks] == [
        False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("bounds", [DEFAULT_BOUNDS, SMALL], ids=["whole", "in chunks"])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        (STEPS, "rank_3.log"),
        (STEPS + faulthandler_text(), "job-4711.log"),
        (STEPS + faulthandler_text(), "local_rank_1.log"),
        (STEPS + "Fatal Python error: Aborted\n\n" + faulthandler_text() + STEPS, "rank_3.log"),
        (STEPS + "the stack (most recent call first):\n" + STEPS, "rank_3.log"),
    ],
    ids=["none", "whose", "local", "a crash", "words"],
)
def test_no_dump_a_crash_or_nobodys_dump_is_no_look(
    text: str, name: str, bounds: LogBounds
) -> None:
    assert not looks(text, name, bounds)


def test_very_many_dumps_are_bounded() -> None:
    found = looks(faulthandler_text() * 20_000, "rank_3.log")

    assert len(found) <= 720
