"""What each receiver is sent for real incidents, word for word.

After a change that is meant, write the files anew and read the difference:
``TRIAGE_GOLDEN=write python -m pytest tests/notify/test_golden.py``.
"""

import json
import os
from pathlib import Path

import pytest

from tests.notify.messages import of_incident
from triage.notify.registry import render, validate

GOLDEN = Path(__file__).parent / "golden"
INCIDENTS = ("logs-hbm-w8", "logs-healthy-with-noise-w8", "nccl-never-joins-w8", "logs-nic-w16")
TARGETS = {
    "generic": validate("generic", "https://hooks.example.com/triage"),
    "slack": validate("slack", "https://hooks.slack.com/services/T/B/x"),
    "pagerduty": validate("pagerduty", None, "R0UT1NGKEY"),
    "alertmanager": validate("alertmanager", "https://alerts.example.com/am/"),
    "cloudevents": validate("cloudevents", "https://events.example.com/health"),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("incident", INCIDENTS)
def test_a_receiver_is_sent_what_was_reviewed(incident, kind):
    request = render(of_incident(incident), TARGETS[kind])
    sent = None
    if request is not None:
        sent = {
            "method": request.method,
            "url": request.url,
            "headers": dict(request.headers),
            "body": json.loads(request.body),
        }
    text = json.dumps(sent, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    path = GOLDEN / f"{incident}.{kind}.json"
    if os.environ.get("TRIAGE_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


@pytest.mark.parametrize("kind", TARGETS)
def test_the_same_message_gives_the_same_bytes(kind):
    message = of_incident("logs-hbm-w8")
    assert render(message, TARGETS[kind]) == render(message, TARGETS[kind])


def test_the_native_body_holds_the_report_as_it_is():
    message = of_incident("logs-hbm-w8")
    data = json.loads(render(message, TARGETS["generic"]).body)["data"]
    assert data["verdict"] == message.verdict.to_dict()
    assert data["suspects"] == [one.to_dict() for one in message.suspects]
