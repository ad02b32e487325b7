"""Tables of text: nvidia-smi's and any with documented columns."""

import pytest

from tests.parsers.telemetry.forms import samples_of
from triage.errors import Corrupt
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import BATCH, Form, SeriesKey, Tally
from triage.parsers.telemetry.series import TOO_MANY
from triage.parsers.telemetry.table import NO_ROW

SMI = """\
timestamp, index, pci.bus_id, temperature.gpu, power.draw [W], clocks.sm [MHz]
2026/11/20 03:04:15.500, 0, 00000000:1B:00.0, 61, 690.12 W, 1980 MHz
2026/11/20 03:04:15.508, 1, 00000000:43:00.0, 58, [N/A], 1980 MHz
"""
AT = 1795143855.5


def test_reads_what_nvidia_smi_prints_with_units_and_gaps() -> None:
    found = samples_of(SMI, "nodes/n3/smi.csv")

    assert found == [
        (SeriesKey(Metric.GPU_TEMP_C, "n3", "0000:1b:00"), AT, 61.0),
        (SeriesKey(Metric.POWER_W, "n3", "0000:1b:00"), AT, 690.12),
        (SeriesKey(Metric.SM_CLOCK_MHZ, "n3", "0000:1b:00"), AT, 1980.0),
        (SeriesKey(Metric.GPU_TEMP_C, "n3", "0000:43:00"), AT + 0.008, 58.0),
        (SeriesKey(Metric.SM_CLOCK_MHZ, "n3", "0000:43:00"), AT + 0.008, 1980.0),
    ]


def test_the_same_without_units_gives_the_same() -> None:
    bare = SMI.replace(" [W]", "").replace(" [MHz]", "").replace(" MHz", "").replace(" W,", ",")

    assert samples_of(bare) == samples_of(SMI)


def test_throttle_reasons_are_a_mask_or_words() -> None:
    text = (
        "timestamp, index, clocks_event_reasons.active, clocks_event_reasons.hw_thermal_slowdown,"
        " clocks_throttle_reasons.sw_power_cap\n"
        "2026/11/20 03:04:15.500, 0, 0x0000000000000040, Active, Not Active\n"
    )

    key = SeriesKey(Metric.THROTTLE_REASONS, None, "0")
    assert samples_of(text) == [(key, AT, 64.0), (key, AT, 64.0), (key, AT, 0.0)]


@pytest.mark.parametrize(
    ("cell", "value"),
    [("Yes", 1.0), ("No", 0.0), ("Active", 1.0), ("Not Active", 0.0), ("1", 1.0), ("true", 1.0),
     ("N/A", None), ("[Not Supported]", None), ("Not Supported", None), ("None", None), ("", None),
     ("[Unknown Error]", None), ("nan", None), ("inf", None)],
)  # fmt: skip
def test_cells_of_yes_and_no(cell: str, value: float | None) -> None:
    found = samples_of(f"at,gpu,remapped_rows.pending\n{AT},0,{cell}\n")

    assert [one for _, _, one in found] == ([] if value is None else [value])


def test_reads_a_long_table_with_a_metric_a_row() -> None:
    text = (
        "at,node,gpu,part,rack,metric,value\n"
        "2026-11-20T03:04:15.5Z,n3,0000:1b:00.0,,r1,gpu_temp_c,61\n"
        "2026-11-20T04:04:15.5+01:00,n3,,mlx5_0/1,r1,ib_link_downed,2\n"
        "2026-11-20T03:04:15.5Z,n3,,,r1,unheard_of,2\n"
    )

    assert samples_of(text) == [
        (SeriesKey(Metric.GPU_TEMP_C, "n3", "0000:1b:00", None, "r1"), AT, 61.0),
        (SeriesKey(Metric.IB_LINK_DOWNED, "n3", None, None, "r1"), AT, 2.0),
    ]


@pytest.mark.parametrize(
    "at",
    ["1795143855.5", "1795143855500", "1795143855500000", "1795143855500000000",
     "2026-11-20 03:04:15.5", "2026/11/20 03:04:15.500", "2026-11-20T03:04:15.5Z",
     "2026-11-20T03:04:15.500000000+00:00", "2026-11-20T04:34:15,5+0130", '"1795143855.5"',
     "2026-11-20 03:04:15.5 UTC", "2026-11-19T22:04:15.5-05:00"],
)  # fmt: skip
def test_forms_of_a_time(at: str) -> None:
    separator = ";" if "," in at else ","

    found = samples_of(
        separator.join(["at", "node", "power_w"]) + f"\n{separator.join([at, 'n3', '690'])}\n"
    )

    assert [one for _, one, _ in found] == [AT]


@pytest.mark.parametrize(("at", "zoneless"), [("2026-11-20 03:04:15", 1), ("1795143855", 0),
                                              ("2026-11-20 03:04:15Z", 0)])  # fmt: skip
def test_times_without_a_zone_are_counted(at: str, zoneless: int) -> None:
    tally = Tally()
    samples_of(f"at,node,power_w\n{at},n3,690\n", tally=tally)

    assert tally.zoneless == zoneless


@pytest.mark.parametrize(
    "at",
    ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2611-06-06T00:00:00Z", "1600-01-01T00:00:00Z",
     "36893488147", "10000000000", "18446744075504695", "20240967593407", "9" * 19, "9" * 20,
     "18446744075504695616", "1" * 40],
)  # fmt: skip
def test_a_time_that_no_clock_shows_is_none_and_not_another(at: str) -> None:
    # Each of them, counted in ns, would come out in some year of this age.
    tally = Tally()

    assert samples_of(f"at,node,power_w\n{at},n3,690\n1,n3,5\n", tally=tally)[0][1:] == (1.0, 5.0)
    assert tally.skipped == {NO_ROW: (1, 2)}


@pytest.mark.parametrize(("at", "seconds"), [("2262-04-11T23:47:15Z", 9223372035), ("1", 1),
                                             ("1677-09-21T00:12:45Z", -9223372035)])  # fmt: skip
def test_the_first_and_last_times_are_times(at: str, seconds: int) -> None:
    assert [one for _, one, _ in samples_of(f"at,node,power_w\n{at},n3,690\n")] == [seconds]


def test_a_bad_row_is_passed_over_with_its_place() -> None:
    tally = Tally()
    text = "at,node,power_w\n1795143855,n3,1\n1795143856,n3\nyesterday,n3,2\n1795143857,n3,3\n"

    assert [value for _, _, value in samples_of(text, tally=tally)] == [1.0, 3.0]
    assert tally.skipped == {NO_ROW: (2, 3)}


def test_a_first_line_that_is_repeated_is_no_bad_row() -> None:
    tally = Tally()

    assert len(samples_of(SMI + SMI, tally=tally)) == 10
    assert tally.skipped == {}


def test_the_end_of_lines_of_windows_is_no_part_of_a_cell() -> None:
    tally = Tally()

    assert samples_of((SMI + SMI).replace("\n", "\r\n"), tally=tally) == samples_of(SMI + SMI)
    assert tally.skipped == {}


def test_a_table_without_times_is_refused_with_what_to_do() -> None:
    with pytest.raises(Corrupt, match="add `timestamp` to --query-gpu"):
        samples_of("index, temperature.gpu\n0, 61\n")


def test_batches_are_bounded_and_nothing_is_lost_between_them() -> None:
    count = BATCH + 1000
    rows = "".join(f"{1795143855 + k},n{k % 3},{k}\n" for k in range(count))

    found = samples_of(f"at,node,power_w\n{rows}")

    assert [value for _, _, value in found] == list(range(count))
    assert all(key.node == f"n{int(value) % 3}" for key, _, value in found[::9973])


@pytest.mark.parametrize(
    "data",
    [b"\x00" * 300, b'"' * 4000, b"," * 100_000, b"1795143855," * 5000, b"\xff" * 5000,
     b'1795143855,"n3', b"1795143855,n3,0x", b"2026-13-45 99:99:99,n3,1", b"9" * 500 + b",n3,1",
     b"1795143855,n3," + b"9" * 5000, b"x" * (6 << 20)],
)  # fmt: skip
def test_hostile_rows_are_passed_over(data: bytes) -> None:
    text = b"at,node,power_w\n" + data + b"\n1795143855,n3,690\n"

    assert samples_of(text, form=Form.TABLE)[-1][2] == 690.0


def test_series_beyond_the_bound_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triage.parsers.telemetry.series.MOST_SERIES", 4)
    tally = Tally()
    rows = "".join(f"1,n{number},{number},{number}\n" for number in range(9))

    found = samples_of(f"at,node,power_w,gpu_temp_c\n{rows}", tally=tally)

    assert [key.node for key, _, _ in found] == ["n0", "n0", "n1", "n1"]
    assert tally.notes == [TOO_MANY]
