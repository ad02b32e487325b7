"""A long list that an earlier dump had is known by all of its bytes, and says the same."""

import pickle
from collections.abc import Iterable

import numpy as np
import pytest

from tests.parsers.flight_recorder.dumps import Recorder, differences
from triage.domain.rank_digest import RankDigest
from triage.errors import ArtifactError
from triage.parsers.flight_recorder.decoder import Decoder
from triage.parsers.flight_recorder.long_texts import MAX_TEXTS, ROOM, LongTexts
from triage.parsers.flight_recorder.shared import Shared

WORLD = list(range(10_000, 20_000))


def dump_of(*lists: Iterable[int]) -> bytearray:
    recorder = Recorder({str(number): list(ranks) for number, ranks in enumerate(lists)})
    recorder.collective()
    return bytearray(pickle.dumps(recorder.value(), 2))


def changed_at(place: int) -> list[int]:
    """Ranks of as many digits as WORLD, one of which is another."""
    return [*WORLD[:place], 99_999, *WORLD[place + 1 :]]


def ranks_of(digest: RankDigest) -> list[tuple[int, ...] | None]:
    return [row.ranks for row in digest.groups]


def test_a_long_list_is_hashed_and_parsed_in_the_first_dump_alone() -> None:
    decoder = Decoder(Shared())
    first = decoder.decode(dump_of(WORLD), "a", 0)
    assert not (decoder.long.rows[:, 3] >= 0).any()
    second = decoder.decode(dump_of(WORLD), "b", 1)
    assert (decoder.long.rows[:, 3] >= 0).sum() == 1
    assert ranks_of(first) == [tuple(WORLD)]
    assert second.groups[0].ranks is first.groups[0].ranks


@pytest.mark.parametrize("place", [0, 1, 42, 43, 4_999, 9_998, 9_999])
def test_a_list_of_one_length_with_one_other_rank_is_another(place: int) -> None:
    decoder = Decoder(Shared())
    for ranks in (WORLD, changed_at(place), WORLD, changed_at(place)):
        assert ranks_of(decoder.decode(dump_of(ranks), "a", 0)) == [tuple(ranks)]


def test_one_list_twice_in_a_dump_is_one_string() -> None:
    decoder = Decoder(Shared())
    for _ in range(3):
        digest = decoder.decode(dump_of(WORLD, changed_at(7), WORLD), "a", 0)
        assert ranks_of(digest) == [tuple(WORLD), tuple(changed_at(7)), tuple(WORLD)]
        assert digest.groups[0].ranks is digest.groups[2].ranks


def test_more_lists_than_are_kept_are_all_read() -> None:
    decoder = Decoder(Shared())
    lists = [changed_at(place) for place in range(MAX_TEXTS + 3)]
    for _ in range(2):
        assert ranks_of(decoder.decode(dump_of(*lists), "a", 0)) == [tuple(one) for one in lists]
    for one in lists:
        assert ranks_of(decoder.decode(dump_of(one), "a", 0)) == [tuple(one)]


def test_a_decoder_that_knows_lists_reads_as_a_new_one() -> None:
    seasoned = Decoder(Shared())
    for ranks in (WORLD, changed_at(3), [*WORLD, 5], list(reversed(WORLD)), WORLD[:10], WORLD):
        data = dump_of(ranks, WORLD)
        fresh = Decoder(Shared()).decode(data, "a", 0)
        assert not differences(seasoned.decode(data, "a", 0), fresh)


def test_other_values_to_share_forget_the_lists() -> None:
    decoder = Decoder(Shared())
    before = decoder.decode(dump_of(WORLD), "a", 0)
    decoder.share(Shared())
    after = decoder.decode(dump_of(WORLD), "a", 0)
    assert after.groups[0].ranks == before.groups[0].ranks
    assert after.groups[0].ranks is not before.groups[0].ranks


def test_a_known_list_that_is_cut_off_is_cut_off() -> None:
    decoder = Decoder(Shared())
    data = dump_of(WORLD)
    decoder.decode(data, "a", 0)
    cut = data[: data.index(b"19000")]
    fresh = Decoder(Shared())
    outcomes = []
    for one in (decoder, fresh):
        try:
            outcomes.append(one.decode(cut, "a", 0).partial)
        except ArtifactError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_texts_beyond_the_room_begin_again() -> None:
    texts = LongTexts()
    half = np.full(ROOM // 2, 65, np.uint8)
    for number in range(5):
        half[0] = number
        texts.add(half, number, (number,))
    assert [ranks for ranks in texts.ranks if ranks] == [(4,)]
    texts.add(np.zeros(ROOM + 1, np.uint8), 9, None)
    assert texts.ranks == [(4,)]
