"""Blobs without rows: their request was answered with an error, or their rows are gone.

A round marks what no row refers to and deletes what was marked a week ago.
It stops where more would go than a fault of ours explains: then a person decides.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from triage.domain.batched import split_into_batches
from triage.services.context import Context
from triage.services.retention.ownership import BATCH
from triage.store.database.ids import parse_made_at
from triage.store.retention import unreferenced

log = structlog.get_logger(__name__)
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
        due = unreferenced.list_due(session, now)
    if not any_number and _is_too_many(len(due), num_blobs):
        log.error("blobs without rows are kept", due=len(due), blobs=num_blobs)
        return Swept(num_blobs, len(there), 0, len(due))
    removed = _remove(ctx, due)
    return Swept(num_blobs, len(there) - removed, removed, 0)


def count_due_blobs(ctx: Context, now: datetime) -> int:
    """How many blobs were found without a row a week ago."""
    with ctx.database.reading() as session:
        return len(unreferenced.list_due(session, now))


def _is_too_many(num_due: int, num_blobs: int) -> bool:
    """Whether so many would go that the database is to be doubted, not the blobs."""
    return num_due > 0 and (num_due > max(FEW, _MOST_SHARE * num_blobs) or num_due >= num_blobs)


def _remove(ctx: Context, due: list[str]) -> int:
    """Delete what has no row now either; how many blobs."""
    removed = 0
    for part in split_into_batches(due, BATCH):
        with ctx.database.reading() as session:
            known = unreferenced.find_known_blobs(session, part)
        for key in part:
            if key not in known:
                ctx.blobs.delete(key)
                removed += 1
        with ctx.database.writing() as session:
            unreferenced.forget(session, part)
    return removed
