"""Digest: one week of a fleet, before it takes a receiver's form.

It is made once for each week, when the week ends, and sent to those who subscribed to
``fleet.digest``. Every retry has the same id and the same body.
"""

from dataclasses import dataclass
from datetime import datetime

from triage.notify.message import Event, Wire, derive_message_id


@dataclass(frozen=True, slots=True)
class Digest:
    """The week from ``since`` until before ``until`` (aware).

    ``week`` names it: the date on which it ends. ``headline`` is one line; ``sentences`` the
    answers, the most telling first, and ``notes`` what the record lacks: all of them hold
    names that are not neutralised yet. ``data`` is the wire form of the figures behind them,
    ``url`` the page.
    """

    week: str
    since: datetime
    until: datetime
    headline: str
    sentences: tuple[str, ...]
    data: Wire
    notes: tuple[str, ...] = ()
    url: str = ""


def digest_id(week: str, subscription_id: str) -> str:
    """``msg_`` and 32 hexadecimal digits: one for each week and subscription, and no other."""
    return derive_message_id("fleet", week, Event.FLEET_DIGEST, subscription_id)
