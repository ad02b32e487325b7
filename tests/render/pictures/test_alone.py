"""Pictures of a report in a notebook: those of the page, each a document of its own."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.render import answers
from triage.domain.report import Waits
from triage.render.pictures.alone import ReportPictures, make_picture

NAMES = ["ranks", "waits"]


def drawn(answer, name):
    """The picture of this name."""
    return getattr(ReportPictures(answer), name)()


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_a_document_with_its_own_style(name):
    picture = drawn(answers.culprit(), name)
    root = ElementTree.fromstring(picture._repr_svg_())

    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.find("{*}title").text
    assert ".graph .culprit path" in root.find("{*}style").text
    assert repr(picture) == f"<picture: {picture.of}>"


@pytest.mark.parametrize("name", [*NAMES, "progress"])
def test_where_there_is_nothing_to_draw_it_says_so(name):
    bare = replace(answers.healthy(), ranks=(), waits=Waits(), timeline=())
    picture = drawn(bare, name)

    assert picture._repr_svg_() is None
    assert repr(picture) == f"<no picture: no {picture.of} to draw>"


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_text(name):
    svg = drawn(answers.hostile(), name).svg

    assert not set(svg) & set("\x1b\u202e\x07")
    assert "<script" not in svg


def test_a_sentence_in_place_of_a_chart_is_no_picture():
    assert make_picture("nodes", "<p>20,001 nodes are too many to draw</p>").svg == ""
