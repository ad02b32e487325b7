"""Likeness: what makes two incidents the same failure, and what does not."""

from pathlib import Path

import pytest

import triage
from tests.render import answers
from triage.analysis.likeness import WEIGHTS, compare_reports

INCIDENTS = Path(__file__).parent.parent / "incidents"


def report(kind="hang", category="gpu", node="n3", gpus=(), because=(), groups=(), role="culprit"):
    suspects = []
    if node is not None:
        reasons = [{"detector": detector, "text": text} for detector, text in because]
        suspects = [{"node": node, "gpus": list(gpus), "role": role, "because": reasons}]
    return {
        "verdict": {"kind": kind, "category": category},
        "suspects": suspects,
        "groups": [{"op": op, "desc": desc, "pg": "7"} for op, desc in groups],
    }


XID_79 = (("kernel.xid", "NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus"),)
XID_48 = (("kernel.xid", "NVRM: Xid (PCI:0000:5d:00): 48, pid=1, DBE"),)
LINE_74 = (("fr.host_stall", "its last operation came from: rec at /opt/train.py:74 < x at y:1"),)


def test_the_same_incident_is_as_alike_as_can_be():
    one = report(because=XID_79, gpus=["0000:5d:00"], groups=[("all_reduce", "mesh_tp")])
    assert compare_reports(one, one).score == pytest.approx(1.0)


def test_the_terms_add_up_to_the_score():
    found = compare_reports(report(because=XID_79), report(because=XID_79, node="n9"))
    assert sum(share for _, share in found.terms) == pytest.approx(found.score)
    assert 0 < found.score < 1
    assert "same Xid 79 +" in found.why


@pytest.mark.parametrize(
    ("closer", "farther"),
    [
        (report(because=XID_79, node="n9"), report(because=XID_48, node="n9")),
        (report(because=XID_79), report(because=XID_79, node="n9")),
        (report(because=XID_79, gpus=["0000:5d:00"]), report(because=XID_79, gpus=["0000:1b:00"])),
        (report(because=XID_79, kind="hang"), report(because=XID_79, kind="crash")),
        (report(because=XID_79, category="gpu"), report(because=XID_79, category="nic")),
    ],
    ids=["code", "node", "gpu", "kind", "category"],
)
def test_what_is_shared_brings_closer(closer, farther):
    wanted = report(because=XID_79, gpus=["0000:5d:00"])
    assert compare_reports(wanted, closer).score > compare_reports(wanted, farther).score


def test_the_order_of_the_two_does_not_matter():
    one, other = report(because=XID_79), report(because=XID_48, node="n9", category="gpu_hbm")
    assert compare_reports(one, other) == compare_reports(other, one)


def test_the_same_line_of_code_is_a_reason():
    one = report(category="host_stall", node="n1", because=LINE_74)
    other = report(category="host_stall", node="n2", because=LINE_74)
    assert "same code place rec at /opt/train.py:74" in compare_reports(one, other).why


@pytest.mark.parametrize(
    ("kind", "category"), [("healthy", "none"), ("inconclusive", "none")]
)  # fmt: skip
def test_knowing_nothing_is_nothing_in_common(kind, category):
    one = report(kind=kind, category=category, node=None)
    assert compare_reports(one, one).score == 0
    assert compare_reports(one, one).why == ""


def test_a_pid_or_an_address_is_no_code():
    near = (("kernel.xid", "NVRM: Xid (PCI:0000:5d:00): 13, pid=79, name=python"),)
    assert "Xid 79" not in compare_reports(report(because=XID_79), report(because=near)).why


def test_a_node_that_was_only_affected_is_not_compared():
    assert "node" not in compare_reports(report(role="affected"), report(role="affected")).why


def test_every_feature_can_add():
    one = report(
        because=(*XID_79, *LINE_74), gpus=["0000:5d:00"], groups=[("all_reduce", "mesh_tp")]
    )
    assert len(compare_reports(one, one).terms) == len(WEIGHTS)


@pytest.fixture(scope="module")
def bundled():
    folders = [path.parent for path in INCIDENTS.glob("*/expected.json")]
    return {folder.name: triage.analyze(folder) for folder in folders}


def test_of_the_bundled_incidents_the_alike_come_first(bundled):
    wanted = bundled.pop("nccl-never-joins-w8")
    found = triage.similar(wanted, bundled)
    # NCCL's come before gloo's, and no other category is among them.
    assert [name.partition("-")[0] for name in found["name"]] == ["nccl"] * 3 + ["gloo"] * 2
    assert set(found["category"]) == {"host_stall"}
    assert found["score"].is_monotonic_decreasing


def test_similar_takes_a_list_and_keeps_its_bounds():
    same = answers.culprit().to_dict()
    found = triage.similar(same, [answers.healthy().to_dict(), same, same], most=1)
    assert list(found["name"]) == ["1"]
    assert len(triage.similar(same, [answers.healthy().to_dict()])) == 0


def test_two_incidents_side_by_side(bundled):
    pair = triage.compare(answers.culprit(), answers.culprit(culprits=(8,)))
    rows = pair.verdicts.set_index("what")
    assert rows.loc["category", "same"]
    assert not rows.loc["suspects", "same"]
    assert list(rows.loc["suspects", ["a", "b"]]) == ["n3", "n1"]
    suspects = pair.suspects.set_index("who")
    assert list(suspects.index) == ["n3", "n1"]
    assert suspects.loc["n1", "position_b"] == 1
    assert suspects.loc["n1", ["position_a", "score_a"]].isna().all()


def test_a_comparison_shows_hostile_text_inert():
    markup = triage.compare(answers.hostile(), answers.culprit())._repr_html_()
    assert "<script>alert" not in markup
    assert not set(markup) & set("\x1b\x07\x9b\u202e\udcff")
    assert repr(triage.compare(answers.culprit(), answers.culprit())).startswith("<Comparison 0.99")
