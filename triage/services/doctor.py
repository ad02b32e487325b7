"""Each thing the service depends on, how it is, and what to do about it.

Changes nothing, except for a probe in the blob store that is removed again.
"""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import TriageError
from triage.queue.wakeups import count_waiting_messages
from triage.render.words.clean import format_one_line
from triage.sandbox.confinement.probe import probe_confinement_gaps
from triage.services.context import Context
from triage.services.tokens import list_ending_tokens
from triage.settings import Settings
from triage.store.database.clock import describe_clock_doubt, read_database_time
from triage.store.database.migrate import head_revision, list_known_revisions, read_current_revision
from triage.store.messages import subscriptions
from triage.store.work.backlog import read_activity, summarize_work
from triage.store.work.table import count_waiting

# Work that has waited longer than this has nobody who does it.
_LATE_S: Final = 60.0
_SKEW_WARN_S: Final = 2.0
_CLOCK_STEP: Final = "see that the database's machine has the right time; if it has, wait"
_WAITING_STEP: Final = (
    "see that it is there, has room and lets the service in; what waits is then done by itself"
)
_LITTLE_ROOM: Final = 1 << 30


class Health(StrEnum):
    """How a thing is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing: how it is, in words, and the ``step`` to take where it is not well."""

    thing: str
    health: Health
    words: str
    step: str = ""


_Check = Callable[[Context], Iterator[Finding]]


def examine(settings: Settings, open_context: Callable[[Settings], Context]) -> list[Finding]:
    """Look at everything; a thing that cannot even be asked is a finding too.

    Raises :class:`UsageError` for settings that cannot be.
    """
    made = settings.data_dir / "triage.db"
    if settings.embedded_database and not made.exists():
        return [
            Finding(
                "database",
                Health.WARN,
                f"none yet in {settings.data_dir}",
                "`triage serve` makes it; is TRIAGE_DATA_DIR the folder you mean?",
            ),
            *_check_readers(),
            *_check_disk(settings),
        ]
    ctx = open_context(settings)
    try:
        found = list(_run_check("database", _check_database, ctx))
        answers = all(one.health is not Health.FAIL for one in found)
        for name, check in (("blobs", _check_blobs), ("broker", _check_broker)):
            found += _run_check(name, check, ctx)
        if answers:
            rows = (
                ("work", work),
                ("clock", _check_clock),
                ("receivers", _check_receivers),
                ("tokens", _check_tokens),
            )
            for name, check in rows:
                found += _run_check(name, check, ctx)
        return [*found, *_check_readers(), *_check_disk(settings)]
    finally:
        ctx.close()


def _run_check(name: str, check: _Check, ctx: Context) -> list[Finding]:
    try:
        return list(check(ctx))
    except TriageError as error:
        step = getattr(error, "hint", "") or "see that it runs and can be reached from here"
        return [Finding(name, Health.FAIL, str(error), step)]


def _check_database(ctx: Context) -> Iterator[Finding]:
    """It answers, and it is at this release's revision."""
    ctx.database.check()
    kind = "SQLite in the data directory" if ctx.settings.embedded_database else "it answers"
    yield Finding("database", Health.OK, kind)
    present, head = read_current_revision(ctx.database), head_revision()
    if present == head:
        yield Finding("migrations", Health.OK, f"at {head}")
    elif present is not None and present not in list_known_revisions():
        yield Finding(
            "migrations",
            Health.WARN,
            f"at {present}, newer than this release ({head})",
            "finish the upgrade: start the newer release everywhere",
        )
    else:
        step = "start `triage serve`" if ctx.settings.embedded_database else "run `triage migrate`"
        yield Finding(
            "migrations", Health.FAIL, f"at {present or 'nothing'}, this release needs {head}", step
        )


def _check_blobs(ctx: Context) -> Iterator[Finding]:
    """A probe can be written and removed."""
    ctx.blobs.check()
    where = ctx.settings.blob_url or "a folder in the data directory"
    yield Finding("blobs", Health.OK, f"{where}: a probe was written and removed")


def _check_broker(ctx: Context) -> Iterator[Finding]:
    """It answers, and how many wake-ups lie in it. Never fatal: the sweeper does without."""
    if ctx.settings.embedded_broker:
        running = _is_service_running(ctx.settings.data_dir)
        yield Finding(
            "broker",
            Health.OK if running else Health.WARN,
            "embedded, `triage serve` is running" if running else "embedded, and nobody serves",
            "" if running else "start `triage serve`",
        )
        return
    lying = {kind: count_waiting_messages(ctx.settings, kind) for kind in WorkKind}
    if None in lying.values():
        yield Finding(
            "broker",
            Health.WARN,
            "it does not answer; uploads are taken, work is delayed",
            "start it, and see that TRIAGE_BROKER_URL is right",
        )
        return
    words = ", ".join(f"{number} {kind}" for kind, number in lying.items() if number)
    yield Finding("broker", Health.OK, f"it answers; wake-ups in it: {words or 'none'}")


def work(ctx: Context) -> Iterator[Finding]:
    """Who works, what waits, what was given up."""
    now = read_utc_now()
    with ctx.database.reading() as session:
        seen, rows = read_activity(session, now), summarize_work(session, now)
    late_s = float(rows["oldest_due_s"])
    last = "never" if seen.last_at is None else f"{(now - seen.last_at).total_seconds():.0f} s ago"
    if late_s > _LATE_S and not seen.running:
        who = "`triage serve`" if ctx.settings.embedded_broker else "`triage worker`"
        yield Finding(
            "workers", Health.FAIL, f"nobody works; the last act was {last}", f"start {who}"
        )
    else:
        words = f"{seen.running} things being done by {len(seen.owners)} workers; last act {last}"
        yield Finding("workers", Health.OK, words)
    if late_s > _LATE_S:
        yield Finding(
            "waiting",
            Health.WARN,
            f"the oldest due work has waited for {late_s:.0f} s",
            "start more workers, or a scheduler if there is none; see the logs of the workers",
        )
    else:
        yield Finding("waiting", Health.OK, f"the oldest due work has waited for {late_s:.0f} s")
    with ctx.database.reading() as session:
        waits = count_waiting(session)
    for one in waits:
        yield Finding("surroundings", Health.WARN, one.words("piece"), _WAITING_STEP)
    given_up = sum(number for (_, state), number in rows["work"].items() if state == "quarantined")
    if given_up:
        yield Finding(
            "given up",
            Health.WARN,
            f"{given_up} things were given up after too many tries",
            "see the reason at the incident, report it, then `triage retry --all`",
        )


def _check_clock(ctx: Context) -> Iterator[Finding]:
    """How far this machine's clock is from the database's, and whether that one has jumped."""
    before = datetime.now(UTC)
    with ctx.database.reading() as session:
        there = read_database_time(session)
        doubt = describe_clock_doubt(session, there)
    here = before + (datetime.now(UTC) - before) / 2
    if doubt:
        yield Finding("clock", Health.WARN, doubt, _CLOCK_STEP)
    if ctx.database.sqlite:
        yield Finding("clock", Health.OK, "one machine, one clock")
        return
    off_s = (here - there).total_seconds()
    words = f"{abs(off_s):.1f} s {'ahead of' if off_s > 0 else 'behind'} the database's"
    if abs(off_s) < _SKEW_WARN_S:
        yield Finding("clock", Health.OK, words)
        return
    # Leases and ages go by the database's time; what lies in files has this machine's.
    yield Finding("clock", Health.WARN, words, "set the clock by NTP")


def _check_tokens(ctx: Context) -> Iterator[Finding]:
    """Those that end soon, after which their senders are refused."""
    ending = list_ending_tokens(ctx)
    for key in ending:
        words = f"{key.id} ({format_one_line(key.name)}) ends at {key.expires_at:%Y-%m-%d %H:%M}Z"
        step = "make another one with `triage token create`, and give it to who uses this one"
        yield Finding("tokens", Health.WARN, words, step)
    if not ending:
        yield Finding("tokens", Health.OK, "none ends within 14 days")


def _check_receivers(ctx: Context) -> Iterator[Finding]:
    """Who is told, and who does not answer."""
    with ctx.database.reading() as session:
        known = subscriptions.list_subscriptions(session)
    for one in known:
        if one.disabled_at is not None:
            yield Finding(
                "receivers",
                Health.WARN,
                f"{one.id} ({one.kind}) is off: {one.disabled_why}",
                "subscribe it again, or delete it; a key that is given back opens it again"
                if one.disabled_why == subscriptions.UNOPENED
                else "subscribe it again, or delete it",
            )
        elif one.failing_since is not None:
            yield Finding(
                "receivers",
                Health.WARN,
                f"{one.id} ({one.kind}) has not answered since {one.failing_since:%Y-%m-%d %H:%M}Z",
                f"see GET /v1/subscriptions/{one.id}/deliveries",
            )
    if all(one.disabled_at is None and one.failing_since is None for one in known):
        yield Finding("receivers", Health.OK, f"{len(known)} subscribed, none failing")
    if known and not ctx.settings.embedded_database and not ctx.settings.secret_key:
        yield Finding(
            "secrets",
            Health.WARN,
            "addresses and secrets of receivers lie in the database in clear",
            "set TRIAGE_SECRET_KEY on all machines: docs/security.md#sealed-receivers",
        )


def _check_readers() -> Iterator[Finding]:
    """Whether the processes that read foreign bytes are confined on this machine."""
    missing = probe_confinement_gaps()
    if not missing:
        words = "confined: no network, no programs, no files but those they are given"
        yield Finding("readers", Health.OK, words)
        return
    yield Finding(
        "readers",
        Health.WARN,
        f"of a process that reads foreign bytes: {'; '.join(missing)}",
        "docs/security.md says which kernel and which container let them be confined",
    )


def _check_disk(settings: Settings) -> Iterator[Finding]:
    """Room for the database, the blobs and what is on its way to an object store."""
    folder = settings.data_dir.absolute()
    while not folder.exists():
        folder = folder.parent
    usage = shutil.disk_usage(folder)
    words = f"{usage.free / 1e9:.1f} GB free of {usage.total / 1e9:.1f} at {folder}"
    if usage.free <= settings.min_free_bytes:
        health = Health.FAIL
    elif usage.free < _LITTLE_ROOM or usage.free < usage.total / 50:
        health = Health.WARN
    else:
        health = Health.OK
    step = "" if health is Health.OK else "free some: `triage prune`, or a larger disk"
    yield Finding("disk", health, words, step)


def _is_service_running(folder: Path) -> bool:
    """Whether a `triage serve` holds this data directory."""
    try:
        with (folder / "serve.lock").open("r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
