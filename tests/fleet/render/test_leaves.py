"""The table of leaf switches: those with nodes that stand out, the accused ones first."""

from tests.fleet.render import fleets
from triage.domain.standing import FleetStandings, Grade, Standing
from triage.fleet.render.page import draw
from triage.fleet.render.tables import tabulate_leaves


def mapped(rows):
    """Standings of (node, grade, leaf)."""
    nodes = tuple(Standing(name, Grade(grade), (), leaf_switch=leaf) for name, grade, leaf in rows)
    return FleetStandings(nodes).to_dict()


def test_an_accused_leaf_comes_first_and_is_named_as_that():
    rows = tabulate_leaves(fleets.with_lemons()[1]).rows

    assert [row[0] for row in rows if "itself accused" in row] == ["leaf001"]
    assert rows[0][0] == "leaf001"


def test_leaves_stand_in_the_order_of_their_lemons_then_of_their_numbers():
    many = [(f"n{n}", "lemon", f"leaf{n}") for n in range(11, 0, -1)]
    table = tabulate_leaves(mapped([*many, ("n0", "lemon", "leaf7"), ("x", "normal", "leaf99")]))

    order = [7, *(number for number in range(1, 12) if number != 7)]
    assert [row[0] for row in table.rows] == [f"leaf{number}" for number in order]


def test_nodes_of_no_known_leaf_come_last_in_a_row_of_their_own():
    table = tabulate_leaves(mapped([("a", "watch", None), ("b", "watch", "leaf1")]))

    assert [row[0] for row in table.rows] == ["leaf1", "no leaf known"]


def test_nodes_that_are_not_told_are_counted_without_a_name():
    told = mapped([("a", "lemon", "x"), ("b", "lemon", "x"), ("c", "normal", None)])
    [row] = tabulate_leaves({**told, "nodes": told["nodes"][:1]}).rows

    assert list(row) == ["x", "2", "2", "0", "", "lemon a"]


def test_without_an_inventory_there_is_no_table():
    assert tabulate_leaves(fleets.one_stop()[1]) is None
    assert draw("leaf_section", fleets.one_stop()[1]) == ""


def test_where_no_node_stands_out_it_says_so():
    drawn = draw("leaf_section", mapped([("a", "normal", "leaf1"), ("b", "normal", "leaf2")]))

    assert "No leaf has a node that stands out." in drawn


def test_hostile_names_are_words_in_the_table():
    markup = draw("leaf_section", fleets.hostile()[1])

    assert "<img" not in markup
    assert "\x1b" not in markup
    assert "\u202e" not in markup
