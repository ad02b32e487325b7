"""Complaints of DCGM's health watches, from the table and from its JSON alike."""

import pytest

from tests.formats.health.agents import health_json, health_table
from tests.formats.health.reading import checks_of, format_of, verdicts

PIECES = ("GPU 3's NvLink link 7 is currently down Check DCGM", "and system logs for errors.")


@pytest.mark.parametrize("report", [health_table, health_json])
@pytest.mark.parametrize(
    ("system", "state", "message", "wanted"),
    [
        ("NVLINK system", "Failure", PIECES, ("fail", "nvlink")),
        ("Memory system", "Failure", ("Detected 2 volatile double-bit ECC",), ("fail", "gpu_hbm")),
        ("PCIe system", "Warning", ("Detected more than 8 PCIe replays",), ("warn", "io_board")),
        ("Thermal system", "Failure", (), ("fail", "gpu_thermal")),
        ("Driver system", "Failure", (), ("fail", "dependency")),
        ("Whatever system", "Failure", (), ("fail", "gpu")),
    ],
)
def test_a_complaint_is_of_its_system_and_gpu(report, system, state, message, wanted):
    found = verdicts(report(system, state, *message))
    check = f"dcgm.health.{system.lower().removesuffix(' system')}"

    assert found == {
        (check, "gpu 3", *wanted),
        ("dcgm.health.overall", None, wanted[0], None),  # the sum of all names no part
    }


def test_a_message_is_joined_from_its_pieces():
    for report in (health_table, health_json):
        text = report("NVLINK system", "Failure", *PIECES)
        checks = checks_of(text)
        assert checks is not None
        details = {one.detail for one in checks.results}
        assert " ".join(PIECES) in details


def test_a_healthy_node_passes():
    table = health_table("x", "Healthy").replace("|    -> Errors              |", "| |", 1)
    assert all(outcome == "pass" for _, _, outcome, _ in verdicts(table))


@pytest.mark.parametrize(
    "text",
    [
        f"rank 0: step 3\n{health_table()}",  # a script's output inside a job log stays a log
        '{"body": {"text": "x"}, "header": ["a letter"]}\n',
        "| Health Monitor Report |\n",
    ],
)
def test_what_only_quotes_it_is_no_report(text):
    assert format_of(text) not in ("dcgm_health", "dcgm_health_json")


def test_a_report_that_is_cut_keeps_what_stands_whole():
    text = health_json("NVLINK system", "Failure", *PIECES)
    cut = text[: text.index('"Overall Health"')]

    assert ("dcgm.health.nvlink", "gpu 3", "fail", "nvlink") in verdicts(cut)
