"""Forms that a browser sends when a person presses a button."""

from urllib.parse import parse_qsl

from starlette.requests import Request

from triage.api.requests.body import read_whole
from triage.api.requests.values import check_name
from triage.errors import BadRequest, Unsupported
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
