"""What comes near a checker's output, and what a failed check may do to an answer."""

import json

import pytest

import triage
from tests.formats.health.test_beside_dumps import Hang, culprits
from tests.support.checkers import outcome_of, read_checks, samples
from triage.formats.registry import identify_checks

STEP = "[rank3]: step {} loss 2.31\n"


@pytest.mark.parametrize(
    "text",
    [
        STEP.format(1) + "nvidia-smi said: Unable to determine the device handle for GPU0\n",
        STEP.format(1) + "the GPUs are OK, CRITICAL - path of the optimiser\n",
        "WARNING - checkpoint is old\n" + STEP.format(2),
        "OK - step 4\n",
        "ERROR: nhc is not installed\n",
        "Burning through 60 seconds of data\n",
        "Tested 8 GPUs in 4 minutes\n",
        "running nvbandwidth before the job\n",
        '{"node": "n3", "return_code": 1}\n',
        '{"checkers": "abnormal"}\n',
        '{"kind": "Pod", "apiVersion": "v1"}\n',
        "GPU: 0\nECC is on\n",
        "[RESULT] accuracy 0.91\n",
        "Error: Unable to complete diagnostics of the model\n",
        "#Entity  count\nstep 3  7\n",
        "# Entity relations of the job\nID of the rank: 3\n",
        "GPU 0           0            79           0\n",
        "rank 3 said: Error: Unable to connect to host engine\n",
        '{"card0": {"name": "an ace", "Serial": "7"}}\n',
        '{"step": 3, "card0": {"XGMI Error count": "2"}}\n',
        "rank 0: WARNING: No JSON data to report\n",
        '{"version": 3, "start_time": "2026-03-14 02:40:11", "args": ["train.py"]}\n',
        '{"average_bus_bandwidth": 301.5, "step": 3}\n',
        '{"algBw": 1.5, "busBw": 2.5, "kernel": 4, "ranks": 8}\n',
    ],
)
def test_logs_and_prose_are_no_output_of_a_checker(text):
    assert identify_checks(text.encode()) is None


def test_a_job_log_around_a_checker_keeps_its_own_lines(tmp_path):
    table = next(one for one in samples() if one.name == "fail-faulty.txt").data.decode()
    stop = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
    path = tmp_path / "nodes" / "n3" / "job.log"
    path.parent.mkdir(parents=True)
    path.write_text(STEP.format(1) + table + STEP.format(2) + stop)
    found = {row["signature"] for row in triage.report.read_rows(tmp_path)}

    assert "check.gpu_burn.compute" in found
    assert any(not name.startswith("check.") for name in found)


@pytest.mark.parametrize("text", ["", "\n\n", "Tested 0 GPUs:\n", "nvbandwidth Version: v0.8\n"])
def test_nothing_tested_is_no_pass(text):
    assert outcome_of(read_checks(text.encode())) == "unknown"


@pytest.fixture(scope="module")
def hang(tmp_path_factory):
    return Hang(tmp_path_factory.mktemp("fabric") / "job", "fabric-stall")


def result(hang, node, seconds, status="abnormal"):
    checker = {
        "name": "hardware", "status": status, "level": "fatal", "device": "",
        "detail": "GPU has fallen off the bus", "error_name": "GPULost",
    }  # fmt: skip
    return json.dumps(
        {
            "item": "nvidia", "node": node, "status": status, "level": "fatal",
            "time": hang.at(seconds), "checkers": [checker],
        }
    )  # fmt: skip


def test_a_failure_minutes_before_the_stop_can_convict(hang):
    node = hang.nodes[2]

    assert culprits(hang.beside(result(hang, node, -60), node)) == {node}


@pytest.mark.parametrize("seconds", [-6 * 3600, 3600])
def test_a_failure_hours_before_or_after_the_stop_convicts_nobody(hang, seconds):
    node = hang.nodes[2]

    assert culprits(hang.beside(result(hang, node, seconds), node)) == set()


def test_a_check_that_passed_clears_nobody(tmp_path):
    kernel = "2026-03-14T02:41:03+00:00 n3 kernel: NVRM: Xid (PCI:0000:5d:00): 79, pid=12, GPU has fallen off the bus.\n"  # noqa: E501
    node = tmp_path / "nodes" / "n3"
    node.mkdir(parents=True)
    (node / "kernel.log").write_text(kernel)
    alone = triage.analyze(tmp_path).to_dict()["suspects"]
    passed = next(one for one in samples() if one.name == "pass-v4.txt")
    (node / "diag.txt").write_bytes(passed.data)

    assert triage.analyze(tmp_path).to_dict()["suspects"] == alone
