"""The fleet report in one file: whole markup, nothing from outside, no script."""

import pytest

from tests.fleet.render import fleets
from tests.render.page.test_html import OURS, Page
from triage.fleet.render.page import POLICY, draw, render
from triage.fleet.render.sentences import list_headlines

EVERY = ["llama3", "with_lemons", "nothing", "one_stop", "hostile"]


@pytest.fixture(params=EVERY)
def told(request):
    return getattr(fleets, request.param)()


def test_is_well_formed_and_made_of_our_elements_alone(told):
    page = Page(render(*told))

    assert set(page.tags) <= OURS
    assert "script" not in page.tags
    assert page.tags.count("h1") == 1


def test_refers_to_nothing_outside(told):
    text = render(*told)
    page = Page(text)

    names = {attribute for _, attribute, _ in page.attributes}
    assert not names & {"src", "href", "action", "style", "srcset"}
    assert not [attribute for attribute in names if attribute.startswith("on")]
    assert "http" not in "".join("".join(parts) for parts in page.inline.values())
    assert POLICY.startswith("default-src 'none'; style-src 'sha256-")


def test_no_two_elements_have_one_id(told):
    page = Page(render(*told))
    ids = [value for _, attribute, value in page.attributes if attribute == "id"]

    assert len(ids) == len(set(ids))


def test_foreign_text_is_text():
    text = render(*fleets.hostile())

    assert "<img" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;\\x1b[2J\\u202e" in text


def test_answers_come_first_then_whom_to_take_out():
    report, standings = fleets.with_lemons()
    text = Page(render(report, standings)).text

    first = list_headlines(report, standings)[0].text
    order = [first, "lemons to take out", "Nodes that stand out", "Leaf switches",
             "How often jobs stop", "What fails", "How long a job of any size runs",
             "Checkpoints and effective time", "Spare nodes", "What this rests on"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_an_empty_fleet_is_told_how_to_begin():
    text = Page(render(*fleets.nothing())).text

    assert "Nothing is known of this fleet" in text
    assert "triage fleet import" in text
    assert "svg" not in Page(render(*fleets.nothing())).tags


def test_a_node_shows_its_figures_and_its_reasons():
    _, standings = fleets.with_lemons()
    one = standings["nodes"][0]
    text = Page(draw("node_table", [one], str)).text

    assert one["node"] in text
    assert "lemon" in text
    assert "< 0.001" in text
    for reason in one["reasons"]:
        assert " ".join(reason.split()) in text


def test_a_node_without_exposure_has_its_word():
    row = {
        "node": "n1", "grade": "unknown", "reasons": ["no run names it"], "strikes": 0,
        "expected": 0.0, "rate_per_1000_node_days": None, "rate_low": None, "rate_high": None,
        "q_value": None, "leaf_switch": None, "rack": None,
    }  # fmt: skip

    assert "no run names it" in draw("node_table", [row], str)
    assert draw("node_table", [], str)


def test_a_year_of_a_large_fleet_stays_a_small_page():
    assert len(render(*fleets.with_lemons()).encode()) < 200_000
