"""Whole incidents: a story for every category, the same bytes per seed, and the truth outside."""

from pathlib import Path

import pytest

from simulator.campaign import Campaign, draw, leaves_for
from simulator.incidents.envelopes import FORMS, kernel_log
from simulator.incidents.job_voice import printed_bus
from simulator.incidents.scenarios import SCENARIOS
from simulator.incidents.story import KernelLine
from simulator.incidents.whole import Wish, simulate_incident
from simulator.incidents.world import BOARDS, build_world
from simulator.names import NAMES
from simulator.truth import truth_path
from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_COUNTS
from triage.errors import UsageError
from triage.signatures.network.readers import format_gpu_bus

SMALL = Wish(ranks=16, kernel_lines=5, job_lines=4, entries=60)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_category_has_a_scenario() -> None:
    assert {one.category for one in SCENARIOS.values()} == {leaf.value for leaf in Category}


@pytest.mark.parametrize(
    ("bus", "printed"),
    [("0000:9b:00", "9b000"), ("0000:07:00", "7000"), ("0009:00:00", "900000")],
)
def test_a_bus_id_is_printed_as_nccl_does(bus: str, printed: str) -> None:
    assert printed_bus(bus) == printed


def test_two_gpus_of_one_board_never_look_alike() -> None:
    for board in BOARDS:
        assert [format_gpu_bus(printed_bus(bus)) for bus in board] == list(board)


def test_no_scenario_hides_a_kind_of_dumps() -> None:
    assert not set(SCENARIOS) & set(NAMES)


@pytest.mark.parametrize("name", SCENARIOS)
def test_writes_an_incident_whose_truth_lies_outside(name: str, tmp_path: Path) -> None:
    out = tmp_path / "job"
    truth = simulate_incident(name, out, SMALL)
    assert truth_path(out).is_file()
    assert truth.category in truth.accepted
    files = contents(out)
    assert not [path for path in files if "truth" in path or name in path]
    assert any("kernel.log" in path for path in files)
    assert set(truth.cordon) <= set(truth.culprit_nodes)


@pytest.mark.parametrize("name", ["hbm-dbe", "leaf-switch", "user-error", "node-rebooted"])
def test_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    simulate_incident(name, tmp_path / "a", SMALL)
    simulate_incident(name, tmp_path / "b", SMALL)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    simulate_incident("hbm-dbe", tmp_path / "a", SMALL)
    simulate_incident("hbm-dbe", tmp_path / "b", Wish(ranks=16, kernel_lines=5, seed=1))
    assert contents(tmp_path / "a") != contents(tmp_path / "b")


@pytest.mark.parametrize("form", FORMS)
def test_every_envelope_holds_the_payload(form: str) -> None:
    node = build_world("x", 8, 8, 1_790_000_000 * 10**9, 0.0).nodes[0]
    node.form = form
    line = KernelLine(1_790_000_000 * 10**9, 3, "NVRM: Xid (PCI:0000:18:00): 79, gone")
    text = kernel_log(node, [line])
    assert "Xid (PCI:0000:18:00): 79, gone" in text
    assert text.strip() != line.text


def test_a_campaign_of_419_is_the_table() -> None:
    rows = [LLAMA3_ROW[Category(leaf)] for leaf in leaves_for(419)]
    assert sum(LLAMA3_COUNTS.values()) == 419
    assert {row: rows.count(row) for row in LLAMA3_COUNTS} == LLAMA3_COUNTS


@pytest.mark.parametrize("count", [1, 18, 100, 838])
def test_a_smaller_campaign_has_the_count_asked_for(count: int) -> None:
    assert len(leaves_for(count)) == count


def test_folder_names_of_a_campaign_tell_nothing(tmp_path: Path) -> None:
    words = {*SCENARIOS, *(leaf.value for leaf in Category)}
    told = list(draw(tmp_path, Campaign(4, 1, seed=3, ranks=[16]), Wish(kernel_lines=3)))
    assert len(told) == 5
    assert sum(truth.healthy for _, truth in told) == 1
    for path, truth in told:
        assert truth.id == path.name
        assert not [word for word in words if word in path.name]


def test_files_that_are_left_out_are_in_the_truth(tmp_path: Path) -> None:
    wish = Wish(ranks=16, missing=1.0)
    truth = simulate_incident("gpu-fell-off", tmp_path / "job", wish)
    assert not truth.root_visible
    assert "nccl_timeout" in truth.accepted
    assert truth.left_out


def test_an_unknown_scenario_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no kind of fault .* no scenario or category"):
        simulate_incident("earthquake", tmp_path / "job", SMALL)
