"""amd-smi's counts by GPU and by block, its pages, and the firmware's records."""

import json

import pytest

from tests.formats.health.reading import format_of, verdicts


def ecc(**counts):
    names = {f"total_{name}_count": count for name, count in counts.items()}
    return json.dumps([{"gpu": 5, "ecc": names}])


def blocks(**counted):
    found = {
        name: {"correctable_count": 0, "uncorrectable_count": n} for name, n in counted.items()
    }
    return json.dumps([{"gpu": 5, "ecc_blocks": found}])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (ecc(uncorrectable=1), ("amd.ecc", "fail", "gpu_hbm")),
        (ecc(uncorrectable=0, correctable=99), ("amd.ecc", "pass", None)),
        (ecc(uncorrectable=0, deferred=1), ("amd.ecc", "warn", "gpu_hbm")),
        (ecc(uncorrectable=1048560, correctable=0), ("amd.ecc", "pass", None)),  # a query bug
        (ecc(uncorrectable="N/A", correctable=0), ("amd.ecc", "pass", None)),
        (ecc(uncorrectable=True, correctable=0), ("amd.ecc", "pass", None)),
        (blocks(UMC=1), ("amd.ecc_umc", "fail", "gpu_hbm")),
        (blocks(GFX=1), ("amd.ecc_gfx", "fail", "gpu_sram")),
        (blocks(XGMI_WAFL=1), ("amd.ecc_xgmi_wafl", "fail", "nvlink")),
        (blocks(PCIE_BIF=1), ("amd.ecc_pcie_bif", "fail", "io_board")),
    ],
)
def test_uncorrectable_errors_are_of_their_block(text, wanted):
    assert {(check, outcome, category) for check, _, outcome, category in verdicts(text)} == {
        wanted
    }
    assert {part for _, part, _, _ in verdicts(text)} == {"gpu 5"}


@pytest.mark.parametrize(
    ("lists", "wanted"),
    [({"retired": []}, "pass"), ({"retired": [{}]}, "warn"), ({"un_res": [{}, {}]}, "fail")],
)
def test_pages_that_cannot_be_retired_fail(lists, wanted):
    assert {one[2] for one in verdicts(json.dumps([{"gpu": 5, **lists}]))} == {wanted}


TABLE = "timestamp            gpu_id  severity  file_name      list of afids\n"


@pytest.mark.parametrize(("severity", "wanted"), [("fatal", "fail"), ("corrected", "warn")])
def test_a_record_of_the_firmware_is_of_a_gpu(severity, wanted):
    text = f"{TABLE}2026/03/14 02:41:03  5       {severity}     {severity}-1.cper   17\n"

    assert verdicts(text) == {("amd.cper", "gpu 5", wanted, "gpu")}


@pytest.mark.parametrize(
    ("creator", "record", "part"),
    [("amdgpu", "5:1", "gpu 5"), ("firmware", "5:1", None), ("amdgpu", "77777777", None)],
)
def test_a_record_as_json_names_the_drivers_gpu(creator, record, part):
    text = json.dumps(
        {"error_severity": "FATAL", "signature": "CPER", "creator_id": creator, "record_id": record}
    )
    assert verdicts(text) == {("amd.cper", part, "fail", "gpu")}


@pytest.mark.parametrize("text", ['[{"gpu": 5, "step": 3}]', '{"gpu": "x", "ecc": {}}', TABLE[5:]])
def test_other_text_is_none(text):
    assert not (format_of(text) or "").startswith("amd")
