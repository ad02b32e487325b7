"""HTML: one page that loads nothing, runs nothing of the input and says everything."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.render import answers
from triage.domain.report import RankState, Waits
from triage.render.page.html import render, render_fragment
from triage.render.pictures.markup import Html, draw

EVERY = ["culprit", "tie", "healthy", "hostile", "large", "standing"]
VOID = {"meta", "br"}
OURS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2",
    "p", "b", "span", "code", "dl", "dt", "dd", "ul", "li", "table", "caption", "thead", "tbody",
    "tr", "th", "td", "meter", "div", "pre", "details", "summary", "script", "svg", "desc",
    "defs", "marker", "pattern", "path", "g", "text", "circle",
}  # fmt: skip


class Page(HTMLParser):
    """Checks nesting while it reads; keeps tags, attributes and text."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.inline = {}
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.inline.setdefault(self.open[-1], []).append(data)
        else:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.mark.parametrize("name", EVERY)
def test_is_well_formed_and_made_of_our_elements_alone(name):
    page = Page(render(getattr(answers, name)()))
    assert set(page.tags) <= OURS
    assert page.tags.count("script") == 1
    assert page.tags.count("h1") == 1


@pytest.mark.parametrize("name", EVERY)
def test_refers_to_nothing_outside(name):
    page = Page(render(getattr(answers, name)()))
    names = {attribute for _, attribute, _ in page.attributes}
    assert not names & {"src", "href", "xlink:href", "action", "style", "srcset", "background"}
    assert not [attribute for attribute in names if attribute.startswith("on")]
    everything = "".join("".join(parts) for parts in page.inline.values())
    assert "http" not in everything
    assert "@import" not in everything
    assert set(re.findall(r"url\(([^)]*)\)", render(answers.culprit()))) <= {
        "#hatch",
        "#dots",
        "#triage-arrow",
    }


def test_the_policy_allows_our_style_and_script_by_hash():
    page = Page(render(answers.culprit()))
    policy = next(value for _, name, value in page.attributes if value and "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (content,) = page.inline[tag]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("make", [render, render_fragment])
def test_hostile_text_is_shown_and_inert(make):
    markup = make(answers.hostile())
    assert "<script>alert" not in markup
    assert "<img" not in markup
    assert markup.count("</title>") == markup.count("<title>")
    assert not set(markup) & set("\x1b\x07\x9b\u202e\u2069\udcff")
    assert "<script>alert(1)</script>" in Page(markup).text


@pytest.mark.parametrize("named", [True, False])
def test_16384_ranks_stay_light(named):
    assert len(render(answers.large(named=named)).encode()) < 300_000


def test_16384_ranks_in_the_worst_order_stay_below_a_megabyte():
    states = ("culprit", "possible", "waiting", "idle", "no_dump", "unknown")
    ranks = tuple(
        RankState(rank, f"node-{rank // 8:04}", states[rank * 7919 % 6], op=f"op{rank}")
        for rank in range(16_384)
    )
    crowded = replace(answers.large(), ranks=ranks)
    assert len(render(crowded).encode()) < 1_000_000


def test_thousands_of_suspects_do_not_make_a_heavy_page():
    whole = answers.culprit()
    many = tuple(replace(whole.suspects[0], position=i) for i in range(1, 16_385))
    markup = render(replace(whole, suspects=many))
    assert len(markup.encode()) < 300_000
    assert "and 16,334 more suspects; the JSON has all of them." in Page(markup).text


def test_order_of_the_first_screen():
    text = Page(render(answers.culprit())).text
    parts = [
        "Rank 27 on n3 stopped on an uncorrectable HBM error",
        "Confidence 0.97",
        "Next step",
        "kubectl cordon n3",
        "Suspects",
        "nodes/n3/kernel.log:812",
        "Coverage",
        "Dumps read: 63 of 64",
        "Who waits for whom",
        "The ranks by state",
        "Collectives in question",
    ]
    text = text.removeprefix("4711: Rank 27 on n3 stopped on an uncorrectable HBM error")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_pictures_have_words():
    page = Page(render(answers.culprit()))
    assert "CULPRIT rank 27 (host stopped issuing, done up to #811): waits for nobody" in page.text
    assert "culprit the others wait for it 1 27" in page.text
    assert "waiting waits for another rank 63 0-26,28-63" in page.text
    labelled = [value for tag, name, value in page.attributes if tag == "svg" and name == "role"]
    assert labelled == ["img", "img"]


def test_headers_of_tables_have_a_scope():
    page = Page(render(answers.culprit()))
    assert page.tags.count("th") == sum(
        1 for t, n, _ in page.attributes if (t, n) == ("th", "scope")
    )


def test_top_limits_the_suspects():
    assert (
        "n1125"
        not in re.search(
            "<h2>Suspects.*?</table>", render(answers.large(), top=1), re.DOTALL
        ).group()
    )


def test_hover_data_covers_every_rank():
    page = Page(render(answers.large()))
    told = json.loads(next(value for _, name, value in page.attributes if name == "data-cells"))
    assert len(told["states"]) == 16_384
    assert sum(count for _, count in told["at"]) == 16_384
    assert told["states"].count("0") == 2
    assert len(told["strips"]) == 2048
    assert told["strips"][3][2:] == ["n3", "24-31"]


def test_lateness_of_a_straggler_is_told():
    ranks = tuple(RankState(r, "n0", "idle", late_ms=82.5 if r == 3 else 0.0) for r in range(8))
    text = Page(render(replace(answers.healthy(), ranks=ranks))).text
    assert "The latest ranks Rank Node Delay per operation in ms 3 n0 82.5" in text


def test_nothing_to_draw_leaves_no_empty_picture():
    bare = replace(answers.healthy(), ranks=(), waits=Waits())
    assert "<svg" not in render(bare)


def test_text_is_escaped_and_markup_is_not():
    assert draw("paragraphs", ["<b>", Html("<b>x</b>")]) == "<p>&lt;b&gt;</p><p><b>x</b></p>"
    assert "<script" not in draw("titled_table", "<script>", ["<script>"], [["<script>"]])


def test_stacks_are_a_table():
    page = Page(render(answers.standing(2)))
    assert "500-502" not in page.text
    assert "0-499" in page.text
    assert "Where the ranks stand" not in Page(render(answers.culprit())).text
