"""What is to be checked: each check of each node that passes, fails, or is due."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.domain.health import CheckResult, Outcome
from triage.domain.report import iso_utc
from triage.services.health_policy import (
    ASKS,
    LOOK_BACK,
    STRESS,
    Asked,
    Ran,
    due_of,
)
from triage.store import health, health_asked
from triage.store.fleet import clusters, nodes
from triage.store.health import KeptCheck

__all__ = ["STATES", "checks_of", "newest_results", "to_be_seen_to"]

STATES: Final = ("due", "failing", "warning", "passing", "skipped")
STATE_OF: Final = {
    Outcome.FAIL: "failing", Outcome.WARN: "warning", Outcome.PASS: "passing",
    Outcome.SKIPPED: "skipped",
}  # fmt: skip
# A node that nothing has named for so long is not asked for a check by its age.
SEEN_WITHIN: Final = LOOK_BACK


def checks_of(
    session: Session,
    now: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
    state: str | None = None,
) -> list[dict[str, Any]]:
    """Rows ``{cluster, node, check, part, state, outcome, at, detail, category, because}``.

    By node, check and part. A check that is due has a row of its own, beside that of its
    newest result; its ``at`` is since when it is due. ``because`` says why, for those due.
    """
    outcomes = [one for one, word in STATE_OF.items() if state in (None, word)]
    found: list[dict[str, Any]] = []
    if outcomes:
        kept = health.newest(session, cluster=cluster, node=node, outcomes=outcomes)
        found += [row_of(one) for one in kept]
    if state in (None, "due"):
        found += due_rows(session, now, cluster=cluster, node=node)
    return sorted(found, key=place_of)


def to_be_seen_to(
    session: Session, now: datetime, *, cluster: str | None = None
) -> list[dict[str, Any]]:
    """The rows that somebody has to see to: failing ones, then what is due."""
    return [
        row
        for state in ("failing", "due")
        for row in checks_of(session, now, cluster=cluster, state=state)
    ]


def newest_results(
    session: Session, *, cluster: str | None = None
) -> Mapping[str, tuple[CheckResult, ...]]:
    """Node -> the newest result of each of its checks, as a fleet's record holds them."""
    found: dict[str, list[CheckResult]] = {}
    for one in health.newest(session, cluster=cluster):
        found.setdefault(one.node, []).append(one.to_result())
    return {node: tuple(results) for node, results in found.items()}


def place_of(row: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """Where a row stands in the list; no two rows stand at one place."""
    return row["node"], row["check"], row["part"] or "", row["cluster"], row["state"]


def row_of(one: KeptCheck) -> dict[str, Any]:
    return {
        "cluster": one.cluster, "node": one.node, "check": one.check, "part": one.part,
        "state": STATE_OF[one.outcome], "outcome": str(one.outcome), "at": iso_utc(one.at),
        "detail": one.detail, "category": None if one.category is None else str(one.category),
        "because": "", "history": list(one.history),
    }  # fmt: skip


def due_rows(
    session: Session, now: datetime, *, cluster: str | None, node: str | None
) -> list[dict[str, Any]]:
    """What is due by age or asked for, on nodes that were seen lately."""
    ran = [Ran(*one) for one in health.last_runs(session, cluster=cluster, node=node)]
    names = clusters(session)
    wanted = {key: name for name, key in names.items() if cluster is None or name == cluster}
    seen = [
        (wanted[row.cluster], row.name)
        for row in nodes(session, list(wanted))
        if now - row.last_seen_at <= SEEN_WITHIN and node in (None, row.name)
    ]
    asked = asked_for(session, now, cluster=cluster, node=node)
    return [
        {
            "cluster": one.cluster, "node": one.node, "check": one.check, "part": None,
            "state": "due", "outcome": None, "at": iso_utc(one.since), "detail": "",
            "category": None, "because": one.because, "history": [],
        }
        for one in due_of(ran, asked, seen, health.in_use(session, cluster=cluster), now)
    ]  # fmt: skip


def asked_for(
    session: Session, now: datetime, *, cluster: str | None, node: str | None
) -> list[Asked]:
    """What evidence of the last 30 days asks for."""
    since = now - LOOK_BACK
    codes = sorted({code for ask in ASKS for code in ask.xids})
    categories = sorted({category for ask in ASKS for category in ask.categories})
    found: list[Asked] = []
    for seen in health_asked.xids(session, codes, since, cluster=cluster, node=node):
        code = int(seen.what.removeprefix("Xid "))
        found += [
            Asked(seen.cluster, seen.node, ask, seen.at, f"{seen.what} at {iso_utc(seen.at)}")
            for ask in ASKS
            if code in ask.xids
        ]
    for seen in health_asked.errors(session, categories, since, cluster=cluster, node=node):
        found += [
            Asked(seen.cluster, seen.node, ask, seen.at, f"{seen.what} at {iso_utc(seen.at)}")
            for ask in ASKS
            if seen.what in ask.categories
        ]
    repaired = health_asked.repairs(session, since, cluster=cluster, node=node)
    for seen in health_asked.convictions(session, since, cluster=cluster, node=node):
        back = repaired.get((seen.cluster, seen.node))
        if back is None or back < seen.at:
            words = f"the conviction for {seen.what} at {iso_utc(seen.at)}, without a repair since"
            found.append(Asked(seen.cluster, seen.node, STRESS, seen.at, words))
    return found
