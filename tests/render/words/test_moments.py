"""The time line: what happened when, as text and table."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.render import answers
from tests.render.page.test_html import Page
from triage.domain.category import Category
from triage.domain.report import Moment
from triage.render.page import html
from triage.render.terminal import text
from triage.render.words.moments import build_timeline_rows, format_doubt, format_relative


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.0, "0 s"),
        (-0.04, "0 s"),
        (-0.4, "-0.4 s"),
        (99.94, "+99.9 s"),
        (600.0, "+600 s"),
        (-1500.4, "-1,500 s"),
    ],
)
def test_seconds_from_the_stop(seconds, words):
    assert format_relative(seconds) == words


@pytest.mark.parametrize(
    ("error_s", "words"),
    [
        (0.0, ""),
        (1.0, ""),
        (60.0, "± 60 s"),
        (50_400.0, "± 14 h"),
        (1e300, "± a day or more"),
        (math.inf, "± a day or more"),
        (math.nan, ""),
    ],
)
def test_doubt_is_shown_above_a_second(error_s, words):
    assert format_doubt(error_s, "±") == words


def test_counts_from_the_stop_and_else_from_the_end():
    whole = answers.logged()
    assert [line.from_stop_s for line in build_timeline_rows(whole)] == [-1500, -0.4, 0, 2, 600]
    without = replace(whole, timeline=tuple(m for m in whole.timeline if m.kind != "stop"))
    assert [line.from_stop_s for line in build_timeline_rows(without)] == [-2100, -600.4, -598, 0]
    neither = replace(whole, timeline=whole.timeline[:2])
    assert [line.from_stop_s for line in build_timeline_rows(neither)] == [None, None]


def test_text_shows_each_moment_with_its_place():
    assert """\
Time line of 2026-11-21, UTC
  02:39:15.123  -1,500 s  n5, nic, +/- 60 s
                          port 1 link down
  03:04:14.723    -0.4 s  n3, rank 27, xid, gpu
                          Xid 79, fallen off the bus
  03:04:15.123       0 s  the job stops
  03:04:17.123    +2.0 s  n7, rank 61, nccl
                          unhandled system error
  03:14:15.123    +600 s  the job is given up
""" in text.render(answers.logged())


def test_text_says_the_day_where_there_are_two():
    whole = answers.logged()
    late = replace(whole.timeline[-1], at=whole.timeline[-1].at + timedelta(days=1))
    shown = text.render(replace(whole, timeline=(*whole.timeline[:-1], late)))
    assert "\nTime line, UTC\n  2026-11-21 02:39:15.123" in shown
    assert "  2026-11-22 03:14:15.123 +87,000 s  the job is given up\n" in shown


def test_text_keeps_suspects_and_the_stop_of_many():
    whole = answers.logged()
    crowd = tuple(
        Moment(answers.AT, f"x{i}", None, "nccl", None, "connection reset") for i in range(40)
    )
    shown = text.render(replace(whole, timeline=(*crowd, *whole.timeline)))
    assert "n3, rank 27, xid, gpu\n" in shown
    assert "the job is given up" in shown
    assert "and 33 more nodes (--format html)" in shown


def test_html_has_the_same_rows():
    page = Page(html.render(answers.logged()))
    assert "svg" not in page.tags
    assert "02:39:15.123 -1,500 s ± 60 s n5 nic port 1 link down" in page.text
    assert "03:04:14.723 -0.4 s n3, rank 27 xid, gpu Xid 79, fallen off the bus" in page.text
    assert "03:14:15.123 +600 s the job is given up" in page.text


@pytest.mark.parametrize("name", ["culprit", "healthy", "tie"])
def test_no_time_line_shows_nothing(name):
    whole = getattr(answers, name)()
    assert "Time line" not in text.render(whole)
    assert "What happened when" not in html.render(whole)


def test_hostile_lines_are_inert_and_short():
    markup = html.render(answers.hostile())
    section = markup[markup.index("What happened when") :]
    section = section[: section.index("</section>")]
    assert "&lt;script&gt;alert(1)" in section
    assert "<script" not in section
    assert not set(section) & set("\x1b\x07\x9b\u202e\u2069\udcff")
    assert len(section) < 20_000
    shown = text.render(answers.hostile())
    assert "Time line" in shown
    assert len(shown.splitlines()) < 120


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_log_only_answer_has_no_empty_part(width):
    shown = text.render(answers.logged(), width=width)
    assert max(map(len, shown.splitlines())) <= width
    for title in ("Victims", "Collectives in question"):
        assert title not in shown
    assert "dumps read: none" in shown
    markup = html.render(answers.logged())
    for title in ("Who waits for whom", "<h2>Ranks", "Collectives in question"):
        assert title not in markup


def test_a_family_named_like_its_category_is_said_once():
    (line,) = build_timeline_rows(
        replace(
            answers.logged(),
            timeline=(Moment(answers.AT, "n5", None, "nic", Category.NIC, "link down"),),
        )
    )
    assert line.what == "nic"
