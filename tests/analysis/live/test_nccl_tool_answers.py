"""Whole answers from NCCLX's states alone."""

import json

import pytest

from triage.domain.category import Role
from triage.report import analyze


def state(rank, last):
    """A dump with the state of one rank of four that launched operations up to ``last``."""
    own = {
        "commHash": "1f", "rank": str(rank), "nRanks": "4", "commDesc": '"default_pg"',
        "CT_pastColls": json.dumps([{"opCount": last - 1, "coll": "AllReduce"}]),
        "CT_currentColls": json.dumps([{"opCount": last, "coll": "AllReduce"}]),
    }  # fmt: skip
    return f"state_rank_{rank}.json", json.dumps({"nccl_comm_state": {"1f": own}, "entries": []})


def answer(tmp_path, *polls):
    """``polls`` are the last operations of ranks 0 to 3, one list a look."""
    for number, lasts in enumerate(polls, 1):
        folder = tmp_path / f"poll-{number}"
        folder.mkdir()
        for rank, last in enumerate(lasts):
            name, text = state(rank, last)
            (folder / name).write_text(text)
    return analyze(tmp_path).answer


def test_who_launched_less_twice_is_the_culprit(tmp_path):
    found = answer(tmp_path, [42, 42, 41, 42], [42, 42, 41, 42])
    assert (found.verdict.kind, found.suspects[0].ranks) == ("hang", (2,))
    assert [one.role for one in found.suspects] == [Role.CULPRIT]
    assert "launched 42 operations, its 3 peers 43" in found.suspects[0].because[0].text


def test_one_look_convicts_nobody(tmp_path):
    found = answer(tmp_path, [42, 42, 41, 42])
    assert found.verdict.kind == "inconclusive"
    assert [(one.ranks, one.role) for one in found.suspects] == [((2,), Role.POSSIBLE)]


@pytest.mark.parametrize(
    "polls",
    [
        pytest.param([[42, 42, 42, 42]], id="all alike"),
        pytest.param([[42, 42, 41, 42], [44, 44, 44, 43]], id="it moved"),
        pytest.param([[42, 42, 41, 42], [42, 42, 42, 42]], id="it came"),
    ],
)
def test_accuses_nobody(tmp_path, polls):
    found = answer(tmp_path, *polls)
    assert found.suspects == ()
    assert found.verdict.kind in ("inconclusive", "healthy")


def test_an_empty_recorder_is_no_healthy_job(tmp_path):
    found = answer(tmp_path, [42, 42, 41, 42])
    assert found.verdict.kind != "healthy"
