"""Special nodes: by role and by name."""

from dataclasses import replace

import pytest

from tests.fleet.standings.outages import at_random, in_bursts, record_of
from triage.domain.standing import Grade
from triage.fleet.standings.measures import map_special_nodes
from triage.fleet.standings.standing import fleet_standings


def test_a_special_node_is_no_lemon_and_says_why():
    many = [("n003", 3.0 + 5 * one, 3.1 + 5 * one, "software") for one in range(39)]
    record = record_of([*in_bursts(100), *many])

    found = fleet_standings(replace(record, role=(*[None] * 3, "front_end", *[None] * 96)))

    special = next(one for one in found.nodes if one.node == "n003")
    assert special.grade is Grade.UNKNOWN
    assert special.special == "does other work than the rest: its role is front_end"
    assert any("1 node set aside: it does other work" in note for note in found.notes)
    assert fleet_standings(record).nodes[0].node == "n003"


@pytest.mark.parametrize(
    ("name", "special"),
    [
        ("login1", True), ("head-0", True), ("fe2", True), ("mgmt", True),
        ("slurmctld.x.org", True),
        ("gpu-login1x", False), ("h100-3", False), ("fern12", False), ("node7", False),
        ("devil1", False),
    ],
)  # fmt: skip
def test_names_say_it(name, special):
    record = record_of(at_random(20))
    record = replace(record, nodes=(name, *record.nodes[1:]))

    assert (0 in map_special_nodes(record)) is special


def test_a_name_that_half_of_the_fleet_has_is_no_other_work():
    record = record_of(at_random(20))
    nodes = (*(f"test{one}" for one in range(50)), *record.nodes[50:])

    assert map_special_nodes(replace(record, nodes=nodes)) == {}


def test_a_role_says_it():
    record = record_of(at_random(20))
    record = replace(record, role=("front_end", *[None] * 99))

    assert map_special_nodes(record) == {0: "does other work than the rest: its role is front_end"}
