"""Numbers of operations over all ranks: counted where they lie close, sorted where they do not."""

import numpy as np
import pytest

from triage.analysis.clocks.rank_clocks import share_clocks
from triage.analysis.snapshots.finished import FinishedOperations, number_pairs
from triage.analysis.waiting import lateness
from triage.analysis.waiting.lateness import find_release_times


@pytest.mark.parametrize(
    "widest",
    [pytest.param(30, id="close together"), pytest.param(1 << 40, id="far apart")],
)
@pytest.mark.parametrize("seed", range(5))
def test_equal_pairs_have_one_number_and_numbers_are_in_the_order_of_pairs(
    widest: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    major = random.choice([0, 3, 4, 9], 500)
    minor = random.integers(-widest, widest, 500)
    pairs = list(zip(major.tolist(), minor.tolist(), strict=True))
    number = {pair: k for k, pair in enumerate(sorted(set(pairs)))}

    assert number_pairs(major, minor).tolist() == [number[pair] for pair in pairs]


def test_one_row_is_number_nought() -> None:
    assert number_pairs(np.array([7]), np.array([-3])).tolist() == [0]


def test_far_pairs_take_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    zeros = np.zeros
    monkeypatch.setattr(lateness.np, "zeros", lambda *given: asked.append(given) or zeros(*given))

    least, most = -(1 << 63), (1 << 63) - 1
    assert number_pairs(np.array([1, 0, 0, 1]), np.array([least, most, least, most])).tolist() == [
        2, 1, 0, 3,
    ]  # fmt: skip
    assert asked == [(4, np.int64)]


def test_ranks_whose_clocks_stand_together_share_one() -> None:
    ms = 1e6
    apart = np.array([-171.0, -140, -150, 160, 141, 150]) * ms
    shared = share_clocks(apart, 100 * ms) / ms
    assert shared.tolist() == [-150, -150, -150, 150, 150, 150]


def test_clocks_in_a_chain_stay_apart() -> None:
    """Each is near the next, and the ends are not: no node has such ranks."""
    apart = np.array([-240.0, -160, -80, 0, 80, 160, 240]) * 1e6
    assert share_clocks(apart, 1e8).tolist() == apart.tolist()


def test_a_host_is_held_up_until_its_send_or_receive_ends() -> None:
    """One rank: a receive issued early ends at 900 ms, as its watchdog notices."""
    ms = 1e6
    created = np.array([0.0, 10, 820, 830, 2000]) * ms
    ended = np.array([np.nan, 900, np.nan, np.nan, 2050]) * ms
    p2p = np.array([False, True, False, False, True])
    zeros = np.zeros(5, np.int64)
    no = zeros > 0
    rows = FinishedOperations(zeros, zeros, zeros, zeros, created, ended, p2p, no, ended, zeros)

    held = find_release_times(rows, created, ended) / ms
    # A look of the watchdog is 100 ms: the receive ended no earlier than at 800 ms. What is
    # issued later than an operation never waits for it.
    assert held.tolist() == [-np.inf, -np.inf, 800, 800, 800]


@pytest.mark.parametrize(
    ("late", "steps"),
    [([1, 2, 3], [1, 0]), ([1, 5, 9], [3, 0]), ([1, 12], [1, 1]), ([], [0, 0])],
    ids=["one pause", "three steps", "two ranks", "nobody"],
)
def test_a_pause_holds_up_one_step_whatever_it_delays(late: list[int], steps: list[int]) -> None:
    """Two ranks of three steps: one collective over all (kind 0) and three of a group each."""
    digest = np.repeat([0, 1], 12)
    desc = np.tile([0, 1, 1, 1], 6)
    none = np.zeros(24)
    no = none > 0
    rows = FinishedOperations(digest, digest, desc, desc, none, none, no, no, none, digest)
    held = np.isin(np.arange(24), late)
    paces = lateness._count_paces(rows)
    step = lateness._number_steps(rows, paces)

    assert paces.tolist() == [[3, 9]] * 2
    assert lateness._count_held_steps(rows, step, held, 2).tolist() == steps
