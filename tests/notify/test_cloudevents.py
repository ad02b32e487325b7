"""Health events for others: whom they convict, when they end, and that they are no evidence."""

import json

import pytest

from tests.notify.messages import healthy, hostile, message, suspect, verdict
from tests.notify.test_golden import TARGETS
from triage.domain.category import HARDWARE, Category
from triage.formats.health.reading import Reading
from triage.formats.registry import CHECKS
from triage.notify.cloudevents import BATCH, RECOMMENDED, STRUCTURED, render
from triage.notify.message import Event
from triage.services.hooks.cloudevents import read_event_notices, read_events

NVSENTINEL = next(row for row in CHECKS if row.name == "nvsentinel")

TARGET = TARGETS["cloudevents"]
# https://github.com/NVIDIA/NVSentinel, data-models/protobufs/health_event.proto
ACTIONS = {
    "NONE", "COMPONENT_RESET", "CONTACT_SUPPORT", "RUN_FIELDDIAG", "RESTART_VM", "RESTART_BM",
    "REPLACE_VM", "RUN_DCGMEUD", "RESTART_APP", "UNKNOWN",
}  # fmt: skip
FIELDS = {
    "version", "agent", "componentClass", "checkName", "isFatal", "isHealthy", "message",
    "recommendedAction", "errorCode", "entitiesImpacted", "metadata", "generatedTimestamp",
    "nodeName", "processingStrategy",
}  # fmt: skip


def events(one):
    request = render(one, TARGET)
    if request is None:
        return []
    body = json.loads(request.body)
    assert request.headers == {"content-type": BATCH if isinstance(body, list) else STRUCTURED}
    return read_events(request.headers["content-type"], {}, lambda: body)


def health_by_node(one):
    return {event["subject"]: event["data"]["healthEvent"]["isHealthy"] for event in events(one)}


def test_one_convicted_node_is_one_event():
    (event,) = events(message())
    health = event["data"]["healthEvent"]
    assert set(health) <= FIELDS
    assert (health["nodeName"], health["isFatal"], health["isHealthy"]) == ("n3", True, False)
    assert health["processingStrategy"] == "STORE_ONLY"
    assert health["recommendedAction"] == RECOMMENDED[Category.GPU_HBM] == "COMPONENT_RESET"
    assert health["entitiesImpacted"] == [{"entityType": "PCI", "entityValue": "0000:5d:00"}]
    assert health["metadata"]["incident"] == "inc_7f3a"
    assert event["time"] == health["generatedTimestamp"] == "2026-11-21T03:14:15.123Z"


def test_every_hardware_category_has_an_action_that_nvsentinel_knows():
    assert set(RECOMMENDED) == HARDWARE
    assert set(RECOMMENDED.values()) <= ACTIONS


@pytest.mark.parametrize(
    ("action", "wanted"),
    [
        ("reboot_node", "RESTART_BM"),
        ("reset_gpu", "COMPONENT_RESET"),
        ("drain_node", "CONTACT_SUPPORT"),
    ],
)
def test_the_action_of_the_answer_comes_first(action, wanted):
    one = message(
        verdict=verdict(category="nic", action=action), suspects=(suspect(category="nic"),)
    )
    assert events(one)[0]["data"]["healthEvent"]["recommendedAction"] == wanted


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": verdict(cordon=())},
        {"verdict": healthy(), "suspects": ()},
        {"verdict": None, "suspects": ()},
        {"suspects": (suspect(node="n4"),)},
        {"suspects": (suspect(node=None),)},
        {"suspects": (suspect(category="software_user"),)},
        *({"event": one} for one in Event if one.startswith("action.")),
        {"event": Event.FAILED},
        {"event": Event.DELETED},
    ],
)
def test_nobody_who_is_not_convicted_is_told_of(changes):
    assert events(message(**changes)) == []


def test_several_nodes_are_a_batch():
    one = message(
        verdict=verdict(cordon=("n3", "n4")), suspects=(suspect(), suspect(node="n4"), suspect())
    )
    assert health_by_node(one) == {"n3": False, "n4": False}
    assert len({event["id"] for event in events(one)}) == 2


def test_a_revision_takes_back_whom_it_does_not_convict():
    one = message(
        Event.REVISED,
        revision=2,
        verdict=verdict(cordon=("n4",)),
        suspects=(suspect(node="n4"),),
        previous_verdict=verdict(),
        previous_suspects=(suspect(),),
    )
    assert health_by_node(one) == {"n4": False, "n3": True}
    healthy_one = events(one)[1]["data"]["healthEvent"]
    assert (healthy_one["isFatal"], healthy_one["recommendedAction"]) == (False, "NONE")


@pytest.mark.parametrize(
    ("resolution", "wanted"),
    [
        ({"category": "software_user"}, {"n3": True}),
        ({"category": "gpu", "node": "n9"}, {"n3": True}),
        (None, {"n3": True}),
        # It is as bad as before; who repairs it says when it is well.
        ({"category": "gpu", "node": "n3"}, {}),
    ],
)
def test_a_resolution_ends_it_unless_it_confirms(resolution, wanted):
    assert health_by_node(message(Event.RESOLVED, resolution=resolution)) == wanted


def test_our_own_events_accuse_nobody_when_they_come_back():
    for event in events(message()):
        found = read_event_notices(event)
        assert found.reports == []
        assert "this service said itself" in found.ignored[0].why
        reading = Reading("events.json")
        text = json.dumps(event)
        assert NVSENTINEL.begins(text)
        NVSENTINEL.parse(text, reading)
        assert [str(one.outcome) for one in reading.results] == ["skipped"]


def test_hostile_names_are_told_harmlessly():
    one = hostile()
    one = message(
        verdict=verdict(category="gpu", cordon=(one.suspects[0].node,)),
        suspects=one.suspects,
        job_id=one.job_id,
    )
    assert len(events(one)) == 1
    raw = render(one, TARGET).body.decode()
    assert "<" not in raw
    assert "@everyone" not in raw
