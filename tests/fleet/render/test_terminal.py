"""The fleet report on a terminal: it fits, it is plain, and says the answers first."""

import re

import pytest

from tests.fleet.render import fleets
from triage.fleet.render.sentences import TO_BEGIN, list_headlines
from triage.fleet.render.terminal import format_table_lines, render
from triage.render.words.clean import count_cells

EVERY = ["llama3", "with_lemons", "nothing", "one_stop", "hostile"]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("name", EVERY)
def test_no_line_is_wider_than_asked_for(name, width):
    text = render(*getattr(fleets, name)(), width=width)

    # Commands to paste are not broken by us.
    commands = {f"  {one}" for one in TO_BEGIN}
    lines = [line for line in text.splitlines() if line not in commands or width >= 80]
    assert max(map(count_cells, lines)) <= width
    assert text.endswith("\n")


@pytest.mark.parametrize("name", EVERY)
def test_escape_sequences_are_ours_and_only_when_asked_for(name):
    told = getattr(fleets, name)()

    assert "\x1b" not in render(*told)
    coloured = render(*told, colour=True)
    assert set(re.findall(r"\x1b\[[^m]*m", coloured)) <= {
        f"\x1b[{code}m" for code in ("0", "1", "2", "1;31", "33", "32")
    }
    assert re.sub(r"\x1b\[[^m]*m", "", coloured) == render(*told)


@pytest.mark.parametrize("name", ["llama3", "with_lemons"])
def test_at_80_columns_no_figure_is_cut(name):
    lines = render(*getattr(fleets, name)(), width=80).splitlines()

    assert not [line for line in lines if line.endswith("...") or re.search(r"\d\.\.\.", line)]


def test_a_node_is_not_cleared_where_nobody_looked():
    report, standings = fleets.llama3()
    untriaged = {**report, "stops": {**report["stops"], "triaged": 0}}

    assert "No node of 2,048 interrupts" in render(report, standings)
    text = render(untriaged, standings)
    assert "No node of" not in text
    assert "None of 419 interruptions was triaged" in text


def test_the_answers_come_first():
    report, standings = fleets.llama3()
    text = " ".join(render(report, standings, width=400).split())

    places = [text.index(one.text) for one in list_headlines(report, standings)]
    assert places == sorted(places)
    assert places[-1] < text.index("Over time")


def test_tables_hold_the_published_figures():
    text = render(*fleets.llama3())

    assert re.search(r"Faulty GPU +148 +35\.3 % \(30\.7 to 40\.1\) +148 +35\.3 %", text)
    assert re.search(r"131,072 +23 min \(21 to 26\).*far from what was seen", text)
    assert re.search(r"every interruption +7 days +54 +67 +72 +78", text)
    assert re.search(r"10 s +7\.9 min", text)


def test_nodes_beyond_the_top_are_counted():
    text = render(*fleets.with_lemons(), top=2)

    assert text.count(": lemon,") == 2
    assert "and 3 more nodes (--top N)" in text


def test_an_empty_fleet_is_told_how_to_begin():
    text = render(*fleets.nothing())

    assert all(command in text for command in TO_BEGIN)
    assert "Spares" not in text


def test_hostile_names_are_written_out():
    text = render(*fleets.hostile(), width=200)

    assert "\\x1b[2J\\u202e" in text
    assert "\u202e" not in text


def test_a_table_gives_way_in_its_words_first_and_leaves_blank_columns_out():
    rows = [("x" * 50, "1,234", ""), ("y", "5", "")]
    lines = [line.text for line in format_table_lines(("name", "#number", "note"), rows, 30)]

    assert lines[0].split() == ["name", "number"]
    assert all(count_cells(line) <= 30 for line in lines)
    assert lines[1].endswith("1,234")
    assert format_table_lines(("name",), [], 30) == []
