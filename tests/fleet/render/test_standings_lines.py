"""Standings on a terminal: who stands out with reasons, the others in one line."""

import pytest

from tests.fleet.render import fleets
from triage.fleet.render.terminal import format_standing_lines
from triage.render.words.clean import count_cells


def told(rows, **options):
    return [line.text for line in format_standing_lines(rows, **options)]


def graded(*grades):
    """Standings of those grades, as the service has them."""
    row = next(one for one in fleets.with_lemons()[1]["nodes"] if one["grade"] == "lemon")
    return [{**row, "node": f"n{at}", "grade": grade} for at, grade in enumerate(grades)]


def test_nodes_that_do_not_stand_out_are_counted():
    said = told(graded("lemon", "watch", "normal", "normal", "golden"))

    assert [line.split()[:2] for line in said if line.startswith("n")] == [
        ["n0", "lemon"], ["n1", "watch"],
    ]  # fmt: skip
    assert said[-1] == "Others: 2 normal, 1 golden. --standing NAME lists them."


def test_a_grade_that_is_asked_for_is_listed():
    said = told(graded("normal", "normal", "normal"), wanted="normal", most=2)

    assert [line.split()[0] for line in said if line.startswith("n")] == ["n0", "n1"]
    assert said[-1] == "and 1 more node (--limit N)"


@pytest.mark.parametrize(
    ("grades", "wanted", "first"),
    [
        pytest.param([], None, "No node is known: triage fleet import takes in runs.", id="none"),
        pytest.param([], "lemon", "no node stands as lemon", id="none of a grade"),
        pytest.param(["normal"], None, "No node stands out.", id="all as they should be"),
    ],
)
def test_nobody_is_a_sentence(grades, wanted, first):
    assert told(graded(*grades), wanted=wanted)[0] == first


@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_wider_than_asked_for(width):
    rows = graded("lemon", "watch", "normal", "unknown")

    assert max(map(count_cells, told(rows, width=width))) <= width
