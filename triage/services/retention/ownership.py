"""Whose the blob store is: this database's alone, or somebody else's as well.

Every database leaves a mark in its store, and a new one at each start and each round of the
clean-up; it remembers its own. A mark in the store that it does not remember is another
database's: another installation, a copy of this one, or a later state of it, when this one was
restored. Where there is such a mark nothing is deleted, by either of them, until a person has
said whose the store is (``triage store adopt``). Uploads and reads go on: every blob has a key
of its own.

Blobs without rows: their request was answered with an error, or their rows are gone.

A round marks what no row refers to and deletes what was marked a week ago.
It stops where more would go than a fault of ours explains: then a person decides.

Old incidents are removed; before them, the raw bytes of their files.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.errors import Conflict
from triage.services.context import Context
from triage.store import node_notices
from triage.store.access import audit, idempotency
from triage.store.database.clock import watch_clock
from triage.store.database.ids import make_id, parse_made_at
from triage.store.incidents import past
from triage.store.messages import deliveries
from triage.store.retention import unreferenced

log = structlog.get_logger(__name__)
ADOPT: Final = "`triage store status` shows whose it may be, `triage store adopt` makes it yours"
# Of a store without any mark, so many blobs are looked at for one that a row refers to.
_LOOKED_AT: Final = 20_000
BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Ownership:
    """``strangers`` are the marks of other databases; without any, the store is ours alone."""

    strangers: tuple[str, ...]

    @property
    def words(self) -> str:
        """One sentence; empty where the store is ours."""
        if not self.strangers:
            return ""
        made = [at for mark in self.strangers if (at := parse_made_at(mark)) is not None]
        since = f", last at {max(made):%Y-%m-%d %H:%M}Z" if made else ""
        return (
            f"the blob store holds marks that this database does not know{since}: it is another"
            " installation's too, or this database is new, a copy, or was restored;"
            " nothing is deleted"
        )


def find_owner(ctx: Context) -> Ownership:
    """Whose the store is, as it stands. Raises :class:`Unavailable`."""
    # The store first: a mark of ours is a row before it is in the store.
    there = ctx.blobs.marks()
    with ctx.database.reading() as session:
        return Ownership(tuple(sorted(there - unreferenced.list_known_marks(session))))


def announce(ctx: Context, *, anew: bool = True) -> Ownership:
    """Leave a mark of ours in the store: a new one, or with ``anew`` False where none is there.

    Says so loudly where the store is not ours. Raises :class:`Unavailable`.
    """
    there = ctx.blobs.marks()
    with ctx.database.reading() as session:
        known = unreferenced.list_known_marks(session)
    if not there and _has_only_foreign_blobs(ctx):
        # 0.1 left no marks, and this database has not written what lies there.
        strange = make_id("unknown", read_utc_now())
        ctx.blobs.mark(strange)
        there = {strange}
    ours = there & known
    if anew or not ours:
        with ctx.database.writing() as session:
            mark = unreferenced.add_mark(session, read_utc_now())
        ctx.blobs.mark(mark)
        for old in ours:
            ctx.blobs.unmark(old)
    found = Ownership(tuple(sorted(there - known)))
    if found.strangers:
        log.error("the blob store is not ours alone", why=found.words, step=ADOPT)
    return found


def require_ownership(ctx: Context) -> None:
    """Raises :class:`Conflict` where the store is not ours alone: then nothing is deleted."""
    found = find_owner(ctx)
    if found.strangers:
        raise Conflict(found.words, hint=ADOPT)


def adopt(ctx: Context, actor: str = "local") -> tuple[str, ...]:
    """The store is this database's alone, a person says; the marks that went.

    A database that still writes there leaves its mark again, and both stop deleting.
    """
    strangers = announce(ctx).strangers
    if not strangers:
        return ()
    now = read_utc_now()
    with ctx.database.writing() as session:
        # What was found without rows under the old order begins its week now.
        unreferenced.forget(session, unreferenced.list_marked(session))
        audit.note(session, actor, "store.adopt", "blobs", now, {"marks": list(strangers)})
    for mark in strangers:
        ctx.blobs.unmark(mark)
    return strangers


def _has_only_foreign_blobs(ctx: Context) -> bool:
    """Whether blobs lie in the store, and no row refers to any of those that were looked at."""
    empty = True
    for keys in split_into_batches(islice(ctx.blobs.keys(), _LOOKED_AT), BATCH):
        empty = False
        with ctx.database.reading() as session:
            if unreferenced.find_known_blobs(session, keys):
                return False
    return not empty


# An upload that is going on has a blob and no rows for some seconds.
_YOUNG: Final = timedelta(days=1)
# Requests that fail leave few; a database that lost its rows, all of them.
_MOST_SHARE: Final = 0.05
FEW: Final = 20


@dataclass(frozen=True, slots=True)
class Swept:
    """``num_held`` were due and were left, for they are too many to go by themselves."""

    num_blobs: int
    num_marked: int
    num_removed: int
    num_held: int

    @property
    def words(self) -> str:
        """What stands in the way; empty where nothing does."""
        if not self.num_held:
            return ""
        return (
            f"{self.num_held:,} of {self.num_blobs:,} blobs have no row and are due to go; so many"
            " are not deleted without a person's word"
        )


def sweep(ctx: Context, now: datetime, *, any_number: bool = False) -> Swept:
    """One round. With ``any_number`` a person has said that all that are due may go."""
    num_blobs = 0
    there: set[str] = set()
    for keys in split_into_batches(ctx.blobs.keys(), BATCH):
        num_blobs += len(keys)
        aged = [key for key in keys if (at := parse_made_at(key)) is not None and at < now - _YOUNG]
        with ctx.database.reading() as session:
            found = set(aged) - unreferenced.find_known_blobs(session, aged)
        there |= found
        if found:
            with ctx.database.writing() as session:
                unreferenced.mark(session, found, now)
    with ctx.database.writing() as session:
        old = [key for key in unreferenced.list_marked(session) if key not in there]
        for part in split_into_batches(old, BATCH):
            unreferenced.forget(session, part)
        num_due = len(unreferenced.list_due(session, now))
        is_held = not any_number and _is_too_many(num_due, num_blobs)
        if not is_held:
            unreferenced.mark_due_erased(session, now)
    if is_held:
        log.error("blobs without rows are kept", due=num_due, blobs=num_blobs)
        return Swept(num_blobs, len(there), 0, num_due)
    return Swept(num_blobs, len(there) - num_due, finish_erasures(ctx), 0)


def count_due_blobs(ctx: Context, now: datetime) -> int:
    """How many blobs were found without a row a week ago."""
    with ctx.database.reading() as session:
        return len(unreferenced.list_due(session, now))


def _is_too_many(num_due: int, num_blobs: int) -> bool:
    """Whether so many would go that the database is to be doubted, not the blobs."""
    return num_due > 0 and (num_due > max(FEW, _MOST_SHARE * num_blobs) or num_due >= num_blobs)


def finish_erasures(ctx: Context) -> int:
    """Delete the bytes of what was erased or is too old; how many blobs.

    Does nothing where the blob store is not ours alone: the marks stay until it is. Raises
    :class:`Conflict` then, and :class:`Unavailable`.
    """
    with ctx.database.reading() as session:
        keys = unreferenced.list_erased(session)
    if keys:
        require_ownership(ctx)
    for key in keys:
        ctx.blobs.delete(key)
    for part in split_into_batches(keys, BATCH):
        with ctx.database.writing() as session:
            unreferenced.forget(session, part)
    return len(keys)


# Removed in one transaction.
_BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, or would be; ``stored_bytes`` are of the blobs."""

    num_incidents: int
    num_uploads: int
    stored_bytes: int
    swept: Swept | None = field(default=None, compare=False)
    """What became of blobs that no row refers to; None where nothing was removed."""


def believe_clock(ctx: Context) -> None:
    """Raises :class:`Conflict` where the time has jumped: then nothing is deleted by age."""
    with ctx.database.writing() as session:
        doubt = watch_clock(session, read_utc_now())
    if doubt:
        raise Conflict(doubt, hint="set the clock right; `triage doctor` says how it stands")


def prune(
    ctx: Context,
    older_than_days: float,
    blobs_older_than_days: float,
    *,
    dry_run: bool = False,
    actor: str = "local",
) -> Pruned:
    """Remove settled incidents older than that, and blobs older than that.

    Digests, evidence and answers of an incident stay as long as it does. An incident that
    a person has resolved stays too: it is a label.

    Raises :class:`Conflict`, and removes nothing, where the blob store is not ours alone.
    """
    now = read_utc_now()
    if not dry_run and (owner := announce(ctx)).strangers:
        raise Conflict(owner.words, hint=ADOPT)
    incidents_before = now - timedelta(days=older_than_days)
    blobs_before = now - timedelta(days=blobs_older_than_days)
    with ctx.database.reading() as session:
        old = past.list_old_incidents(session, incidents_before)
        uploads = past.list_old_blobs(session, blobs_before, incidents_before)
    found = Pruned(len(old), len(uploads), sum(size for _, size in uploads))
    if dry_run:
        return found
    for keys in split_into_batches([key for key, _ in uploads], _BATCH):
        with ctx.database.writing() as session:
            unreferenced.forget_stored(session, keys, now)
    for part in split_into_batches(old, _BATCH):
        with ctx.database.writing() as session:
            past.remove(session, part)
            detail = {"incidents": len(part)}
            audit.note(session, actor, "prune", "incidents", now, detail)
    with ctx.database.writing() as session:
        idempotency.prune(session, now)
        node_notices.prune(session, now - timedelta(days=ctx.settings.keep_events_days))
        deliveries.prune_digests(session, incidents_before)
    ctx.blobs.sweep()
    finish_erasures(ctx)
    swept = sweep(ctx, now)
    log.info(
        "pruned",
        incidents=found.num_incidents,
        uploads=found.num_uploads,
        stored_bytes=found.stored_bytes,
    )
    return replace(found, swept=swept)
