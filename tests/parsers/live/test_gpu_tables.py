"""Tables of nvidia-smi and amd-smi to samples of GPUs."""

import json

import pytest

from triage.domain.evidence import NO_STAMP
from triage.errors import Corrupt
from triage.parsers.live.gpu_tables import read_amd_smi, read_dmon, read_gpu_table

HEAD = (
    "index, uuid, pci.bus_id, utilization.gpu [%], utilization.memory [%], power.draw [W],"
    " power.limit [W], clocks.current.sm [MHz]"
)
ROW = "5, GPU-6b1f, 00000000:6D:00.0, 100 %, 0 %, 232.50 W, 700.00 W, 1980 MHz"
DMON = "# gpu    pwr  gtemp     sm    mem   pclk\n# Idx      W      C      %      %    MHz\n"


def test_a_row_is_a_sample():
    (look,) = read_gpu_table(f"{HEAD}\n{ROW}\n", "nodes/n1/smi_20261124_030500.csv")
    (gpu,) = look.gpus
    assert (gpu.index, gpu.bus_id, gpu.uuid, gpu.line) == (5, "0000:6d:00", "GPU-6b1f", 2)
    assert (gpu.utilisation_percent, gpu.memory_percent) == (100, 0)
    assert (gpu.power_w, gpu.power_limit_w) == (232.5, 700)
    assert look.stamp.wall_ns is not None


def test_a_column_that_is_not_there_is_unknown():
    (look,) = read_gpu_table("index, utilization.gpu [%]\n0, 97 %\n1, [N/A]\n", "smi.csv")
    assert [(gpu.index, gpu.power_w, gpu.memory_percent) for gpu in look.gpus] == [(0, None, None)]
    assert look.stamp == NO_STAMP


def test_a_table_without_units_is_read():
    text = "index, utilization.gpu, power.draw\n3, 100, 240.25\n"
    (look,) = read_gpu_table(text, "smi.csv")
    assert look.gpus[0].power_w == 240.25


@pytest.mark.parametrize(
    "text",
    [
        "", "index, utilization.gpu [%]\n", f"{HEAD}\n5, GPU-6b1f\n",
        "index, utilization.gpu [%]\nx, y\n", "utilization.gpu [%], power.draw [W]\n100 %, 2 W\n",
        f"{HEAD}\n{'9,' * 5000}\n", "\x00" * 4000,
    ],
)  # fmt: skip
def test_what_tells_of_no_gpu_is_refused(text):
    with pytest.raises(Corrupt):
        read_gpu_table(text, "x.csv")


def test_dmon_tells_a_gpu_again_and_again():
    rows = "    0    232     41    100      0   1980\n    1      -     41      0      0    345\n"
    (look,) = read_dmon(DMON + rows + DMON + rows, "dmon.txt")
    assert [gpu.index for gpu in look.gpus] == [0, 1, 0, 1]
    assert [gpu.utilisation_percent for gpu in look.gpus[:2]] == [100, 0]
    assert [gpu.power_w for gpu in look.gpus[:2]] == [232, None]


def test_a_row_of_dmon_that_is_cut_is_left_out():
    with pytest.raises(Corrupt):
        read_dmon(DMON + "    0    232     41\n", "dmon.txt")


def usage(index=0, load=100, memory=0, power=240):
    def unit(value, name):
        return {"value": value, "unit": name}

    return {
        "gpu": index,
        "usage": {"gfx_activity": unit(load, "%"), "umc_activity": unit(memory, "%")},
        "power": {"socket_power": unit(power, "W")},
    }


@pytest.mark.parametrize("wrapped", [False, True])
def test_amd_smi_in_both_forms(wrapped):
    rows = [usage(0), usage(3, 0, 0, 130)]
    value = {"gpu_data": rows} if wrapped else rows
    (look,) = read_amd_smi(json.dumps(value), "amd.json")
    assert [(gpu.index, gpu.utilisation_percent, gpu.power_w) for gpu in look.gpus] == [
        (0, 100, 240), (3, 0, 130),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "[1, null]", '[{"gpu": 0, "usage": "N/A"}]',
     '[{"gpu": 0, "usage": {"gfx_activity": "N/A"}}]',
     '[{"gpu": -1, "usage": {"gfx_activity": 3}}]'],
)  # fmt: skip
def test_amd_smi_without_a_load_is_refused(text):
    with pytest.raises(Corrupt):
        read_amd_smi(text, "amd.json")
