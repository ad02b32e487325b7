"""The ticket: all that a person needs, within what trackers take, acting on nothing."""

import html
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.notify import messages
from tests.notify.messages import HOSTILE, because, healthy, message, suspect, verdict
from tests.notify.test_hostile_text import FORBIDDEN, HOSTILE_TEXT
from triage.notify.message import Event
from triage.notify.safe_text import make_inert
from triage.notify.ticket import MAX_CHARS, escape_markdown, render_ticket_markdown


def rows_of(text):
    """The rows of the table, without its head; a bar in a cell is no border."""
    above = text.partition("```")[0].splitlines()  # a hostile command may begin with a bar
    lines = [line.replace(r"\|", "") for line in above if line.startswith("|")]
    assert all(line.count("|") == 8 for line in lines)
    return lines[2:]


def many(count, **changes):
    return tuple(suspect(node=f"gpu-{n:04}", position=n + 1, **changes) for n in range(count))


def test_it_has_verdict_suspects_why_coverage_command_and_link_in_this_order():
    text = render_ticket_markdown(message())
    places = [
        text.index(part)
        for part in (
            "**Job 4711 hang: gpu_hbm on n3 (0.99)**\n",
            "On n3 (rank 27), GPU memory",
            "| 1 | n3 | 27 | gpu_hbm | 0.99 | culprit | drain_node |\n",
            "\n- n3: NVRM: Xid (PCI:0000:5d:00): 94 (nodes/n3/kernel.log:812)\n",
            "\nNext: Drain n3, then restart the job without it.\n",
            "\n```sh\nscontrol update nodename=n3 state=drain reason=x\nkubectl cordon n3\n```\n",
            "\nCoverage: 63 of 64 dumps\n",
            f"\n<{messages.URL}>\n",
        )
    ]
    assert places == sorted(places)


def test_what_was_seen_first_stands_below_the_verdict():
    text = render_ticket_markdown(
        message(suspects=(), seen_first=("rank 0: a_b timed out (job.log:3)",))
    )
    assert "\nSeen first:\n\n- rank 0: a_b timed out (job.log:3)\n" in text
    assert text.index("Seen first") < text.index("Next:")
    assert "Seen first" not in render_ticket_markdown(message())


def test_the_best_three_have_reasons_and_all_have_a_row():
    text = render_ticket_markdown(message(suspects=many(5)))
    assert len(rows_of(text)) == 5
    assert set(re.findall(r"^- (\S+):", text, re.M)) == {"gpu-0000", "gpu-0001", "gpu-0002"}


@pytest.mark.parametrize(
    ("count", "text_length", "left_out"),
    [(300, 10, False), (300, 10_000, False), (2_000, 10, True), (16_384, 10_000, True)],
)
def test_it_stays_within_what_a_tracker_takes(count, text_length, left_out):
    long = '| \\* <b> & "x" ' * (text_length // 10)
    reasons = (because(long, long, 1),) * 9
    crowd = many(count, because=reasons)
    text = render_ticket_markdown(
        message(verdict=verdict(summary=long), suspects=crowd, next_step=long)
    )
    shown = len(rows_of(text))
    assert len(text) <= MAX_CHARS
    assert shown == count or f"\n{count - shown} more in the incident." in text
    assert (shown < count) == left_out
    assert "```sh\n" in text
    assert text.endswith(f"<{messages.URL}>\n")


def test_the_table_is_as_long_as_fits():
    text = render_ticket_markdown(message(suspects=many(2_000)))
    assert MAX_CHARS - 200 < len(text) <= MAX_CHARS


def test_names_of_any_length_leave_the_rest_whole():
    crowd = tuple(suspect(node="*" * 10_000, ranks=tuple(range(0, 9_000, 3))) for _ in range(300))
    text = render_ticket_markdown(message(suspects=crowd))
    assert len(text) <= MAX_CHARS
    assert len(rows_of(text)) > 40


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"verdict": None, "suspects": ()}, "**Job 4711 stopped; there is no verdict yet**"),
        ({"verdict": healthy(), "suspects": ()}, "No suspects."),
        ({"suspects": (suspect(node=None),)}, "| 1 | ? | 27 |"),
        ({"suspects": (suspect(node=None),)}, "- rank 27: NVRM"),
        ({"provisional": True}, "**Provisional: Job 4711"),
        ({"next_step": ""}, "Next: drain_node"),
        (
            {"resolution": {"category": "nic", "node": "n9", "note": "a cable"}},
            "Found to be: nic on n9. a cable",
        ),
        ({"resolution": {"category": "none", "node": None, "note": ""}}, "Found to be: none."),
        (
            {"event": Event.FAILED, "verdict": None, "suspects": (), "reason": "killed thrice"},
            "**triage could not analyse Job 4711: killed thrice**",
        ),
    ],
)
def test_what_is_not_there_is_not_claimed(changes, said):
    assert said in render_ticket_markdown(message(**changes))


@pytest.mark.parametrize("url", ["", "/incidents/inc_1", "javascript:alert(1)", "https://a|b>c"])
def test_only_a_whole_address_is_linked(url):
    text = render_ticket_markdown(message(url=url))
    assert "<" not in text
    assert text.endswith("Coverage: 63 of 64 dumps\n\nIncident inc_7f3a\n")


@pytest.mark.parametrize("event", Event)
def test_hostile_text_acts_on_nothing(event):
    text = render_ticket_markdown(messages.hostile(event)).replace(f"<{messages.URL}>", "")
    assert [bad for bad in FORBIDDEN if bad.lower() in text.lower()] == []
    assert "<" not in text
    assert "```" not in re.sub(r"^```(?:sh)?$", "", text, flags=re.M)
    shown = text.replace("\n", "")
    assert [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")] == []
    assert len(rows_of(text)) == 9


@settings(max_examples=60, deadline=None)
@given(text=HOSTILE_TEXT)
def test_any_text_keeps_its_lines_and_the_limit(text):
    made = render_ticket_markdown(messages.hostile(text=text))
    assert len(made) <= MAX_CHARS
    assert made.count("\n```") == 2
    assert len(rows_of(made)) == 9


@settings(deadline=None)
@given(text=HOSTILE_TEXT, limit=st.integers(1, 400))
def test_escaped_text_is_short_and_its_escapes_are_whole(text, limit):
    said = escape_markdown(text, limit)
    assert len(said) <= limit
    assert not set("<>@`\n") & set(said)
    bare = re.sub(r"\\.", "", said)
    assert not set("*[]|~$\\") & set(bare)
    assert bare.count("&") == len(re.findall(r"&(?:amp|lt|gt);", bare))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("all_reduce #812", "all_reduce ＃812"),
        ("acme/cluster#7", "acme/cluster＃7"),
        ("a # b", "a # b"),
        ("@octo-team", "＠octo-team"),
        ("ops@example.com", "ops＠example.com"),
        ("tcp://10.0.0.1:29500", r"tcp\[:\]//10.0.0.1:29500"),
        ("[x](http://e)", r"\[x\] (http\[:\]//e)"),
        ("<img src=x> &amp;", "&lt;img src=x&gt; &amp;amp;"),
        ("a | b", r"a \| b"),
        ("```", "'''"),
        ("# head\n- list", r"\# head - list"),
        ("- list", r"\- list"),
        ("12. list", r"12\. list"),
        ("12 of 64", "12 of 64"),
        ("=====", r"\====="),
        ("__init__ of a_b_c, _x_ a__b", r"\_\_init\_\_ of a_b_c, \_x\_ a\_\_b"),
        ("*bold* ~~gone~~ $x$", r"\*bold\* \~\~gone\~\~ \$x\$"),
    ],
)
def test_what_a_tracker_acts_on_is_replaced(text, said):
    assert escape_markdown(text, 100) == said


def test_hostile_text_is_there_to_be_read():
    assert "channel" in render_ticket_markdown(messages.hostile(text=HOSTILE))


READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {
    "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "pre", "code", "a",
}  # fmt: skip


def shown_by_a_reader(text):
    """The words that a Markdown reader shows, and the tags that it makes."""
    page = READER.render(text)
    tags = set(re.findall(r"<([a-z0-9]+)", page))
    return html.unescape(re.sub(r"<[^>]*>", "", page)), tags


@settings(max_examples=100, deadline=None)
@given(text=HOSTILE_TEXT)
def test_a_reader_makes_nothing_of_any_text(text):
    shown, tags = shown_by_a_reader(render_ticket_markdown(messages.hostile(text=text)))
    assert tags <= OURS
    assert shown.count(messages.URL) == 1
    assert READER.render(render_ticket_markdown(messages.hostile(text=text))).count("<a ") == 1


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(HOSTILE_TEXT, st.text("*_~[]()#+-=.1> \\a`", max_size=40)))
def test_a_reader_shows_what_was_said(text):
    said = make_inert(text)[:200]
    shown, tags = shown_by_a_reader(escape_markdown(said, 2_000))
    assert tags <= {"p"}
    assert shown.strip() == re.sub(r"#(?=\d)", "＃", said).strip()


def test_the_table_is_a_table_to_a_reader():
    page = READER.render(render_ticket_markdown(message(suspects=many(4))))
    assert page.count("<tr>") == 5
    assert '<code class="language-sh">scontrol update nodename=n3' in page
    assert f'<a href="{messages.URL}">' in page
