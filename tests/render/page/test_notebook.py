"""The notebook's fragment: inert, whole without its picture, small."""

from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest

from tests.render import answers
from triage.domain.category import Category
from triage.domain.report import Moment, Waits
from triage.render.page.html import render_fragment

EVERY = ["healthy", "culprit", "tie", "hostile", "large"]


class Tags(HTMLParser):
    def __init__(self, markup):
        super().__init__()
        self.tags, self.open, self.attributes, self.text = [], [], [], ""
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", EVERY)
def test_has_no_script_and_no_style(name):
    page = Tags(render_fragment(getattr(answers, name)()))
    assert not {"script", "style", "html", "body", "link", "img", "iframe"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not any(name.startswith("on") for name in names)
    assert not {"style", "href", "src"} & names
    assert page.tags.count("svg") == (name != "healthy")


@pytest.mark.parametrize("name", EVERY)
def test_stays_small(name):
    assert len(render_fragment(getattr(answers, name)()).encode()) < 40_000


def test_hostile_text_is_shown_and_inert():
    markup = render_fragment(answers.hostile())
    assert not set(markup) & set("\x1b\x07\x9b\u202e\u2069\udcff")
    assert "<script>alert(1)</script>" in Tags(markup).text


def test_says_verdict_suspect_reason_coverage_and_next_step():
    text = Tags(render_fragment(answers.culprit())).text
    assert "Rank 27 on n3 stopped on an uncorrectable HBM error" in text
    assert "hang, gpu_hbm, confidence 0.97, action drain_node, cordon n3" in text
    assert "dumps read: 63 of 64" in text
    assert "Xid 94 on 0000:5d:00" in text
    assert "Next step: " in text


def test_many_suspects_are_counted():
    answer = answers.culprit(culprits=tuple(range(14)))
    assert "and 4 more in .suspects" in Tags(render_fragment(answer)).text


def test_without_waits_the_time_line_stands_there():
    at = answers.AT - timedelta(seconds=41)
    moments = (
        Moment(at, "n3", 27, "xid", Category.GPU_HBM, "Xid 94"),
        Moment(answers.AT, None, None, "stop", None, "the job stops"),
    )
    markup = render_fragment(replace(answers.culprit(), waits=Waits(), timeline=moments))
    for words in ("-41.0 s", "n3, rank 27", "xid, gpu_hbm", "Xid 94", "the job stops"):
        assert words in Tags(markup).text


def test_every_shape_carries_its_own_colours():
    markup = render_fragment(answers.culprit())
    assert markup.count("<path") == markup.count("stroke=") + 1  # and the tip of the arrows


def test_commands_stand_on_lines_of_their_own():
    assert "kubectl cordon n3" in Tags(render_fragment(answers.culprit())).text.splitlines()[1]


def test_a_time_line_that_is_not_small_is_named():
    moments = [Moment(answers.AT, f"n{k}", None, "xid", Category.GPU, "Xid 79") for k in range(20)]
    stop = Moment(answers.AT, None, None, "stop", None, "the job stops")
    answer = replace(answers.culprit(), waits=Waits(), timeline=(*moments, stop))
    assert "<svg" not in render_fragment(answer)
    assert ".timeline has what happened when." in render_fragment(answer)


def test_notes_are_escaped():
    assert "<p>a &lt;b&gt;</p>" in render_fragment(answers.healthy(), "a <b>")
