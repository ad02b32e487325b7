"""Who comes late, by how long kernels run."""

import random

import pytest

from triage.analysis.live.detectors.kernels import collect_times, find_late_members
from triage.domain.live.communicator import Communicator

KEY = (0x1F, "allreduce")


def kernels(lateness, operations=12, base=1500.0, noise=20.0, link=0.0):
    """rank -> operation -> us, of ranks that come ``lateness`` us after the first."""
    chance = random.Random(3)
    found = {rank: {} for rank in range(len(lateness))}
    for number in range(operations):
        came = [late + chance.uniform(0, noise) for late in lateness]
        for rank, at in enumerate(came):
            found[rank][number] = base + link + max(came) - at
    return found


def test_the_last_one_is_late_by_what_the_others_spin():
    late = find_late_members(KEY, kernels([0, 0, 4000, 0]))
    assert late is not None
    assert (late.ranks, late.num_operations, late.late_share) == ((2,), 12, 1.0)
    assert late.late_us == pytest.approx(4000, rel=0.02)


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(kernels([0, 0, 0, 0]), id="nobody is late"),
        pytest.param(kernels([0, 0, 0, 0], link=9000), id="a bad link makes all long alike"),
        pytest.param(kernels([0, 0, 50, 0], noise=5), id="by less than scheduling noise"),
        pytest.param(kernels([0, 0, 400, 0], base=90_000), id="by a share not worth it"),
        pytest.param(kernels([0, 4000]), id="of two nobody is the odd one"),
        pytest.param(kernels([0, 0, 4000, 0], operations=4), id="too few operations"),
        pytest.param(kernels([0, 0, 4000, 4000]), id="half of them"),
        pytest.param(kernels([0, 1000, 2000, 3000]), id="each later than the other"),
        pytest.param({0: {}, 1: {}, 2: {}}, id="no times"),
        pytest.param(
            {0: dict.fromkeys(range(9), 9.0), 1: {9: 1.0}, 2: {10: 2.0}}, id="nothing in common"
        ),
    ],
)
def test_nobody_stands_out(times):
    assert find_late_members(KEY, times) is None


def test_another_one_each_time_is_no_straggler():
    times = {rank: {} for rank in range(4)}
    for number in range(16):
        for rank in range(4):
            times[rank][number] = 1500.0 if rank == number % 4 else 6000.0
    assert find_late_members(KEY, times) is None


def test_late_once_is_not_late_each_time():
    times = kernels([0, 0, 0, 0], noise=200)
    times[1][5] = 10.0
    assert find_late_members(KEY, times) is None


def test_a_whole_node_may_be_late_together():
    times = kernels([0] * 12 + [3000] * 6)
    assert find_late_members(KEY, times) is None
    late = find_late_members(KEY, times, most=6)
    assert late is not None
    assert late.ranks == tuple(range(12, 18))


def test_numbers_that_are_missing_are_left_out():
    times = kernels([0, 0, 4000, 0], operations=20)
    for rank in range(4):
        del times[rank][rank + 3]
    late = find_late_members(KEY, times)
    assert late is not None
    assert (late.ranks, late.num_operations) == ((2,), 16)


def test_rooted_calls_are_not_compared():
    one = Communicator(1, 4, (), function="broadcast", durations_us={0: (5.0,)}, numbers={0: (1,)})
    assert collect_times([one]) == {}


def test_two_looks_at_one_process_count_once():
    parts = [
        Communicator(1, 4, (), function="allreduce", durations_us={0: (5.0, 6.0)}, numbers=numbers)
        for numbers in ({0: (1, 2)}, {0: (2, 3)})
    ]
    assert collect_times(parts) == {(1, "allreduce"): {0: {1: 5.0, 2: 5.0, 3: 6.0}}}
