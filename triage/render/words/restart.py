"""Restart: what to do with the job, in words that terminal, page and messages share."""

from collections.abc import Sequence

from triage.domain.counts import count
from triage.domain.restart import Restart, RestartDecision
from triage.render.words.ranges import condense_names

__all__ = ["restart_headline", "restart_text"]

MAX_CHARS = 120
WORDS = {
    RestartDecision.RESTART: "restart",
    RestartDecision.RESTART_WITHOUT: "restart without",
    RestartDecision.STOP: "stop, and fix it first",
    RestartDecision.WAIT: "wait, then restart",
}


def restart_headline(decision: str, exclude: Sequence[str], retries_left: int) -> str:
    """``restart without n3 (up to 3 times)``; a decision of a later release as it is written."""
    known = decision in set(RestartDecision)
    words = WORDS[RestartDecision(decision)] if known else decision
    nodes = f" {condense_names(exclude, max_chars=MAX_CHARS)}" if exclude else ""
    times = f" (up to {count(retries_left, 'time')})" if retries_left else ""
    return f"{words}{nodes}{times}"


def restart_text(restart: Restart) -> str:
    """The decision and its reason."""
    head = restart_headline(restart.decision, restart.exclude, restart.retries_left)
    return f"{head}: {restart.why}"
