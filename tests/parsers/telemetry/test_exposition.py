"""Text exposition: labels to series, times from the line or from the scrape."""

import pytest

from tests.parsers.telemetry.forms import samples_of
from triage.parsers.telemetry.exposition import NOT_A_SAMPLE, UNDATED
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import Form, SeriesKey, Tally

LABELS = (
    'gpu="3",UUID="GPU-604ac76c",pci_bus_id="00000000:5D:00.0",device="nvidia3",'
    'modelName="NVIDIA H100 80GB HBM3",Hostname="n3"'
)
TEMP = SeriesKey(Metric.GPU_TEMP_C, "n3", "0000:5d:00")


def test_reads_node_and_gpu_from_the_labels_of_dcgm_exporter() -> None:
    text = f"DCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 61 1795143855500\n"

    assert samples_of(text) == [(TEMP, 1795143855.5, 61.0)]


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ('gpu="0",instance="n3:9400"', SeriesKey(Metric.GPU_TEMP_C, "n3", "0")),
        ('gpu="0",Hostname="n3",instance="10.0.0.3:9400"', SeriesKey(Metric.GPU_TEMP_C, "n3", "0")),
        ('UUID="GPU-6",node="n3"', SeriesKey(Metric.GPU_TEMP_C, "n3", "GPU-6")),
        ('device="nvidia7"', SeriesKey(Metric.GPU_TEMP_C, None, "7")),
        ('gpu="0",GPU_I_ID="2"', SeriesKey(Metric.GPU_TEMP_C, None, "0", "mig 2")),
        ('gpu="0",rack="r12"', SeriesKey(Metric.GPU_TEMP_C, None, "0", None, "r12")),
        ('pod="a}b\\"c",gpu="0"', SeriesKey(Metric.GPU_TEMP_C, None, "0")),
    ],
)
def test_whose_a_sample_is(labels: str, key: SeriesKey) -> None:
    text = f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} 61 1795143855000\n"

    assert samples_of(text) == [(key, 1795143855.0, 61.0)]


def test_samples_without_a_folder_are_of_the_folder_of_their_node() -> None:
    text = 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61 1795143855000\n'

    assert samples_of(text, "nodes/n5/gpu.prom")[0][0].node == "n5"


@pytest.mark.parametrize(
    "said",
    ["# at 1795143855", "# at 2026-11-20T03:04:15Z", "# scraped at 2026-11-20T03:04:15Z",
     "#at 2026-11-20T04:04:15+01:00", "#  at 2026/11/20 03:04:15 UTC"],
)  # fmt: skip
def test_repeated_scrapes_are_dated_by_the_comment_above_them(said: str) -> None:
    sample = f"DCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 61\n"

    found = samples_of(f"{said}\n{sample}# at 1795200000\n{sample}")

    assert [at for _, at, _ in found] == [1795143855.0, 1795200000.0]


def test_a_sample_without_any_time_is_counted_with_its_place() -> None:
    tally = Tally()

    assert samples_of(f"# TYPE a gauge\nDCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 61\n", tally=tally) == []
    assert tally.skipped == {UNDATED: (1, 2)}


def test_a_bad_line_is_passed_over_and_the_rest_is_read() -> None:
    good = f"DCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 61 1795143855000\n"
    tally = Tally()

    found = samples_of(f"{good}torn li\n{good}", tally=tally, form=Form.EXPOSITION)

    assert len(found) == 2
    assert tally.skipped == {NOT_A_SAMPLE: (1, 2)}
    assert tally.lines == 3


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_finite_number_is_no_sample(value: str) -> None:
    tally = Tally()
    text = f"# TYPE a gauge\nDCGM_FI_DEV_GPU_TEMP{{{LABELS}}} {value} 1795143855000\n"

    assert samples_of(text, tally=tally) == []
    assert tally.skipped == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [("61", 61.0), ("6.1e1", 61.0), ("-4.25", -4.25), ("1.5E-3", 0.0015), ("0", 0.0),
     ("123456789012345678901", 123456789012345678901.0), (".5", 0.5), ("5.", 5.0)],
)  # fmt: skip
def test_numbers(text: str, value: float) -> None:
    found = samples_of(f"DCGM_FI_DEV_GPU_TEMP {text} 1795143855000\n", form=Form.EXPOSITION)

    assert [one for _, _, one in found] == [pytest.approx(value, rel=1e-15)]


def test_units_are_made_those_of_the_name() -> None:
    text = 'nvidia_smi_clocks_current_sm_clock_hz{uuid="a"} 1.98e9 1795143855000\n'

    assert samples_of(text) == [(SeriesKey(Metric.SM_CLOCK_MHZ, None, "a"), 1795143855.0, 1980.0)]


def test_single_throttle_reasons_become_bits_of_one_mask() -> None:
    text = (
        'nvidia_smi_clocks_event_reasons_hw_thermal_slowdown{uuid="a"} 1 1795143855000\n'
        'nvidia_smi_clocks_event_reasons_sw_power_cap{uuid="a"} 0 1795143855000\n'
    )

    found = samples_of(text)

    assert {key for key, _, _ in found} == {SeriesKey(Metric.THROTTLE_REASONS, None, "a")}
    assert [value for _, _, value in found] == [64.0, 0.0]


def test_inlet_sensors_are_told_from_other_sensors_by_their_name() -> None:
    text = (
        'ipmi_temperature_celsius{name="Inlet Temp",instance="n3"} 24 1795143855000\n'
        'ipmi_temperature_celsius{name="CPU1 Temp",instance="n3"} 61 1795143855000\n'
        'ipmi_temperature_celsius{name="Exhaust Temp",instance="n3"} 41 1795143855000\n'
    )

    found = samples_of(text, form=Form.EXPOSITION)

    assert found == [(SeriesKey(Metric.INLET_TEMP_C, "n3"), 1795143855.0, 24.0)]


def test_counters_of_ports_are_told_apart_by_device_and_port() -> None:
    text = (
        'node_infiniband_link_downed_total{device="mlx5_0",port="1",instance="n3:9100"} 2'
        " 1795143855000\n"
        'node_infiniband_link_downed_total{device="mlx5_1",port="1",instance="n3:9100"} 0'
        " 1795143855000\n"
    )

    assert [key.part for key, _, _ in samples_of(text)] == ["mlx5_0/1", "mlx5_1/1"]


def test_a_file_of_many_chunks_and_series_loses_nothing() -> None:
    pad = "x" * 300
    lines = [
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{number % 8}",Hostname="node-{number % 7000}",pad="{pad}"}}'
        f" {number} 1795143855000\n"
        for number in range(30_000)
    ]

    found = samples_of("".join(lines))

    assert [value for _, _, value in found] == list(range(30_000))
    assert all(key.node == f"node-{int(value) % 7000}" for key, _, value in found)


@pytest.mark.parametrize(
    "data",
    [b"\x00" * 5000, b"{" * 5000 + b"\n", b'a{b="' + b"\\" * 999 + b"\n", b"#" * 4096, b"\n" * 999,
     b"# at \n# at 99999999999999999999\nDCGM_FI_DEV_GPU_TEMP 1\n", b"\xff\xfe{}} 1 1\n" * 50,
     b"DCGM_FI_DEV_GPU_TEMP{} 0x\n", b"DCGM_FI_DEV_GPU_TEMP 1 -\n", b"x" * (6 << 20) + b"\n"],
)  # fmt: skip
def test_hostile_bytes_are_read_to_their_end(data: bytes) -> None:
    good = b"DCGM_FI_DEV_GPU_TEMP 61 1795143855000\n"

    found = samples_of(data + b"\n" + good, form=Form.EXPOSITION)

    assert found[-1][2] == 61.0
