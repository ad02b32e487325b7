"""Load, memory traffic and power together tell what a GPU does."""

import pytest

from triage.analysis.live.gpus import GpuActivity, classify_activity
from triage.domain.live.look import GpuSample

SPINS, IDLE, WORKS, UNCLEAR = GpuActivity


@pytest.mark.parametrize(
    ("load", "memory", "power", "limit", "does"),
    [
        pytest.param(100, 0, 232, 700, SPINS, id="spins"),
        pytest.param(100, 0, 232, None, SPINS, id="spins, no limit known"),
        pytest.param(100, None, 232, 700, SPINS, id="spins, no memory traffic known"),
        pytest.param(100, 0, None, None, SPINS, id="spins, no power known"),
        pytest.param(0, 0, 119, 700, IDLE, id="idle"),
        pytest.param(0, None, None, None, IDLE, id="idle by load alone"),
        pytest.param(97, 58, 648, 700, WORKS, id="works"),
        pytest.param(97, None, 648, 700, WORKS, id="works by power"),
        pytest.param(60, 30, None, None, WORKS, id="works by memory"),
        pytest.param(100, None, 232, None, UNCLEAR, id="busy, and nothing says how"),
        pytest.param(100, 0, 390, 700, UNCLEAR, id="between spinning and working"),
        pytest.param(100, 0, 650, None, UNCLEAR, id="too much power to spin"),
        pytest.param(100, 8, 232, 700, UNCLEAR, id="some memory traffic"),
        pytest.param(50, 0, 200, 700, UNCLEAR, id="half of the time"),
        pytest.param(0, 0, 500, 700, UNCLEAR, id="idle at working power"),
        pytest.param(None, 0, 232, 700, UNCLEAR, id="no load"),
    ],
)
def test_what_a_gpu_does(load, memory, power, limit, does):
    sample = GpuSample(
        "n1", 0, utilisation_percent=load, memory_percent=memory, power_w=power, power_limit_w=limit
    )
    assert classify_activity(sample) is does


def test_what_it_drew_at_work_stands_for_the_limit():
    sample = GpuSample("n1", 0, utilisation_percent=100, power_w=232, most_power_w=650)
    assert classify_activity(sample) is SPINS
