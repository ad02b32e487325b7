"""What one token may bring: uploads and new incidents a minute, bytes a day, a share of the disk.

Rates are counted in this process. Bytes are counted by the rows of uploads, looked up now and
then. Beyond a mark of the disk those tokens wait that have brought more than an even share of
the last day's bytes; the others go on until the disk is full for all.

How often one sender may ask: a bucket of tries that fills up again, kept in this process.
"""

import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Final

from triage.clock import read_utc_now
from triage.domain.caller import Caller
from triage.errors import StorageFull, TooMany
from triage.settings import Settings
from triage.store.database.engine import Database
from triage.store.uploads.artifacts import sum_bytes_since

_MAX_KEYS: Final = 10_000
# A burst of a sixth of a minute's tries may come at once.
_BURST_SHARE: Final = 6


class RateLimiter:
    """``per_minute`` tries for each key, a sixth of them at once; used by one thread at a time."""

    def __init__(
        self,
        per_minute: int,
        detail: str = "this token asks too often",
        hint: str = "ask again after Retry-After seconds; `wait_s` waits without asking again",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.per_s = per_minute / 60
        self.size = max(1.0, per_minute / _BURST_SHARE)
        self.detail = detail
        self.hint = hint
        self.clock = clock
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> None:
        """Use one try. Raises as :meth:`check` does."""
        self.check(key)
        self.spend(key)

    def check(self, key: str) -> None:
        """Raises :class:`TooMany` when no try is left, with the wait until the next."""
        left = self.left(key)
        if left < 1:
            raise TooMany(
                self.detail,
                hint=self.hint,
                retry_after_s=max(1, ceil((1 - left) / self.per_s)),
            )

    def spend(self, key: str) -> None:
        """Use one try, if one is left."""
        self.buckets[key] = (max(0.0, self.left(key) - 1), self.clock())
        self.buckets.move_to_end(key)
        if len(self.buckets) > _MAX_KEYS:
            self.buckets.popitem(last=False)

    def left(self, key: str) -> float:
        """How many tries are left."""
        now = self.clock()
        left, since = self.buckets.get(key, (self.size, now))
        return min(self.size, left + (now - since) * self.per_s)


_DAY: Final = timedelta(days=1)
# What was brought by whom is looked up again after so long.
_FRESH_S: Final = 10.0
# A job that nothing has come for in this time takes no turn.
_ACTIVE_S: Final = 60.0
_MOST_JOBS: Final = 100_000
_LATER_S: Final = 600
_HINT: Final = "send it again after Retry-After seconds; {} sets the limit"


@dataclass(frozen=True, slots=True)
class _Usage:
    """Bytes of the last day by token, as they were at ``at`` of the monotonic clock."""

    by_key: dict[str, int]
    at: float


class Quotas:
    """Of one process; shared between its threads."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.settings = settings
        self.database = database
        self.lock = threading.Lock()
        self.uploads = RateLimiter(
            settings.uploads_per_minute,
            "this token sends too many uploads",
            hint=_HINT.format("TRIAGE_UPLOADS_PER_MINUTE"),
        )
        self.incidents = RateLimiter(
            settings.incidents_per_minute,
            "this token opens too many incidents",
            hint=_HINT.format("TRIAGE_INCIDENTS_PER_MINUTE"),
        )
        self.usage = _Usage({}, -_FRESH_S)
        self.jobs: OrderedDict[tuple[str, str], float] = OrderedDict()
        self.active: dict[str, int] = {}

    def upload(self, caller: Caller) -> None:
        """One more upload begins. Raises :class:`TooMany` and :class:`StorageFull`."""
        key_id = caller.key_id or ""
        with self.lock:
            self.uploads.take(key_id)
        most = self.settings.max_bytes_per_day
        marked = self.disk_used() > self.settings.disk_mark
        if not most and not marked:
            return
        by_key = self.bytes_of_day()
        mine, total = by_key.get(key_id, 0), sum(by_key.values())
        if most and mine > most:
            raise TooMany(
                f"this token has brought {mine:,} bytes within a day",
                hint=_HINT.format("TRIAGE_MAX_BYTES_PER_DAY"),
                retry_after_s=_LATER_S,
            )
        if marked and mine * len(by_key) > total:
            raise StorageFull(
                f"the disk is fuller than its mark, and this token has brought {mine:,} of the"
                f" {total:,} bytes of the last day",
                hint="free or add disk space, lower TRIAGE_KEEP_BLOBS_DAYS, or raise"
                " TRIAGE_DISK_MARK; tokens that bring less go on",
                retry_after_s=_LATER_S,
            )

    def incident(self, caller: Caller) -> None:
        """An incident is opened. Raises :class:`TooMany`, upon which it must not be."""
        with self.lock:
            self.incidents.take(caller.key_id or "")

    def jobs_beside(self, caller: Caller, job_id: str) -> int:
        """For how many jobs, with this one, the token has sent something within a minute."""
        key_id, now = caller.key_id or "", time.monotonic()
        with self.lock:
            if self.jobs.pop((key_id, job_id), None) is None:
                self.active[key_id] = self.active.get(key_id, 0) + 1
            self.jobs[key_id, job_id] = now
            while (oldest := next(iter(self.jobs.items())))[1] < now - _ACTIVE_S or (
                len(self.jobs) > _MOST_JOBS
            ):
                del self.jobs[oldest[0]]
                self.active[oldest[0][0]] -= 1
                if not self.active[oldest[0][0]]:
                    del self.active[oldest[0][0]]
            return self.active[key_id]

    def disk_used(self) -> float:
        """The used share of the disk of the data directory: of blobs, or of the way to them."""
        try:
            usage = shutil.disk_usage(self.settings.data_dir)
        except OSError:  # what is to be written there says so
            return 0.0
        return 1 - usage.free / usage.total

    def bytes_of_day(self) -> dict[str, int]:
        """Bytes that each token has brought within a day."""
        usage = self.usage
        if time.monotonic() - usage.at >= _FRESH_S:
            with self.database.reading() as session:
                by_key = sum_bytes_since(session, read_utc_now() - _DAY)
            usage = self.usage = _Usage(by_key, time.monotonic())
        return usage.by_key
