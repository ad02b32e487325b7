"""A leaked token of one node against a settled incident: what it says changes no answer."""

import json
from datetime import UTC, datetime

import pytest

from tests.services.whole_jobs import GPU_LOST, body_of, files_of, tar_of
from tests.support.work import do_all
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.states import IncidentState, WorkKind
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.store.incidents import incidents, revisions
from triage.store.views import IncidentView

JOB = files_of(GPU_LOST)
AT = datetime(2026, 11, 21, 1, 36, 47, tzinfo=UTC)
FACTS = json.loads(JOB["job.json"])
LIE = {"nodes": [f"innocent-{number}" for number in range(4)], "gpus_per_node": 2}
LEAKED = Caller("key_leaked")


def settled(ctx: Context, readers: Readers) -> IncidentView:
    logless = {name: data for name, data in JOB.items() if name.startswith("fr/")}
    failure = Failure("4711", "a", AT, FACTS, expected_artifacts=len(logless))
    opened = announce(ctx, failure)
    send(ctx, opened.id, logless)
    return answered(ctx, readers, opened.id)


def send(ctx: Context, incident_id: str, files: dict[str, bytes], caller=LEAKED) -> None:
    target = Target("4711", incident=incident_id, caller=caller)
    take_bundle(ctx, target, body_of(tar_of(files)), None)


def answered(ctx: Context, readers: Readers, incident_id: str) -> IncidentView:
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)
    with ctx.database.reading() as session:
        found = incidents.find(session, incident_id)
    assert found is not None
    assert found.state is IncidentState.READY
    return found


def suspects_of(ctx: Context, incident_id: str) -> object:
    with ctx.database.reading() as session:
        return revisions.find_newest(session, incident_id).reported().suspects


@pytest.mark.parametrize("way", ["hook", "job.json"])
@pytest.mark.parametrize("told", [True, False], ids=["contradicted", "added"])
def test_a_foreign_token_does_not_move_a_settled_answer(
    ctx: Context,
    readers: Readers,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    told: bool,
) -> None:
    if not told:
        monkeypatch.setitem(globals(), "FACTS", {"job_id": "4711", "world_size": 8})
    before = settled(ctx, readers)
    suspects = suspects_of(ctx, before.id)
    assert suspects
    assert ("gpu-0102" in str(suspects)) is told

    if way == "hook":
        assert announce(ctx, Failure("4711", "a", AT, LIE, caller=LEAKED)).id == before.id
    else:
        send(ctx, before.id, {"job.json": json.dumps(LIE).encode()})
    after = answered(ctx, readers, before.id)

    assert after.verdict == before.verdict
    assert suspects_of(ctx, before.id) == suspects
    noted = [note for note in after.coverage["notes"] if "key_leaked" in note]
    # Another value in a later job.json never counted; a hook's is a contradiction.
    assert [("nodes" in note) for note in noted] == [True] * (way == "hook" or not told)


def test_one_that_may_read_corrects_the_nodes_of_a_settled_incident(
    ctx: Context, readers: Readers
) -> None:
    before = settled(ctx, readers)
    corrector = Caller("key_reader", frozenset({"read"}))

    announce(ctx, Failure("4711", "a", AT, LIE, caller=corrector))
    after = answered(ctx, readers, before.id)

    assert after.revision == before.revision + 1
    assert "innocent" in str(suspects_of(ctx, before.id))
