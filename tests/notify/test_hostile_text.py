"""Text from logs through every renderer: it mentions nobody, links nowhere, drives nothing."""

import json
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.notify import messages
from tests.notify.test_golden import TARGETS
from triage.notify.message import Event
from triage.notify.registry import render
from triage.notify.safe_text import cut_chars, find_web_link, format_plain, make_inert
from triage.notify.slack import MAX_CHARS, escape_mrkdwn

FORBIDDEN = (
    "<!channel", "<!here", "<!everyone", "<@U", "<#C", "@everyone", "@here", "@channel",
    "<script", "://evil", "www.evil", "](", "\x1b", "]8;;", "\u202e", "\x9b", "\x07",
    "\u2069", "\u200b", "\ufeff", "\u2028", "\x85", "\x7f", "\x00",
)  # fmt: skip
CHATTY = ("slack", "pagerduty", "alertmanager")
HOSTILE_TEXT = st.one_of(
    st.text(max_size=300),
    st.text("<>&@`*_~:/!|#[]()\\\"'\x1b\x07wW.hH", max_size=300),
    st.sampled_from([messages.HOSTILE, "&" * 9000, '"' * 9000, "\\" * 9000, "😀" * 5000]),
)


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from texts(key)
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("kind", CHATTY)
def test_nothing_forbidden_is_in_a_chatty_body(kind, event):
    request = render(messages.hostile(event), TARGETS[kind])
    if request is None:
        assert event is Event.FAILED
        return
    found = list(texts(json.loads(request.body)))
    assert found
    for text in found:
        assert [bad for bad in FORBIDDEN if bad.lower() in text.lower()] == []
        shown = text.replace("\n", "")  # ours: one line for each command and reason
        bad = [char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl")]
        assert bad == []


@pytest.mark.parametrize("event", Event)
def test_the_native_body_holds_no_active_byte_and_every_character(event):
    message = messages.hostile(event, messages.HOSTILE.replace("\udcff", ""))
    body = render(message, TARGETS["generic"]).body
    raw = body.decode()
    assert not set("<>&@") & set(raw)
    assert [c for c in raw if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")] == []
    data = json.loads(body)["data"]
    assert message.verdict is not None
    assert data["verdict"] == json.loads(json.dumps(message.verdict.to_dict(), default=str))
    assert data["suspects"] == [
        json.loads(json.dumps(one.to_dict(), default=str)) for one in message.suspects
    ]
    assert data["job_id"] == message.job_id


def test_the_native_body_takes_a_name_that_is_not_utf8():
    assert json.loads(render(messages.hostile(), TARGETS["generic"]).body)


def test_slack_has_one_link_and_it_is_ours():
    body = json.loads(render(messages.hostile(), TARGETS["slack"]).body)
    links = [link for text in texts(body) for link in re.findall(r"<[^>]*>", text)]
    assert links == [f"<{messages.URL}|Open the incident>"]


def test_slack_makes_nothing_of_text_by_itself():
    body = json.loads(render(messages.hostile(), TARGETS["slack"]).body)
    elements = [block["text"] for block in body["blocks"] if "text" in block]
    elements += [one for block in body["blocks"] for one in block.get("elements", [])]
    assert len(elements) > 5
    for one in elements:
        assert one.get("verbatim") is True or one["type"] == "plain_text"
    assert body["unfurl_links"] is body["unfurl_media"] is False


@settings(max_examples=60, deadline=None)
@given(text=HOSTILE_TEXT, event=st.sampled_from(Event))
def test_slack_keeps_its_budget_whatever_the_text(text, event):
    body = json.loads(raw := render(messages.hostile(event, text), TARGETS["slack"]).body)
    assert len(raw.decode()) <= MAX_CHARS
    assert len(body["blocks"]) <= 50
    for block in body["blocks"]:
        if block["type"] == "section":
            assert 0 < len(block["text"]["text"]) <= 3_000
        if block["type"] == "header":
            assert 0 < len(block["text"]["text"]) <= 150


@settings(max_examples=60, deadline=None)
@given(text=HOSTILE_TEXT)
def test_pagerduty_keeps_its_limits_whatever_the_text(text):
    event = json.loads(render(messages.hostile(text=text), TARGETS["pagerduty"]).body)
    assert 0 < len(event["payload"]["summary"]) <= 1024
    assert 0 < len(event["dedup_key"]) <= 255
    assert event["payload"]["source"]
    assert len(json.dumps(event)) < 512 << 10


@settings(deadline=None)
@given(text=HOSTILE_TEXT, limit=st.integers(1, 400))
def test_escaped_text_is_short_and_its_entities_are_whole(text, limit):
    said = escape_mrkdwn(text, limit)
    assert len(said) <= limit
    assert not set("<>") & set(said)
    assert said.count("&") == len(re.findall(r"&(?:amp|lt|gt);", said))


@settings(deadline=None)
@given(text=HOSTILE_TEXT, limit=st.integers(1, 400))
def test_plain_text_is_short_and_idle(text, limit):
    said = format_plain(text, limit)
    assert len(said) <= limit
    assert not set("<>@`\n\x1b") & set(said)
    assert not re.search(r"://|\]\(", said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Xid 94 on 0000:5d:00, 41 s before", "Xid 94 on 0000:5d:00, 41 s before"),
        ("_reduce_scatter_base 35 of mesh_dp", "_reduce_scatter_base 35 of mesh_dp"),
        ("a <b> & c", "a <b> & c"),
        ("tcp://10.0.0.1:29500", "tcp[:]//10.0.0.1:29500"),
        ("see WWW.evil.example", "see WWW[.]evil.example"),
        ("mail ops@evil.example", "mail ops＠evil.example"),
        ("![x](http://e/p.png)", "![x] (http[:]//e/p.png)"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://e\x1b\\here\x1b]8;;\x1b\\", "here"),
        ("\x1b]0;title never ends", "\\x1b]0;title never ends"),
        ("two\nlines\u202e", "two lines\\u202e"),
        ("`rm`", "'rm'"),
    ],
)
def test_what_acts_is_replaced_by_what_looks_like_it(text, said):
    assert make_inert(text) == said


@pytest.mark.parametrize(
    ("text", "limit", "said"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abc e\u0301f", 6, "abc…"),
        ("abcde\u0301", 5, "abcd…"),
        ("a\u0301\u0301\u0301\u0301", 3, "…"),
        ("abc", 1, "…"),
    ],
)
def test_a_cut_falls_between_letters(text, limit, said):
    assert cut_chars(text, limit) == said


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://triage.example.com/incidents/inc_1?tab=a&b=%20", True),
        ("http://localhost:8000/incidents/1", True),
        ("https://a.example/|Fake>", False),
        ("https://a.example/<!channel>", False),
        ("javascript:alert(1)", False),
        ("https://a.example/\n", False),
        ('https://a.example/"x', False),
        ("", False),
    ],
)
def test_only_a_plain_address_becomes_a_link(url, kept):
    assert find_web_link(url) == (url if kept else "")
    for kind in CHATTY:
        body = render(messages.message(url=url), TARGETS[kind]).body.decode()
        assert (json.dumps(url)[1:-1] in body.replace("&amp;", "&")) == kept or url == ""
