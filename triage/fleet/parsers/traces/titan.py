"""GPU lives of Titan: which GPU sat where from when to when, and its errors (SC'20).

::

    SN,location,insert,remove,duration,out,event
    0320117100060,c11-2c1s4n1,2014-04-09 21:36:19,2019-08-01 20:07:33,167697074,FALSE,
    0320117100061,c9-3c1s2n1,,2016-05-17 02:11:09,,,DBE

``data/gc_full.csv`` of olcf/TitanGPULife. A GPU is a node of its own here, by its serial number:
it is what fails, and what its delivery is a fact of. Each life is a run of one GPU, so that the
exposure is the time in the machine; each error (DBE, OTB: off the bus) is an outage without
length. Batch is new for a GPU that was first put in from 2016 on, as the authors part them, else
old; rack, cage and slot are those of the location where it was longest. ``duration`` and ``out``
are not used, and neither is the node in a blade. Times are those of Oak Ridge: give
``--zone America/New_York``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from triage.errors import Forbidden
from triage.fleet.domain.cause import OutageCause
from triage.fleet.domain.exposure import Ending, NodeFacts, Outage, Run
from triage.fleet.parsers.columns import Columns
from triage.fleet.parsers.rows import Options, Passed, Row, RowError, both_times, name_in, short

__all__ = ["TitanReader"]

WANTED: Final = ("SN", "location", "insert", "remove", "event")
# c11-2c1s4n1: column and row of the cabinet, cage, slot, node
LOCATION: Final = re.compile(r"(c\d{1,2}-\d)c(\d)s(\d)n\d", re.ASCII)
EVENTS: Final = {"DBE": "double bit error", "OTB": "off the bus"}
NO_TIME: Final = Passed("rows without a time")
NEW_SINCE: Final = datetime(2016, 1, 1, tzinfo=UTC)
# Titan had thirty thousand GPUs in a hundred thousand stays.
MOST_STAYS: Final = 500_000


@dataclass(slots=True)
class Life:
    """What is told of one GPU."""

    first_at: datetime
    stays: dict[str, timedelta] = field(default_factory=dict)


class TitanReader:
    """Claims a table with a serial number, a location, and when it was put in and taken out."""

    name = "titan"

    def __init__(self, columns: Columns, options: Options) -> None:
        self.options = options
        self.places = [columns.first(name) or 0 for name in WANTED]
        self.lives: dict[str, Life] = {}
        self.num_stays = 0

    @staticmethod
    def claims(columns: Columns, delimiter: str) -> bool:  # noqa: ARG004 - any will do
        """By the names in the header."""
        return columns.has_all(WANTED)

    def rows(self, fields: Sequence[str]) -> Iterator[Row]:
        """The life and the error of a row. Raises :class:`RowError`."""
        serial, location, insert, remove, event = (fields[at].strip() for at in self.places)
        gpu = name_in(serial, "SN")
        if LOCATION.fullmatch(location) is None:
            raise RowError(f"the location {short(location)} is none such as c11-2c1s4n1")
        start, end = both_times(insert, remove, self.options, "insert", "remove")
        word = event if event not in ("", "NA", "<NA>") else ""
        if word and word not in EVENTS:
            raise RowError(f"the event {short(event)} is not known")
        if end is None:
            yield NO_TIME
            return
        if start is not None:
            self.keep(gpu, location, start, end)
            yield Run(
                f"life-{gpu}", start, end, Ending.COMPLETED, 1, 1, (gpu,), self.options.cluster,
                source=self.name,
            )  # fmt: skip
        if word:
            reason = f"{word}: {EVENTS[word]} at {location}"
            yield Outage(gpu, end, end, reason, self.options.cluster, OutageCause.GPU)

    def keep(self, gpu: str, location: str, start: datetime, end: datetime) -> None:
        """Add a stay. Raises :class:`Forbidden` for one too many."""
        life = self.lives.setdefault(gpu, Life(start))
        self.num_stays += location not in life.stays
        if self.num_stays > MOST_STAYS:
            raise Forbidden(f"more than {MOST_STAYS:,} stays of GPUs in one table")
        life.first_at = min(life.first_at, start)
        life.stays[location] = life.stays.get(location, timedelta()) + (end - start)

    def finish(self) -> Iterator[Row]:
        """The facts of each GPU."""
        for gpu, life in self.lives.items():
            longest = max(life.stays, key=lambda location: (life.stays[location], location))
            found = LOCATION.fullmatch(longest)
            if found is not None:
                rack, cage, slot = found.groups()
                yield NodeFacts(
                    gpu,
                    rack=rack,
                    cluster=self.options.cluster,
                    batch="new" if life.first_at >= NEW_SINCE else "old",
                    cage=cage,
                    slot=slot,
                )
