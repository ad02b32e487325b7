"""Checks beside the logs of an incident: what they may say, and what they must not."""

import json
from pathlib import Path

import pytest

import triage
from tests.formats.health import samples
from triage.domain.evidence import EvidenceRole
from triage.formats.extractor import Extractor
from triage.formats.streams import read_logs
from triage.parsers.extract.extract import join
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs.logset import LogKind
from triage.report import read_rows

STOP = """\
2026-11-21T03:14:00Z rank 3: iteration 100 loss 2.1
2026-11-21T03:14:15Z [rank3]:[E1121 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective \
operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, \
Timeout(ms)=600000) ran for 600012 milliseconds before timing out.
"""


def dated(**kw):
    return json.dumps({"check": "gpu_memory", "at": "2026-11-21T03:15:00Z", **kw}) + "\n"


def folder(tmp_path: Path, **files: str) -> Path:
    """``n3__diag="..."`` becomes ``nodes/n3/diag``."""
    for name, text in files.items():
        path = tmp_path / "nodes" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def rows_of(path):
    logs = read_logs(find_inputs([path]).files)
    return {row.signature: row for row in logs.evidence}


def test_a_failed_diagnosis_is_a_weak_root_of_its_part(tmp_path):
    row = rows_of(folder(tmp_path, n3__diag=samples.dcgm3()))["check.dcgm.memory"]

    assert (row.role, str(row.category), row.weak) == (EvidenceRole.ROOT, "gpu_hbm", True)
    assert (row.node, row.cuda_device) == ("n3", 3)


@pytest.mark.parametrize("status", ["Pass", "Warn", "Skip"])
def test_what_does_not_fail_accuses_nobody(tmp_path, status):
    logs = read_logs(find_inputs([folder(tmp_path, n3__diag=samples.dcgm3(status=status))]).files)

    assert logs.evidence
    assert {row.role for row in logs.evidence} == {EvidenceRole.NOISE}


def test_a_drain_of_our_own_accuses_nobody(tmp_path):
    logs = read_logs(find_inputs([folder(tmp_path, n3__sinfo=samples.SINFO)]).files)
    ours = [row for row in logs.evidence if row.node == "gpu004"]

    assert [row.role for row in ours] == [EvidenceRole.NOISE]
    assert all(row.weak for row in logs.evidence)


def test_lines_of_a_report_are_not_read_twice(tmp_path):
    text = samples.smi({"thermal": "Active", "dram": 2})
    rows = rows_of(folder(tmp_path, n3__smi=text))

    assert not [name for name in rows if name.startswith("gpu_tool.")]
    assert rows["check.gpu.throttle"].gpu == "0000:1b:00"


def test_a_job_log_that_begins_with_a_report_is_a_job_log_all_the_same(tmp_path):
    text = samples.smi({"dram": 2}) + STOP
    logs = read_logs(find_inputs([folder(tmp_path, n3__log=text)]).files)
    found = {row.signature for row in logs.evidence}

    assert "check.gpu.ecc" in found
    assert any("watchdog_timeout" in name for name in found)
    assert [file.kind for file in logs.files] == [LogKind.JOB]


def test_a_run_of_nccl_tests_that_times_out_is_a_job_log(tmp_path):
    text = samples.nccl("n3", "n4", ended=False) + STOP
    rows = rows_of(folder(tmp_path, n3__out=text))

    assert any("watchdog_timeout" in name for name in rows)
    assert rows["check.nccl.values"].role is EvidenceRole.NOISE


def test_a_report_does_not_stand_for_a_kernel_log(tmp_path):
    path = folder(tmp_path, n3__log=STOP, n3__diag=samples.dcgm3())
    logs = read_logs(find_inputs([path]).files)

    assert sorted(file.kind for file in logs.files) == [LogKind.CHECKS, LogKind.JOB]


def test_a_weak_check_alone_convicts_nobody(tmp_path):
    report = triage.analyze(folder(tmp_path, n3__log=STOP, n4__diag=samples.dcgm3())).to_dict()

    assert report["verdict"]["cordon"] == []
    assert all(one["role"] != "culprit" or one["node"] != "n4" for one in report["suspects"])


def test_a_dated_failure_of_a_script_stays_weak_and_cordons_nobody(tmp_path):
    text = dated(node="n4", status="fail", category="gpu_hbm")
    report = triage.analyze(folder(tmp_path, n3__log=STOP, n4__checks=text)).to_dict()

    assert report["verdict"]["cordon"] == []


def test_failing_checks_do_not_make_a_healthy_job_ill(tmp_path):
    log = "2026-11-21T03:14:00Z rank 0: iteration 100 loss 2.1\nTraining finished\n"
    report = triage.analyze(folder(tmp_path, n3__log=log, n3__diag=samples.dcgm3())).to_dict()

    assert report["verdict"]["cordon"] == []


def test_a_row_shows_in_triage_parse_with_its_role(tmp_path):
    rows = list(read_rows(folder(tmp_path, n3__log=STOP, n3__diag=samples.dcgm3())))
    mine = [row for row in rows if row["signature"] == "check.dcgm.memory"]

    assert sorted(row["role"] for row in mine) == ["noise", "root"]
    assert all(row["node"] == "n3" for row in mine)


def test_a_stored_extract_gives_the_same_rows(tmp_path):
    path = folder(
        tmp_path, n3__log=STOP, n3__diag=samples.dcgm3(), n4__smi=samples.smi({"dram": 1})
    )
    files = find_inputs([path]).files
    extracts = [unpack(pack(one)) for one in Extractor().extract(files)]
    _, logs = join(reversed(extracts))

    assert logs.evidence == read_logs(files, templates=True).evidence
    assert [file.kind for file in logs.files] == [
        file.kind for file in read_logs(files, templates=True).files
    ]


def test_the_order_of_files_does_not_matter(tmp_path):
    one = folder(tmp_path / "a", n3__log=STOP, n3__diag=samples.dcgm3(), n4__x=samples.HOST_JSON)
    paths = sorted(one.rglob("*"))
    files = [path for path in paths if path.is_file()]

    assert triage.analyze(files).to_dict() == triage.analyze(files[::-1]).to_dict()


def test_a_report_that_is_too_large_is_read_as_a_log(tmp_path):
    text = samples.smi({"dram": 2}) + "padding of a log line\n" * 900_000
    logs = read_logs(find_inputs([folder(tmp_path, n3__smi=text)]).files)

    assert not [row for row in logs.evidence if row.signature.startswith("check.")]
    assert any("read as a log" in note for file in logs.files for note in file.notes)
    assert logs.files[0].lines == text.count("\n")
