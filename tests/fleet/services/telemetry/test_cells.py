"""Cells of hours: exact where times do not overlap, whatever the order, and packed as they were."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.errors import Corrupt
from triage.fleet.services.telemetry.cells import (
    HOUR_US,
    Cells,
    find_last_values,
    fold,
    join_cells,
    merge_cells,
    pack_day,
    summarize_day,
    unpack_day,
)

DAY = 20_000
BEGIN = DAY * 24 * HOUR_US
MINUTE = HOUR_US // 60
COUNTS = np.array([True, False])


def cells(minutes, values, series=0):
    """Cells of samples of one series on one day, by the minute."""
    at = BEGIN + np.array(minutes, np.int64) * MINUTE
    return fold(np.full(len(at), series), at, np.array(values, float), COUNTS)


def same(one: Cells, other: Cells) -> bool:
    return np.array_equal(one, other)


def test_a_cell_holds_what_its_hour_showed():
    (one,) = [cells([1, 5, 9], [3.0, 7.0, 5.0])]

    assert (one["count"][0], one["low"][0], one["high"][0]) == (3, 3.0, 7.0)
    assert (one["first"][0], one["last"][0], one["total"][0]) == (3.0, 5.0, 15.0)
    assert one["growth"][0] == 4.0 + 5.0  # it was reset: what it shows then has grown anew


def test_what_is_no_counter_does_not_grow():
    assert cells([1, 5], [3.0, 7.0], series=1)["growth"].tolist() == [0.0]


def test_hours_are_apart():
    assert cells([59, 60, 61], [1, 2, 3])["count"].tolist() == [1, 2]


@given(
    st.lists(st.tuples(st.integers(0, 119), st.integers(0, 9)), min_size=1, max_size=30),
    st.lists(st.integers(0, 119), max_size=5),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_stretches_of_an_hour_add_up_from_either_side(samples, cuts, random):
    """Any cut of samples by time, each stretch told beside those told before, is the whole."""
    by_minute = sorted(dict(samples).items())
    whole = cells(*zip(*by_minute, strict=True))
    edges = [0, *sorted(cuts), 120]
    parts = [
        cells(*zip(*part, strict=True))
        for low, high in itertools.pairwise(edges)
        if (part := [one for one in by_minute if low <= one[0] < high])
    ]
    left = right = random.randrange(len(parts))
    found = parts[left]
    while right - left + 1 < len(parts):
        if left and (right + 1 == len(parts) or random.random() < 0.5):
            left -= 1
            more = parts[left]
        else:
            right += 1
            more = parts[right]
        found = merge_cells(join_cells([found, more]), COUNTS)

    assert same(found, whole)
    assert same(merge_cells(join_cells([found, whole]), COUNTS), whole)


def test_a_stretch_between_two_that_were_told_is_taken_for_a_repeat():
    """What a time from the first to the last sample cannot tell apart."""
    ends = merge_cells(join_cells([cells([1], [1]), cells([9], [9])]), COUNTS)

    assert same(merge_cells(join_cells([ends, cells([5], [5])]), COUNTS), ends)


def test_the_same_cell_again_is_no_news():
    one = cells([1, 5, 9], [3, 7, 9])

    assert same(merge_cells(join_cells([one, one, one]), COUNTS), one)
    assert same(merge_cells(join_cells([one, cells([5], [7])]), COUNTS), one)


def test_of_cells_that_overlap_in_part_nothing_is_lost():
    found = merge_cells(join_cells([cells([1, 9], [3, 9]), cells([5, 20], [7, 12])]), COUNTS)

    assert (found["count"][0], found["high"][0], found["growth"][0]) == (4, 12.0, 9.0)


def test_a_pack_gives_back_what_was_packed():
    names = [("ecc_dbe_total", "0000:1b:00", "volatile"), ("gpu_temp_c", "3", "")]
    some = join_cells([cells([0, 700], [1.5, 2.0]), cells([1439], [61.0], series=1)])

    data = pack_day(names, some, DAY)
    back = unpack_day(data, DAY)
    assert back[0] == names
    assert same(back[1], some)
    assert pack_day(names, some, DAY) == data


@pytest.mark.parametrize("damage", [b"", b"TRT\x01", b"TRX\x01abc", b"TRT\x01" + b"x" * 40])
def test_a_damaged_pack_is_corrupt(damage):
    with pytest.raises(Corrupt):
        unpack_day(damage, DAY)


def test_a_pack_that_lost_a_byte_is_corrupt():
    data = pack_day([("gpu_temp_c", "3", "")], cells([1], [60]), DAY)
    for cut in range(4, len(data)):
        with pytest.raises(Corrupt):
            unpack_day(data[:cut] + bytes([data[cut] ^ 0x55]) + data[cut + 1 :], DAY)


class TestDay:
    def named(self, *parts):
        """A day of series given as (metric, part, minutes, values)."""
        names = [(metric, "3", part) for metric, part, _, _ in parts]
        found = join_cells(
            [cells(at, values, index) for index, (_, _, at, values) in enumerate(parts)]
        )
        return names, found

    @pytest.fixture(autouse=True)
    def counters(self, monkeypatch):
        monkeypatch.setitem(globals(), "COUNTS", np.ones(8, np.bool_))

    def test_growth_is_within_hours_and_between_them(self):
        day = summarize_day(*self.named(("ecc_dbe_total", "", [1, 30, 100], [2, 3, 7])), {})
        assert day["ecc_growth"] == 5

    def test_growth_since_the_day_before_counts(self):
        names, found = self.named(("ecc_dbe_total", "", [1], [7]))

        assert summarize_day(names, found, {names[0]: 4.0})["ecc_growth"] == 3
        assert summarize_day(names, found, {names[0]: 9.0})["ecc_growth"] == 7  # it was reset
        assert summarize_day(names, found, {("ecc_dbe_total", "4", ""): 4.0})["ecc_growth"] == 0
        assert find_last_values(names, found) == {names[0]: 7.0}

    def test_errors_that_two_series_tell_count_once(self):
        day = summarize_day(
            *self.named(
                ("ecc_dbe_total", "aggregate", [1, 2], [2, 3]),
                ("ecc_dbe_total", "volatile", [1, 2], [0, 1]),
            ),
            {},
        )
        assert day["ecc_growth"] == 1

    def test_links_add_up_and_discards_are_no_errors(self):
        day = summarize_day(
            *self.named(
                ("nvlink_errors_crc", "0", [1, 2], [0, 1]),
                ("nvlink_errors_replay", "1", [1, 2], [0, 2]),
                ("ib_port_xmit_discards", "mlx5_0/1", [1, 2], [0, 900]),
                ("ib_symbol_error", "mlx5_0/1", [1, 2], [0, 4]),
            ),
            {},
        )
        assert (day["nvlink_growth"], day["ib_growth"], day["link_recovery_growth"]) == (3, 4, 0)

    def test_links_that_were_trained_again_count_by_themselves_too(self):
        day = summarize_day(
            *self.named(
                ("nvlink_errors_recovery", "0", [1, 2], [0, 2]),
                ("nvlink_errors_replay", "1", [1, 2], [0, 700]),
                ("ib_link_downed", "mlx5_0/1", [1, 2], [0, 1]),
                ("ib_link_error_recovery", "mlx5_0/1", [1, 2], [0, 3]),
            ),
            {},
        )
        assert (day["nvlink_growth"], day["ib_growth"], day["link_recovery_growth"]) == (702, 4, 6)

    @pytest.mark.parametrize(
        ("minutes", "values", "wanted"),
        [
            ([0, 1, 2, 3], [0, 1, 1, 0], 2.0),
            ([0, 10, 20, 30, 40, 50], [1, 0, 0, 0, 0, 0], 10.0),
            ([7], [1], 5.0),  # alone in its hour
            ([7], [0], 0.0),
            ([0, 59], [1, 1], 60.0),  # an hour has no more
        ],
    )
    def test_throttled_time_is_reckoned_from_the_time_between_samples(
        self, minutes, values, wanted
    ):
        day = summarize_day(*self.named(("slowed_down", "", minutes, values)), {})
        assert day["throttled_minutes"] == pytest.approx(wanted)

    def test_temperatures_are_the_hottest_gpu_and_the_mean_inlet(self):
        day = summarize_day(
            *self.named(
                ("gpu_temp_c", "", [1, 2], [60, 91]), ("inlet_temp_c", "", [1, 100], [20, 24])
            ),
            {},
        )
        assert (day["gpu_temp_max_c"], day["inlet_mean_c"]) == (91, 22)

    def test_a_day_without_samples_is_nothing(self):
        names, found = self.named(("gpu_temp_c", "", [], []))
        assert summarize_day(names, found, {})["gpu_temp_max_c"] is None
