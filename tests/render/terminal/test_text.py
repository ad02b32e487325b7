"""Text: the answer first, in 80 columns, with no escape of the input."""

from dataclasses import replace

import pytest

from tests.render import answers
from triage.domain.report import Because, CollectiveAtFrontier, Coverage, Refused
from triage.render.terminal.text import render
from triage.render.words.answer import format_belief
from triage.render.words.clean import count_cells

EVERY = ["culprit", "tie", "healthy", "hostile", "large", "standing"]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_keeps_to_its_width(name, width):
    text = render(getattr(answers, name)(), width=width)
    assert max(map(count_cells, text.splitlines())) <= width
    assert text.endswith("\n")


@pytest.mark.parametrize("name", EVERY)
def test_is_plain_unless_colours_are_asked_for(name):
    text = render(getattr(answers, name)())
    assert all(char == "\n" or char.isprintable() for char in text)


def test_colours_are_ours_alone():
    text = render(answers.hostile(), colour=True)
    codes = {part.split("m")[0] for part in text.split("\x1b[")[1:]}
    assert codes <= {"0", "1", "2", "33", "1;31", "1;32"}
    assert "\x9b" not in text
    assert "\u202e" not in text


def test_colours_change_no_word():
    text = render(answers.culprit(), colour=True)
    for code in ("0", "1", "2", "33", "1;31", "1;32"):
        text = text.replace(f"\x1b[{code}m", "")
    assert text == render(answers.culprit())


def test_begins_with_the_verdict():
    lines = render(answers.culprit()).splitlines()
    assert lines[0].startswith("Rank 27 on n3 stopped")
    assert "  confidence  0.97" in lines
    assert "  cordon      n3" in lines


def test_names_the_artifact_of_each_reason():
    text = render(answers.culprit())
    assert "[nodes/n3/kernel.log:812 at 2026-11-21T03:04:15.123Z; kernel.xid]" in text
    assert "[fr/rank_27; waits.sink]" in text


def test_condenses_victims_to_one_line():
    assert "  - 63 ranks: 0-26,28-63; 8 nodes: n[0-7]\n" in render(answers.culprit())


def test_says_what_was_not_seen():
    text = render(answers.culprit())
    assert "dumps read: 63 of 64" in text
    assert "ranks without dump: 27" in text
    assert "unreadable: fr/x_9: no reader claims it" in text


def test_16384_ranks_stay_on_a_screen():
    assert len(render(answers.large()).splitlines()) < 60


def test_top_limits_the_suspects_and_says_so():
    text = render(answers.large(), top=1)
    assert "  1. n3, rank 27" in text
    assert "n1125, rank 9001" not in text
    assert "and 1 more suspect (--top N)" in text


def test_healthy_has_no_suspect():
    assert "Suspects\n  none\n" in render(answers.healthy())


def test_order_of_the_parts():
    text = render(answers.culprit())
    titles = ["Next step", "Suspects", "Victims", "Collectives in question", "Coverage"]
    places = [text.index(f"\n{title}") for title in titles]
    assert places == sorted(places)


@pytest.mark.parametrize("num_places", [1, 4, 40])
def test_500_stacks_are_five_lines_the_suspects_first(num_places):
    text = render(answers.standing(num_places), width=200)
    block = text[text.index("\nStacks\n") + 8 :].split("\n\n")[0].splitlines()
    assert len(block) <= 5
    assert "rank 500 on n2: in the data loader, at read (data0.py:0)" in block[0]
    assert any("ranks 0-499 (500 in all)" in line and "in two looks" in line for line in block)
    assert ("other places" in block[-1]) == (num_places > 4)


def test_long_lists_end_in_a_count():
    whole = answers.culprit()
    crowded = replace(
        whole,
        suspects=(
            replace(
                whole.suspects[0],
                because=tuple(Because("d", f"reason {i}") for i in range(40)),
            ),
        ),
        collectives=tuple(
            CollectiveAtFrontier(str(i), "dp", i, "all_reduce", (1,), (2,), ()) for i in range(42)
        ),
        coverage=Coverage(
            unreadable=tuple(Refused(f"x{i}", "cut") for i in range(500)),
            notes=tuple(f"note {i}" for i in range(100)),
        ),
    )
    text = render(crowded)
    assert "and 34 more reasons (--format json)" in text
    assert "and 37 more (--format json)" in text
    assert "and 495 more unreadable (--format json)" in text
    assert "and 88 more notes" in text


def test_a_novel_in_a_name_does_not_flood_the_screen():
    whole = answers.culprit()
    flooded = replace(whole, coverage=Coverage(notes=("word " * 100_000,)))
    assert len(render(flooded)) < 10_000


@pytest.mark.parametrize(
    ("probability", "words"), [(0.0, "0.00"), (0.974, "0.97"), (0.9951, "0.99"), (1.0, "0.99")]
)
def test_nothing_is_said_to_be_certain(probability, words):
    assert format_belief(probability) == words
    whole = answers.culprit()
    sure = replace(whole, verdict=replace(whole.verdict, confidence=probability))
    assert f"  confidence  {words}\n" in render(sure)
