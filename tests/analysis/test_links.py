"""Links, adapters and switches: which end of a connection is named, and when it is neither."""

from dataclasses import replace

import pytest

from tests.support.weighing import Placement, T, answer, culprits, of, retry, stalled
from triage.analysis.facts.stop import SECOND
from triage.analysis.joining.consequences import find_explanations
from triage.domain.category import Category, Role
from triage.domain.evidence import Blame, Evidence, Kind


def test_old_flaps_make_no_third_node_of_a_link_that_fails():
    """Two nodes whose links went days ago lose transfers with the one whose link is gone."""
    old = [link(f"n{k}", at_ns=T - 86400 * SECOND * k, last_at_ns=None) for k in (1, 5)]
    pairs = [retry(f"n{k}", "n3", None) for k in (1, 5)]
    said = answer(link("n3"), *old, *pairs, findings=[stalled()])
    assert culprits(said) == ["n3"]


def test_one_link_error_between_two_nodes_is_a_tie():
    pair = of(Category.NETWORK, Kind.NCCL, "n1", peer="n2", blame=Blame.PAIR)
    assert culprits(answer(pair)) == []


def test_the_node_that_many_complain_of_is_named():
    rows = [of(Category.NETWORK, Kind.NCCL, f"n{k}", peer="n6", blame=Blame.PAIR) for k in range(4)]
    assert culprits(answer(*rows)) == ["n6"]


def test_links_behind_one_leaf_switch_accuse_the_switch():
    leaves = {f"n{k}": f"leaf{k // 4}" for k in range(8)}
    rows = [
        of(Category.NETWORK, Kind.NCCL, f"n{4 + k % 4}", peer=f"n{k % 3}", blame=Blame.PAIR)
        for k in range(9)
    ]
    rows += [of(Category.NETWORK, Kind.NCCL, "n5", peer="n6", blame=Blame.PAIR)]
    said = answer(*rows, leaves=leaves)
    assert culprits(said) == []
    assert {one.node for one in said.suspects} == {"n4", "n5", "n6", "n7"}
    assert {one.role for one in said.suspects} == {Role.AFFECTED}
    assert said.verdict.cordon == ()


def test_an_address_that_all_but_one_complain_of_is_that_ones():
    rows = [
        of(Category.NETWORK, Kind.NCCL, f"n{k}", peer="10.9.0.7<4791>", blame=Blame.PAIR)
        for k in range(8)
        if k != 5
    ]
    nowhere = Placement(addresses={"10.9.0.7<4791>": None})
    assert culprits(answer(*rows, placement=nowhere)) == ["n5"]
    assert culprits(answer(*rows[:-1], placement=nowhere)) == []


def test_links_that_fail_together_accuse_the_switch_even_without_a_clock():
    rows = [
        of(Category.NETWORK, Kind.LINK, f"n{k}", None, artifact=f"nodes/n{k}/kernel.log")
        for k in (2, 6)
    ]
    said = answer(*rows)
    assert culprits(said) == []
    assert said.verdict.category is Category.NETWORK


LEAVES = {f"n{k}": f"leaf{k // 4}" for k in range(8)}


def test_one_end_of_all_pairs_is_not_the_leaf_switch_that_it_hangs_on():
    said = answer(*(retry(f"n{k}", "n5") for k in (0, 2, 4, 6, 7)), leaves=LEAVES)
    assert culprits(said) == ["n5"]


def test_pairs_without_a_common_end_are_the_leaf_switch_that_is_on_all():
    pairs = (("n0", "n4"), ("n1", "n5"), ("n2", "n4"), ("n3", "n5"), ("n0", "n6"))
    said = answer(*(retry(*pair) for pair in pairs), leaves=LEAVES)
    assert culprits(said) == []
    assert {one.role for one in said.suspects} == {Role.AFFECTED}


def link(node: str, **given) -> Evidence:
    return of(Category.NETWORK, Kind.LINK, node, 1.0, weak=True, **given)


def lost(node: str, at_s: float = 5.0) -> Evidence:
    """A rank whose transfer failed; the other end is on no known node."""
    return of(Category.NETWORK, Kind.NCCL, node, at_s, weak=True, blame=Blame.PAIR,
              artifact=f"nodes/{node}/job.log")  # fmt: skip


def test_a_link_and_a_fabric_in_which_nobody_gets_through_are_two_sources():
    said = answer(link("n3"), findings=[stalled()])
    assert culprits(said) == ["n3"]
    assert said.verdict.category is Category.NETWORK
    assert said.verdict.cordon == (), "a line that needs another source cordons nobody"
    assert culprits(answer(link("n3"))) == []


def test_the_one_link_that_fails_is_the_one_that_transfers_fail_on():
    said = answer(link("n3"), lost("n1"), lost("n5", 6.0))
    assert [one.node for one in said.suspects] == ["n3"]
    later = T + 60 * SECOND
    two = answer(link("n3"), replace(link("n6"), at_ns=later, last_at_ns=later), lost("n1"))
    assert all(one.role is Role.POSSIBLE for one in two.suspects)
    assert max(one.score for one in two.suspects) <= 0.45


def test_a_link_that_needs_a_clock_goes_down_with_nobody():
    """Undated and weak, it may be of any day; two that need no other source are the switch."""
    port = link("n3")
    other = link("n6", at_ns=None, last_at_ns=None)
    fails = [retry(f"n{k}", "n3") for k in (0, 1)]
    assert culprits(answer(port, other, *fails)) == ["n3"]
    sure = [replace(one, weak=False, at_ns=None, last_at_ns=None) for one in (port, other)]
    assert culprits(answer(*sure)) == []


def test_a_link_at_the_end_of_a_log_of_days_failed_with_those_that_a_clock_dates():
    dated = of(Category.NETWORK, Kind.LINK, "n2", 0.0, artifact="nodes/n2/kernel.log")
    days = {"age_s": "600", "log_s": "900000"}
    other = of(Category.NETWORK, Kind.LINK, "n6", None, weak=True,
               artifact="nodes/n6/dmesg.txt", fields=days)  # fmt: skip
    leaves = {"n2": "leaf0", "n6": "leaf0"}
    said = answer(dated, other, findings=[stalled()], leaves=leaves)
    assert (culprits(said), said.verdict.cordon) == ([], ())
    assert {one.node for one in said.suspects} == {"n2", "n6"}
    old = replace(other, fields={"age_s": "9000", "log_s": "900000"})
    assert culprits(answer(dated, old, findings=[stalled()], leaves=leaves)) == ["n2"]
    apart = {"n2": "leaf0", "n6": "leaf1"}
    assert culprits(answer(dated, other, findings=[stalled()], leaves=apart)) == ["n2"]
    assert culprits(answer(dated, other, findings=[stalled()])) == ["n2"]


@pytest.mark.parametrize(
    ("apart_s", "off_h", "reached"),
    [(6, -5, {"n2", "n6"}), (900, -5, set()), (6, -40, set())],
    ids=["together, hours off", "at two times", "of another day"],
)
def test_links_that_fail_together_in_an_unknown_zone_accuse_the_switch(
    apart_s: int, off_h: int, reached: set[str]
) -> None:
    """A peer names one of both ends; the zone of the kernel logs is what nobody knows."""
    hours = 3600.0 * off_h
    drift = {"error_ns": 14 * 3600 * SECOND, "weak": True}
    links = [
        of(Category.NETWORK, Kind.LINK, "n2", hours, artifact="nodes/n2/kernel.log", **drift),
        of(Category.NETWORK, Kind.LINK, "n6", hours + apart_s,
           artifact="nodes/n6/kernel.log", **drift),
    ]  # fmt: skip
    told = [retry("n6", "n2"), retry("n5", "n2")]
    said = answer(*links, *told, findings=[stalled()])
    assert {one.node for one in said.suspects if one.role is Role.AFFECTED} == reached
    assert said.verdict.cordon == ()


def test_who_complains_behind_the_leaf_switch_hangs_on_it_whatever_its_kernels_clock_says():
    """Four links go down together; of a fifth node only the process says so in time."""
    leaves = {f"n{k}": f"leaf{k // 5}" for k in range(8)}
    links = [
        of(Category.NETWORK, Kind.LINK, f"n{k}", k / 10, weak=True,
           artifact=f"nodes/n{k}/kernel.log")
        for k in range(4)
    ]  # fmt: skip
    told = of(Category.NETWORK, Kind.NCCL, "n4", 0.3, text="Got async event : port error")
    said = answer(*links, told, leaves=leaves, findings=[stalled()])
    assert culprits(said) == []
    assert said.verdict.cordon == ()
    assert {one.node for one in said.suspects} == {"n0", "n1", "n2", "n3", "n4"}
    elsewhere = replace(told, node="n6")
    said = answer(*links, elsewhere, leaves=leaves, findings=[stalled()])
    assert {one.node for one in said.suspects if one.role is Role.AFFECTED} == {
        "n0", "n1", "n2", "n3",
    }  # fmt: skip


def port_fails(node: str, at_s: float = 0.3) -> Evidence:
    return of(Category.NETWORK, Kind.NCCL, node, at_s, text="Got async event : port error")


def test_ports_that_processes_of_two_nodes_see_fail_together_are_the_switchs() -> None:
    link = of(Category.NETWORK, Kind.LINK, "n1", weak=True, artifact="nodes/n1/kernel.log")
    said = answer(link, port_fails("n1"), port_fails("n4"), findings=[stalled()])
    assert {one.node for one in said.suspects if one.role is Role.AFFECTED} == {"n1", "n4"}
    assert said.verdict.cordon == ()
    alone = answer(link, port_fails("n1"), findings=[stalled()])
    assert culprits(alone) == ["n1"]


def test_no_storage_makes_a_port_fail() -> None:
    storage = of(Category.STORAGE, Kind.STORAGE, "n1", -30.0)
    assert find_explanations([storage, port_fails("n1")]) == {}
    lost = replace(port_fails("n1"), category=None, text="unhandled system error")
    assert find_explanations([storage, lost]) == {1: 0}
