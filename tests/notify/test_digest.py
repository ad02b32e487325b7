"""The digest of a week in each receiver's form, word for word, and with hostile names in it.

After a change that is meant, write the files anew and read the difference:
``TRIAGE_GOLDEN=write python -m pytest tests/notify/test_digest.py``.
"""

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fleet.records import example_record
from tests.notify.messages import HOSTILE
from tests.notify.test_golden import GOLDEN, TARGETS
from triage.domain.standing import FleetStandings, Grade, PartKind, RepeatedPart, Standing
from triage.domain.wire import format_iso_utc
from triage.errors import Unprocessable
from triage.fleet.render.sentences import compose_weekly_headline, list_weekly_sentences
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.report import fleet_report
from triage.notify.message import DEFAULT_EVENTS, Event, Kind, check_events
from triage.notify.registry import Notice, check_takes, digest_id, render_notice
from triage.notify.slack import MAX_CHARS

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs" / "notifications.md").read_text("utf-8").split())
TELLS = ("generic", "slack")
LEAF = "leaf switch leaf3: 2 nodes behind it were accused in 6 interruptions"


def standings(*nodes: tuple[str, Grade]) -> FleetStandings:
    rows = tuple(Standing(node, grade, ("a reason",), strikes=4) for node, grade in nodes)
    part = RepeatedPart(
        PartKind.LEAF_SWITCH, "leaf3", None, ("n1", "n2"), 6, 0.33, 1e-6, 2e-5, LEAF
    )
    return FleetStandings(rows, (part,))


def digest(text: str = "") -> Notice:
    """A digest of the Llama 3 run; ``text`` is put wherever foreign text can be."""
    report = fleet_report(example_record(), options=FleetOptions(compare_last_days=7.0))
    wire = report.to_dict()
    of_nodes = standings(
        (text or "n17", Grade.LEMON), ("n423", Grade.LEMON), ("n5", Grade.WATCH)
    ).to_dict()
    checks = [{"state": "failing"}, {"state": "due"}, {"state": "due"}]
    told = list_weekly_sentences(
        wire, wire, of_nodes, {"n423": "lemon", f"n9{text}": "lemon"}, checks
    )
    until = report.until
    headline = compose_weekly_headline({**wire, "cluster": text or "a"}, of_nodes)
    notes = (text or "12 of 466 interruptions were not triaged",)
    url = "https://triage.example.com/fleet?from=2026-04-18&to=2026-04-24"
    data = {
        "week": until.date().isoformat(),
        "since": format_iso_utc(until - timedelta(days=7)),
        "until": format_iso_utc(until),
        "headline": headline,
        "sentences": list(told),
        "notes": list(notes),
        "stops": wire["stops"],
        "standings": {"counts": of_nodes["counts"]},
        "url": url,
    }
    return Notice(Event.FLEET_DIGEST, until, headline, tuple(told), data, url, notes=notes)


@pytest.mark.parametrize("kind", TELLS)
def test_a_receiver_is_sent_what_was_reviewed(kind):
    request = render_notice(digest(), TARGETS[kind])
    body = json.loads(request.body)
    text = json.dumps(body, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    path = GOLDEN / f"digest.{kind}.json"
    if os.environ.get("TRIAGE_GOLDEN") == "write":
        path.write_text(text, "utf-8")
    assert (request.method, request.url) == ("POST", TARGETS[kind].url)
    assert text == path.read_text("utf-8")


def test_the_page_shows_what_is_sent():
    """After a change that is meant, copy it into ``docs/notifications.md``."""
    body = json.loads(render_notice(digest(), TARGETS["slack"]).body)

    for block in body["blocks"][:-1]:
        text = " ".join(one["text"] for one in block.get("elements", [block.get("text")]))
        assert " ".join(text.split()) in PAGE


@pytest.mark.parametrize("kind", TELLS)
def test_the_same_digest_gives_the_same_bytes(kind):
    assert render_notice(digest(), TARGETS[kind]) == render_notice(digest(), TARGETS[kind])


@pytest.mark.parametrize("kind", ["pagerduty", "alertmanager"])
def test_receivers_of_alarms_are_not_told(kind):
    assert render_notice(digest(), TARGETS[kind]) is None
    with pytest.raises(Unprocessable, match="takes alarms"):
        check_takes(Kind(kind), ["fleet.digest"])
    check_takes(Kind(kind), [str(event) for event in DEFAULT_EVENTS])


@pytest.mark.parametrize("kind", TELLS)
def test_the_others_are(kind):
    check_takes(Kind(kind), ["fleet.digest"])
    assert check_events(["fleet.digest"]) == (Event.FLEET_DIGEST,)


@pytest.mark.parametrize("kind", TELLS)
def test_names_act_on_nothing(kind):
    body = render_notice(digest(HOSTILE * 3), TARGETS[kind]).body

    assert b"<!" not in body
    assert b"@channel" not in body
    assert b"\x1b" not in body
    if kind == "slack":
        assert b"http://evil" not in body
        assert body.count(b"<http") == 1


def test_slack_takes_a_week_with_very_much_to_say():
    long = digest()
    many = replace(
        long,
        headline=long.headline * 9,
        sentences=tuple(f"{k} " + "&<>" * 3_000 for k in range(40)),
        notes=("&" * 5_000,) * 20,
    )
    body = render_notice(many, TARGETS["slack"]).body

    assert len(body.decode()) <= MAX_CHARS
    assert "more on the page" in body.decode()


def test_a_week_has_one_id_for_each_subscription():
    ids = {digest_id(week, one) for week in ("2026-11-16", "2026-11-23") for one in ("a", "b")}

    assert len(ids) == 4
    assert digest_id("2026-11-16", "a") == digest_id("2026-11-16", "a")


def test_what_is_new_and_what_is_over_is_said():
    told = digest().sentences

    assert "2 lemons to take out: n17 (new), n423." in told
    assert "Newly watched: n5." in told
    assert any(text.startswith("No longer a lemon: n9") for text in told)
    assert "1 check failing, 2 due." in told
    assert f"{LEAF[:1].upper()}{LEAF[1:]}." in told
