"""Transport: requests to the service; what it refuses is raised as errors of triage.

Every request here can be sent twice without harm: uploads are known by their content,
announcements by job and time, a resolution replaces itself. So what failed on the way, and
what the service puts off, is tried again.
"""

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import httpx2

from triage.errors import Place, Refusal, Unavailable, Unprocessable, UsageError
from triage.version import __version__

R = TypeVar("R", bound=Refusal)
JsonObject = dict[str, Any]
Body = Callable[[], Iterator[bytes]]
"""Makes the bytes of a request, once for each try."""

TRIES: Final = 4
"""How often a request is sent that may yet succeed."""
PAUSE_S: Final = 0.5
# Statuses of the service, or of a proxy before it, after which the same may succeed.
_TRY_LATER: Final = frozenset({408, 429, 502, 503, 504})
_LONGEST_PAUSE_S: Final = 60.0
# Refusals of triage.errors only; a service in the same process has more, of another form.
_REFUSALS: Final = {
    cls.status: cls for cls in Refusal.__subclasses__() if cls.__module__ == Refusal.__module__
}
_EXAMPLE: Final = "give one like https://triage.example:8000"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request; ``query`` goes out without the values that are None.

    ``silent_s`` is how much longer than usual the service may think before it answers.
    """

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body | None = None
    silent_s: float = 0.0


class Transport:
    """Requests below ``url``; ``token`` goes out with each and stands in no text of ours.

    ``timeout_s`` is for one silence of the service, not for a whole upload; ``tries`` how often
    a request is sent at most. Proxies of the environment are not asked, and no redirect is
    followed with the token.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout_s: float,
        ca_file: str | None = None,
        tries: int = TRIES,
        over: httpx2.BaseTransport | None = None,
    ) -> None:
        self.url = _check_service_url(url)
        headers = {
            "Accept": "application/json, application/problem+json",
            "User-Agent": f"nccl-triage/{__version__}",
        }
        if token:
            if not all("!" <= char <= "~" for char in token):
                raise UsageError("the token must be one word of printable characters")
            headers["Authorization"] = f"Bearer {token}"
        try:
            tls = ssl.create_default_context(cafile=ca_file)
        except OSError as error:
            raise UsageError(f"ca_file {ca_file} cannot be used: {error}") from error
        self.timeout_s = timeout_s
        self.tries = tries
        self.http = httpx2.Client(
            base_url=self.url, headers=headers, timeout=timeout_s, verify=tls, trust_env=False,
            transport=over,
        )  # fmt: skip

    def close(self) -> None:
        """End the connections."""
        self.http.close()

    def get(
        self, path: str, query: Mapping[str, object] | None = None, *, silent_s: float = 0.0
    ) -> JsonObject:
        """The object at ``path``."""
        return self.send(ApiRequest("GET", path, query or {}, silent_s=silent_s))

    def get_bytes(self, path: str, media_type: str) -> bytes | None:
        """The body at ``path`` in that form; None from a service that does not know it."""
        headers = {"Accept": f"{media_type}, application/json"}
        answer = self.answered(ApiRequest("GET", path, headers=headers))
        known = answer.headers.get("Content-Type") == media_type and answer.is_success
        return answer.content if known else None

    def get_whole(
        self,
        path: str,
        query: Mapping[str, object],
        media_type: str,
        *,
        silent_s: float = 0.0,
    ) -> bytes:
        """The body at ``path`` in that form. Raises what it is refused with."""
        answer = self.answered(
            ApiRequest("GET", path, query, {"Accept": media_type}, silent_s=silent_s)
        )
        if not answer.is_success:
            self.read(answer)  # raises
        return answer.content

    def pages(
        self, path: str, query: Mapping[str, object] | None = None, *, most: int | None = None
    ) -> Iterator[JsonObject]:
        """The items of a list over all its pages, at most ``most``."""
        cursor: str | None = None
        seen = 0
        while most is None or seen < most:
            limit = 500 if most is None else min(500, most - seen)
            page = self.get(path, {**(query or {}), "cursor": cursor, "limit": limit})
            yield from page["items"]
            seen += len(page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def post(self, path: str, body: Mapping[str, Any]) -> JsonObject:
        """The object that answers a JSON body."""
        try:
            data = json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            raise UsageError(f"this cannot be sent as JSON: {error}") from error
        headers = {"Content-Type": "application/json"}
        return self.send(ApiRequest("POST", path, headers=headers, body=lambda: iter([data])))

    def send(self, request: ApiRequest) -> JsonObject:
        """The object that answers one request. Raises what it is refused with."""
        return self.read(self.answered(request))

    def answered(self, request: ApiRequest) -> httpx2.Response:
        """The answer to one request, which is tried again where that may help.

        Raises :class:`Unavailable` where no answer came.
        """
        pause_s = PAUSE_S
        for _ in range(self.tries - 1):
            try:
                answer = self.once(request)
            except Unavailable:
                time.sleep(pause_s)
            else:
                if answer.status_code not in _TRY_LATER:
                    return answer
                time.sleep(min(_retry_after_s(answer) or pause_s, _LONGEST_PAUSE_S))
            pause_s *= 2
        return self.once(request)

    def once(self, request: ApiRequest) -> httpx2.Response:
        """The answer to one request, sent once."""
        values = {key: value for key, value in request.query.items() if value is not None}
        params = cast("Mapping[str, str]", values)
        try:
            return self.http.request(
                request.method,
                request.path,
                params=params,
                content=None if request.body is None else request.body(),
                headers=dict(request.headers),
                timeout=self.timeout_s + request.silent_s,
            )
        except httpx2.TransportError as error:
            raise self.unreachable(error) from error
        except httpx2.InvalidURL as error:
            raise UsageError(f"no address can be made of it: {error}") from error

    def read(self, answer: httpx2.Response) -> JsonObject:
        """The object of an answer. Raises what it refuses with."""
        body = parse_json_object(answer)
        if answer.is_success and body is not None:
            return body
        if answer.is_success:
            raise Unavailable(
                f"{self.url} answers, but not as the service does",
                hint="is the address right, and no login page of a proxy in front of it?",
            )
        if answer.is_redirect:
            where = answer.headers.get("Location", "elsewhere")
            raise UsageError(f"the service is at {where}; give that as the address")
        raise make_refusal_error(answer, body or {})

    def unreachable(self, error: httpx2.TransportError) -> Unavailable:
        """The error for a request that got no answer."""
        if isinstance(error, httpx2.TimeoutException):
            why = f"no answer within {self.timeout_s:g} s"
        else:
            why = str(error) or type(error).__name__
        hint = (
            "is the service running there? `triage serve` starts one, `triage doctor` examines it"
        )
        return _with_message(Unavailable(f"cannot reach {self.url}: {why}", hint=hint))


def _check_service_url(url: str) -> str:
    """The address without a slash at its end. Raises :class:`UsageError`."""
    try:
        parts = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise UsageError(f"{url!r} is no address of a service; {_EXAMPLE}") from error
    if parts.scheme not in ("http", "https") or not parts.host:
        raise UsageError(f"the address needs http:// or https:// and a host; {_EXAMPLE}")
    if parts.userinfo:
        raise UsageError("the address holds a user or password; give the token instead")
    if parts.query or parts.fragment:
        raise UsageError(f"the address must end with its path; {_EXAMPLE}")
    return str(parts).rstrip("/")


def parse_json_object(answer: httpx2.Response) -> JsonObject | None:
    """The body where it is a JSON object, as all of the service's are, else None."""
    if "json" not in answer.headers.get("Content-Type", ""):
        return None
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def make_refusal_error(answer: httpx2.Response, problem: Mapping[str, Any]) -> Refusal:
    """The error that a problem document stands for, with its detail, hint and places."""
    status = answer.status_code
    cls = _REFUSALS.get(status, Unavailable if status >= 500 else Unprocessable)
    detail = problem.get("detail") or problem.get("title") or f"{status} {answer.reason_phrase}"
    errors = problem.get("errors")
    places = [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    return _with_message(
        cls(
            str(detail),
            hint=str(problem.get("hint") or ""),
            places=tuple(
                Place(_format_problem_place(one), str(one.get("message", ""))) for one in places
            ),
            retry_after_s=_retry_after_s(answer),
        )
    )


def _format_problem_place(place: Mapping[str, Any]) -> str:
    """``body/rank``, ``query/limit``: the place of a problem document."""
    if place.get("parameter"):
        return f"{place.get('in', 'query')}/{place['parameter']}"
    return str(place.get("place") or f"body{place.get('pointer') or ''}")


def _with_message(error: R) -> R:
    """The error with a text that says what is wrong and what to do."""
    places = [f"{place.where}: {place.message}" for place in error.places]
    text = "; ".join([error.detail, *(place for place in places if place not in error.detail)])
    error.args = (f"{text} ({error.hint})" if error.hint else text,)
    return error


def _retry_after_s(answer: httpx2.Response) -> int | None:
    """The header, where it gives seconds; the service's own always does."""
    text = answer.headers.get("Retry-After", "").strip()
    return int(text[:6]) if text.isascii() and text.isdigit() else None
