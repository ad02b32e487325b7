"""What a person wants gone is gone: rows, packs, answers, messages; and it does not come back."""

import io
from collections.abc import Callable

import pytest
import zstandard
from sqlalchemy.orm import Session

from models import Base
from tests.services.incidents.test_incident_life import (
    JOB,
    announce_and_settle,
    find,
    upload,
    work_off,
)
from tests.support.work import do_all
from triage.clock import read_utc_now
from triage.domain.states import IncidentState, WorkKind
from triage.errors import Gone, NotFound, Unprocessable
from triage.notify.message import Kind, check_events
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.retention import erase
from triage.services.retention.erase import delete_artifact, delete_incident, finish_erasures
from triage.services.uploads.ingest import take_artifact
from triage.services.uploads.raw_file import find_stored_file, read_pieces
from triage.services.uploads.received import Target
from triage.store.access import audit
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.subscriptions import NewSubscription
from triage.store.uploads import artifacts
from triage.store.views import ArtifactView, DeliveryView, NewDelivery

SECRET = b"node n1: password is hunter-two-the-secret\n"
KERNEL = next(name for name in JOB if name.endswith("kernel.log"))
FILES = {**JOB, KERNEL: JOB[KERNEL] + SECRET}
Files = dict[str, ArtifactView]


@pytest.fixture
def receiver(ctx: Context) -> str:
    """A receiver of all incidents."""
    with ctx.database.writing() as session:
        new = NewSubscription(
            "sub_1", str(Kind.GENERIC), "http://127.0.0.1:1/", None, ("whsec_AAAA",),
            [str(event) for event in check_events(None)],
        )  # fmt: skip
        return subscriptions.add(session, new, read_utc_now()).id


def files_of(ctx: Context, incident_id: str) -> Files:
    with ctx.database.reading() as session:
        rows = artifacts.list_by_incident(session, incident_id, limit=500)
    return {row.name: row for row in rows}


def messages_to(session: Session, subscription_id: str = "sub_1") -> list[DeliveryView]:
    return deliveries.list_by_subscription(session, subscription_id)


def everything(ctx: Context) -> str:
    """All rows of all tables but of erasures, and all plain bytes of packs, as text."""
    found = []
    with ctx.database.reading() as session:
        for table in Base.metadata.sorted_tables:
            if table.name not in ("erasure", "audit", "unreferenced_blob"):
                found += [f"{table.name}: {row}" for row in session.execute(table.select())]
    for key in list(ctx.blobs.keys()):
        data = ctx.blobs.read(key, 0, 1 << 30)
        found.append(f"{key}: {data!r}")
        while data:
            one = zstandard.ZstdDecompressor().decompressobj()
            found.append(repr(one.decompress(data)))
            data = one.unused_data
    return "\n".join(found)


def test_finding_13_an_artifact_goes_from_rows_pack_and_answer(
    ctx: Context, readers: Readers, receiver: str
) -> None:
    found = announce_and_settle(ctx, readers, FILES)
    files = files_of(ctx, found.id)
    gone = files[KERNEL]
    assert "the-secret" in everything(ctx)

    delete_artifact(ctx, gone.id, "key_1", "a secret")
    assert gone.id not in everything(ctx)
    assert "the-secret" not in everything(ctx)
    work_off(ctx, readers)

    now = find(ctx, found.id)
    assert (now.state, now.num_artifacts) == (IncidentState.READY, found.num_artifacts - 1)
    assert now.revision == found.revision + 1
    assert gone.id not in everything(ctx)
    assert "the-secret" not in everything(ctx)
    left = files_of(ctx, found.id)
    assert left.keys() == files.keys() - {KERNEL}
    for name in left:
        if left[name].stored_bytes:
            assert b"".join(read_pieces(ctx, find_stored_file(ctx, found.id, name))) == FILES[name]
    with ctx.database.reading() as session:
        assert ("key_1", "artifact.delete", gone.id) in [
            (act.actor, act.action, act.subject) for act in audit.list_acts(session, 100)
        ]
        messages = {one.event: one.body for one in messages_to(session)}
    assert set(messages) == {"incident.ready", "incident.revised"}
    assert b"erased" in messages["incident.ready"]
    assert gone.id.encode() not in messages["incident.revised"]


def test_finding_13_an_incident_goes_with_all_that_is_its_own(
    ctx: Context, readers: Readers, receiver: str
) -> None:
    kept = announce_and_settle(ctx, readers, FILES)
    delete_incident(ctx, kept.id, "key_1", "a mistake")

    assert list(ctx.blobs.keys()) == []
    with ctx.database.reading() as session:
        messages = messages_to(session)
        acts = [(act.actor, act.action, act.subject) for act in audit.list_acts(session, 100)]
    assert [(one.event, one.incident_id) for one in messages] == [("incident.deleted", None)]
    assert kept.id.encode() in messages[0].body
    assert b'"verdict":null' in messages[0].body
    assert ("key_1", "incident.delete", kept.id) in acts
    named = [row for row in everything(ctx).splitlines() if kept.id in row]
    assert [row for row in named if "incident.deleted" not in row] == []
    assert "the-secret" not in everything(ctx)


@pytest.mark.parametrize("delete", [delete_incident, delete_artifact])
def test_again_it_is_gone_and_what_never_was_is_not_found(
    ctx: Context, readers: Readers, delete: Callable[..., object]
) -> None:
    found = announce_and_settle(ctx, readers, {"a.log": b"x\n"})
    [file] = files_of(ctx, found.id).values()
    subject = found.id if delete is delete_incident else file.id

    with pytest.raises(NotFound):
        delete(ctx, "no_such", "key_1", "why")
    with pytest.raises(Unprocessable, match="say why"):
        delete(ctx, subject, "key_1", " ")
    delete(ctx, subject, "key_1", "why")
    with pytest.raises(Gone, match="was erased at"):
        delete(ctx, subject, "key_1", "why")


def test_finding_13_what_is_erased_does_not_come_back(ctx: Context, readers: Readers) -> None:
    found = announce_and_settle(ctx, readers, {"a.log": b"secret\n", "b.log": b"x\n"})
    delete_artifact(ctx, files_of(ctx, found.id)["a.log"].id, "key_1", "why")

    again = upload(ctx, {"a.log": b"secret\n", "b.log": b"x\n", "c.log": b"new\n"})
    assert [one.status for one in again.members] == [410, 200, 201]
    with pytest.raises(Gone, match="erased on request"):
        upload(ctx, {"a.log": b"secret\n"})
    with pytest.raises(Gone, match="erased on request"):
        take_artifact(ctx, Target("4711", filename="a.log"), reader(b"secret\n"), None)
    # From another job, or other bytes, it is another file.
    assert upload(ctx, {"a.log": b"secret\n"}, job_id="other").members[0].status == 201
    assert upload(ctx, {"a.log": b"cleaned\n"}).members[0].status == 201


def reader(data: bytes) -> Callable[[int], bytes]:
    return io.BytesIO(data).read


def test_finding_13_uploads_to_a_deleted_incident_are_told_so(
    ctx: Context, readers: Readers
) -> None:
    found = announce_and_settle(ctx, readers, {"a.log": b"secret\n"})
    delete_incident(ctx, found.id, "key_1", "why")

    with pytest.raises(Gone, match="the incident was deleted on request"):
        upload(ctx, {"b.log": b"x\n"}, incident=found.id)
    with pytest.raises(Gone):  # what was deleted with it, from a spool
        upload(ctx, {"a.log": b"secret\n"})
    opened = upload(ctx, {"b.log": b"x\n"})
    assert opened.incident_id != found.id


def test_a_storm_message_that_names_it_is_erased(ctx: Context, receiver: str) -> None:
    found = upload(ctx, {"a.log": b"x\n"}).incident_id
    at = read_utc_now()
    with ctx.database.writing() as session:
        for name, body in (("m1", f"about {found}".encode()), ("m2", b"about others")):
            new = NewDelivery(
                name, receiver, None, 0, "incident.storm", "POST", "http://x", {}, body
            )
            deliveries.add(session, new, at)
    delete_incident(ctx, found, "key_1", "why")

    with ctx.database.reading() as session:
        bodies = {one.id: one.body for one in messages_to(session)}
    assert b"erased" in bodies["m1"]
    assert bodies["m2"] == b"about others"


def test_a_process_that_dies_leaves_the_rest_to_the_next(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = announce_and_settle(ctx, readers, FILES)

    def killed(ctx: Context) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(erase, "finish_erasures", killed)
    with pytest.raises(KeyboardInterrupt):
        delete_artifact(ctx, files_of(ctx, found.id)[KERNEL].id, "key_1", "why")
    monkeypatch.undo()
    assert "the-secret" in everything(ctx)

    do_all(ctx, readers, WorkKind.RETENTION)
    assert "the-secret" not in everything(ctx)
    assert finish_erasures(ctx) == 0


def test_an_answer_that_was_on_its_way_is_not_kept(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = announce_and_settle(ctx, readers, FILES)
    gone = files_of(ctx, found.id)[KERNEL]
    upload(ctx, {"late.log": b"something new\n"}, incident=found.id)
    whole = type(readers).analyse

    def slow(self: Readers, *arguments: object, **more: object) -> object:
        made = whole(self, *arguments, **more)
        if find(ctx, found.id).num_artifacts == found.num_artifacts + 1:
            delete_artifact(ctx, gone.id, "key_1", "why")
        return made

    monkeypatch.setattr(type(readers), "analyse", slow)
    work_off(ctx, readers)

    assert find(ctx, found.id).state is IncidentState.READY
    assert "the-secret" not in everything(ctx)
