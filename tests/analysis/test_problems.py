"""Problems: incidents grouped by kind; what a person said stays, and the order does not matter."""

import random

import pytest

from tests.analysis.test_fingerprint import NIC, PYTHON, XID_48, XID_79, fingerprint
from triage.analysis.problems import Occurrence, Problem, find_nearest, group_incidents

GPU = fingerprint(XID_79)
HBM = fingerprint(XID_48, category="gpu_hbm")
CABLE = fingerprint(NIC, category="nic")
BUG = fingerprint(PYTHON, category="software_user")
KINDS = (GPU, HBM, CABLE, BUG)


def occurrence(number, kind, problem=None, *, by_hand=False, cluster=1):
    return Occurrence(f"inc_{number:03d}", cluster, kind, problem, by_hand)


def members(problems):
    return [tuple(int(one[4:]) for one in problem.incident_ids) for problem in problems]


def test_each_kind_is_a_problem_and_one_incident_is_one_too():
    kinds = [GPU, CABLE, GPU, BUG, GPU]
    found = group_incidents(occurrence(k, kind) for k, kind in enumerate(kinds))
    assert members(found) == [(0, 2, 4), (1,), (3,)]
    assert {one.id for one in found} == {None}
    assert group_incidents([]) == []


def test_neither_order_nor_a_second_run_matters():
    known = [occurrence(k, KINDS[k % 4], f"prb_{k % 4}") for k in range(40)]
    first = group_incidents(known)
    for seed in range(5):
        random.Random(seed).shuffle(known)
        assert group_incidents(known) == first
    assert [one.id for one in first] == ["prb_0", "prb_1", "prb_2", "prb_3"]


def test_another_cluster_is_another_problem():
    found = group_incidents([occurrence(0, GPU), occurrence(1, GPU, cluster=2)])
    assert members(found) == [(0,), (1,)]


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        pytest.param(("prb_a", "prb_a", "prb_b"), "prb_a", id="the most of its incidents"),
        pytest.param(("prb_b", "prb_a", None), "prb_a", id="of equals the older id"),
        pytest.param((None, None, None), None, id="new"),
    ],
)
def test_which_id_stays(ids, kept):
    found = group_incidents(occurrence(k, GPU, name) for k, name in enumerate(ids))
    assert found == [Problem(kept, ("inc_000", "inc_001", "inc_002"))]


def test_an_id_goes_to_one_group_alone():
    kinds = [GPU, GPU, GPU, CABLE, CABLE]
    found = group_incidents(occurrence(k, kind, "prb_a") for k, kind in enumerate(kinds))
    assert [(one.id, len(one.incident_ids)) for one in found] == [("prb_a", 3), (None, 2)]


def test_what_a_person_merged_stays_one():
    known = [
        occurrence(0, GPU, "prb_a", by_hand=True), occurrence(1, CABLE, "prb_a", by_hand=True),
        occurrence(2, GPU, "prb_x"), occurrence(3, CABLE), occurrence(4, BUG, "prb_a"),
    ]  # fmt: skip
    found = group_incidents(known)
    assert [(one.id, members([one])[0]) for one in found] == [("prb_a", (0, 1, 2, 3)), (None, (4,))]


def test_what_a_person_split_stays_two_and_others_go_to_the_nearest():
    near = fingerprint(XID_79, node="n9", gpus=["0000:5d:00"])
    known = [
        occurrence(0, GPU, "prb_a", by_hand=True), occurrence(1, near, "prb_b", by_hand=True),
        occurrence(2, near, "prb_a"), occurrence(3, GPU),
    ]  # fmt: skip
    found = group_incidents(known)
    assert [(one.id, members([one])[0]) for one in found] == [("prb_a", (0, 3)), ("prb_b", (1, 2))]
    assert group_incidents(reversed(known)) == found


def test_the_nearest_is_found_and_a_kind_of_its_own_is_told():
    known = [occurrence(k, kind, f"prb_{k}") for k, kind in enumerate((CABLE, GPU, BUG, GPU))]
    assert find_nearest(GPU, known) == "prb_1"
    assert find_nearest(GPU, reversed(known)) == "prb_1"
    assert find_nearest(HBM, known) is None
    assert find_nearest(GPU, []) is None
