"""Diagnoses over several nodes: whose GPU failed, and what says nothing of a node."""

import pytest

from tests.formats.health.agents import mndiag
from tests.formats.health.reading import checks_of, format_of, logs_of

NCCL = {"error_id": 129, "error_severity": 2, "warning": "NCCL error: remote process exited"}
ROWS = {"error_id": 132, "error_severity": 2, "warning": "row remap limit"}


def results(*rows, **more):
    checks = checks_of(mndiag(*rows, **more))
    assert checks is not None
    return {
        (one.node, one.part, str(one.outcome), one.category and str(one.category))
        for one in checks.results
    }


def test_each_result_is_of_its_host():
    assert results((0, 1, "Pass", []), (1, 5, "Fail", [ROWS])) == {
        ("n3", "gpu 1", "pass", None),
        ("n4", "gpu 5", "fail", "gpu_hbm"),
    }


@pytest.mark.parametrize(
    ("warnings", "wanted"),
    [([NCCL], "warn"), ([NCCL, ROWS], "fail"), ([ROWS], "fail"), ([], "fail")],
)
def test_an_error_of_nccl_alone_names_nobody(warnings, wanted):
    assert {outcome for _, _, outcome, _ in results((1, 5, "Fail", warnings))} == {wanted}


def test_its_words_are_not_read_as_a_job_that_crashed(tmp_path):
    logs = logs_of(tmp_path, n3__mndiag=mndiag((1, 5, "Fail", [NCCL])))

    assert {row.signature for row in logs.evidence} == {"check.dcgm.mnubergemm"}
    assert [str(file.kind) for file in logs.files] == ["checks"]


@pytest.mark.parametrize("host", [True, [1], {"a": 1}, None, 7])
def test_a_host_that_is_not_listed_leaves_the_node_open(host):
    assert {node for node, *_ in results((host, 5, "Fail", [ROWS]))} <= {None, "n4"}


def test_a_title_in_prose_is_no_report():
    assert format_of('we ran "DCGM Diagnostic": "DCGM Multi-Node Diagnostic"\n') == "log"
