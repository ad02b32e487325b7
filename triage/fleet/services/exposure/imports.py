"""An export of exposure is taken in: read as it comes, kept batch by batch.

What was kept before a body broke off stays; sent again, it changes nothing. Runs without an end
are kept last: they were last seen to run at the latest time that the export holds.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, ClassVar, Final
from zoneinfo import ZoneInfo

from triage.clock import utc_now
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
from triage.fleet.domain.exposure import NodeFacts, Outage, Run
from triage.fleet.parsers.lines import Source
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import Options, Passed, Unread
from triage.fleet.services.exposure.writer import ExposureWriter
from triage.fleet.store.merged_rows import Tally
from triage.parsers.files.archive import compression_of
from triage.services.context import Context
from triage.services.uploads.body import DecodedReader, Growth, PeekedReader, body_of, unpacked
from triage.services.uploads.streams import first_bytes
from triage.store.access import audit

__all__ = ["MOST_ROWS", "Imported", "import_exposure", "import_upload", "zone_of"]

BATCH: Final = 2_000
# Rows that hold a host list of a large fleet are kept sooner: so many names at once.
MOST_NAMES: Final = 200_000
MOST_OPEN: Final = 50_000
MOST_LISTED: Final = 100
# What names a cluster a row has its columns mixed up.
MOST_CLUSTERS: Final = 100
# Of one request: some kilobytes can hold ten million rows, which are minutes of work.
MOST_ROWS: Final = 2_000_000
HEAD: Final = 512
RATIO: Final = 200
RATIO_FLOOR: Final = 8 << 20
# A clock that is ahead of ours by more is wrong, and so is what it says.
AHEAD: Final = timedelta(days=1)
HINT: Final = "docs/fleet.md says what is read"

Row = Run | Outage | NodeFacts


@dataclass(slots=True)
class Imported(WireForm):
    """What became of an export; ``skipped`` are the first hundred of ``num_skipped``."""

    WIRE: ClassVar[tuple[str, ...]] = (
        "format", "rows", "added", "changed", "unchanged", "num_skipped", "skipped", "notes",
    )  # fmt: skip

    format: Annotated[str, "Known by its content: sacct, acme, csv, inventory, ..."]
    rows: Annotated[int, "Those that told something."] = 0
    tally: Tally = field(default_factory=Tally)
    num_skipped: int = 0
    skipped: Annotated[list[Unread], Keywords(maxItems=MOST_LISTED), "The first of them."] = field(
        default_factory=list
    )
    notes: list[str] = field(default_factory=list)

    @property
    def added(self) -> int:
        """Rows that were not there before."""
        return self.tally.added

    @property
    def changed(self) -> int:
        """Rows that were there and are more complete now."""
        return self.tally.changed

    @property
    def unchanged(self) -> int:
        """Rows that were there as they are."""
        return self.tally.unchanged


def zone_of(name: str) -> tzinfo:
    """A zone by its name. Raises :class:`UsageError` for one that is not known."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(
            f"{name[:80]!r} is no zone that is known here: try UTC or Europe/Berlin"
        ) from error


def import_upload(
    ctx: Context,
    read: Callable[[int], bytes],
    encoding: str | None,
    *,
    zone: tzinfo,
    cluster: str,
    most_rows: int | None = None,
    caller: Caller | None = None,
) -> Imported:
    """What a request brings, behind its Content-Encoding and one layer of gzip or zstd.

    Raises :class:`Unsupported`, :class:`TooLarge`, :class:`Unprocessable`, and what the body
    and the database raise.
    """
    growth = Growth(ctx.settings.max_artifact_bytes, RATIO, RATIO_FLOOR)
    try:
        source = plain(body_of(read, encoding, growth), growth)
        return import_exposure(
            ctx, source, zone=zone, cluster=cluster, most_rows=most_rows, caller=caller
        )
    except Forbidden as error:
        raise TooLarge(str(error), hint="send it in parts; each adds to what is there") from error
    except ArtifactError as error:
        raise Unprocessable(str(error), hint=HINT) from error


def plain(body: Body, growth: Growth) -> Body:
    head = first_bytes(body, HEAD)
    whole: Body = PeekedReader(head, body)
    compression = compression_of(head)
    return (
        whole
        if compression is None
        else DecodedReader(unpacked(whole, compression, growth), "body")
    )


def import_exposure(
    ctx: Context,
    source: Source,
    *,
    zone: tzinfo = UTC,
    cluster: str = "",
    most_rows: int | None = None,
    caller: Caller | None = None,
) -> Imported:
    """Keep what an export tells. ``cluster`` is that of rows which name none.

    ``most_rows`` is for a process that has other things to do. Rows of another cluster than the
    token's are not read. Raises :class:`ArtifactError` for what is no export or, once those before
    are kept, has more rows, :class:`NotAllowed` for what the token is not to say, and what the
    database raises.
    """
    now = utc_now()
    caller = caller or Caller()
    cluster = caller.check(cluster) or ""
    sparing = most_rows is not None
    reading = read_exposure(source, Options(zone, cluster, now + AHEAD, sparing))
    found = Imported(reading.format)
    keeper = Keeper(ctx, found, now, caller)
    passed: Counter[str] = Counter()
    for number, row in enumerate(reading.rows):
        if number == most_rows:
            keeper.finish()
            raise Forbidden(f"more than {most_rows:,} rows in one request")
        row = keeper.bounded(row, number)
        if isinstance(row, Unread):
            found.num_skipped += 1
            if len(found.skipped) < MOST_LISTED:
                found.skipped.append(row)
        elif isinstance(row, Passed):
            passed[row.what] += 1
        else:
            keeper.add(row)
    keeper.finish()
    if keeper.outside is not None and not found.rows:
        raise keeper.outside
    if found.tally.added or found.tally.changed:
        detail = {"format": found.format, **found.tally._asdict()}
        with ctx.database.writing() as session:
            actor = caller.key_id or "local"
            audit.note(session, actor, "import", cluster or "fleet", now, detail)
    found.notes += [f"{what} left out: {number:,}" for what, number in sorted(passed.items())]
    if found.num_skipped > len(found.skipped):
        found.notes.append(
            f"of {found.num_skipped:,} rows that were not read the first {MOST_LISTED} are listed"
        )
    return found


class Keeper:
    """Gathers rows, and keeps them some thousand at a time."""

    def __init__(self, ctx: Context, found: Imported, now: datetime, caller: Caller) -> None:
        self.ctx = ctx
        self.found = found
        self.caller = caller
        self.outside: NotAllowed | None = None
        """Why the first row was left out that the token is not to tell of."""
        self.writer = ExposureWriter(now, caller.key_id)
        self.batch: list[Row] = []
        self.num_names = 0
        self.clusters: set[str] = set()
        self.open: list[Row] = []
        self.latest: datetime | None = None

    def bounded(self, row: Row | Unread | Passed, number: int) -> Row | Unread | Passed:
        """The row; unread where the token is not to tell of it. ``number`` counts from 0."""
        if isinstance(row, Unread | Passed):
            return row
        try:
            self.caller.check(row.cluster)
        except NotAllowed as refusal:
            self.outside = self.outside or refusal
            return Unread(number + 1, refusal.detail)
        return row

    def add(self, row: Row) -> None:
        """Keep a row, now or with others. Raises :class:`Forbidden` for a cluster too many."""
        self.clusters.add(row.cluster)
        if len(self.clusters) > MOST_CLUSTERS:
            raise Forbidden(f"more than {MOST_CLUSTERS} clusters in one export")
        self.found.rows += 1
        if isinstance(row, Run):
            last = row.ended_at or row.started_at
            self.latest = last if self.latest is None else max(self.latest, last)
            self.num_names += len(row.nodes)
            if row.ended_at is None:
                self.open.append(row)
            else:
                self.batch.append(row)
        else:
            self.batch.append(row)
        if len(self.batch) >= BATCH or self.num_names >= MOST_NAMES:
            self.flush()
        if len(self.open) >= MOST_OPEN:
            self.flush_open()

    def finish(self) -> None:
        """Keep what is left."""
        self.flush()
        self.flush_open()

    def flush(self) -> None:
        self.keep(self.batch)
        self.batch, self.num_names = [], 0

    def flush_open(self) -> None:
        for start in range(0, len(self.open), BATCH):
            self.keep(self.open[start : start + BATCH])
        self.open = []

    def keep(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        with self.ctx.database.writing() as session:
            tally = self.writer.keep(session, rows, self.latest or self.writer.now)
        self.found.tally = self.found.tally.plus(tally)
