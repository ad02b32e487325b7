"""Names that go to and come from a scheduler: of nodes, and the reasons of our acts."""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re

NODE: Final = compile_re(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)
"""A node's name that is handed to a scheduler; every other one is refused."""
_REASON: Final = compile_re(r"triage:(?P<incident>[A-Za-z0-9_-]{1,64}):", re.ASCII)


def format_act_reason(incident_id: str, category: Category, confidence: float) -> str:
    """The reason that stands at the scheduler: one word, so that other tools can read it."""
    return f"triage:{incident_id}:{category}:{confidence:.2f}"


def parse_reason_incident(reason: str) -> str | None:
    """The incident of a reason of ours; None for the words of others, who are left alone."""
    match = _REASON.match(reason)
    return match["incident"] if match else None
