"""nvidia-smi's table to samples of GPUs."""

import pytest

from tests.support.smi_tables import smi_table
from triage.errors import Corrupt
from triage.parsers.live.gpu_tables import read_smi_tables
from triage.report import analyze


def test_each_gpu_is_a_sample():
    (look,) = read_smi_tables(smi_table([(100, 232), (0, 119)]), "n1/smi.txt")
    first, second = look.gpus
    assert (first.index, first.bus_id, first.line) == (0, "0000:10:00", 9)
    assert (first.utilisation_percent, first.power_w, first.power_limit_w) == (100, 232, 700)
    assert (second.index, second.utilisation_percent, second.memory_percent) == (1, 0, None)
    assert look.stamp.wall_ns is not None


def test_a_table_that_is_printed_again_is_another_look():
    text = smi_table([(100, 232)]) + smi_table([(100, 233)], "Tue Nov 24 03:05:36 2026")
    first, second = read_smi_tables(text, "smi.txt")
    assert second.stamp.wall_ns - first.stamp.wall_ns == 30_000_000_000


def test_a_gpu_without_a_load_is_left_out():
    text = smi_table([(100, 232), (0, 119)]).replace("119W / 700W", "N/A /  N/A")
    (look,) = read_smi_tables(text, "smi.txt")
    assert [gpu.index for gpu in look.gpus] == [0]


@pytest.mark.parametrize("text", ["", smi_table([]), "| NVIDIA-SMI 550 |\n" + "|" * 100_000])
def test_a_table_without_a_gpu_is_refused(text):
    with pytest.raises(Corrupt):
        read_smi_tables(text, "smi.txt")


def test_the_whole_answer_points_at_the_odd_one(tmp_path):
    (tmp_path / "job.json").write_text('{"nodes": ["n0"], "gpus_per_node": 8}')
    (tmp_path / "nodes" / "n0").mkdir(parents=True)
    gpus = [(100, 230 + k) for k in range(8)]
    gpus[6] = (0, 118)
    text = smi_table(gpus) + smi_table(gpus, "Tue Nov 24 03:05:36 2026")
    (tmp_path / "nodes" / "n0" / "nvidia-smi.txt").write_text(text)
    answer = analyze(tmp_path).answer
    assert [(one.node, one.ranks) for one in answer.suspects] == [("n0", (6,))]
