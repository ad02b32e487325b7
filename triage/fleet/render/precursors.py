"""Counters before faults, in sentences: whether any announces faults, and whom it flags now."""

from typing import Final

from triage.fleet.render.words import Wire
from triage.render.words.clean import format_one_line

_MAX_FLAGS: Final = 10


def describe_precursors(standings: Wire) -> list[str]:
    """What a page and a terminal list; nothing where no telemetry is known."""
    found = standings.get("precursors") or {}
    if not found.get("num_nodes"):
        return []
    counters = [row["text"] for row in found["counters"] if row["threshold"] is not None]
    flags = found["flags"]
    shown = [f"{format_one_line(flag['node'])}: {flag['text']}." for flag in flags[:_MAX_FLAGS]]
    left = len(flags) - len(shown)
    more = [f"and {left:,} more flag{'s' * (left != 1)}"] if left > 0 else []
    return [found["text"], *counters, *shown, *more]
