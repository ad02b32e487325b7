"""The page on notifications says what the code does."""

import json
import re
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.notify.messages import of_incident
from tests.notify.test_golden import TARGETS
from triage.notify import pagerduty, slack, ticket
from triage.notify.deliver import PROBE_EVERY_S
from triage.notify.guard import Guard
from triage.notify.headline import Severity
from triage.notify.message import DEFAULT_EVENTS, Event, Kind
from triage.notify.registry import ACTS, render, validate
from triage.notify.signing import make_signing_secret, sign

PAGE = (Path(__file__).parents[2] / "docs" / "notifications.md").read_text("utf-8")
INCIDENT = "logs-hbm-w8"
WIDTH = 88
BODIES = [json.loads(body) for body in re.findall(r"-d '(\{.*?\})'", PAGE)]
SUBSCRIPTIONS = [body for body in BODIES if "kind" in body]


@pytest.mark.parametrize("word", [*Event, *Kind, *Severity])
def test_every_word_is_explained(word):
    assert f"`{word}`" in PAGE


@pytest.mark.parametrize("body", SUBSCRIPTIONS, ids=lambda body: body["kind"])
def test_every_subscription_shown_is_complete(body):
    assert validate(body["kind"], body.get("url"), body.get("routing_key")).url


def test_every_kind_is_shown():
    assert {body["kind"] for body in SUBSCRIPTIONS} == set(Kind)


def test_the_default_is_as_said():
    others = {Event.PROVISIONAL, Event.DELETED, Event.STORM, Event.FLEET_DIGEST, *ACTS}
    assert set(Event) - set(DEFAULT_EVENTS) == others
    assert f"every {PROBE_EVERY_S} s" in PAGE


def test_the_allow_list_shown_is_one():
    (shown,) = re.findall(r'TRIAGE_WEBHOOK_ALLOW="(.*?)"', PAGE)
    assert Guard(shown.split(","), resolve=lambda *_: ["10.20.0.5"]).check("http://am.example")


@pytest.mark.parametrize(("body", "good"), [(b"{}", True), (b"{ }", False)])
def test_the_verifier_shown_verifies(body, good):
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def " in one]
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - our own page
    old, new = make_signing_secret(), make_signing_secret()
    headers = sign([old, new], "msg_1", datetime.now(UTC), b"{}")
    assert names["verified"](body, headers, new) is good


def test_the_message_shown_is_the_one_that_is_sent():
    """After a change that is meant, copy what ``in_slack`` says into the page."""
    assert f"`tests/incidents/{INCIDENT}`" in PAGE
    assert level(in_slack(of_incident(INCIDENT))) in level(PAGE)


def in_slack(message):
    """Header, sections and small print, a blank line between blocks; bold as it is typed."""
    blocks = json.loads(render(message, TARGETS["slack"]).body)["blocks"]
    shown = [
        text["text"] for block in blocks for text in block.get("elements", [block.get("text")])
    ]
    text = re.sub(r"<[^|>]*\|([^>]*)>", r"[\1]", "\n\n".join(shown))
    lines = [
        textwrap.wrap(line, WIDTH, subsequent_indent="  " if line[:1] == "•" else "") or [""]
        for line in text.splitlines()
    ]
    return "\n".join(part for parts in lines for part in parts) + "\n"


def level(text):
    """``text`` without beliefs, which move when weights are fitted again."""
    return re.sub(r"\b[01]\.\d\d\b", "0.9", text)


@pytest.mark.parametrize(
    "limit",
    [slack.MAX_CHARS, ticket.MAX_CHARS, pagerduty.MAX_SUMMARY, pagerduty.MAX_KEY],
)
def test_the_limits_are_those_of_the_code(limit):
    rows = PAGE.partition("| channel |")[2].partition("\n\n")[0]
    assert re.search(rf"\b{limit:,}\b", rows)
