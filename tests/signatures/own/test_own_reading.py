"""What own signatures do to an answer: name, silence, say the next step, and break no law."""

from pathlib import Path

import pytest

import triage
from triage.report import read_rows
from triage.signatures.own.check import own_from_path

XID_43 = "NVRM: Xid (PCI:0000:5d:00): 43, pid=4711, name=python, Ch 00000008"
XID_79 = "NVRM: Xid (PCI:0000:5d:00): 79, pid=4711, GPU has fallen off the bus."
RISER = "bmc-relay: riser B2 of n3 reports over-current (12.9 A)"
OWN = """\
[[signature]]
name = "riser_alarm"
pattern = 'bmc-relay: riser (?P<device>\\w+) of (?P<node>[\\w.-]+) reports over-current'
category = "io_board"
{more}
matches = ["bmc-relay: riser B2 of gpu-0417 reports over-current (12.9 A)"]
near_misses = ["bmc-relay: riser B2 of gpu-0417 reports normal current (7.1 A)"]

[[silence]]
signatures = ["nvidia.xid:43"]
reason = "our debugger ends processes this way"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path, more: str = "") -> Path:
    """The file of own signatures, with more keys for its signature."""
    path = folder / "own.toml"
    path.write_text(OWN.format(more=more))
    return path


def incident(folder: Path, *lines: str) -> Path:
    """A node's kernel log of these lines."""
    node = folder / "incident/nodes/n3"
    node.mkdir(parents=True)
    text = "".join(f"2026-11-21T03:14:{k:02}Z n3 kernel: {one}\n" for k, one in enumerate(lines))
    (node / "kernel.log").write_text(text)
    return folder / "incident"


def test_a_line_that_nobody_knew_convicts_under_its_own_name(tmp_path: Path, own: Path) -> None:
    paths = incident(tmp_path, "usb 1-1: new device", RISER)
    assert triage.analyze(paths).to_dict()["suspects"] == []
    (suspect,) = triage.analyze(paths, signatures=own).to_dict()["suspects"]
    assert (suspect["node"], suspect["category"]) == ("n3", "io_board")
    assert [one["detector"] for one in suspect["because"]] == ["local.riser_alarm"]
    assert suspect["because"][0]["line"] == 2


def test_the_row_bears_the_name_and_what_the_groups_read(tmp_path: Path, own: Path) -> None:
    (row,) = read_rows(incident(tmp_path, RISER), signatures=own)
    assert (row["signature"], row["role"], row["kind"]) == ("local.riser_alarm", "root", "pcie")
    assert (row["node"], row["device"]) == ("n3", "B2")


def test_the_next_step_is_the_one_that_the_team_gave(tmp_path: Path) -> None:
    paths = incident(tmp_path, RISER)
    for more, action in (("", "drain_node"), ('action = "reboot_node"', "reboot_node")):
        report = triage.analyze(paths, signatures=written(tmp_path, more)).to_dict()
        assert report["verdict"]["action"] == action
        assert report["suspects"][0]["action"] == action


@pytest.mark.parametrize("more", ["weak = true", 'role = "advice"', 'role = "consequence"'])
def test_what_is_weak_or_only_follows_convicts_nobody(tmp_path: Path, more: str) -> None:
    paths = incident(tmp_path, RISER)
    report = triage.analyze(paths, signatures=written(tmp_path, more)).to_dict()
    assert report["verdict"]["cordon"] == []
    assert all(one["role"] != "culprit" for one in report["suspects"])


def test_an_action_of_its_own_cordons_nobody_for_software(tmp_path: Path) -> None:
    path = written(tmp_path, 'action = "investigate"')
    path.write_text(path.read_text().replace('"io_board"', '"software_user"'))
    report = triage.analyze(incident(tmp_path, RISER), signatures=path).to_dict()
    assert report["verdict"]["cordon"] == []
    assert report["verdict"]["action"] == "investigate"


def test_an_own_signature_takes_a_line_from_a_built_in(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        "[[signature]]\n"
        'name = "lost_again"\n'
        "pattern = 'Xid .PCI:(?P<gpu>\\S+)\\): 79, pid=4711'\n"
        "literals = ['79, pid=4711']\n"
        'category = "power"\n'
        'scope = "kernel"\n'
        f'matches = ["{XID_79}"]\n'
        f'near_misses = ["{XID_43}"]\n'
    )
    (row,) = read_rows(incident(tmp_path, XID_79), signatures=path)
    assert (row["signature"], row["category"], row["gpu"]) == (
        "local.lost_again", "power", "0000:5d:00",
    )  # fmt: skip


def test_only_the_code_that_is_silenced_is_noise_and_coverage_says_so(
    tmp_path: Path, own: Path
) -> None:
    paths = incident(tmp_path, XID_43, XID_79)
    before = {row["code"]: row["role"] for row in read_rows(paths)}
    after = {row["code"]: row["role"] for row in read_rows(paths, signatures=own)}
    assert before == {43: "consequence", 79: "root"}
    assert after == {43: "noise", 79: "root"}
    report = triage.analyze(paths, signatures=own).to_dict()
    assert report["suspects"][0]["category"] == triage.analyze(paths).suspects["category"][0]
    assert (
        "1 line of nvidia.xid:43 silenced by own signatures: our debugger ends processes this way"
        in report["coverage"]["notes"]
    )


def test_a_silenced_root_accuses_nobody(tmp_path: Path, own: Path) -> None:
    own.write_text(own.read_text().replace("nvidia.xid:43", "nvidia.xid"))
    paths = incident(tmp_path, XID_79)
    assert triage.analyze(paths).to_dict()["suspects"] != []
    assert triage.analyze(paths, signatures=own).to_dict()["suspects"] == []


def test_a_set_without_effect_changes_no_byte(tmp_path: Path, own: Path) -> None:
    paths = incident(tmp_path, XID_79)
    assert own_from_path(own)
    assert triage.analyze(paths, signatures=own).to_dict() == triage.analyze(paths).to_dict()
