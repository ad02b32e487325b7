"""Schedule: when a message that did not arrive is tried again. Decisions only, no clock.

A delivery has its own times: at once, then after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h,
6 h, then daily for three days. A receiver that comes back must not wait for them, so its
oldest pending delivery is tried every 45 s, and when one arrives all the others are due.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

DELAYS_S = (0, 5, 30, 120, 600, 1_800, 7_200, 21_600, 86_400, 86_400, 86_400)
"""Seconds before the first try, and from each try to the one after it."""

PROBE_EVERY_S = 45
"""At most this long between tries of a receiver that fails: with 15 s for the try itself,
one that is back is served within a minute."""

_MAX_RETRY_AFTER_S = 86_400

# The last regular try is 73 to 89 h after the first, the one after it would be 94 h at least.
_GIVE_UP_AFTER = timedelta(hours=90)
_JITTER = 0.1


def schedule_next_try(
    attempts: int,
    now: datetime,
    retry_after_s: float | None,
    first_at: datetime,
    *,
    message_id: str = "",
) -> datetime | None:
    """When to try again after ``attempts`` tries, the last of them ``now``; None: given up.

    ``first_at`` is when the message was to be sent first. Giving up goes by that time and
    not by a count, as probes of a failing receiver are tries too. Each delay is off by up
    to a tenth, by ``message_id`` and always the same, so that the messages of one outage
    do not come back at once. ``retry_after_s`` is what the receiver asked for, heeded up
    to a day.
    """
    if attempts <= 0:
        delay_s = 0.0
    else:
        delay_s = DELAYS_S[min(attempts, len(DELAYS_S) - 1)] * _compute_jitter(message_id, attempts)
    if retry_after_s is not None:
        delay_s = max(delay_s, min(retry_after_s, _MAX_RETRY_AFTER_S))
    at = now + timedelta(seconds=delay_s)
    return at if at <= first_at + _GIVE_UP_AFTER else None


@dataclass(frozen=True, slots=True)
class ReceiverState:
    """How the receiver of one subscription does, over all its deliveries.

    ``failing`` after a try that failed, until one succeeds. ``tried_at`` is when the last
    try began. ``not_before`` is when the receiver asked to be called again (Retry-After), None
    when it did not.
    """

    failing: bool = False
    tried_at: datetime | None = None
    not_before: datetime | None = None


def probe_at(receiver: ReceiverState, now: datetime) -> datetime:
    """When the oldest pending delivery of a failing receiver is tried at the latest."""
    at = now
    if receiver.tried_at is not None:
        # A clock that was set back must not put the probe off.
        at = min(receiver.tried_at, now) + timedelta(seconds=PROBE_EVERY_S)
    return max(at, _bound_not_before(receiver, now))


def compute_due_times(
    next_at: Iterable[datetime], receiver: ReceiverState, now: datetime
) -> list[datetime]:
    """When each pending delivery of a receiver is due, by when it is tried next by its own times.

    They come oldest first: of a failing receiver the first one is the probe.
    """
    due = list(next_at)
    if due and receiver.failing:
        due[0] = min(due[0], probe_at(receiver, now))
    not_before = _bound_not_before(receiver, now)
    return [max(at, not_before) for at in due]


def _bound_not_before(receiver: ReceiverState, now: datetime) -> datetime:
    if receiver.not_before is None:
        return datetime.min.replace(tzinfo=now.tzinfo)
    return min(receiver.not_before, now + timedelta(seconds=_MAX_RETRY_AFTER_S))


def _compute_jitter(message_id: str, attempts: int) -> float:
    digest = hashlib.sha256(f"{message_id}/{attempts}".encode()).digest()
    return 1 + _JITTER * (int.from_bytes(digest[:4]) / 0x7FFFFFFF - 1)
