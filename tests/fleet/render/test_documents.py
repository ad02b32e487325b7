"""Pictures in a notebook: those of the page, each a document of its own."""

from xml.etree import ElementTree

import pytest

from tests.fleet.render import fleets
from triage.fleet.render.notebook import FleetView

NAMES = ["causes", "mtti", "projection", "nodes"]


def view(report, standings):
    facts = {**report, "standings": standings, "num_checks": 0}
    return FleetView(lambda: facts, lambda: standings["nodes"], list)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_a_document_with_its_own_style(name):
    picture = getattr(view(*fleets.with_lemons()).plot, name)()
    root = ElementTree.fromstring(picture._repr_svg_())

    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.find("{*}title").text
    assert "svg.chart .bar" in root.find("{*}style").text
    assert repr(picture).startswith("<picture: ")


@pytest.mark.parametrize("name", NAMES)
def test_where_there_is_nothing_to_draw_it_says_so(name):
    picture = getattr(view(*fleets.nothing()).plot, name)()

    assert picture._repr_svg_() is None
    assert repr(picture).startswith("<no picture: ")
