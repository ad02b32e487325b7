"""Rows of an import are gathered and stored, some thousand at a time.

Runs without an end are stored last: they were last seen to run at the latest time of the export.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from triage.domain.caller import Caller
from triage.errors import Forbidden, NotAllowed
from triage.fleet.domain.exposure import ExposureRow, Outage, Run
from triage.fleet.domain.same_outage import describe_contradictions
from triage.fleet.parsers.rows import Passed, Unread
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.store.merged_rows import Tally
from triage.services.context import Context

_BATCH: Final = 2_000
# Rows that hold a host list of a large fleet are kept sooner: so many names at once.
_MOST_NAMES: Final = 200_000
_MOST_OPEN: Final = 50_000
# What names a cluster a row has its columns mixed up.
_MOST_CLUSTERS: Final = 100


class ExposureKeeper:
    """Gathers rows, and keeps them some thousand at a time."""

    def __init__(self, ctx: Context, now: datetime, caller: Caller) -> None:
        self.ctx = ctx
        self.num_rows = 0
        self.tally = Tally()
        self.caller = caller
        self.outside: NotAllowed | None = None
        """Why the first row was left out that the token is not to tell of."""
        self.writer = ExposureWriter(now, caller.key_id)
        self.batch: list[ExposureRow] = []
        self.num_names = 0
        self.clusters: set[str] = set()
        self.open: list[ExposureRow] = []
        self.latest: datetime | None = None
        self.num_lasting = 0

    def bounded(
        self, row: ExposureRow | Unread | Passed, number: int
    ) -> ExposureRow | Unread | Passed:
        """The row; unread where the token is not to tell of it. ``number`` counts from 0."""
        if isinstance(row, Unread | Passed):
            return row
        try:
            self.caller.check(row.cluster)
        except NotAllowed as refusal:
            self.outside = self.outside or refusal
            return Unread(number + 1, refusal.detail)
        return row

    def add(self, row: ExposureRow) -> None:
        """Keep a row, now or with others. Raises :class:`Forbidden` for a cluster too many."""
        self.clusters.add(row.cluster)
        if len(self.clusters) > _MOST_CLUSTERS:
            raise Forbidden(f"more than {_MOST_CLUSTERS} clusters in one export")
        self.num_rows += 1
        if isinstance(row, Run):
            last = row.ended_at or row.started_at
            self.latest = last if self.latest is None else max(self.latest, last)
            self.num_names += len(row.nodes)
            if row.ended_at is None:
                self.open.append(row)
            else:
                self.batch.append(row)
        else:
            self.num_lasting += isinstance(row, Outage) and row.to_at is None
            self.batch.append(row)
        if len(self.batch) >= _BATCH or self.num_names >= _MOST_NAMES:
            self._flush()
        if len(self.open) >= _MOST_OPEN:
            self._flush_open()

    def notes(self) -> list[str]:
        """What a reader of the result should know of the outages."""
        notes = []
        if self.num_lasting:
            notes.append(
                f"outages without an end, which last until one is told: {self.num_lasting:,}"
            )
        if self.writer.contradictions:
            notes.append(describe_contradictions(self.writer.contradictions))
        return notes

    def finish(self) -> None:
        """Keep what is left."""
        self._flush()
        self._flush_open()

    def _flush(self) -> None:
        self._keep(self.batch)
        self.batch, self.num_names = [], 0

    def _flush_open(self) -> None:
        for start in range(0, len(self.open), _BATCH):
            self._keep(self.open[start : start + _BATCH])
        self.open = []

    def _keep(self, rows: Sequence[ExposureRow]) -> None:
        if not rows:
            return
        with self.ctx.database.writing() as session:
            tally = self.writer.keep(session, rows, self.latest or self.writer.now)
        self.tally = self.tally.plus(tally)
