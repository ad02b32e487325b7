"""Logging in with a token, and out again."""

import re
from typing import Final

from anyio import to_thread
from fastapi import Request
from starlette.responses import RedirectResponse, Response

from triage.api.access import Scope, check_local
from triage.api.state import get_state
from triage.domain.patterns import compile_re
from triage.services.tokens import log_in, log_out
from triage.web.access import check_origin, forget_cookie, get_secret, identify, set_cookie
from triage.web.pages import page, page_router
from triage.web.requests import read_form

router = page_router("")
# A path of this service: one slash, as two would begin the name of another host.
_OWN_PLACE: Final = compile_re(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*", re.ASCII)
_HOME: Final = "/incidents"


def place_to_go(wanted: str | None) -> str:
    """Where to go after logging in: a path of ours, or the list."""
    good = wanted is not None and len(wanted) <= 4096 and _OWN_PLACE.fullmatch(wanted)
    return wanted if good and wanted is not None else _HOME


@router.get("/login", name="page_login")
async def login_form(request: Request) -> Response:
    """The form; under ``--open`` nobody needs a token, and the list follows."""
    state = get_state(request)
    if state.open_access:
        check_local(request)
        return RedirectResponse(_HOME, 303)
    wanted = place_to_go(request.query_params.get("next"))
    return page(request, "login.html", wanted=wanted, wrong=False)


@router.post("/login", name="page_logged_in")
async def logged_in(request: Request) -> Response:
    """The cookie for a good token; the form again for another."""
    check_origin(request)
    fields = await read_form(request, signed=False)
    state = get_state(request)
    wanted = place_to_go(fields.get("next"))
    token = fields.get("token", "").strip()
    key = await state.token_lookup.key_of(request, token)
    secret = None if key is None else await to_thread.run_sync(log_in, state.context, token)
    if secret is None:
        return page(request, "login.html", 401, wanted=wanted, wrong=True)
    answer = RedirectResponse(wanted, 303, headers={"Cache-Control": "no-store"})
    set_cookie(request, answer, secret)
    return answer


@router.post("/logout", name="page_logged_out")
async def logged_out(request: Request) -> Response:
    """The session is over, here and in the database."""
    request.scope["triage.visitor"] = await identify(request, Scope.READ)
    await read_form(request)
    secret = get_secret(request)
    if secret is not None:
        await to_thread.run_sync(log_out, get_state(request).context, secret)
    answer = RedirectResponse("/login", 303, headers={"Cache-Control": "no-store"})
    forget_cookie(request, answer)
    return answer
