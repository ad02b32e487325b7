"""Delivery: attempts at one bundle until the service has it, refuses it, or time is up."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from triage.collectors.send import ACCEPTED, AGAIN, REFUSED, Answer, try_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from triage.collectors.credentials import Token
    from triage.collectors.deadline import Deadline
    from triage.collectors.endpoint import Endpoint
    from triage.collectors.spool import Entry, Spool

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 10.0


class Delivery:
    """Sends what lies in ``spool`` to ``endpoint``."""

    def __init__(self, spool: Spool, endpoint: Endpoint, token: Token) -> None:
        self.spool = spool
        self.endpoint = endpoint
        self.token = token

    def deliver(
        self, path: str, deadline: Deadline, attempts: int = 1_000_000
    ) -> tuple[Answer, int] | None:
        """Try until ``deadline``; the last answer and the bytes of the body.

        None where another collector is at it, or has sent it already. The file leaves the
        spool after a 2xx, and goes to ``refused`` when it never can be sent.
        """
        with self.spool.opened(path) as entry:
            if entry is None:
                return None
            answer = self._attempts(entry, deadline, attempts)
            if answer.kind == ACCEPTED:
                self.spool.sent(path)
            elif answer.kind == REFUSED:
                kept = self.spool.refuse(path)
                answer = answer._replace(text=f"{answer.text}; kept as {kept}")
            return answer, entry.size_bytes

    def flush(self, deadline: Deadline, skip: tuple[str, ...] = ()) -> list[tuple[Answer, int]]:
        """Send what was left earlier, the oldest first, once each.

        A service that does not take one now is not asked for the next.
        """
        answers = []
        for path in self.spool.pending():
            if deadline.passed():
                break
            if path in skip:
                continue
            answer = self.deliver(path, deadline, attempts=1)
            if answer is None:
                continue
            answers.append(answer)
            if answer[0].kind not in {ACCEPTED, REFUSED}:
                break
        return answers

    def _attempts(self, entry: Entry, deadline: Deadline, attempts: int) -> Answer:
        answer = Answer(AGAIN, "no time was left to send it")
        for turn in range(attempts):
            answer = try_once(entry, self.endpoint, self.token, deadline)
            if answer.kind != AGAIN or turn + 1 == attempts:
                break
            pause_s = wait_s(turn, answer.retry_after_s)
            if pause_s >= deadline.left_s():
                break
            time.sleep(pause_s)
        return answer


def wait_s(
    turn: int, retry_after: float | None, draw: Callable[[float, float], float] = random.uniform
) -> float:
    """Seconds before attempt ``turn + 2``: doubling from half a second to ten.

    A random part keeps apart two thousand nodes that were refused at once. It is never less
    than what the service asked for.
    """
    backoff = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(turn, 16))
    if retry_after is None:
        return draw(backoff / 2, backoff)
    return retry_after + draw(0.0, max(backoff, retry_after / 4))
