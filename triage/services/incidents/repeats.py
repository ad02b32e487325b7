"""The same node again: earlier incidents that convicted it, and what they have in common.

Worked out when somebody asks, from rows that are there: it changes no answer, and what a
person says about an earlier incident counts at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from sqlalchemy.orm import Session

from triage.analysis.facts.part import NamedParts, list_named_parts
from triage.domain.wire import WireForm
from triage.store.incidents import repeats
from triage.store.incidents.repeats import MAX_READ, Conviction

MAX_REPEATS: Final = 20
# Suspects of one incident whose past is looked up: a tie has two.
_MAX_NODES: Final = 3
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Repeat(WireForm):
    """One earlier incident; ``part`` is what both name, else what the earlier one named."""

    incident_id: str
    job_id: str
    at: Annotated[datetime, "When it was opened."]
    node: str
    part: Annotated[str | None, "GPU, NIC, disk or DIMM; null where nothing names one."]
    why: Annotated[str, "What both have in common, and how often that was."]


def list_repeats(session: Session, incident_id: str) -> list[Repeat]:
    """Earlier incidents of the suspects of this one, newest first, at most 20.

    Where there are more, those that name the same part of the node come before the others.
    """
    present = {
        one.node: one for one in repeats.list_first_suspects(session, incident_id, _MAX_NODES)
    }
    past = repeats.list_earlier(session, incident_id, list(present))
    found = [
        of_node
        for node, now in present.items()
        for of_node in _compare_incidents(now, [one for one in past if one.node == node], len(past))
    ]
    found.sort(key=lambda pair: (pair[0], pair[1].incident_id), reverse=True)
    kept = [repeat for _, repeat in found[:MAX_REPEATS]]
    return sorted(kept, key=lambda one: one.incident_id, reverse=True)


def _compare_incidents(
    now: Conviction, past: Sequence[Conviction], num_read: int
) -> list[tuple[bool, Repeat]]:
    """(whether both name the same part, the repeat) of one node."""
    told = [list_named_parts(one.suspect) for one in (*reversed(past), now)]
    # A line of one incident may say which adapter the interface of another one is.
    names = {name: address for one in told for name, address in one.names.items()}
    *others, mine = (one.by_address(names) for one in told)
    named = list(zip(past, reversed(others), strict=True))
    found = []
    for one, theirs in named:
        key = next((key for key in mine.parts if key in theirs.parts), None)
        group = [other for other, its in named if key is None or key in its.parts]
        common = _list_common(now, one, mine, theirs, key)
        part = theirs.first if key is None else mine.parts[key]
        why = f"{', '.join(common)}; {_describe_frequency(now, group, num_read)}"
        repeat = Repeat(one.incident_id, one.job_id, one.at, one.node, part, why)
        found.append((key is not None, repeat))
    return found


def _list_common(
    now: Conviction, one: Conviction, mine: NamedParts, theirs: NamedParts, key: str | None
) -> list[str]:
    words = ["same node"]
    if key is not None:
        words.append(f"same {mine.parts[key]}")
    elif mine.first and theirs.first:
        words.append(f"then {theirs.first}")
    codes = [code for code in mine.codes if code in theirs.codes]
    if codes:
        words.append(f"same code {' and '.join(codes)}")
    elif one.suspect.get("category") == now.suspect.get("category"):
        words.append(f"same category {now.suspect.get('category')}")
    return words


def _describe_frequency(now: Conviction, group: Sequence[Conviction], num_read: int) -> str:
    """``3 incidents in 12 days``: this one and those of the group."""
    days = max(1, math.ceil((now.at - min(one.at for one in group)) / _DAY))
    least = "at least " if num_read == MAX_READ else ""
    return f"{least}{len(group) + 1} incidents in {days} day{'' if days == 1 else 's'}"
