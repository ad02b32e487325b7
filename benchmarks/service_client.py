"""A client of the service: one request at a time, or again and again until it is taken."""

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_TIMEOUT_S: Final = 90.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 1.0
_JSON: Final = "application/json"


class Refused(Exception):
    """An answer that no repetition mends."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, whole."""

    status: int
    body: bytes

    def json(self) -> Any:  # noqa: ANN401
        """Its body."""
        return json.loads(self.body)


class Client:
    """Speaks to one port of loopback."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.token = token

    def send(self, method: str, path: str, body: bytes | None = None, kind: str = _JSON) -> Answer:
        """One request. Raises :class:`OSError` and :class:`http.client.HTTPException`."""
        headers = {"Content-Type": kind} if body is not None else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:  # noqa: ANN401
        """What is there. Raises :class:`Refused` for anything but 200."""
        answer = self.send("GET", path)
        if answer.status != 200:
            raise Refused(f"GET {path}: {answer.status} {answer.body[:500]!r}")
        return answer.json()

    def post(self, path: str, value: object) -> Any:  # noqa: ANN401
        """What is answered to this JSON. Raises :class:`Refused` for anything but 2xx."""
        answer = self.send("POST", path, json.dumps(value).encode())
        if answer.status // 100 != 2:
            raise Refused(f"POST {path}: {answer.status} {answer.body[:500]!r}")
        return answer.json()

    def insist(
        self,
        path: str,
        body: bytes,
        kind: str = _JSON,
        *,
        within_s: float = 300.0,
        failed: Callable[[int], None] | None = None,
    ) -> Answer:
        """POST until it is taken: again after no answer, a broken one, 429 and 5xx.

        ``failed`` is told each status that was not the last, 0 for none. Raises
        :class:`Refused` for another refusal, and when the time is up.
        """
        end = time.monotonic() + within_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                answer = self.send("POST", path, body, kind)
            except (OSError, http.client.HTTPException):
                status = 0
            else:
                status = answer.status
                if status // 100 == 2:
                    return answer
                if status != 429 and status < 500:
                    raise Refused(f"POST {path}: {status} {answer.body[:500]!r}")
            if failed is not None:
                failed(status)
            if time.monotonic() > end:
                raise Refused(f"POST {path}: not taken within {within_s:g} s, {status} at last")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
