"""One job id on two clusters, or requeued: each file in the incident of its failure."""

import io
import tarfile
from datetime import UTC, datetime, timedelta

import pytest

from tests.services.whole_jobs import body_of
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.states import IncidentState
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.uploads.ingest import take_artifact, take_bundle
from triage.services.uploads.received import Target
from triage.store.incidents import incidents, settling

LOG = b"step 1 loss 2.0\nRuntimeError: NCCL error\n"


def bundle(written_at: datetime | None = None, text: bytes = LOG, name: str = "nodes/n0/job.log"):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(text)
        info.mtime = 0 if written_at is None else written_at.timestamp()
        tar.addfile(info, io.BytesIO(text))
    return body_of(packed.getvalue())


def send(ctx: Context, job_id: str = "4711", *, text: bytes = LOG, written_at=None, **of) -> str:
    return take_bundle(ctx, Target(job_id, **of), bundle(written_at, text), None).incident_id


def settle(ctx: Context, incident_id: str, at: datetime) -> None:
    with ctx.database.writing() as session:
        settling.settle(session, incident_id, at)


def cluster_of(ctx: Context, incident_id: str) -> str | None:
    with ctx.database.reading() as session:
        found = incidents.find(session, incident_id)
    assert found is not None
    return found.cluster


def test_a_file_of_no_cluster_joins_neither_of_two(ctx: Context) -> None:
    a = announce(ctx, Failure("4711", "a")).id
    b = announce(ctx, Failure("4711", "b")).id

    nameless = send(ctx)

    assert len({a, b, nameless}) == 3
    assert cluster_of(ctx, nameless) is None
    # No hook of a cluster takes it for its own, and the files of each go to its own.
    assert announce(ctx, Failure("4711", "a")).id == a
    assert send(ctx, cluster="a") == a
    assert send(ctx, cluster="b", text=b"other\n") == b


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_token_of_a_cluster_says_which(ctx: Context, first: str) -> None:
    hooks = {one: announce(ctx, Failure("4711", one)).id for one in (first, "a", "b")}
    for one, incident in hooks.items():
        assert send(ctx, caller=Caller(f"key_{one}", cluster=one), text=one.encode()) == incident


def test_calls_of_an_installation_with_one_cluster_go_on(ctx: Context) -> None:
    opened = announce(ctx, Failure("4711", "a")).id
    assert send(ctx) == opened
    early = send(ctx, "4712")
    assert announce(ctx, Failure("4712", "a")).id == early
    assert cluster_of(ctx, early) == "a"
    unlabelled = announce(ctx, Failure("4713")).id  # an alert without the label
    assert send(ctx, "4713", cluster="a") == unlabelled
    # Near miss: once a second cluster is named, none is none.
    announce(ctx, Failure("1", "b"))
    assert send(ctx, "4711", text=b"late\n") != opened
    early = send(ctx, "4714")
    assert announce(ctx, Failure("4714", "a")).id != early


@pytest.mark.parametrize("named", [True, False], ids=["attempt", "times"])
@pytest.mark.parametrize("order", ["hook first", "files first"])
def test_the_second_failure_of_a_requeued_job_is_its_own(
    ctx: Context, order: str, named: bool
) -> None:
    now = datetime.now(UTC)
    first_at, second_at = now - timedelta(hours=2), now - timedelta(seconds=10)
    of = [{"attempt": str(number)} if named else {} for number in range(2)]
    first = announce(ctx, Failure("7", "a", first_at, **of[0])).id
    assert send(ctx, "7", cluster="a", written_at=first_at, text=b"one\n", **of[0]) == first
    if not named:
        settle(ctx, first, first_at + timedelta(minutes=1))

    acts = [
        lambda: announce(ctx, Failure("7", "a", second_at, **of[1])).id,
        lambda: send(ctx, "7", cluster="a", written_at=second_at, text=b"two\n", **of[1]),
    ]
    ids = {act() for act in (acts if order == "hook first" else acts[::-1])}

    assert len(ids) == 1
    assert first not in ids
    # What was spooled meanwhile on a node of the first failure still belongs to it.
    late = send(ctx, "7", cluster="a", written_at=first_at, text=b"spooled\n", **of[0])
    assert late == first
    # And the first hook, said again, is the first failure.
    assert announce(ctx, Failure("7", "a", first_at)).id == first


def test_a_first_start_names_no_attempt_and_a_requeued_one_does(ctx: Context) -> None:
    """Slurm sets SLURM_RESTART_COUNT only from the second start on."""
    first = send(ctx, "7", cluster="a", text=b"one\n")
    second = send(ctx, "7", cluster="a", text=b"two\n", attempt="1")
    assert first != second
    assert send(ctx, "7", cluster="a", text=b"three\n", attempt="1") == second
    assert announce(ctx, Failure("7", "a", attempt="1")).id == second
    assert announce(ctx, Failure("7", "a", attempt="0")).id == first


def test_a_file_sent_again_is_the_same_however_late(ctx: Context) -> None:
    long_ago = datetime.now(UTC) - timedelta(hours=5)
    first = take_artifact(ctx, Target("7", filename="a.log"), body_of(LOG), None)
    settle(ctx, first.artifact.incident_id, long_ago)
    again = take_artifact(ctx, Target("7", filename="a.log"), body_of(LOG), None)
    assert (again.new, again.artifact.id) == (False, first.artifact.id)
    # Near miss: another file of no time, as late, is of another failure.
    other = take_artifact(ctx, Target("7", filename="a.log"), body_of(LOG + b"x\n"), None)
    assert other.artifact.incident_id != first.artifact.incident_id


def test_a_kernel_log_written_since_does_not_part_files_from_their_failure(ctx: Context) -> None:
    failed_at = datetime.now(UTC) - timedelta(hours=2)
    first = announce(ctx, Failure("7", "a", failed_at)).id
    settle(ctx, first, failed_at + timedelta(minutes=90))
    kernel = b"[  100.000000] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"
    made = bundle(datetime.now(UTC), kernel, "nodes/n0/kernel.log")
    assert take_bundle(ctx, Target("7", cluster="a"), made, None).incident_id == first


def test_a_settled_incident_that_is_adopted_keeps_its_attempt(ctx: Context) -> None:
    early = send(ctx, "7", attempt="3")
    settle(ctx, early, datetime.now(UTC))
    found = announce(ctx, Failure("7", "a"))
    assert (found.id, found.state) == (early, IncidentState.COLLECTING)
    assert announce(ctx, Failure("7", "a", attempt="4")).id != early
