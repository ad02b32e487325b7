"""Two incidents side by side: verdicts, suspects, what both name, evidence, what came when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from triage.api.access import Scope, get_caller
from triage.api.requests.values import IncidentRef
from triage.api.state import get_state
from triage.render.comparison import compare
from triage.render.data import wire
from triage.render.words.moments import TimelineRow, build_timeline_rows
from triage.store.incidents import incidents, revisions
from triage.store.uploads import evidence
from triage.store.uploads.evidence import EvidenceClass
from triage.store.views import IncidentView
from triage.web.access import admit
from triage.web.pages import page
from triage.web.requests import drop_blanks, find_incident
from triage.web.route import page_router

router = page_router("/incidents", admit(Scope.READ))
_PICKED_FROM: Final = 50
_MOST: Final = 60
_Incident = Annotated[IncidentRef | None, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two. ``report`` is None before its first answer."""

    incident: IncidentView
    report: Mapping[str, Any] | None
    moments: Sequence[TimelineRow]
    classes: dict[EvidenceClass, int]

    def names(self) -> dict[str, set[str]]:
        """What its suspects and victims name, by kind."""
        report = self.report or {"suspects": [], "victims": {"nodes": []}}
        suspects = report["suspects"]
        nodes = {one["node"] for one in suspects if one["node"]} | {*report["victims"]["nodes"]}
        return {
            "nodes": nodes,
            "GPUs": {f"{one['node']} {gpu}" for one in suspects for gpu in one["gpus"]},
            "places": {f"{one['kind']} {one['name']}" for one in report.get("places") or ()},
        }


def _build_side(request: Request, session: Session, incident_id: str) -> _Side:
    incident = find_incident(request, session, incident_id)
    revision = revisions.find_newest(session, incident.id)
    classes = evidence.count_classes(session, incident.id)
    if revision is None:
        return _Side(incident, None, (), classes)
    answer = revision.reported()
    return _Side(incident, wire.report(answer), build_timeline_rows(answer)[:_MOST], classes)


@router.get("/compare", name="page_compare", dependencies=[Depends(drop_blanks("a", "b"))])
def compare_page(request: Request, a: _Incident = None, b: _Incident = None) -> Response:
    """Both, or a choice where one is not named yet."""
    with get_state(request).context.database.reading() as session:
        sides = [_build_side(request, session, one) for one in (a, b) if one is not None]
        cluster = get_caller(request).cluster
        choices = incidents.list_incidents(session, cluster=cluster, limit=_PICKED_FROM)
    values: dict[str, Any] = {"sides": sides, "choices": choices, "a": a or "", "b": b or ""}
    if len(sides) == 2:
        values |= _compare_sides(*sides)
    return page(request, "compare.html", both=len(sides) == 2, **values)


def _compare_sides(a: _Side, b: _Side) -> dict[str, Any]:
    reports = None if a.report is None or b.report is None else compare(a.report, b.report)
    mine, theirs = a.names(), b.names()
    classes = sorted({*a.classes, *b.classes}, key=lambda one: (str(one.kind), one.code or 0))
    shared = [one for one in classes if one in a.classes and one in b.classes]
    return {
        "statements": [] if reports is None else list(reports.statement_rows()),
        "suspects": [] if reports is None else list(reports.suspect_rows())[:_MOST],
        "common": {kind: sorted(mine[kind] & theirs[kind]) for kind in mine},
        "shared": shared[:_MOST],
        "only": [
            [one for one in side.classes if one not in other.classes][:_MOST]
            for side, other in ((a, b), (b, a))
        ],
    }
