"""What one token may bring: rates, bytes of a day, a share of a full disk, and turns."""

import shutil
from collections import namedtuple
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.services.whole_jobs import body_of, tar_of
from tests.support.work import do_one
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.states import WorkKind
from triage.errors import StorageFull, TooMany, Unavailable
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.hooks.monitoring import Notices, take_notices
from triage.services.incidents.announce import announce
from triage.services.quotas import Quotas
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.store.incidents import incidents

NOISY, QUIET = Caller("key_noisy"), Caller("key_quiet")
Disk = namedtuple("Disk", "total used free")


def limited(ctx: Context, **limits: float) -> Context:
    settings = ctx.settings.model_copy(update=limits)
    quotas = Quotas(settings, ctx.database)
    for limiter in (quotas.uploads, quotas.incidents):
        # Tries come back by the second, however slow the machine is.
        limiter.clock = lambda: 1000.0
    return replace(ctx, settings=settings, quotas=quotas)


def upload(ctx: Context, caller: Caller, job_id: str, size: int = 10) -> str:
    files = {f"nodes/{job_id}/kernel.log": job_id.encode() + b" x" * size}
    target = Target(job_id, caller=caller)
    return take_bundle(ctx, target, body_of(tar_of(files)), None).incident_id


def numbered(ctx: Context) -> int:
    with ctx.database.reading() as session:
        return len(incidents.list_incidents(session, limit=500))


def test_a_token_opens_so_many_incidents_a_minute(ctx: Context) -> None:
    few = limited(ctx, incidents_per_minute=30)  # five at once
    opened = [announce(few, Failure(f"j{number}", caller=NOISY)).id for number in range(5)]
    with pytest.raises(TooMany) as caught:
        announce(few, Failure("j5", caller=NOISY))
    assert caught.value.retry_after_s == 2
    with pytest.raises(TooMany):
        upload(few, NOISY, "j6")
    assert numbered(few) == 5

    # What is there goes on, and so does everybody else.
    assert announce(few, Failure("j0", caller=NOISY)).id == opened[0]
    upload(few, NOISY, "j1")
    announce(few, Failure("mine", caller=QUIET))
    upload(few, QUIET, "mine too")
    assert numbered(few) == 7


def test_a_token_sends_so_many_uploads_a_minute(ctx: Context) -> None:
    few = limited(ctx, uploads_per_minute=12)
    upload(few, NOISY, "a")
    upload(few, NOISY, "b")
    with pytest.raises(TooMany, match="too many uploads"):
        upload(few, NOISY, "c")
    upload(few, QUIET, "d")


def test_a_token_brings_so_many_bytes_a_day(ctx: Context) -> None:
    few = limited(ctx, max_bytes_per_day=1)
    upload(few, NOISY, "a")
    few.quotas.usage = replace(few.quotas.usage, at=-60.0)
    with pytest.raises(TooMany, match="within a day"):
        upload(few, NOISY, "b")
    upload(few, QUIET, "c")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk of which nine tenths are used."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(100, 90, 10))


@pytest.mark.usefixtures("full_disk")
def test_beyond_the_mark_of_the_disk_the_noisiest_waits(ctx: Context) -> None:
    marked = limited(ctx, disk_mark=1.0)
    for number in range(20):
        upload(marked, NOISY, f"n{number}", 1000)
    upload(marked, QUIET, "q0")
    marked = limited(ctx, disk_mark=0.85)
    with pytest.raises(StorageFull, match="fuller than its mark"):
        upload(marked, NOISY, "n20")
    upload(marked, QUIET, "q1")


@pytest.mark.usefixtures("full_disk")
def test_a_token_alone_may_fill_the_disk(ctx: Context) -> None:
    marked = limited(ctx, disk_mark=0.85)
    upload(marked, NOISY, "n0")
    marked.quotas.usage = replace(marked.quotas.usage, at=-60.0)
    upload(marked, NOISY, "n1")


def test_jobs_are_counted_while_something_comes_for_them(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("triage.services.quotas.time.monotonic", lambda: now)
    quotas = ctx.quotas
    assert [quotas.jobs_beside(NOISY, f"j{number % 3}") for number in range(5)] == [1, 2, 3, 3, 3]
    assert quotas.jobs_beside(QUIET, "j0") == 1
    now += 61
    assert quotas.jobs_beside(NOISY, "j9") == 1
    assert "key_quiet" not in quotas.active


def test_many_jobs_of_one_token_have_the_queue_once(ctx: Context, readers: Readers) -> None:
    """Uploads and analyses of another token come before those of a crowd that was there first."""
    for number in range(40):
        upload(ctx, NOISY, f"n{number}")
        announce(ctx, Failure(f"n{number}", caller=NOISY, expected_artifacts=1))
    mine = upload(ctx, QUIET, "mine")
    announce(ctx, Failure("mine", caller=QUIET, expected_artifacts=1))

    num_read = 0
    while unread(ctx, mine):
        assert do_one(ctx, readers, WorkKind.PARSE)
        num_read += 1
    assert num_read <= 10  # a token with no more jobs than these is no crowd
    analysed = 0
    while state_of(ctx, mine) != "ready":
        assert do_one(ctx, readers, WorkKind.ANALYSE)
        analysed += 1
    assert analysed <= 10


def state_of(ctx: Context, incident_id: str) -> str:
    with ctx.database.reading() as session:
        found = incidents.find(session, incident_id)
    assert found is not None
    return str(found.state)


def unread(ctx: Context, incident_id: str) -> int:
    with ctx.database.reading() as session:
        return incidents.count_unread(session, incident_id)


def test_a_storm_of_alerts_is_taken_up_to_the_limit_and_then_goes_on(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    few = limited(ctx, incidents_per_minute=30)
    monkeypatch.setattr(few.quotas.incidents, "clock", lambda: now)
    notices = Notices([(f"a{k}", Failure(f"j{k}")) for k in range(8)])
    with pytest.raises(Unavailable) as caught:
        take_notices(few, notices, NOISY)
    assert numbered(few) == 5
    now += caught.value.retry_after_s or 0
    while numbered(few) < 8:
        now += 2
        with suppress(Unavailable):
            take_notices(few, notices, NOISY)
    assert take_notices(few, notices, NOISY).accepted == 8
