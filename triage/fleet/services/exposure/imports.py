"""An export of exposure is taken in: read as it comes, kept batch by batch.

What was kept before a body broke off stays; sent again, it changes nothing. Runs without an end
are kept last: they were last seen to run at the latest time that the export holds.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, tzinfo
from typing import Annotated, Final, TypedDict, Unpack
from zoneinfo import ZoneInfo

from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.domain.body import Body
from triage.domain.caller import Caller
from triage.domain.wire import Keywords, WireForm
from triage.errors import (
    ArtifactError,
    Forbidden,
    NotAllowed,
    TooLarge,
    Unprocessable,
    UsageError,
)
from triage.fleet.domain.exposure import AHEAD, ExposureRow, Outage, Run, describe_contradictions
from triage.fleet.parsers.lines import Source
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import DAY_ZERO, Options, Passed, Row, Unread
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.store.exposure import Tally
from triage.parsers.files.compression import Expansion, detect_compression, unpack_body
from triage.services.context import Context
from triage.services.uploads.body import DecodedReader, PeekedReader, open_body, read_first_bytes
from triage.services.uploads.take import ReceiveLimits
from triage.store.access import audit


def parse_zone(name: str) -> tzinfo:
    """A zone by its name. Raises :class:`UsageError` for one that is not known."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"{name[:80]!r} is no zone that is known here: try UTC or Europe/Berlin"
        ) from error


def parse_day_zero(text: str) -> datetime:
    """The day from which days are counted. Raises :class:`UsageError`."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError as error:
        raise UsageError(f"{text[:80]!r} is no day such as 2024-03-30") from error


_BATCH: Final = 2_000
# Rows that hold a host list of a large fleet are kept sooner: so many names at once.
_MOST_NAMES: Final = 200_000
_MOST_OPEN: Final = 50_000
# What names a cluster a row has its columns mixed up.
_MOST_CLUSTERS: Final = 100
_MOST_LISTED: Final = 100
# Of one request: some kilobytes can hold ten million rows, which are minutes of work.
MOST_ROWS: Final = 2_000_000
_HEAD: Final = 512
_HINT: Final = "docs/fleet.md#importing says what is read"


@dataclass(slots=True)
class Imported(WireForm):
    """What became of an export; ``skipped`` are the first hundred of ``num_skipped``."""

    format: Annotated[str, "Known by its content: sacct, csv, inventory, ..."]
    rows: Annotated[int, "Those that told something."] = 0
    added: Annotated[int, "Rows that were not there before."] = 0
    changed: Annotated[int, "Rows that were there and are more complete now."] = 0
    unchanged: Annotated[int, "Rows that were there as they are."] = 0
    num_skipped: int = 0
    skipped: Annotated[list[Unread], Keywords(maxItems=_MOST_LISTED), "The first of them."] = field(
        default_factory=list
    )
    notes: list[str] = field(default_factory=list)


class ImportKeywords(TypedDict, total=False):
    """How an export is read: ``zone`` is that of times which name none, ``cluster`` that of rows
    which name none, and ``day_zero`` the day from which a table counts that names none.

    Rows of another cluster than that of the ``caller``'s token are not read.
    """

    zone: tzinfo
    cluster: str
    day_zero: datetime
    caller: Caller | None


def import_upload(
    ctx: Context,
    read: Callable[[int], bytes],
    encoding: str | None,
    **how: Unpack[ImportKeywords],
) -> Imported:
    """What a request brings, behind its Content-Encoding and one layer of packing.

    Raises :class:`Unsupported`, :class:`TooLarge`, :class:`Unprocessable`, and what the body
    and the database raise.
    """
    bounds = ReceiveLimits().expansion(ctx.settings.max_artifact_bytes)
    try:
        return import_exposure(
            ctx, _decompress_body(open_body(read, encoding, bounds), bounds), **how
        )
    except Forbidden as error:
        raise TooLarge(str(error), hint="send it in parts; each adds to what is there") from error
    except ArtifactError as error:
        raise Unprocessable(str(error), hint=_HINT) from error


def _decompress_body(body: Body, bounds: Expansion) -> Body:
    head = read_first_bytes(body, _HEAD)
    whole: Body = PeekedReader(head, body)
    compression = detect_compression(head)
    return (
        whole
        if compression is None
        else DecodedReader(unpack_body(whole, compression, bounds), "body")
    )


def import_exposure(ctx: Context, source: Source, **how: Unpack[ImportKeywords]) -> Imported:
    """Keep what an export tells.

    Raises :class:`ArtifactError` for what is no export or, once those before are kept, has more
    rows than it may, :class:`NotAllowed` for what the token is not to say, and what the database
    raises.
    """
    now = read_utc_now()
    caller = how.get("caller") or Caller()
    cluster = caller.check(how.get("cluster", "")) or ""
    options = Options(
        zone=how.get("zone", UTC),
        cluster=cluster,
        last=now + AHEAD,
        sparing=True,
        day_zero=how.get("day_zero", DAY_ZERO),
    )
    reading = read_exposure(source, options)
    found = Imported(reading.format)
    keeper = _ExposureKeeper(ctx, now, caller, found)
    for number, row in enumerate(reading.rows):
        if number == MOST_ROWS:
            keeper.finish()
            raise Forbidden(f"more than {MOST_ROWS:,} rows in one request")
        keeper.take(row, number)
    keeper.finish()
    if keeper.outside is not None and not found.rows:
        raise keeper.outside
    if found.added or found.changed:
        detail = {"format": found.format, **keeper.tally._asdict()}
        with ctx.database.writing() as session:
            actor = caller.key_id or "local"
            audit.note(session, actor, "import", cluster or "fleet", now, detail)
    found.notes += keeper.notes()
    return found


class _ExposureKeeper:
    """Gathers rows, and stores them some thousand at a time; counts in ``found`` what became of
    them.

    Runs without an end are stored last: they were last seen to run at the latest time of the
    export.
    """

    def __init__(self, ctx: Context, now: datetime, caller: Caller, found: Imported) -> None:
        self.ctx = ctx
        self.found = found
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
        self.passed: Counter[str] = Counter()

    def take(self, row: Row, number: int) -> None:
        """Keep a row; unread is what the token is not to tell of. ``number`` counts from 0."""
        if not isinstance(row, Unread | Passed):
            try:
                self.caller.check(row.cluster)
            except NotAllowed as refusal:
                self.outside = self.outside or refusal
                row = Unread(number + 1, refusal.detail)
        if isinstance(row, Passed):
            self.passed[row.what] += row.number
        elif isinstance(row, Unread):
            self.found.num_skipped += 1
            if len(self.found.skipped) < _MOST_LISTED:
                self.found.skipped.append(row)
        else:
            self.add(row)

    def add(self, row: ExposureRow) -> None:
        """Keep a row, now or with others. Raises :class:`Forbidden` for a cluster too many."""
        self.clusters.add(row.cluster)
        if len(self.clusters) > _MOST_CLUSTERS:
            raise Forbidden(f"more than {_MOST_CLUSTERS} clusters in one export")
        self.found.rows += 1
        if isinstance(row, Run):
            last = row.ended_at or row.started_at
            self.latest = last if self.latest is None else max(self.latest, last)
            self.num_names += len(row.nodes)
            (self.open if row.ended_at is None else self.batch).append(row)
        else:
            self.num_lasting += isinstance(row, Outage) and row.to_at is None
            self.batch.append(row)
        if len(self.batch) >= _BATCH or self.num_names >= _MOST_NAMES:
            self._keep(self.batch)
            self.num_names = 0
        if len(self.open) >= _MOST_OPEN:
            self._keep(self.open)

    def notes(self) -> list[str]:
        """What a reader of the result should know."""
        notes = [f"{what} left out: {number:,}" for what, number in sorted(self.passed.items())]
        if self.num_lasting:
            notes.append(
                f"outages without an end, which last until one is told: {self.num_lasting:,}"
            )
        if self.writer.contradictions:
            notes.append(describe_contradictions(self.writer.contradictions))
        if self.found.num_skipped > _MOST_LISTED:
            notes.append(
                f"of {self.found.num_skipped:,} rows that were not read the first {_MOST_LISTED}"
                " are listed"
            )
        return notes

    def finish(self) -> None:
        """Keep what is left."""
        self._keep(self.batch)
        self._keep(self.open)
        self.found.added, self.found.changed, self.found.unchanged = self.tally[:3]

    def _keep(self, rows: list[ExposureRow]) -> None:
        """Store rows and forget them."""
        for some in split_into_batches(rows, _BATCH):
            with self.ctx.database.writing() as session:
                tally = self.writer.keep(session, some, self.latest or self.writer.now)
            self.tally = self.tally.plus(tally)
        rows.clear()
