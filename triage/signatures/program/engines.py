"""Ray's core and the engines that serve models: what they say when a worker is gone.

A dead actor, a lost object and a dead engine follow from a process that ended; the
memory monitor and a full disk name their cause themselves.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.signature import Reading


def over_threshold(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The node that the memory monitor names."""
    return Reading(fields={} if match["address"] is None else {"address": match["address"]})


# Who gives back what stood idle takes nothing from a job.
_UNUSED = compile_re(r"\b(?:idle|unused|max_workers|outdated)", re.IGNORECASE)


def taken_away(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Which node of a cluster of Ray goes away; not one that nobody used."""
    if _UNUSED.search(match["reason"]):
        return None
    node = match["address"] or match["instance"]
    return Reading(fields={"node": node})


SIGNATURES = load(
    __name__,
    ray_disk=lambda match, _after: (
        Reading(category=Category.HOST_OOM, also=(Category.STORAGE,))
        if match["memory"]
        else Reading()
    ),
)
