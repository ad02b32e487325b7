"""``triage fleet isolate``: from a host list to the bad node, by a state file."""

import json
from pathlib import Path
from typing import Any

import pytest

from triage.cli.main import main

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, *words: str, code: int = 0) -> str:
    assert main(["fleet", "isolate", *words]) == code
    said = capsys.readouterr()
    return said.err if code else said.out


def as_json(capsys: Capture, *words: str) -> dict[str, Any]:
    found = json.loads(printed(capsys, *words, "--format", "json"))
    assert isinstance(found, dict)
    return found


def test_from_a_host_list_to_the_bad_node(tmp_path: Path, capsys: Capture) -> None:
    state = str(tmp_path / "plan.json")
    first = printed(capsys, "--nodes", "n[0001-2048]", "--state", state, "--test", "./all_reduce")
    assert "  g7   srun --nodes=45 --nodelist=n[0271-0315] ./all_reduce\n" in first
    assert f"triage fleet isolate --state {state} --result g1=fail --result rest=pass" in first

    second = as_json(capsys, "--state", state, "--result", "g7=fail", "--result", "rest=pass")
    bad = next(
        g for g in second["rounds"][-1] if "n0276" in g["nodelist"] or "0276" in g["nodelist"]
    )
    assert second["state"] == "testing"

    last = printed(
        capsys, "--state", state, "--result", f"{bad['id']}=fail", "--result", "rest=pass"
    )
    assert last.startswith("Bad: n0276 (100 %). All others are good (98.9 %).\n")
    assert "--exclude=n0276" in last
    assert printed(capsys, "--state", state) == last


def test_results_come_in_parts(tmp_path: Path, capsys: Capture) -> None:
    state = str(tmp_path / "plan.json")
    printed(capsys, "--nodes", "n[1-64]", "--state", state)
    half = printed(capsys, "--state", state, "--result", "g[1-5]=pass")
    assert half.count("srun") == 3
    given = ("--result", "g6=fail", "--result", "rest=not_run")
    went_on = as_json(capsys, "--state", state, *given)
    assert [g["outcome"] for g in went_on["rounds"][0]][5:] == ["fail", "not_run", "not_run"]
    assert len(went_on["rounds"]) == 2


def test_partners_that_are_good_are_in_the_plan(capsys: Capture) -> None:
    found = as_json(capsys, "--nodes", "n[1-3]", "--good", "spare[1-4]")

    assert "spare" in found["nodes"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "say which nodes"),
        (("--nodes", "n[1-"), "--nodes: the host list ends inside a bracket"),
        (("--nodes", "n[1-4]", "--recall", "0"), "a test tells something"),
        (("--nodes", "n[1-4]", "--group-size", "0"), "group size 0"),
        (("--nodes", "n[1-4]", "--result", "g1=pass"), "has no result yet"),
        (("--nodes", "$(reboot)"), "no plain host name"),
        (("--state", "no.json"), "say which nodes"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(
    words: tuple[str, ...], why: str, capsys: Capture
) -> None:
    assert why in printed(capsys, *words, code=2)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--result", "g1"), "give GROUP=pass"),
        (("--result", "g99=pass"), "group 'g99' is not in question"),
        (("--result", "g1=pass", "--result", "g1=fail"), "g1 has two results"),
        (("--recall", "0.5"), "the plan is begun"),
        (("--nodes", "n[1-4]"), "holds a plan already"),
    ],
)
def test_a_step_that_cannot_be_meant_is_refused_and_the_plan_stays(
    words: tuple[str, ...], why: str, tmp_path: Path, capsys: Capture
) -> None:
    state = tmp_path / "plan.json"
    printed(capsys, "--nodes", "n[1-64]", "--state", str(state))
    before = state.read_bytes()
    assert why in printed(capsys, "--state", str(state), *words, code=2)
    assert state.read_bytes() == before


@pytest.mark.parametrize("content", ["", "{}", "[1]", "\x00", "[" * 100_000])
def test_a_state_that_is_none_is_refused(content: str, tmp_path: Path, capsys: Capture) -> None:
    state = tmp_path / "plan.json"
    state.write_text(content)
    assert "test plan" in printed(capsys, "--state", str(state), "--result", "g1=pass", code=2)


def test_a_test_of_single_nodes_is_one_command_and_nodes_are_named(
    tmp_path: Path, capsys: Capture
) -> None:
    state = str(tmp_path / "plan.json")
    first = printed(capsys, "--nodes", "n[1-300]", "--group-size", "1", "--state", state)
    assert "srun --label --nodes=300 --ntasks-per-node=1 --nodelist=n[1-300] TEST\n" in first
    last = printed(capsys, "--state", state, "--result", "n17=fail", "--result", "rest=pass")
    assert last.startswith("Bad: n17 (")
