"""Monitors' lines about one GPU: whose they are and what they say, and lines that look alike."""

import pytest

from triage.parsers.logs.envelope import read_envelope
from triage.signatures import registry
from triage.signatures.gpu.gpu_reading import parse_gpu_reading

# line, signature, category, node, gpu or index, degrees, MHz
READ = [
    ("[gpu-mon] 06:29:29 host=hgx-146 gpu=2 temp=95C power=281W sm_clk=781MHz"
     " throttle=sw_thermal_slowdown", "slowed", "gpu_thermal", "hgx-146", "2", 95, 781),
    ("n71 {\"ts\": 1757718784, \"node\": \"n71\", \"gpu\": 2, \"temperature_c\": 96, "
     "\"power_w\": 303,"
     " \"sm_mhz\": 1040, \"clocks_event_reasons\": \"HW_THERMAL|HW_SLOWDOWN\"}",
     "slowed", "gpu_thermal", "n71", "2", 96, 1040),
    ("INFO:telemetry:n3/gpu1 tGPU=97 pwr=312 sm=875 hw_thermal_slowdown=1",
     "slowed", "gpu_thermal", "n3", "1", 97, 875),
    ("c-9: 2026/04/28 06:41:09.000, 2, 00000000:0A:00.0, 90, 356.20 W, 726 MHz, Active, Not Active",
     "slowed", "gpu_thermal", "c-9", "0000:0a:00", 90, 726),
    ("gpu 5 temp: 90C clocks_throttle_reasons.active: 0x0000000000000060",
     "slowed", "gpu_thermal", None, "5", 90, None),
    ("node=n4 gpu_id=7 gpu_temp=54 sm_clock=345 power_draw=140.2 hw_power_brake=Active",
     "slowed", "power", "n4", "7", 54, 345),
    # Heat said by software alone of a cool GPU is read, and weak.
    ("host=n4 gpu=7 temp=71C sm_clk=1900MHz throttle=sw_thermal_slowdown",
     "slowed", "gpu_thermal", "n4", "7", 71, 1900),
    ("gpumon: host=gpu-0471 gpu=0 bus=0000:1b:00.0 temp=70C hbm_temp=76C power=634.0W"
     " sm_clk=1953MHz hw_thermal_slowdown=Not Active hw_power_brake=Not Active",
     "reading", None, "gpu-0471", "0000:1b:00", 70, 1953),
    ("host=n4 gpu=7 temp=64C power=700W clk=1410MHz throttle=sw_power_cap",
     "reading", None, "n4", "7", 64, 1410),
    ("host=n4 gpu=7 temp=64C power=700W clk=1410MHz throttle=none",
     "reading", None, "n4", "7", 64, 1410),
    # Hot and working at full clocks: nothing slows it.
    ("2026/11/21 03:04:15.123, 3, 00000000:5D:00.0, 88, 692.20 W, 1980 MHz, Not Active, Not Active",
     "hot", "gpu_thermal", None, "0000:5d:00", 88, 1980),
    # A slowdown of a GPU that is not hot, by nobody knows what.
    ("2026/11/21 03:04:15.123, 3, 00000000:5D:00.0, 63, 692.20 W, 1980 MHz, Active, Not Active",
     "reading", None, None, "0000:5d:00", 63, 1980),
]  # fmt: skip

OTHERS = [
    "step 812 | loss 2.31 | lr 3.0e-4 | throttled 0",
    "generate: temp=0.7 top_p=0.95 gpu=0",
    "sampling with temp=90 tokens on gpu 3",
    "HTTP 429: requests throttled by the object store for gpu-17",
    "clocks_event_reasons.active, temperature.gpu, clocks.sm [MHz]",
    "CPU3: Core temperature above threshold, cpu clock throttled (total events = 12)",
    "gpu 0 temp=61C gpu 1 temp=62C gpu 2 temp=63C power=600W",
    "mem_clk=2619MHz gpu=1",
]


@pytest.mark.parametrize(("line", "name", "category", "node", "gpu", "degrees", "clock"), READ)
def test_reads_a_line_of_a_monitor(
    line: str,
    name: str,
    category: str | None,
    node: str | None,
    gpu: str,
    degrees: int,
    clock: int | None,
) -> None:
    found = registry.match(read_envelope(line).text, [])

    assert found is not None
    assert found.signature.id == f"gpu_monitor.{name}"
    named = found.reading.category or found.signature.category
    assert (None if named is None else str(named)) == category
    told = found.reading.fields
    assert (told.get("node"), found.reading.gpu or told.get("cuda_device")) == (node, gpu)
    assert told.get("temperature_c") == str(degrees)
    assert told.get("clock_mhz") == (None if clock is None else str(clock))


@pytest.mark.parametrize("line", OTHERS)
def test_takes_no_other_line_for_one(line: str) -> None:
    found = registry.match(line, [])

    assert parse_gpu_reading(line) is None
    assert found is None or not found.signature.id.startswith("gpu_monitor.")


def test_is_weak_where_the_gpu_is_not_hot() -> None:
    cool = registry.match("gpu=7 temp=71C sm_clk=1900MHz throttle=sw_thermal_slowdown", [])
    hot = registry.match("gpu=7 temp=91C sm_clk=900MHz throttle=sw_thermal_slowdown", [])

    assert cool is not None
    assert hot is not None
    assert (cool.reading.weak, hot.reading.weak) == (True, False)
