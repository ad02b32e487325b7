"""Each renderer: who is woken, by what, and what is taken back."""

import json
import re
from datetime import timedelta
from itertools import product

import pytest

from tests.notify.messages import (
    AT,
    INCIDENTS,
    because,
    healthy,
    message,
    of_incident,
    suspect,
    verdict,
)
from tests.notify.test_golden import TARGETS
from triage.domain.category import Action, Category
from triage.domain.recurrence import ProblemOfIncident, ResolutionCount
from triage.domain.report import Coverage, Refused
from triage.errors import Unprocessable
from triage.notify.headline import Severity, choose_severity, compose_headline, describe_coverage
from triage.notify.message import Event, Kind
from triage.notify.registry import get_receiver, render, validate

PROBLEM = ProblemOfIncident(
    "prb_1", 4, 4, AT - timedelta(days=8.5), AT, (ResolutionCount("network", "n12", 2),), AT
)


def sent(message_, kind):
    request = render(message_, TARGETS[kind])
    return None if request is None else json.loads(request.body)


# --- PagerDuty


def test_a_revision_updates_the_same_alert():
    first, later = sent(message(), "pagerduty"), sent(message(Event.REVISED), "pagerduty")
    assert first["event_action"] == later["event_action"] == "trigger"
    assert first["dedup_key"] == later["dedup_key"] == "inc_7f3a"
    assert later["payload"]["summary"].startswith("Revised: ")


def test_a_resolution_closes_the_alert():
    done = message(Event.RESOLVED, resolution={"category": "gpu_hbm", "node": "n3"})
    assert sent(done, "pagerduty") == {
        "routing_key": "R0UT1NGKEY",
        "event_action": "resolve",
        "dedup_key": "inc_7f3a",
    }


@pytest.mark.parametrize(
    "quiet",
    [
        message(verdict=healthy(), suspects=()),
        message(verdict=verdict(category="none"), suspects=()),
        message(verdict=None, suspects=()),
        message(Event.FAILED, state="failed", reason="the worker was killed"),
        message(Event.FAILED, verdict=None, suspects=(), reason="the worker was killed"),
    ],
    ids=["healthy", "no cause", "no verdict", "failed after a verdict", "failed"],
)
@pytest.mark.parametrize("kind", ["pagerduty", "alertmanager"])
def test_nobody_is_woken_for_nothing(quiet, kind):
    assert sent(quiet, kind) is None


@pytest.mark.parametrize("quiet", [healthy(), None], ids=["healthy", "no verdict"])
def test_the_native_receiver_and_slack_are_told_all_the_same(quiet):
    told_ = message(verdict=quiet, suspects=())
    assert sent(told_, "generic")["data"]["verdict"] == (None if quiet is None else quiet.to_dict())
    assert sent(told_, "slack")["blocks"]


def test_a_page_for_what_turns_out_healthy_is_taken_back():
    back = message(Event.REVISED, revision=2, verdict=healthy(), suspects=())
    assert sent(back, "pagerduty")["event_action"] == "resolve"


def test_a_long_incident_id_still_is_one_key():
    long = "i" * 300
    key = sent(message(incident_id=long), "pagerduty")["dedup_key"]
    assert key == sent(message(Event.RESOLVED, incident_id=long), "pagerduty")["dedup_key"]
    assert len(key) <= 255


@pytest.mark.parametrize(
    ("changes", "loud"),
    [
        ({}, Severity.CRITICAL),
        ({"cordon": ()}, Severity.ERROR),
        ({"action": "reboot_node"}, Severity.CRITICAL),
        ({"action": "reset_gpu"}, Severity.ERROR),
        ({"action": "check_network", "category": "network"}, Severity.ERROR),
        ({"action": "check_storage", "category": "storage"}, Severity.WARNING),
        ({"action": "fix_code", "category": "software_user"}, Severity.WARNING),
        ({"action": "drain_node", "category": "software_user"}, Severity.WARNING),
        ({"action": "investigate", "category": "host_stall"}, Severity.WARNING),
        ({"action": "none", "category": "none"}, Severity.INFO),
        ({"kind": "healthy"}, Severity.INFO),
    ],
    ids=str,
)
def test_severity_follows_the_action(changes, loud):
    assert choose_severity(verdict(**changes)) is loud
    fired = sent(message(verdict=verdict(**changes)), "pagerduty")
    assert fired is None or fired["payload"]["severity"] == loud


@pytest.mark.parametrize("kind", Kind)
def test_every_verdict_can_be_told(kind):
    for action, category in product(Action, Category):
        render(message(verdict=verdict(action=str(action), category=str(category))), TARGETS[kind])


# --- Alertmanager


def test_each_top_suspect_is_an_alert_that_stands_for_a_day():
    nodes = ("n3", "n5", "n7", "n9")
    alerts = sent(message(suspects=tuple(suspect(node=node) for node in nodes)), "alertmanager")
    assert sorted(alert["labels"]["node"] for alert in alerts) == ["n3", "n5", "n7"]
    for alert in alerts:
        assert set(alert["labels"]) == {
            "alertname", "severity", "category", "cluster", "incident", "job_id", "node",
        }  # fmt: skip
        assert alert["startsAt"] == "2026-11-21T03:14:15.123Z"
        assert alert["endsAt"] == "2026-11-22T03:14:15.123Z"


def test_the_affected_are_no_alerts():
    both = (suspect(), suspect(node="n5", role="affected"))
    assert len(sent(message(suspects=both), "alertmanager")) == 1


def test_a_job_without_a_named_node_is_one_alert():
    (alert,) = sent(message(suspects=()), "alertmanager")
    assert "node" not in alert["labels"]


def test_a_resolution_ends_the_same_alert():
    (fired,) = sent(message(), "alertmanager")
    (ended,) = sent(message(Event.RESOLVED, at=AT + timedelta(hours=1)), "alertmanager")
    assert ended["labels"] == fired["labels"]
    assert ended["endsAt"] == ended["startsAt"] == "2026-11-21T04:14:15.123Z"


def test_a_revision_ends_the_alert_of_a_node_that_is_cleared():
    revised = message(
        Event.REVISED,
        suspects=(suspect(node="n5"),),
        previous_verdict=verdict(),
        previous_suspects=(suspect(node="n3"), suspect(node="n5")),
    )
    ends = {one["labels"]["node"]: one["endsAt"] for one in sent(revised, "alertmanager")}
    assert ends == {"n5": "2026-11-22T03:14:15.123Z", "n3": "2026-11-21T03:14:15.123Z"}


@pytest.mark.parametrize(
    ("given_url", "called"),
    [
        ("https://a.example", "https://a.example/api/v2/alerts"),
        ("https://a.example/", "https://a.example/api/v2/alerts"),
        ("https://a.example/am", "https://a.example/am/api/v2/alerts"),
        ("https://a.example/api/v2/alerts", "https://a.example/api/v2/alerts"),
        ("https://a.example/am/?x=1", "https://a.example/am/api/v2/alerts?x=1"),
    ],
)
def test_the_path_of_the_api_is_added_once(given_url, called):
    assert render(message(), validate("alertmanager", given_url)).url == called


# --- Slack


def slack_text(message_):
    return json.dumps(sent(message_, "slack"), ensure_ascii=False)


def test_slack_says_who_why_and_what_to_do():
    said = slack_text(message())
    assert "Job 4711 hang: gpu_hbm on n3 (0.99)" in said
    assert "NVRM: Xid (PCI:0000:5d:00): 94 (nodes/n3/kernel.log:812)" in said
    assert "*Next:* Drain n3" in said
    assert "kubectl cordon n3" in said
    assert "63 of 64 dumps" in said


def test_slack_says_what_was_seen_first_where_nobody_is_named():
    said = slack_text(message(suspects=(), seen_first=("rank 0: it timed out (job.log:3)",)))
    assert "*Seen first:*\\n• rank 0: it timed out (job.log:3)" in said
    assert "Seen first" not in slack_text(message())


@pytest.mark.parametrize("url", ["", "/incidents/inc_7f3a"])
def test_slack_names_the_incident_where_no_address_is_known(url):
    assert "Incident inc_7f3a" in slack_text(message(url=url))
    assert "Incident inc_7f3a" not in slack_text(message())


def test_slack_names_three_suspects():
    said = slack_text(message(suspects=tuple(suspect(node=f"n{n}") for n in range(1, 6))))
    assert "*3. n3*" in said
    assert "*4." not in said


@pytest.mark.parametrize(
    ("count", "said"), [(3, None), (4, "1 more in the incident"), (300, "297 more in the incident")]
)
def test_slack_says_how_many_it_leaves_out(count, said):
    text = slack_text(message(suspects=tuple(suspect(node=f"n{n}") for n in range(count))))
    left_out = re.findall(r"\d+ more in the incident", text)
    assert left_out == ([] if said is None else [said])


@pytest.mark.parametrize("kind", ["slack", "pagerduty", "alertmanager"])
def test_how_often_it_was_is_said(kind):
    sentence = "The 4th of this kind in 9 days; twice resolved as network on n12."
    assert sentence in str(sent(message(problem=PROBLEM), kind))
    assert "of this kind" not in str(sent(message(), kind))


def test_a_webhook_holds_the_problem():
    assert sent(message(problem=PROBLEM), "generic")["data"]["problem"] == {
        "id": "prb_1", "count": 4, "nth": 4, "first_seen": "2026-11-12T15:14:15.123Z",
        "last_seen": "2026-11-21T03:14:15.123Z",
        "resolved_by": [{"category": "network", "node": "n12", "count": 2}],
    }  # fmt: skip
    assert "problem" not in sent(message(), "generic")["data"]


def test_a_phone_is_told_what_happened_and_what_to_do():
    assert sent(message(), "slack")["text"] == (
        "Job 4711 hang: gpu_hbm on n3 (0.99)\n"
        "On n3 (rank 27), GPU memory (HBM) failed; 63 other ranks wait.\n"
        "Drain n3, then restart the job without it."
    )


@pytest.mark.parametrize("event", [Event.RESOLVED, Event.FAILED])
def test_a_phone_is_not_told_an_old_verdict(event):
    assert "\n" not in sent(message(event, reason="killed"), "slack")["text"]


@pytest.mark.parametrize("kind", ["slack", "pagerduty", "alertmanager"])
@pytest.mark.parametrize("char", ["x", '"', "&", "\\", "<", "😀"])
def test_300_suspects_with_long_reasons_are_still_one_message(char, kind):
    long = char * 10_000
    reasons = (because(long, long, 1),) * 9
    crowd = tuple(suspect(node=f"n{n}", because=reasons, gpus=(long,) * 9) for n in range(300))
    full = message(
        verdict=verdict(summary=long, cordon=(long,)), suspects=crowd, next_step=long,
        coverage_text=long, actions=tuple(f"kubectl cordon n{n}" for n in range(8)),
    )  # fmt: skip
    body = sent(full, kind)
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    for position in range(3):
        assert f"n{position}" in text
    assert "kubectl cordon n7" in text
    assert len(text) <= {"slack": 8_000, "pagerduty": 512 << 10, "alertmanager": 64 << 10}[kind]


def test_pagerduty_says_how_many_it_leaves_out():
    crowd = tuple(suspect(node=f"n{n}") for n in range(300))
    details = sent(message(suspects=crowd), "pagerduty")["payload"]["custom_details"]
    assert (len(details["suspects"]), details["more_suspects"]) == (3, 297)


def test_commands_are_whole_or_left_out():
    many = tuple(f"kubectl cordon node-with-a-rather-long-name-{n}" for n in range(200))
    block = next(
        text for one in sent(message(actions=many), "slack")["blocks"]
        if "kubectl" in (text := one.get("text", {}).get("text", ""))
    )  # fmt: skip
    shown = [line for line in block.splitlines() if line.startswith("kubectl")]
    assert shown == list(many[: len(shown)])
    assert f"# {200 - len(shown)} more in the report" in block


def test_slack_tells_a_resolution_with_its_note():
    said = slack_text(
        message(Event.RESOLVED, resolution={"category": "nic", "node": "n9", "note": "cable"})
    )
    assert "Job 4711 resolved: nic on n9" in said
    assert "cable" in said


def test_slack_tells_our_own_failure_as_ours():
    said = slack_text(message(Event.FAILED, verdict=None, suspects=(), reason="killed thrice"))
    assert "triage could not analyse Job 4711: killed thrice" in said


# --- all of them


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Job 4711 hang: gpu_hbm on n3 (0.99)"),
        ({"provisional": True}, "Provisional: Job 4711 hang: gpu_hbm on n3 (0.99)"),
        ({"suspects": ()}, "Job 4711 hang: gpu_hbm (0.99)"),
        (
            {"suspects": (suspect(role="possible"), suspect(node=None, role="possible"))},
            "Job 4711 hang: gpu_hbm possibly on n3, rank 27 (0.99)",
        ),
        (
            {"suspects": tuple(suspect(node=f"n{n}") for n in range(5))},
            "Job 4711 hang: gpu_hbm on n0, n1, n2 and 2 more (0.99)",
        ),
        ({"verdict": None, "suspects": ()}, "Job 4711 stopped; there is no verdict yet"),
        (
            {"verdict": verdict(kind="inconclusive", confidence=0.2), "suspects": ()},
            "Job 4711: inconclusive (0.20)",
        ),
        ({"verdict": healthy(), "suspects": ()}, "Job 4711: healthy (0.85)"),
    ],
)
def test_the_headline_claims_no_more_than_the_verdict(changes, said):
    assert compose_headline(message(**changes)) == said


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("name", sorted(path.name for path in INCIDENTS.glob("logs-*")))
def test_every_incident_can_be_told(name, kind):
    told = of_incident(name)
    request = render(told, TARGETS[kind])
    assert request is None or json.loads(request.body)
    if kind is Kind.CLOUDEVENTS:
        assert (request is None) == (not told.verdict.cordon)
        return
    assert (request is None) == (
        name == "logs-healthy-with-noise-w8" and kind in (Kind.PAGERDUTY, Kind.ALERTMANAGER)
    )


def test_what_was_read_is_said_in_a_line():
    assert describe_coverage(Coverage()) == "nothing was read"
    one = (Refused("fr/9", "cut"),)
    whole = Coverage(64, 63, lines_read=120_331, unreadable=one, partial=one * 2)
    assert describe_coverage(whole) == (
        "63 of 64 dumps, 120,331 lines of logs; 2 files partial; 1 file unreadable"
    )


# --- subscriptions


@pytest.mark.parametrize(
    ("kind", "url", "key", "where"),
    [
        ("teams", "https://a.example", None, ["body/kind"]),
        ("Slack", "https://a.example", None, ["body/kind"]),
        ("generic", None, None, ["body/url"]),
        ("slack", "", None, ["body/url"]),
        ("alertmanager", None, None, ["body/url"]),
        ("pagerduty", None, None, ["body/routing_key"]),
        ("pagerduty", None, "two words", ["body/routing_key"]),
        ("generic", None, "R0UT1NGKEY", ["body/url", "body/routing_key"]),
    ],
)
def test_an_incomplete_subscription_is_refused_with_its_places(kind, url, key, where):
    with pytest.raises(Unprocessable) as refused:
        validate(kind, url, key)
    assert [place.where for place in refused.value.places] == where


def test_pagerduty_needs_only_its_key():
    target = validate("pagerduty", None, "R0UT1NGKEY")
    assert target.url == "https://events.pagerduty.com/v2/enqueue"


def test_what_programs_read_is_signed_and_only_states_are_superseded():
    assert [kind for kind in Kind if get_receiver(kind).signed] == [Kind.GENERIC, Kind.CLOUDEVENTS]
    assert [kind for kind in Kind if get_receiver(kind).each] == [Kind.CLOUDEVENTS]
    assert [kind for kind in Kind if get_receiver(kind).latest_only] == [
        Kind.PAGERDUTY,
        Kind.ALERTMANAGER,
    ]
