"""One incident: the verdict, why, what to do now, and the pictures."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, get_actor
from triage.api.answers.json import make_tagged_response
from triage.api.description.described import BINARY
from triage.api.requests.values import Cursor, Name, check_query
from triage.api.state import get_state
from triage.domain.states import ArtifactState, IncidentState
from triage.errors import Conflict, NotFound
from triage.render.words.answer import explain_test_groups
from triage.render.words.next_step import (
    cordon_commands,
    describe_next_step,
    list_inspection_commands,
)
from triage.services.incidents.pictures import Pictures, get_pictures
from triage.services.incidents.resolve import resolve
from triage.store.incidents import revisions
from triage.store.incidents.revisions import RevisionHead
from triage.store.uploads import artifacts
from triage.store.views import IncidentView
from triage.store.work.table import WaitingFor, count_by_incident
from triage.web.access import admit
from triage.web.pages import page, page_router
from triage.web.requests import (
    drop_blanks,
    find_incident,
    find_page_incident,
    get_optional_name,
    read_form,
)
from triage.web.routers.evidence import EvidenceKind, EvidenceRole, collect_evidence_values

router = page_router("/incidents", admit(Scope.READ))
_SETTLED = frozenset({IncidentState.READY, IncidentState.FAILED})


@dataclass(frozen=True, slots=True)
class _ShownIncident:
    """An incident with one of its answers; ``chosen``: it is not the newest answer."""

    incident: IncidentView
    revision: RevisionHead | None
    pictures: Pictures | None
    files: Mapping[ArtifactState, int]
    history: list[RevisionHead]
    waits: list[WaitingFor]
    chosen: bool

    @property
    def tag(self) -> str:
        """An ETag that changes with everything that the live part shows."""
        one = self.incident
        shown = (
            one.id,
            one.state,
            one.revision,
            one.provisional,
            one.num_artifacts,
            one.reason,
            one.expected_artifacts,
            one.problem,
            sorted(self.files.items()),
            self.waits,
            self.chosen,
        )
        return f'"{hashlib.sha256(repr(shown).encode()).hexdigest()[:32]}"'

    @property
    def num_read(self) -> int:
        """Files that are read, wholly or not."""
        return sum(self.files.values()) - self.files[ArtifactState.STORED]

    @property
    def num_bad(self) -> int:
        """Files that could not be read, or not to their end."""
        return self.files[ArtifactState.PARTIAL] + self.files[ArtifactState.QUARANTINED]

    @property
    def live(self) -> bool:
        """Whether there is more to come."""
        return self.incident.state not in _SETTLED and not self.chosen


def _load_shown_incident(request: Request, incident_id: str, number: int | None) -> _ShownIncident:
    """The incident with the answer of revision ``number``, the newest for None."""
    with get_state(request).context.database.reading() as session:
        incident = find_incident(request, session, incident_id)
        history = revisions.list_revisions(session, incident.id)
        shown = history[0] if history and number is None else None
        if number is not None:
            shown = next((made for made in history if made.number == number), None)
            if shown is None:
                raise NotFound(
                    f"the incident has no revision {number}, or no longer among its newest",
                    hint="leave revision= out",
                )
        pictures = (
            None if shown is None else _draw_pictures(request, session, incident.id, shown.number)
        )
        return _ShownIncident(
            incident,
            shown,
            pictures,
            artifacts.count_by_state(session, incident.id),
            history,
            count_by_incident(session, incident.id) if incident.num_artifacts else [],
            chosen=number is not None and number != incident.revision,
        )


def _draw_pictures(request: Request, session: Session, incident_id: str, number: int) -> Pictures:
    """The pictures of an answer. Raises :class:`NotFound` where it went away just now."""

    def load() -> bytes:
        revision = revisions.find_revision(session, incident_id, number)
        if revision is None:
            raise NotFound("the answer went away", hint="open the page again")
        return revision.answer

    return get_pictures(get_state(request).context.database, incident_id, number, load)


def _collect_live_values(seen: _ShownIncident) -> dict[str, Any]:
    """The values of the part of the page that is live."""
    answer = None if seen.pictures is None else seen.pictures.answer
    return {
        "seen": seen,
        "incident": seen.incident,
        "answer": answer,
        "pictures": seen.pictures,
        "step": "" if answer is None else describe_next_step(answer),
        "commands": () if answer is None else cordon_commands(answer),
        "looks": () if answer is None else list_inspection_commands(answer),
        "why_test": None if answer is None else explain_test_groups(answer),
    }


@router.get(
    "/{id}",
    name="page_incident",
    dependencies=[Depends(drop_blanks("revision", "role", "node", "kind"))],
)
def incident_page(
    request: Request,
    id: str,  # noqa: A002
    revision: Annotated[int | None, Query(ge=1, le=1 << 30)] = None,
    role: EvidenceRole = "root",
    node: Annotated[Name | None, Query()] = None,
    kind: EvidenceKind = None,
    cursor: Cursor = None,
) -> Response:
    """The whole page; ``revision`` shows an earlier answer."""
    shown = _load_shown_incident(request, id, revision)
    rows = collect_evidence_values(request, shown.incident.id, role, node, kind, cursor)
    ctx = get_state(request).context
    with ctx.database.reading() as session:
        acts = ctx.acting.list_by_incident(session, shown.incident.id)
    return page(request, "incident.html", acts=acts, **_collect_live_values(shown), **rows)


@router.get("/{id}/answer", name="page_answer", dependencies=[Depends(check_query())])
def incident_answer(request: Request, id: str) -> Response:  # noqa: A002
    """The part that changes while files come in; a page asks again until it has settled."""
    shown = _load_shown_incident(request, id, None)
    return page(request, "_answer.html", tag=shown.tag, **_collect_live_values(shown))


@router.get("/{id}/grid", name="page_grid", dependencies=[Depends(check_query("revision"))])
def incident_grid(
    request: Request,
    id: str,  # noqa: A002
    revision: Annotated[int, Query(ge=1, le=1 << 30)],
) -> Response:
    """The cells of the rank grid, as ``services.incidents.pictures.grid_bytes`` writes them."""
    shown = _load_shown_incident(request, id, revision)
    if shown.pictures is None or not shown.pictures.has_grid:
        raise Conflict("this answer has no ranks to draw", hint="no dump could be read")
    answer = make_tagged_response(request, shown.pictures.grid, BINARY)
    answer.headers["Content-Encoding"] = "gzip"
    return answer


@router.post("/{id}/resolution", name="page_resolved", dependencies=[Depends(check_query())])
async def resolved(request: Request, id: str) -> Response:  # noqa: A002
    """A person says what it turned out to be."""
    fields = await read_form(request)
    node, note = get_optional_name(fields, "node"), fields.get("note", "").strip() or None

    def work() -> str:
        incident_id = find_page_incident(request, id).id
        resolve(
            get_state(request).context,
            incident_id,
            fields.get("category", ""),
            node,
            note,
            get_actor(request),
        )
        return incident_id

    incident_id = await to_thread.run_sync(work)
    return RedirectResponse(f"/incidents/{incident_id}#resolution", 303)
