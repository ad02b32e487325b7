"""Campaigns: what a truth accepts, and how answers are held against it."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from benchmarks.campaign_cases import Setting, folder_cases, of_campaign, simulated_cases
from benchmarks.campaign_outcome import judged, summary
from benchmarks.reliability_picture import picture

TRUTH = {
    "id": "c1", "kind": "gpu", "category": "gpu", "acceptable": ["gpu", "nvlink"],
    "llama3_category": "Faulty GPU", "verdict_kinds": ["hang"], "culprit_nodes": ["n1"],
    "alternate_nodes": ["n2"], "culprit_ranks": [3], "alternate_rank_sets": [[9], [8, 9]],
    "cordon_allowed": ["n1"], "hard_reasons": ["decoy"],
}  # fmt: skip
NOBODY = {**TRUTH, "culprit_nodes": [], "culprit_ranks": [], "alternate_rank_sets": []}


def answer(node, ranks=(3,), *, category="gpu", role="culprit", cordon=(), more=()):
    rows = [{"node": node, "ranks": list(ranks), "role": role}, *more]
    return {
        "verdict": {"kind": "hang", "category": category, "llama3_category": "Faulty GPU",
                    "confidence": 0.9, "cordon": list(cordon)},
        "suspects": rows if node is not None or ranks else list(more),
    }  # fmt: skip


def test_alternatives_and_ties_are_taken_in():
    right = of_campaign(TRUTH, "other")
    assert (right.nodes, right.ranks) == ({"n1", "n2"}, {3, 8, 9})
    assert (right.categories, right.nobody, right.hard) == ({"gpu", "nvlink"}, False, ("decoy",))
    nobody = of_campaign(NOBODY, "other")
    assert (nobody.nodes, nobody.ranks, nobody.nobody) == ({"n2"}, frozenset(), True)


@pytest.mark.parametrize(
    ("said", "node1", "rank1", "category", "innocent", "false_cordon"),
    [
        (answer("n1", cordon=["n1"]), True, True, True, False, False),
        (answer("n2", [8], category="nvlink"), True, True, True, False, False),
        (answer("n2", [4], cordon=["n2"]), True, False, True, False, True),
        (answer("n3", role="possible", category="ssd"), False, True, False, False, False),
        (answer("n3"), False, True, True, True, False),
        (answer(None, [9]), True, True, True, False, False),
        (answer(None, [4]), False, False, True, True, False),
        (answer("n1", more=[{"node": "n3", "ranks": [], "role": "culprit"}]),
         True, True, True, True, False),
        (answer(None, ()), False, False, True, False, False),
    ],
)  # fmt: skip
def test_an_answer_is_held_against_the_truth(
    said, node1, rank1, category, innocent, false_cordon
):  # fmt: skip
    one = judged(said, of_campaign(TRUTH, "other"), 1.0)
    assert (one.node1, one.rank1, one.category_right) == (node1, rank1, category)
    assert (one.convicts_innocent, one.false_cordon) == (innocent, false_cordon)


@pytest.mark.parametrize(
    ("said", "right"),
    [(answer(None, ()), True), (answer("n2"), True), (answer("n3"), False),
     (answer("n3", role="possible"), True)],
)  # fmt: skip
def test_nobody_may_be_convicted_where_nobody_is_guilty(said, right):
    one = judged(said, of_campaign(NOBODY, "other"), 1.0)
    assert (one.node1, one.node3, one.rank1) == (right, right, None)


def test_healthy_jobs_count_in_their_own_figure():
    well = replace(of_campaign({**NOBODY, "category": "none", "acceptable": []}, "other"))
    quiet = judged(answer(None, (), category="none"), well, 1.0)
    loud = judged(answer("n3", category="none", role="possible"), well, 1.0)
    sick = judged(answer("n1"), of_campaign(TRUTH, "other"), 1.0)
    facts = summary([quiet, loud, sick])
    assert (facts["healthy jobs silent"], facts["node top-1"]) == (0.5, 1.0)


def test_a_folder_is_shared_out_whole(tmp_path):
    (tmp_path / "truth").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "truth" / f"{name}.json").write_text(json.dumps({**TRUTH, "id": name}))
    parts = [[right.id for _, right in folder_cases(tmp_path, share=(k, 2))] for k in (0, 1)]
    assert parts == [["a", "c"], ["b"]]
    path, right = next(folder_cases(tmp_path, "field"))
    assert (path, right.generator) == (tmp_path / "cases" / "a", "field")


def test_simulated_incidents_come_alike_and_are_removed():
    seen = []
    for path, right in simulated_cases(Setting(5, 2, (16,), dumps=False, evenly=True)):
        assert (path / "nodes").is_dir()
        seen.append((path, right.kind))
    assert [kind for _, kind in seen] == ["chassis", "collective-check"]
    assert not any(path.exists() for path, _ in seen)


def test_a_curve_is_drawn_for_each_generator():
    drawn = picture({"one<": [(0.95, True)] * 9 + [(0.95, False)], "two": [(0.3, True)]})
    tree = ElementTree.fromstring(drawn)
    told = [node.text for node in tree.iter() if node.tag.endswith("text")]
    assert "one<, error 0.050" in told
    assert "two, error 0.700" in told
    assert sum(node.tag.endswith("polyline") for node in tree.iter()) == 2
    assert {"10", "1"} <= set(told)
