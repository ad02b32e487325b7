"""Each picture of a fleet: titled, described, drawn within its frame, silent on too little."""

import re
from xml.etree import ElementTree

import pytest

from tests.fleet.render import fleets
from triage.fleet.render.pictures import (
    draw_causes,
    draw_leaves,
    draw_lifetime,
    draw_over_time,
    draw_projection,
    get_job_mtti,
    group_by_leaf,
    tabulate_projection,
)
from triage.fleet.render.tables import tabulate
from triage.fleet.render.texts import select_cause_rows, write_sentences

FLEETS = ["llama3", "with_lemons", "one_stop", "hostile"]
PICTURES = [draw_causes, draw_over_time, draw_projection, draw_lifetime]
NAMES = [one.__name__ for one in PICTURES]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def drawn(name):
    report, standings = getattr(fleets, name)()
    found = [draw(report) for draw in PICTURES]
    found.append(draw_leaves(group_by_leaf(standings)))
    return [ElementTree.fromstring(svg) for svg in found if svg]


@pytest.mark.parametrize("name", FLEETS)
def test_every_picture_says_what_it_is(name):
    for svg in drawn(name):
        assert svg.get("role") == "img"
        assert svg.get("aria-label")
        assert svg.find("title").text == svg.get("aria-label")
        assert svg.find("desc").text


@pytest.mark.parametrize("name", FLEETS)
def test_nothing_is_drawn_outside_its_frame(name):
    for svg in drawn(name):
        width, height = float(svg.get("width")), float(svg.get("height"))
        for one in svg.iter():
            for key, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
                assert -1 <= float(one.get(key, 0)) <= most + 1, (svg.get("aria-label"), one.attrib)


@pytest.mark.parametrize("name", FLEETS)
def test_no_figure_of_a_picture_is_broken(name):
    for svg in drawn(name):
        assert not re.search(r"\b(nan|inf|None)\b", ElementTree.tostring(svg, "unicode"))


@pytest.mark.parametrize("picture", PICTURES, ids=NAMES)
def test_nothing_known_is_nothing_drawn(picture):
    assert picture(fleets.nothing()[0]) == ""


@pytest.mark.parametrize("picture", PICTURES, ids=NAMES)
def test_the_same_report_is_the_same_picture(picture):
    report, _ = fleets.llama3()

    assert picture(report) == picture(report)
    assert picture(report)


def test_causes_are_beside_those_of_llama_3():
    report, _ = fleets.llama3()

    assert len(select_cause_rows(report)) == 18
    svg = draw_causes(report)
    assert svg.count('class="bar theirs"') == 18
    table = str(tabulate("causes", select_cause_rows(report), theirs=419))
    assert "Faulty GPU" in table
    assert "35.3 %" in table


def test_a_row_that_differs_is_marked_by_a_sign_too():
    report, _ = fleets.hostile()  # nine of nine are of one row

    assert "Faulty GPU *" in draw_causes(report)
    assert "differs" in str(tabulate("causes", select_cause_rows(report), theirs=419))
    assert "Faulty GPU *" not in draw_causes(fleets.llama3()[0])


def test_windows_without_a_stop_are_hollow():
    hollow = 'class="dot none"'

    assert draw_over_time(fleets.one_stop()[0]).count(hollow) == 7
    assert hollow not in draw_over_time(fleets.llama3()[0])


def test_time_is_that_of_one_job_where_jobs_are_of_many_sizes():
    report, _ = fleets.with_lemons()
    window = report["over_time"][0]
    size = report["exposure"]["reference_gpus"]

    value = get_job_mtti(report, window)["value"]
    assert value == pytest.approx(window["gpu_hours_between"]["value"] / size)


def test_a_projection_marks_what_was_measured_and_what_lies_far_beyond():
    svg = draw_projection(fleets.llama3()[0])

    assert svg.count('class="measured"') == 1
    assert svg.count('class="beyond"') == 2
    assert "16,384 GPUs: 3.1 h" in svg
    table = str(tabulate_projection(fleets.llama3()[0]))
    assert "131,072" in table
    assert "times outside the sizes seen" in table


def test_the_survival_curve_tells_its_median():
    said = write_sentences("lifetime", fleets.llama3()[0])

    assert said[0].startswith("Half of the times between two stops are over after 2.")


def test_the_rows_that_differ_are_named_the_most_frequent_first():
    report, _ = fleets.llama3()
    rows = [{**one, "differs": True} for one in report["mix"]["rows"]]
    many = {**report, "mix": {**report["mix"], "rows": rows}}

    assert write_sentences("mix", many) == [
        "Other than in the Llama 3 run: Faulty GPU, GPU HBM3 Memory, Software Bug,"
        " Network Switch/Cable and 14 more."
    ]
