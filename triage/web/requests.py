"""What a page is asked: fields of a form, filters of an address, the incident that it names.

A form without a script sends every field, also the empty ones; the address that people share
should hold the filters that were set and no more.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, urlencode

from sqlalchemy.orm import Session
from starlette.requests import Request

from triage.api.access import get_caller
from triage.api.requests.body import read_whole
from triage.api.requests.values import check_id, check_name, check_query
from triage.api.state import get_state
from triage.errors import BadRequest, NotFound, Refusal, Unprocessable, Unsupported
from triage.store.incidents import incidents
from triage.store.views import IncidentView
from triage.web.access import CSRF_FIELD, check_csrf

_MAX_FORM_BYTES = 64 << 10
_MAX_FIELDS = 50
_URL_ENCODED = "application/x-www-form-urlencoded"


async def read_form(request: Request, *, signed: bool = True) -> dict[str, str]:
    """The fields of a form, each once; ``signed`` ones must come from a page of the session.

    Raises :class:`NotAllowed` for a foreign one, :class:`BadRequest`, :class:`TooLarge`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _URL_ENCODED:
        raise Unsupported("this is no form", hint="send it with the button on the page")
    body = await read_whole(request, _MAX_FORM_BYTES)
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MAX_FIELDS,
        )
    except (UnicodeDecodeError, ValueError) as error:
        raise BadRequest("the form cannot be read", hint="open the page again") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadRequest("the form says one thing twice", hint="open the page again")
    if signed:
        check_csrf(request, fields.get(CSRF_FIELD))
    return fields


def get_optional_name(fields: dict[str, str], name: str) -> str | None:
    """A name out of a form; None where it was left blank. Raises :class:`Unprocessable`."""
    text = fields.get(name, "").strip()
    return check_name(text, f"body/{name}") if text else None


class Moved(Refusal):
    """The same page under its shorter address, ``where``."""

    status = 303
    title = "See other"

    def __init__(self, where: str) -> None:
        super().__init__("the page has a shorter address")
        self.where = where


def drop_blanks(*known: str) -> Callable[[Request], Awaitable[None]]:
    """A dependency that takes ``known`` filters (and ``cursor``), each once.

    Raises :class:`Moved` where some were left blank, :class:`Unprocessable` for others.
    """
    strict = check_query(*known, "cursor")

    async def check(request: Request) -> None:
        await strict(request)
        raw = request.scope.get("query_string", b"").decode("latin-1")
        try:
            pairs = parse_qsl(raw, keep_blank_values=True, errors="strict")
        except UnicodeDecodeError as error:
            raise Unprocessable("the address is not UTF-8") from error
        kept = [(name, value) for name, value in pairs if value.strip()]
        if len(kept) < len(pairs):
            path = request.scope["raw_path"].decode("ascii", "replace")
            raise Moved(f"{path}?{urlencode(kept)}" if kept else path)

    return check


def find_incident(request: Request, session: Session, incident_id: str) -> IncidentView:
    """The incident of this id, where the visitor's token reaches it. Raises :class:`NotFound`."""
    incident = incidents.find(session, check_id(incident_id, "incident", ""))
    if incident is None or not get_caller(request).sees(incident.cluster):
        raise NotFound("there is no such incident", hint="the list names those that there are")
    return incident


def find_page_incident(request: Request, incident_id: str) -> IncidentView:
    """The incident of this id, read in a session of its own. Raises :class:`NotFound`."""
    with get_state(request).context.database.reading() as session:
        return find_incident(request, session, incident_id)
