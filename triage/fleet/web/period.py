"""What an address asks of a fleet: which days, which cluster; all of it can be shared.

People say whole days, the last one included; times are in UTC. Without days it is the last 30.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import BeforeValidator

from triage.errors import Unprocessable
from triage.fleet.api.values import ClusterName
from triage.fleet.services.answers import DEFAULT_DAYS, MAX_DAYS

PERIOD: Final = ("days", "from", "to", "cluster")
PRESETS: Final = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"))
DAY: Final = timedelta(days=1)
_FIRST_YEAR: Final = 2000


def parse_day(text: Any) -> date:  # noqa: ANN401
    """A day as ``2026-11-21``."""
    try:
        found = date.fromisoformat(text)
    except ValueError as error:
        raise ValueError("give a day such as 2026-11-21") from error
    if not _FIRST_YEAR <= found.year < _FIRST_YEAR + 200:
        raise ValueError(f"give a day from the year {_FIRST_YEAR} on")
    return found


def _parse_few_days(text: Any) -> int:  # noqa: ANN401
    """How many days back."""
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_DAYS):
        raise ValueError(f"give a whole number of days from 1 to {MAX_DAYS:,.0f}")
    return int(text)


Days = Annotated[int | None, BeforeValidator(_parse_few_days), Query()]
First = Annotated[date | None, BeforeValidator(parse_day), Query(alias="from")]
Last = Annotated[date | None, BeforeValidator(parse_day), Query(alias="to")]
Cluster = ClusterName


@dataclass(frozen=True, slots=True)
class FleetDays:
    """Days of a cluster. Given days win over a number of days back."""

    days: int | None = None
    first: date | None = None
    last: date | None = None
    cluster: str | None = None

    @property
    def preset(self) -> int | None:
        """The number of days back, where no days are named."""
        if self.first or self.last:
            return None
        return self.days or round(DEFAULT_DAYS)

    @property
    def until(self) -> datetime | None:
        """The end, not itself in it; None is now."""
        return None if self.last is None else _make_midnight(self.last + DAY)

    def since(self, now: datetime) -> datetime:
        """The begin."""
        if self.first is not None:
            return _make_midnight(self.first)
        # To the minute, as the end is: whoever asks again within it gets the same page.
        end = self.until or now.replace(second=0, microsecond=0) + timedelta(minutes=1)
        return end - timedelta(days=self.days or DEFAULT_DAYS)

    def query(self) -> dict[str, str]:
        """The same as a query; what is usual stands not in it."""
        said = {
            "days": "" if self.days is None or self.first or self.last else str(self.days),
            "from": "" if self.first is None else self.first.isoformat(),
            "to": "" if self.last is None else self.last.isoformat(),
            "cluster": self.cluster or "",
        }
        return {name: value for name, value in said.items() if value}

    def ago(self, days: int) -> dict[str, str]:
        """The query of so many days back, of the same cluster."""
        return {"days": str(days)} | ({"cluster": self.cluster} if self.cluster else {})


def parse_fleet_days(
    days: int | None, first: date | None, last: date | None, cluster: str | None
) -> FleetDays:
    """What the address says. Raises :class:`Unprocessable` for days that go backwards."""
    if first is not None and last is not None and last < first:
        raise Unprocessable(
            f"the days go backwards: from {first} to {last}", hint="let from come before to"
        )
    return FleetDays(days, first, last, cluster)


def _make_midnight(of: date) -> datetime:
    return datetime.combine(of, time(), UTC)


def list_shown_clusters(names: Sequence[str], asked: FleetDays) -> list[str]:
    """The clusters to choose among; the one asked for among them, known or not."""
    return sorted({*names, *([asked.cluster] if asked.cluster else [])})
