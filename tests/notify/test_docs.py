"""The pages on notifications say what the code does."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.notify.as_they_look import INCIDENT, examples
from triage.notify import pagerduty, slack, ticket
from triage.notify.guard import Guard
from triage.notify.message import DEFAULT_EVENTS, Event
from triage.notify.registry import ACTS, Kind, validate
from triage.notify.schedule import PROBE_EVERY_S
from triage.notify.severity import Severity
from triage.notify.signing import new_secret, sign

PAGES = ("notifications.md", "messages.md")
PAGE = "\n".join((Path(__file__).parents[2] / "docs" / name).read_text("utf-8") for name in PAGES)
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
    old, new = new_secret(), new_secret()
    headers = sign([old, new], "msg_1", datetime.now(UTC), b"{}")
    assert names["verified"](body, headers, new) is good


def test_the_messages_shown_are_those_that_are_sent():
    """After a change that is meant, copy what ``as_they_look.examples`` says into the page."""
    assert f"`tests/incidents/{INCIDENT}`" in PAGE
    missing = [name for name, shown in examples().items() if level(shown) not in level(PAGE)]
    assert missing == []


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
