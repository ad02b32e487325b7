"""How the streams of several backends are called, and whose counters a dump holds."""

import pickle
from collections.abc import Sequence

import pytest

from tests.parsers.flight_recorder.dumps import Recorder, decode
from triage.domain.rank_digest import RankDigest

PLAIN = ("0", "default_pg")


def dump(numbers: Sequence[tuple[str, int, int]], last: int = 0) -> RankDigest:
    """Entries as (name, number in the group, number of the dispatcher); ``last`` was counted."""
    recorder = Recorder({"0": [0, 1]})
    for name, seq, op_id in numbers:
        recorder.record(name, "0", done=True, collective_seq_id=seq, op_id=op_id)
    value = recorder.value()
    value["pg_status"]["0"]["last_enqueued_collective"] = last
    return decode(pickle.dumps(value, 2))


@pytest.mark.parametrize(
    ("names", "streams"),
    [
        (["nccl:all_reduce", "nccl:barrier"], [PLAIN]),
        (["gloo:all_reduce"], [PLAIN]),
        (["nccl:all_reduce", "marker"], [PLAIN]),
        (["nccl2:all_reduce", "gloo:all_reduce"], [PLAIN, ("0", "default_pg (gloo)")]),
        (["gloo:all_reduce", "nccl2:all_reduce"], [("0", "default_pg (gloo)"), PLAIN]),
        (["c10d:allreduce", "gloo:all_reduce"], [("0", "default_pg (c10d)"), PLAIN]),
    ],
)
def test_a_stream_beside_that_of_its_group_says_its_backend(
    names: list[str], streams: list[tuple[str, str]]
) -> None:
    """Whichever of them the ring shows first."""
    digest = dump([(name, number, number) for number, name in enumerate(names, start=1)])
    assert list(digest.stream_names) == streams


@pytest.mark.parametrize(
    ("numbers", "last", "kept"),
    [
        ([("nccl:all_reduce", 5, 5)], 5, True),
        ([("nccl:all_reduce", 5, 0)], 5, True),
        ([("nccl:all_reduce", 5, 9)], 9, True),
        ([("nccl2:all_reduce", 5, 5)], 5, True),
        ([("nccl2:all_reduce", 5, 4)], 4, False),
        ([("nccl2:all_reduce", 5, 9)], 9, False),
        # A recorder of its own, which numbers the members of blocks too.
        ([("xccl:all_reduce", 4, 5), ("xccl:all_reduce", 5, 9)], 5, True),
        ([("nccl2:all_reduce", 5, 9), ("gloo:all_reduce", 2, 2)], 9, False),
    ],
)
def test_the_counters_of_a_hook_are_not_those_of_the_group(
    numbers: list[tuple[str, int, int]], last: int, *, kept: bool
) -> None:
    assert bool(dump(numbers, last).counters) is kept
