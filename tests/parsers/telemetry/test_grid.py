"""A file of telemetry in stretches of time: bounded, and the same however it was cut."""

import numpy as np
import pytest

from triage.parsers.telemetry.grid import BASE_NS, MOST_STRETCHES, Gridded, coarsen_grid
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import Grid, Samples, SeriesKey

T0 = 1_795_143_840  # a multiple of 30 s
TEMP, ECC = SeriesKey(Metric.GPU_TEMP_C, "n0", "0"), SeriesKey(Metric.ECC_DBE_TOTAL, "n0", "0")
MASK = SeriesKey(Metric.THROTTLE_REASONS, "n0", "0")


def batch(
    *rows: tuple[int, float, float], series: tuple[SeriesKey, ...] = (TEMP, ECC, MASK)
) -> Samples:
    """Rows of (series, s after T0, value)."""
    index, at, value = zip(*rows, strict=True) if rows else ((), (), ())
    at_ns = (np.array(at, np.float64) * 1e9).astype(np.int64) + T0 * 10**9
    return Samples(series, np.array(index, np.int32), at_ns, np.array(value, np.float64))


def grid(*batches: Samples, cells: int = 1 << 20) -> Grid:
    made = Gridded(cells)
    for one in batches:
        made.add(one)
    found = made.grid()
    assert found is not None
    return found


def test_gauges_are_means_counters_the_largest_and_masks_all_bits() -> None:
    rows = [(0, 1, 60), (0, 2, 70), (1, 1, 5), (1, 2, 3), (2, 1, 4), (2, 2, 64)]

    found = grid(batch(*rows))

    assert found.value.tolist() == [[65.0], [5.0], [68.0]]
    assert (found.start_ns, found.width_ns) == (T0 * 10**9, BASE_NS)


def test_stretches_without_a_sample_are_no_numbers() -> None:
    found = grid(batch((0, 0, 60), (0, 95, 70)))

    assert np.isnan(found.value[0]).tolist() == [False, True, True, False]
    assert np.isnan(found.value[1:]).all()


def test_no_sample_gives_no_grid() -> None:
    made = Gridded()
    made.add(batch())

    assert made.grid() is None


@pytest.mark.parametrize("pieces", [1, 2, 7, 100])
def test_where_a_file_is_cut_into_batches_changes_nothing(pieces: int) -> None:
    rows = [(k % 3, (k * 37) % 9000, float(k % 90)) for k in range(700)]
    parts = [batch(*part.tolist()) for part in np.array_split(np.array(rows), pieces)]
    for part in parts:
        part.series_index[:] = part.series_index.astype(np.int32)

    cut, whole = grid(*parts), grid(batch(*rows))

    assert cut.start_ns == whole.start_ns
    np.testing.assert_allclose(cut.value, whole.value, rtol=1e-5)


def test_a_long_file_is_kept_in_wider_stretches() -> None:
    hours = 40
    rows = [(0, 10 * k, float(k)) for k in range(hours * 360)]

    found = grid(batch(*rows[:9000]), batch(*rows[9000:]))

    assert found.width_ns == 2 * BASE_NS
    assert found.value.shape[1] <= MOST_STRETCHES
    assert found.value[0, 0] == pytest.approx(np.mean([value for _, _, value in rows[:6]]))
    assert found.value[0, -1] == pytest.approx(np.mean([value for _, _, value in rows[-6:]]))


def test_many_series_leave_room_for_fewer_stretches() -> None:
    series = tuple(SeriesKey(Metric.POWER_W, f"n{k}") for k in range(100))
    rows = [(k % 100, 30 * (k // 100), float(k)) for k in range(6400)]

    found = grid(batch(*rows, series=series), cells=1600)

    assert found.value.shape == (100, 16)


def test_series_that_come_later_find_their_place() -> None:
    found = grid(batch((0, 0, 60), series=(TEMP,)), batch((1, 40, 2), series=(TEMP, ECC)))

    assert found.series == (TEMP, ECC)
    assert found.value[1, 1] == 2.0


def test_times_may_go_back() -> None:
    found = grid(batch((0, 600, 60)), batch((0, 0, 50)), batch((0, 300, 55)))

    assert found.start_ns == T0 * 10**9
    assert [found.value[0, k] for k in (0, 10, 20)] == [50.0, 55.0, 60.0]


@pytest.mark.parametrize("wrong", [-T0, 50 * 365 * 86400])
def test_a_sample_of_another_age_is_left_out(wrong: int) -> None:
    made = Gridded()
    made.add(batch(*[(0, k, 60.0) for k in range(50)], (0, wrong, 99.0)))

    found = made.grid()

    assert made.far == 1
    assert found is not None
    assert found.width_ns == BASE_NS
    assert np.nanmax(found.value) == 60.0


def test_no_more_than_a_week_is_kept() -> None:
    day = 86400

    found = grid(
        *[batch(*[(0, d * day + 60 * k, float(d)) for k in range(1440)]) for d in range(20)]
    )

    assert found.end_ns - found.start_ns <= 8 * day * 10**9
    assert found.value[0, -1] == 19.0


def test_a_coarser_grid_is_what_would_have_been_read() -> None:
    rows = [(k % 3, 30 * (k // 3) + 30, float(k * 7 % 90)) for k in range(300)]
    fine = grid(batch(*rows))

    found = coarsen_grid(fine, 4 * BASE_NS)

    # 100 stretches begin at the second of a pair.
    assert found.width_ns == 4 * BASE_NS
    assert found.start_ns % found.width_ns == 0
    assert np.nanmax(found.value[1]) == np.nanmax(fine.value[1])
    assert int(np.bitwise_or.reduce(fine.value[2].astype(int))) == int(
        np.bitwise_or.reduce(np.nan_to_num(found.value[2]).astype(int))
    )
    inside = (found.start_ns - fine.start_ns) // BASE_NS + 4
    assert found.value[0, 1] == pytest.approx(fine.value[0, inside : inside + 4].mean())
