"""Conditions of Kubernetes nodes, as the agents that watch them set them.

``kubectl get node -o json``, one node or a list::

    {"kind": "Node", "metadata": {"name": "n3"}, "status": {"conditions": [
      {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error",
       "message": "...", "lastTransitionTime": "2026-03-14T02:41:05Z"}]}}

EKS's agent sets conditions that end in ``Ready``, false where something is wrong; the
node-problem-detector and NVSentinel set problems, true where there is one. Kubernetes' own
pressures warn.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import documents_of, items_of, moment, text_in
from triage.formats.health.reading import Reading, check_name
from triage.formats.health.suites.node_health_check import complaint_in_words

__all__ = ["NODE_CONDITIONS"]

KIND: Final = re.compile(r'"kind"\s{0,4}:\s{0,4}"(?:Node|NodeList|List)"')
PRESSURES: Final = frozenset(
    {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}
)
OF_CONDITION: Final = {
    "AcceleratedHardwareReady": Category.GPU, "StorageReady": Category.STORAGE,
    "NetworkingReady": Category.NETWORK, "ReadonlyFilesystem": Category.SSD,
}  # fmt: skip
# "NvidiaXID79Error", "DCGMDiagnosticFailure": words run together.
WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def claimed(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith("{")
    return begins and KIND.search(head) is not None and '"apiVersion"' in head


def read(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for entry in items_of(document):
            for node in items_of(entry.get("items", entry)):
                if node.get("kind") == "Node":
                    of_node(node, reading)
    if not reading.results:
        reading.unknown("node.conditions", "no node has a condition", line=1)


def of_node(node: Mapping[str, Any], reading: Reading) -> None:
    facts, status = node.get("metadata"), node.get("status")
    name = text_in(facts, "name")[:256] if isinstance(facts, Mapping) else ""
    for condition in items_of(status.get("conditions") if isinstance(status, Mapping) else None):
        if not reading.full:
            of_condition(name or None, condition, reading)


def of_condition(node: str | None, condition: Mapping[str, Any], reading: Reading) -> None:
    sort, state = text_in(condition, "type"), text_in(condition, "status")
    words = f"{text_in(condition, 'reason')}: {text_in(condition, 'message')}"
    bad = "False" if sort.endswith("Ready") else "True"
    outcome = Outcome.PASS if state in ("True", "False") else Outcome.SKIPPED
    category = part = None
    if state == bad:
        outcome = Outcome.WARN if sort in PRESSURES else Outcome.FAIL
        complaint = complaint_in_words(WORDS.sub(" ", words))
        category, part = complaint.category or OF_CONDITION.get(sort), complaint.gpu
        if complaint.follows:
            outcome = Outcome.WARN
        if sort == "Ready":
            category = None  # the kubelet is silent; it does not say why
    reading.add(
        check_name("node", WORDS.sub("_", sort)), outcome, part=part, detail=words,
        category=category, node=node, line=1,
        at=moment(text_in(condition, "lastTransitionTime")) if state == bad else None,
    )  # fmt: skip


NODE_CONDITIONS: Final = CheckFormat(
    "node_conditions", claimed, read, lines=False, words=('"apiVersion"',)
)
