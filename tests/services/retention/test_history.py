"""Any history of uploads, rounds, restores, clock jumps, second installations and erasures.

Whatever the order: no blob goes that the database names, or that a backup of the last week names;
what a person had erased is in no pack; and of another installation nothing goes.
"""

import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.services.incidents.test_incident_life import upload
from tests.support.databases import put_migrated_sqlite
from triage import clock
from triage.errors import Conflict, Gone, Unavailable
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.retention import erase
from triage.services.retention.ownership import adopt, announce, believe_clock, prune
from triage.settings import Settings
from triage.store.blobs.folder import FolderBlobs
from triage.store.database.clock import watch_clock
from triage.store.incidents import settling

DAY = timedelta(days=1)
# Ages are kept below it: what goes by age is another test's.
KEEP_DAYS = 3650.0
KEEP_BLOBS_DAYS = 90.0
WHO = st.integers(0, 1)


@dataclass
class Backup:
    """A copy of a database, when it was made, and which blobs it names."""

    path: Path
    at: datetime
    keys: set[str]


@dataclass
class Service:
    """One installation; ``erased`` are contents and keys that went on request."""

    folder: Path
    ctx: Context
    backups: list[Backup] = field(default_factory=list)
    runs: bool = True


class History(RuleBasedStateMachine):
    """Two services, of which the second may come to the store of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = TemporaryDirectory()
        self.root = Path(self.temporary.name)
        self.true_now = datetime(2026, 1, 1, tzinfo=UTC)
        self.ahead = timedelta(0)
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(clock, "read", lambda: self.true_now + self.ahead)
        self.blobs = FolderBlobs(self.root / "store", min_free_bytes=0)
        self.services: list[Service] = []
        self.number = 0
        self.gone_keys: set[str] = set()
        self.gone_words: set[bytes] = set()
        self.unfinished = False

    def teardown(self) -> None:
        """Close everything."""
        for one in self.services:
            one.ctx.close()
        self.patch.undo()
        self.temporary.cleanup()

    # -- what is there

    def opened(self, folder: Path) -> Context:
        found = open_context(Settings(data_dir=folder, min_free_bytes=0))
        return replace(found, blobs=self.blobs)

    def started(self) -> None:
        folder = self.root / f"service-{len(self.services)}"
        put_migrated_sqlite(folder)
        folder.chmod(0o700)
        self.services.append(Service(folder, self.opened(folder)))
        announce(self.services[-1].ctx)
        self.all_look()

    def of(self, who: int) -> Service:
        return self.services[who % len(self.services)]

    def all_look(self) -> None:
        """Twenty minutes pass."""
        for one in self.services:
            announce(one.ctx, anew=False)

    def watch(self) -> None:
        for one in self.services:
            with one.ctx.database.writing() as session:
                watch_clock(session, clock.read_utc_now())

    # -- what happens

    @initialize()
    def first(self) -> None:
        """One service and its store."""
        self.started()

    @precondition(lambda self: len(self.services) == 1)
    @rule()
    def second_installation(self) -> None:
        """Another service is pointed at the same store."""
        self.started()

    @rule(who=WHO, num=st.integers(1, 3))
    def files_come(self, who: int, num: int) -> None:
        """An upload of some files, settled at once."""
        self.number += 1
        files = {f"{k}.log": b"word-%d-%d-\n" % (self.number, k) for k in range(num)}
        ctx = self.of(who).ctx
        found = upload(ctx, files, job_id=f"job-{self.number}").incident_id
        with ctx.database.writing() as session:
            settling.settle(session, found, clock.read_utc_now())

    @rule(who=WHO)
    def upload_without_rows(self, who: int) -> None:
        """The process dies between the blob and its rows."""
        self.number += 1

        def killed(do: object) -> None:
            raise Unavailable("killed")

        broken = replace(self.of(who).ctx, commit=killed)
        with suppress(Unavailable):
            upload(broken, {"a.log": b"orphan-%d-\n" % self.number}, job_id=f"o-{self.number}")

    @rule(days=st.integers(1, 9))
    def days_pass(self, days: int) -> None:
        """The clock is right again, and each service does its round each day."""
        for _ in range(days):
            self.true_now += DAY
            self.ahead = timedelta(0)
            self.watch()
            self.all_look()
            for one in self.services:
                self.round_of(one)

    @rule(who=WHO)
    def one_round(self, who: int) -> None:
        """A round out of turn."""
        self.round_of(self.of(who))

    def round_of(self, one: Service) -> None:
        with suppress(Conflict):
            erase.finish_erasures(one.ctx)
            believe_clock(one.ctx)
            prune(one.ctx, KEEP_DAYS, KEEP_BLOBS_DAYS)

    @rule(who=WHO)
    def restart(self, who: int) -> None:
        """A start makes a new mark."""
        announce(self.of(who).ctx)

    @rule(hours=st.sampled_from([-2400, -72, -1, 1, 30, 72, 2400]))
    def clock_jumps(self, hours: int) -> None:
        """Until somebody mends it, within a day."""
        self.watch()
        self.ahead = timedelta(hours=hours)

    @rule(who=WHO)
    def backup(self, who: int) -> None:
        """A copy of the database alone."""
        one = self.of(who)
        path = one.folder / f"backup-{len(one.backups)}.db"
        with closing(sqlite3.connect(one.folder / "triage.db", isolation_level=None)) as source:
            source.execute("VACUUM INTO ?", (str(path),))
        one.backups.append(Backup(path, self.true_now, named_in(path)))

    @rule(who=WHO, which=st.integers(0, 100))
    def restore(self, who: int, which: int) -> None:
        """An older state of the database, within a week, on the store as it is."""
        one = self.of(who)
        usable = self.restorable(one)
        if not usable:
            return
        one.ctx.close()
        for left in one.folder.glob("triage.db*"):
            left.unlink()
        shutil.copyfile(usable[which % len(usable)].path, one.folder / "triage.db")
        one.ctx = self.opened(one.folder)
        announce(one.ctx)
        self.all_look()

    @rule(who=WHO)
    def person_adopts(self, who: int) -> None:
        """Rightly or not: who still writes there says so within twenty minutes."""
        adopt(self.of(who).ctx)
        self.all_look()

    @rule(who=WHO, which=st.integers(0, 100), dies=st.booleans(), whole=st.booleans())
    def person_erases(self, who: int, which: int, dies: bool, whole: bool) -> None:
        """A file or an incident; the process may die between rows and bytes."""
        ctx = self.of(who).ctx
        path = self.of(who).folder / "triage.db"
        asked = "SELECT a.id, a.incident_id FROM artifact a JOIN upload u ON u.id = a.upload_id"
        files = query(path, f"{asked} WHERE u.blob_key IS NOT NULL ORDER BY a.id")
        if not files:
            return
        artifact_id, incident_id = files[which % len(files)]
        subject, what = (incident_id, "a.incident_id") if whole else (artifact_id, "a.id")
        words = query(
            path,
            "SELECT j.job_id, a.filename, u.blob_key FROM artifact a"
            " JOIN upload u ON u.id = a.upload_id JOIN incident i ON i.id = a.incident_id"
            f" JOIN job j ON j.id = i.job_fk WHERE {what} = '{subject}'",
        )
        with pytest.MonkeyPatch.context() as patch:
            if dies:
                patch.setattr(erase, "finish_erasures", killed)
            try:
                (erase.delete_incident if whole else erase.delete_artifact)(
                    ctx, subject, "key_1", "why"
                )
            except (Conflict, Gone):
                return
            except KeyboardInterrupt:
                self.unfinished = True
        for job_id, filename, key in words:
            self.gone_keys.add(key)
            number, k = job_id.removeprefix("job-"), filename.removesuffix(".log")
            self.gone_words.add(f"word-{number}-{k}-".encode())

    # -- what must hold

    def restorable(self, one: Service) -> list[Backup]:
        return [copy for copy in one.backups if self.true_now - copy.at < 7 * DAY]

    @invariant()
    def nothing_that_is_named_goes(self) -> None:
        """By a database as it is, or by one that can still be restored; of any service."""
        there = set(self.blobs.keys())
        for one in self.services:
            named = named_in(one.folder / "triage.db")
            for copy in self.restorable(one):
                named |= copy.keys
            assert named - self.gone_keys <= there

    @invariant()
    def what_was_erased_is_in_no_pack(self) -> None:
        """Once a worker has run on a store that is its own."""
        if self.unfinished:
            for one in self.services:
                with suppress(Conflict):
                    erase.finish_erasures(one.ctx)
            self.unfinished = any(marked_erased(one.folder) for one in self.services)
        if self.unfinished or not self.gone_words:
            return
        for key in list(self.blobs.keys()):
            plain = plain_of(self.blobs.read(key, 0, 1 << 20))
            assert not [word for word in self.gone_words if word in plain]


def killed(ctx: Context) -> int:
    raise KeyboardInterrupt


def query(path: Path, sql: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


def named_in(path: Path) -> set[str]:
    """The blobs that a database names."""
    return {key for (key,) in query(path, "SELECT blob_key FROM upload") if key is not None}


def marked_erased(folder: Path) -> bool:
    sql = "SELECT 1 FROM unreferenced_blob WHERE erased"
    return bool(query(folder / "triage.db", sql))


def plain_of(data: bytes) -> bytes:
    plain = b""
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        plain += frame.decompress(data)
        data = frame.unused_data
    return plain


History.TestCase.settings = settings(max_examples=20, stateful_step_count=30)
test_any_history = History.TestCase


def test_a_newer_backup_can_be_restored_for_a_week_after_an_older_one() -> None:
    """What hypothesis seldom finds: the newer one names what the older database does not."""
    history = History()
    try:
        history.first()
        history.files_come(0, 1)  # else all of the store would go, which no sweep does
        history.backup(0)
        history.files_come(0, 1)
        history.backup(0)
        history.restore(0, 0)
        history.person_adopts(0)
        for _ in range(6):
            history.days_pass(1)
            history.one_round(0)
            history.nothing_that_is_named_goes()
        history.days_pass(4)
        assert len(list(history.blobs.keys())) == 1
    finally:
        history.teardown()
