"""Whose histories are read of a large job, and what stands in place of the others."""

import random

import pytest

from simulator.incident import simulate
from triage.analysis.first_answer import choose_digests, count_chosen, sample_digests
from triage.domain.rank_digest import RankDigest
from triage.formats.gather import gather


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[RankDigest], int]:
    """Dumps of a job that waits for one host, and its rank."""
    folder = tmp_path_factory.mktemp("job") / "files"
    truth = simulate("host-stall", folder, ranks=32, entries=200, frames=2, seed=3)
    _, dumps, _, _, _ = gather(folder, None)
    (rank,) = truth.culprit_ranks
    return dumps.digests, rank


@pytest.mark.parametrize(
    ("digests", "read"), [(0, 0), (3, 3), (8, 4), (400, 4), (401, 5), (131_072, 1311)]
)
def test_a_hundredth_is_read_and_of_a_small_job_a_few(digests: int, read: int) -> None:
    assert count_chosen(digests) == read


def test_the_rank_that_stands_alone_is_read_first(stalled: tuple[list[RankDigest], int]) -> None:
    digests, rank = stalled
    (index,) = choose_digests(digests, 1)
    assert digests[index].rank == rank


def test_the_order_of_the_dumps_does_not_matter(stalled: tuple[list[RankDigest], int]) -> None:
    digests, _ = stalled
    mixed = random.Random(1).sample(digests, len(digests))
    read = {digests[index].rank for index in choose_digests(digests, 6)}
    assert read == {mixed[index].rank for index in choose_digests(mixed, 6)}
    assert len(read) == 6


def test_what_is_not_read_says_how_long_it_is_and_no_more(
    stalled: tuple[list[RankDigest], int],
) -> None:
    digests, _ = stalled
    found = sample_digests(digests)
    whole = [one for one, other in zip(found, digests, strict=True) if one is other]
    assert len(whole) == count_chosen(len(digests))
    for one, other in zip(found, digests, strict=True):
        assert (one.rank, one.streams, one.pending) == (other.rank, other.streams, other.pending)
        assert len(one.history) == len(other.history)
        assert one.history.any_finished == other.history.any_finished
        assert one is other or not len(one.history.read().seq)


def test_one_dump_and_none_are_no_trouble(stalled: tuple[list[RankDigest], int]) -> None:
    assert sample_digests([]) == []
    assert sample_digests(stalled[0][:1]) == stalled[0][:1]
