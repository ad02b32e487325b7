"""Blank filters: those that were left blank are left out of the address.

A form without a script sends every field, also the empty ones; the address that people
share should hold the filters that were set and no more.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request

from triage.api.requests.values import check_query
from triage.errors import Refusal, Unprocessable


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
