"""Every sample of a public checker is read, and a failing one fails, however it is dressed."""

import re

import pytest

import triage
from tests.support.checkers import (
    CHANGES,
    OUTCOMES,
    outcome_of,
    read_as,
    read_checks,
    samples,
)
from triage.formats.health.check_format import cut_part
from triage.report import read_rows

SAMPLES = samples()
# In a folder telemetry, documents of Kubernetes and dated event logs: their own readers have
# their own tests.
AS_OTHERS = ("table", "json_document", "log", "sel_list", "sel_verbose")
FAILING = [one for one in SAMPLES if one.wanted == "fail"]


def named(sample):
    return f"{sample.tool}/{sample.name}"


def test_each_sample_is_named_after_its_outcome():
    assert SAMPLES
    assert {one.wanted for one in SAMPLES} <= set(OUTCOMES)


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_a_sample_says_what_it_says(sample):
    assert outcome_of(read_checks(sample.data)) == sample.wanted


@pytest.mark.parametrize(
    "sample", [one for one in FAILING if read_as(one.data) not in AS_OTHERS], ids=named
)
def test_a_failing_sample_in_a_folder_is_a_row_and_undated_cordons_nobody(sample, tmp_path):
    path = tmp_path / "nodes" / "n3" / sample.name
    path.parent.mkdir(parents=True)
    path.write_bytes(sample.data)
    rows = list(read_rows(tmp_path))
    report = triage.analyze(tmp_path).to_dict()

    found = [row for row in rows if row["signature"].startswith(("check.", "gpu_tool."))]
    assert found
    if not any(row["at"] for row in found):
        assert report["verdict"]["cordon"] == []


@pytest.mark.parametrize("sample", FAILING, ids=named)
def test_a_failing_sample_fails_however_it_is_dressed(sample):
    outcomes = {name: outcome_of(read_checks(by(sample.data))) for name, by in CHANGES.items()}

    assert outcomes == dict.fromkeys(CHANGES, "fail")


# At which lines a cut cannot be told: in the first of several parts, and behind a whole one, as
# the tool prints neither an end nor how many parts there are. `nvidia-smi -q -i` lists one GPU.
CUT = {
    "amd-smi/pass-metric-ecc.txt": range(16), "dcgmi-nvlink/pass-all-up.txt": (),
    "dmidecode/pass-memory.txt": (), "dmidecode/pass-half-populated.txt": (),
    "ibstat/pass-two-ports.txt": range(18), "ibv_devinfo/pass-two-ports.txt": range(19),
    "mcelog_client/pass-zero.txt": (8,), "nvidia-smi/pass-nvlink-s.txt": (*range(20), 38),
    "nvidia-smi/pass-q.txt": (54, 55), "perfquery/pass-old-total-that-stands.txt": (21, 22, 43),
    "redfish_events/pass-resolved.json": (), "rocm-smi/pass-ras.txt": (),
}  # fmt: skip
TO_CUT = [one for one in SAMPLES if named(one) in CUT]


@pytest.mark.parametrize("sample", TO_CUT, ids=named)
def test_a_report_that_is_cut_at_a_line_is_no_pass(sample):
    lines = sample.data.rstrip().splitlines(keepends=True)
    passing = {
        cut
        for cut in range(max(1, len(lines) - 90), len(lines))
        if outcome_of(read_checks(b"".join(lines[:cut]))) == "pass"
    }

    assert passing <= set(CUT[named(sample)])


def test_every_sample_that_is_cut_is_there():
    assert {named(one) for one in TO_CUT} == set(CUT)


@pytest.mark.parametrize("behind", ["", "   \n", "make: done\n"])
def test_a_last_part_like_another_one_is_whole(behind):
    whole = "GPU 1:\n  Links : 4\n  Processes : None\nGPU 2:\n  Links : 4\n"
    begins = re.compile("GPU")

    assert cut_part(f"{whole}  Processes : 7\n{behind}", begins) is None
    assert cut_part(whole + behind, begins) == (None if "make" in behind else 4)
    # What another one has below, and this one has not, is no cut.
    assert (
        cut_part("GPU 1:\n  Processes\n    pid : 7\nGPU 2:\n  Processes : None\n", begins) is None
    )
    assert cut_part("GPU 1:\n  a : 1\nGPU 2:\n  a : 1\n  b : 2\nGPU 3:\n  a : 1\n", begins) is None
    assert cut_part(whole.partition("GPU 2")[0], begins) is None


# These say where they end. Of the others a beginning that is whole in itself cannot be told.
ENDED = ("gpu-burn", "nccl-tests", "rccl-tests", "nvbandwidth", "gpud", "superbench")


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize(
    "sample",
    [one for one in SAMPLES if one.tool in ENDED or one.tool.startswith("dcgmi-diag")],
    ids=named,
)
def test_a_report_that_breaks_off_is_no_pass(sample, share):
    text = sample.data.decode()
    cut = text[: int(len(text.rstrip()) * share)]

    assert outcome_of(read_checks(cut.encode())) != "pass"
