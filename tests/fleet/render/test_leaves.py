"""The map of leaf switches: every node once, by its standing, and accused leaves outlined."""

import re

from tests.fleet.render import fleets
from triage.domain.standing import FleetStandings, Grade, Standing
from triage.fleet.render.pictures import (
    MAX_NODES,
    Leaf,
    draw_leaves,
    group_by_leaf,
    tabulate_leaves,
)


def squares(svg, grade):
    paths = re.findall(rf'<path class="{grade}" d="([^"]+)"', svg)
    return sum(path.count("M") for path in paths)


def test_every_node_is_one_square_of_its_standing():
    _, standings = fleets.with_lemons()
    svg = draw_leaves(group_by_leaf(standings))

    for grade, number in standings["counts"].items():
        assert squares(svg, grade) == number, grade
    assert sum(standings["counts"].values()) == 256


def test_an_accused_leaf_is_outlined_and_named_as_that():
    leaves = group_by_leaf(fleets.with_lemons()[1])

    assert [leaf.name for leaf in leaves if leaf.accused] == ["leaf001"]
    assert draw_leaves(leaves).count('class="leaf accused"') == 1
    assert "itself accused" in str(tabulate_leaves(leaves))


def mapped(rows):
    """Standings of (node, grade, leaf)."""
    nodes = tuple(Standing(name, Grade(grade), (), leaf_switch=leaf) for name, grade, leaf in rows)
    return FleetStandings(nodes).to_dict()


def test_leaves_and_nodes_stand_in_the_order_of_their_numbers():
    standings = mapped((f"n{n}", "normal", f"leaf{n % 11}") for n in range(40, 0, -1))
    leaves = group_by_leaf(standings)

    assert [leaf.name for leaf in leaves] == [f"leaf{number}" for number in range(11)]
    assert [name for name, _ in leaves[0].nodes] == ["n11", "n22", "n33"]


def test_nodes_of_no_known_leaf_come_last_in_a_box_of_their_own():
    standings = mapped([("a", "watch", None), ("b", "watch", "leaf1")])
    leaves = group_by_leaf(standings)

    assert [leaf.name for leaf in leaves] == ["leaf1", None]
    assert "no leaf known" in draw_leaves(leaves)


def test_nodes_that_are_not_told_stand_in_their_leaf_without_a_name():
    told = mapped([("a", "lemon", "x"), ("b", "normal", "x"), ("c", "normal", None)])
    some = {**told, "nodes": told["nodes"][:1]}

    assert [leaf.nodes for leaf in group_by_leaf(some)] == [
        (("a", "lemon"), ("", "normal")),
        (("", "normal"),),
    ]
    assert "lemon a" in draw_leaves(group_by_leaf(some))


def test_without_an_inventory_there_is_no_map():
    assert group_by_leaf(fleets.one_stop()[1]) == ()
    assert draw_leaves(()) == ""


def test_too_many_nodes_are_a_sentence():
    leaf = Leaf("leaf1", tuple((f"n{n}", "normal") for n in range(MAX_NODES + 1)))

    assert "too many to draw" in draw_leaves((leaf,))


def test_hostile_names_are_words_in_the_map():
    svg = draw_leaves(group_by_leaf(fleets.hostile()[1]))

    assert "<img" not in svg
    assert "\x1b" not in svg
    assert "\u202e" not in svg
