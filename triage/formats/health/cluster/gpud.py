"""gpud's answers: ``/v1/states`` and ``/v1/events``, a list of components each.

::

    [{"component": "accelerator-nvidia-error-xid", "states": [{
        "time": "2026-03-14T02:41:05Z", "health": "Unhealthy",
        "reason": "XID 79 (GPU has fallen off the bus) detected on GPU-6b1f...",
        "suggested_actions": {"repair_actions": ["REBOOT_SYSTEM"]}}]}]
    [{"component": "accelerator-nvidia-error-xid", "events": [{
        "time": "2026-03-14T02:40:59Z", "name": "error_xid", "type": "Fatal",
        "message": "XID 79 detected on PCI:0000:6d:00"}]}]

No node stands in it: the folder or the file's name says whose it is. The time of a state is
when it was looked at; that of an event is when it happened.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.cluster.agent_report import complaint_of
from triage.formats.health.json_report import documents_of, items_of, moment, text_in
from triage.formats.health.reading import Reading, check_name

__all__ = ["GPUD"]

COMPONENT: Final = re.compile(r'"component"\s{0,20}:\s{0,20}"')
LISTS: Final = re.compile(r'"(?:states|events)"\s{0,20}:\s{0,20}(?:\[|null)')
HEALTH: Final = re.compile(
    r'"(?:health|suggested_actions|startTime|start_time)"\s{0,20}:|"type"\s{0,20}:\s{0,20}"'
    r'(?:Info|Warning|Critical|Fatal)"'
)
OF_HEALTH: Final = {
    "healthy": Outcome.PASS, "unhealthy": Outcome.FAIL, "degraded": Outcome.WARN,
    "initializing": Outcome.SKIPPED,
}  # fmt: skip
OF_TYPE: Final = {
    "info": Outcome.PASS, "warning": Outcome.WARN, "critical": Outcome.FAIL,
    "fatal": Outcome.FAIL, "unknown": Outcome.SKIPPED,
}  # fmt: skip
# The part that a component's name says, where its words do not.
VENDOR: Final = "accelerator-nvidia-"


def claimed(head: str) -> bool:
    return (
        head.lstrip("\ufeff \t\r\n").startswith("[")
        and COMPONENT.search(head) is not None
        and LISTS.search(head) is not None
        and HEALTH.search(head) is not None
    )


def read(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for component in items_of(document):
            name = text_in(component, "component")
            for state in items_of(component.get("states")):
                of_state(name, state, reading)
                if reading.full:
                    return
            for event in items_of(component.get("events")):
                of_event(name, event, reading)
                if reading.full:
                    return


def of_state(component: str, state: Mapping[str, Any], reading: Reading) -> None:
    actions = state.get("suggested_actions")
    repairs = actions.get("repair_actions") if isinstance(actions, Mapping) else None
    asked = [one for one in repairs if isinstance(one, str)] if isinstance(repairs, list) else []
    add(
        component,
        OF_HEALTH.get(text_in(state, "health").lower()),
        text_in(state, "reason"),
        ", ".join(asked[:4]),
        text_in(state, "time"),
        reading,
    )


def of_event(component: str, event: Mapping[str, Any], reading: Reading) -> None:
    words = text_in(event, "message") or text_in(event, "name")
    outcome = OF_TYPE.get(text_in(event, "type").lower())
    add(component, outcome, words, "", text_in(event, "time"), reading)


def add(
    component: str, outcome: Outcome | None, words: str, asked: str, time: str, reading: Reading
) -> None:
    """One state or event of a component."""
    short = component.removeprefix(VENDOR)
    if outcome is None or not component:
        reading.skip(1, f"{short[:64] or 'a component'}: no known health or type")
        return
    complaint = complaint_of(words)
    category = complaint.category or complaint_of(component.replace("-", " ")).category
    if complaint.follows and outcome is Outcome.FAIL:
        outcome = Outcome.WARN
    reading.add(
        check_name("gpud", short),
        outcome,
        part=complaint.gpu,
        detail=f"{words}; suggested: {asked}" if asked else words,
        category=category,
        at=moment(time),
        line=1,
    )


GPUD: Final = CheckFormat("gpud", claimed, read, lines=False, words=('"component"',))
