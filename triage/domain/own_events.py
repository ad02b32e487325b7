"""How what this service says of a node is known when it comes back to it.

Other tools pass on what they hear: a health event of ours comes back by NVSentinel, a condition
of ours by whoever exports the conditions of nodes. It is our own conclusion, and no evidence.
"""

from collections.abc import Mapping
from typing import Final

AGENT: Final = "nccl-triage"
"""The agent of our health events."""
CHECK: Final = "TriageSuspect"
"""Their check, and the type of the condition that a drained node of Kubernetes has."""
SOURCE: Final = "/nccl-triage"
"""The source of our CloudEvents."""


def is_own_event(health: Mapping[str, object]) -> bool:
    """Whether a health event, in NVSentinel's form, is one of ours, whoever passed it on."""
    agent, check = health.get("agent"), health.get("checkName")
    return agent == AGENT or (isinstance(check, str) and check.startswith(CHECK))
