"""Whose the blob store is: this database's alone, or somebody else's as well.

Every database leaves a mark in its store, and a new one at each start and each round of the
clean-up; it remembers its own. A mark in the store that it does not remember is another
database's: another installation, a copy of this one, or a later state of it, when this one was
restored. Where there is such a mark nothing is deleted, by either of them, until a person has
said whose the store is (``triage store adopt``). Uploads and reads go on: every blob has a key
of its own.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.domain.batched import split_into_batches
from triage.errors import Conflict
from triage.services.context import Context
from triage.store.access import audit
from triage.store.database.ids import make_id, parse_made_at
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
