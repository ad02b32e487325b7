"""What the store keeps and gives back: hits beside near misses, on both databases."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from models import Artifact, Base, Evidence, Incident, Upload, Work
from tests.store.conftest import NOW, new_answer, new_file, suspect, uploaded
from triage.domain.states import ArtifactState, DeliveryState, IncidentState, WorkKind
from triage.store import jobs, node_notices, nodes
from triage.store.access import audit, keys
from triage.store.database.ids import make_id
from triage.store.incidents import incidents, past, problems, revisions, settling
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.deliveries import DeliveryAttempt
from triage.store.messages.subscriptions import NewSubscription
from triage.store.retention import unreferenced
from triage.store.uploads import artifacts, evidence
from triage.store.uploads.evidence import Reading
from triage.store.views import KeyView, NewDelivery, ResolutionView
from triage.store.work import backlog
from triage.store.work import table as work
from triage.store.work.backlog import read_activity

HOUR = timedelta(hours=1)


def answer(session, incident_id, revision, named, now=NOW):
    packed = f"\x00{revision}".encode()
    revisions.add(session, incident_id, revision, new_answer(*named, packed=packed), now)


def subscribe(session, subscription_id, **given):
    given = {"url": "https://x", "events": ["incident.ready"], **given}
    new = NewSubscription(subscription_id, kind="generic", routing_key=None, secrets=["s"], **given)
    return subscriptions.add(session, new, NOW)


def send(session, delivery_id, subscription_id, incident_id, body=b"first", now=NOW):
    of = (subscription_id, incident_id, 1, "incident.ready")
    deliveries.add(session, NewDelivery(delivery_id, *of, "POST", "u", {}, body), now)


def test_ids_sort_by_time_and_differ():
    made = [make_id("inc", NOW + timedelta(milliseconds=k)) for k in range(50)]

    assert made == sorted(made)
    assert len({make_id("inc", NOW) for _ in range(1000)}) == 1000
    assert {len(one) for one in made} == {24}


def test_a_file_that_is_there_is_not_new(database, unique, opened):
    incident_id, other = opened(unique), opened(unique + "b")
    first, made = uploaded(database, incident_id, "x", "y")
    _, again = uploaded(database, incident_id, "y", "z")
    _, elsewhere = uploaded(database, other, "x")

    assert (set(made), set(again), set(elsewhere)) == ({"x", "y"}, {"z"}, {"x"})
    with database.reading() as session:
        assert artifacts.find_by_identity(session, incident_id, "x").id == made["x"]
        assert artifacts.find_by_identity(session, incident_id, "X") is None
        found = artifacts.find_known_identities(session, incident_id, ["x", "z", "w"])
        assert found == {"x": made["x"], "z": again["z"]}
        many = [f"no {k}" for k in range(2500)]
        assert artifacts.find_known_identities(session, incident_id, [*many, "y"]) == {
            "y": made["y"]
        }
        assert artifacts.find_upload(session, first) == (incident_id, "blob")
        assert artifacts.find_upload(session, "upl_none") is None


def test_many_files_of_one_upload_are_all_kept(database, unique, opened):
    incident_id = opened(unique)

    assert len(uploaded(database, incident_id, *map(str, range(4000)))[1]) == 4000


def test_files_are_read_once_and_told_apart_by_what_became_of_them(database, unique, opened):
    incident_id = opened(unique)
    upload_id, made = uploaded(database, incident_id, "a", "b", "c")
    with database.writing() as session:
        artifacts.set_states(
            session,
            {
                made["a"]: (ArtifactState.ANALYSED, None),
                made["b"]: (ArtifactState.QUARANTINED, "cut off"),
            },
        )
        artifacts.count_try(session, made["c"])
    with database.reading() as session:
        [left] = artifacts.list_unread(session, [upload_id])[upload_id]
        assert (left.id, left.tries, left.name) == (made["c"], 1, "nodes/n0/a.log")
        assert artifacts.list_quarantined(session, incident_id) == [("nodes/n0/a.log", "cut off")]


def test_what_is_read_again_replaces_what_was(database, unique, opened):
    incident_id = opened(unique)
    _, made = uploaded(database, incident_id, "a", "b")
    row = {"artifact": "a", "clock": "none", "kind": "k", "role": "root", "signature": "s",
           "text": "t", "count": 1}  # fmt: skip
    with database.writing() as session:
        for number in (3, 1):
            both = [Reading(made["a"], b"%d" % number, [row] * number), Reading(made["b"], b"b")]
            evidence.add_readings(session, incident_id, both)
        evidence.add_readings(session, incident_id, [])
        evidence.add_readings(session, incident_id, [Reading(made["b"], b"b", [row] * 20_001)])

    with database.reading() as session:
        assert sorted(evidence.read_extracts(session, incident_id)) == [b"1", b"b"]
        of_file = select(func.count()).select_from(Evidence)
        assert session.scalar(of_file.where(Evidence.artifact_id == made["a"])) == 1
        assert session.scalar(of_file.where(Evidence.artifact_id == made["b"])) == 20_000


def test_an_incident_goes_from_the_first_word_to_an_answer(database, unique, opened):
    incident_id = opened(unique, expected_artifacts=2)
    with database.writing() as session:
        assert settling.find_progress(session, "inc_none") is None
        assert settling.find_progress(session, incident_id).settle_at == NOW + timedelta(
            seconds=300
        )
        incidents.note_arrival(session, incident_id, 2, 30.0, NOW + HOUR)
        st = settling.find_progress(session, incident_id)
        assert (st.settle_at, st.num_artifacts) == (NOW + HOUR, 2)
        settling.begin_final(session, incident_id, NOW)
        assert settling.find_progress(session, incident_id).state is IncidentState.ANALYSING
        settling.go_on_collecting(session, incident_id)
        assert settling.find_progress(session, incident_id).state is IncidentState.COLLECTING
        assert settling.settle(session, incident_id, NOW)
        assert not settling.settle(session, incident_id, NOW + HOUR)
        settling.begin_final(session, incident_id, NOW)
        settling.go_on_collecting(session, incident_id)
        found = settling.find_progress(session, incident_id)
    assert (found.state, found.settled_at) == (IncidentState.READY, NOW)
    assert opened(unique) != incident_id


def test_an_incident_we_failed_over_is_closed_with_the_reason(database, unique, opened):
    incident_id = opened(unique)
    with database.writing() as session:
        assert settling.note_failure(session, incident_id, "no reader", NOW) == 0
        found = incidents.find(session, incident_id)
    assert (found.state, found.reason) == (IncidentState.FAILED, "no reader")
    assert opened(unique) != incident_id


def test_what_the_session_knew_before_it_held_the_row_is_read_again(database, unique, opened):
    incident_id = opened(unique)
    with database.writing() as session:
        stale = session.get(Incident, incident_id)
        assert stale.inputs == 0
        if database.sqlite:  # there is one writer only
            session.execute(Incident.__table__.update().values(inputs=5))
        else:
            with database.writing() as other:
                for _ in range(5):
                    settling.note_change(other, incident_id, NOW)
        settling.note_change(session, incident_id, NOW)
    with database.reading() as session:
        assert settling.find_progress(session, incident_id).inputs == 6


def test_the_newest_answer_and_its_suspects(database, unique, opened):
    incident_id = opened(unique)
    with database.writing() as session:
        assert revisions.find_newest(session, incident_id) is None
        assert revisions.list_suspects(session, incident_id) == []
        answer(session, incident_id, 1, [suspect(1, "a"), suspect(2, "b")])
        answer(session, incident_id, 2, [suspect(2, "d"), suspect(1, None)])
    with database.reading() as session:
        newest = revisions.find_newest(session, incident_id)
        assert (newest.revision, newest.answer) == (2, b"\x002")
        assert [one["node"] for one in revisions.list_suspects(session, incident_id)] == [None, "d"]


def test_a_resolution_replaces_the_one_before(database, unique, opened):
    incident_id = opened(unique)
    with database.writing() as session:
        for category in ("gpu", "nic"):
            said = ResolutionView(category, None, None, "me", NOW)
            settling.put(session, incident_id, said)
        assert incidents.find(session, incident_id).resolution.category == "nic"


def test_a_token_is_good_until_it_ends(database, unique):
    with database.writing() as session:
        before = keys.count_valid(session, NOW)
        key = KeyView(unique, "a", frozenset({"read", "ingest"}), NOW, NOW + HOUR, None)
        keys.add(session, key, f"hash {unique}")
        assert keys.find_by_hash(session, f"hash {unique}").scopes == {"read", "ingest"}
        assert keys.find_by_hash(session, f"HASH {unique}") is None
        assert keys.count_valid(session, NOW) == before + 1
        assert keys.count_valid(session, NOW + HOUR) == before
        assert keys.revoke(session, unique, NOW)
        assert keys.revoke(session, unique, NOW + HOUR)
        assert not keys.revoke(session, "key_none", NOW)
        assert keys.find_by_hash(session, f"hash {unique}").revoked_at == NOW
        assert keys.count_valid(session, NOW) == before


def test_a_subscription_and_its_messages(database, unique, opened):
    incident_id, other = opened(unique), opened(unique + "b")
    with database.writing() as session:
        subscribe(session, unique)
        assert subscribe(session, unique, url="https://other").url == "https://x"
        subscribe(session, unique + "one", incident_id=incident_id)
        subscribe(session, unique + "events", events=["incident.failed"])

        def wanting(incident):
            found = subscriptions.list_by_event(session, "incident.ready", incident)
            return {one.id for one in found if one.id.startswith(unique)}

        assert wanting(incident_id) == {unique, unique + "one"}
        assert wanting(other) == {unique}
        assert unique + "one" in {one.id for one in subscriptions.list_subscriptions(session)}
        subscriptions.set_failing(session, unique, NOW, NOW + HOUR)
        subscriptions.set_failing(session, unique, NOW + HOUR, None)
        assert subscriptions.find(session, unique).failing_since == NOW
        assert subscriptions.find(session, unique).not_before is None
        subscriptions.set_failing(session, unique, None, None)
        assert subscriptions.find(session, unique).failing_since is None
        subscriptions.disable(session, unique, "gone", NOW)
        assert wanting(other) == set()
        for name in ("a", "a", "b"):
            send(session, unique + name, unique, incident_id, now=NOW)
        send(session, unique + "a", unique, incident_id, now=NOW + HOUR)
        assert [one.id for one in deliveries.list_pending(session, unique)] == [
            unique + "a",
            unique + "b",
        ]
        assert subscriptions.remove(session, unique)
        session.flush()
        assert not subscriptions.remove(session, unique)
        assert deliveries.find(session, unique + "a") is None


def test_a_message_is_tried_given_up_and_sent_again(database, unique, opened):
    incident_id = opened(unique)
    with database.writing() as session:
        subscribe(session, unique)
        send(session, unique, unique, incident_id)
        tried = DeliveryAttempt(DeliveryState.PENDING, NOW + HOUR, 500, "no", 3, NOW)
        for name in (unique, "whd_none"):
            deliveries.record(session, name, tried, NOW)
        deliveries.make_all_due(session, unique, NOW)
        session.expire_all()
        found = deliveries.find(session, unique)
        assert (found.attempts, found.next_at, found.last_status) == (1, NOW, 500)
        deliveries.give_up_all(session, unique, "gone")
        session.expire_all()
        assert deliveries.find(session, unique).state is DeliveryState.FAILED
        assert deliveries.list_pending(session, unique) == []
        again = deliveries.send_again(session, unique, NOW)
        assert (again.state, again.attempts, again.body) == (DeliveryState.PENDING, 0, b"first")
        assert deliveries.send_again(session, "whd_none", NOW) is None
        done = DeliveryAttempt(DeliveryState.DELIVERED, None, 204, None, 3, NOW)
        deliveries.record(session, unique, done, NOW)
        assert deliveries.find(session, unique).delivered_at == NOW


def test_a_nodes_history(database, unique, opened):
    bad, fine = f"{unique}-bad", f"{unique}-fine"
    with database.writing() as session:
        assert nodes.read_history(session, bad, NOW) is None
    for k in range(3):
        incident_id = opened(f"{unique}-{k}", cluster="c", now=NOW - k * HOUR)
        _, made = uploaded(database, incident_id, "f")
        row = {
            "artifact": "a",
            "clock": "wall",
            "kind": "xid",
            "role": "root",
            "signature": "s",
            "text": "t",
            "count": 2,
            "node": bad,
            "code": 79,
            "at": f"2026-11-21T0{k}:00:00Z",
        }
        noise = {**row, "role": "noise", "code": 13}  # fmt: skip
        with database.writing() as session:
            jobs.note_nodes_seen(
                session, jobs.find_cluster(session, incident_id), [bad, fine, ""], NOW
            )
            answer(session, incident_id, 1, [suspect(1, bad), suspect(2, fine, role="affected")])
            readings = [Reading(made["f"], b"", [row, row, noise, {**row, "node": fine}])]
            evidence.add_readings(session, incident_id, readings)
    with database.reading() as session:
        found, other = nodes.read_history(session, bad, NOW), nodes.read_history(session, fine, NOW)
        late = nodes.read_history(session, bad, NOW + timedelta(days=31))
    assert [one["job_id"] for one in found["incidents"]] == [f"{unique}-{k}" for k in range(3)]
    [error] = found["errors"]
    assert (error["code"], error["count"], error["incidents"]) == (79, 12, 3)
    assert (error["first_at"], error["last_at"]) == (
        "2026-11-21T00:00:00.000Z", "2026-11-21T02:00:00.000Z",
    )  # fmt: skip
    assert (found["rate"]["incidents"], other["rate"]["incidents"]) == (3, 0)
    assert found["rate"]["ratio"] > 1
    assert late["rate"]["incidents"] == 0
    assert found["clusters"] == ["c"]


def test_of_a_flood_the_newest_rows_are_counted(database, unique, opened, monkeypatch):
    monkeypatch.setattr(nodes, "MAX_ROWS", 5)
    incident_id = opened(unique)
    _, made = uploaded(database, incident_id, "f")
    row = {"artifact": "a", "clock": "wall", "kind": "xid", "role": "root", "signature": "s",
           "text": "t", "count": 1, "node": unique}  # fmt: skip
    rows = [{**row, "code": k // 4, "at": f"2026-11-21T00:00:{k:02}Z"} for k in range(12)]
    with database.writing() as session:
        jobs.note_nodes_seen(session, jobs.find_cluster(session, incident_id), [unique], NOW)
        evidence.add_readings(session, incident_id, [Reading(made["f"], b"", rows)])
    with database.reading() as session:
        errors = nodes.read_history(session, unique, NOW)["errors"]
    assert [(one["code"], one["count"]) for one in errors] == [(2, 4), (1, 1)]


def test_a_hook_that_names_a_node_finds_the_job_that_ran_there(database, unique, opened):
    by_file = opened(unique + "1", now=NOW + timedelta(days=40))
    with database.writing() as session:
        file = new_file(by_file, "x", node=f"{unique}-file")
        artifacts.add_upload(session, by_file, 1, [file])
    day = NOW + timedelta(days=41)
    by_facts = opened(unique + "2", now=day, facts={"rank_to_node": {"0": f"{unique}-facts"}})
    with database.reading() as session:
        for name, wanted in ((f"{unique}-file", by_file), (f"{unique}-facts", by_facts)):
            of_nodes = node_notices.list_incidents_of_nodes
            assert of_nodes(session, [name, "x"], NOW, None) == ([wanted], {name})
            assert of_nodes(session, [name], NOW + timedelta(days=50), None) == ([], set())
            assert of_nodes(session, [name], NOW, "another") == ([], set())
            assert of_nodes(session, [name + "x"], NOW, None) == ([], set())


def test_counts_say_how_long_work_waits(database, unique, opened):
    with database.writing() as session:
        session.execute(Base.metadata.tables["work"].delete())
        assert backlog.summarize_work(session, NOW)["oldest_due_s"] == 0.0
        work.enqueue(session, WorkKind.NOTIFY, "a", NOW)
        work.enqueue(session, WorkKind.NOTIFY, "b", NOW + HOUR)
        assert backlog.summarize_work(session, NOW - HOUR)["oldest_due_s"] == 0.0
        found = backlog.summarize_work(session, NOW + timedelta(seconds=7))
        assert (found["oldest_due_s"], found["work"]) == (7.0, {("notify", "waiting"): 2})
        assert read_activity(session, NOW).last_at is None
        work.claim(session, WorkKind.NOTIFY, "me", NOW, 60.0)
        said = read_activity(session, NOW)
        assert (said.running, said.owners, said.last_at) == (1, ("me",), NOW)
        assert read_activity(session, NOW + HOUR).running == 0


def test_acts_are_listed_newest_first(database, unique):
    with database.writing() as session:
        for k in range(3):
            audit.note(session, "me", f"act {k}", unique, NOW + timedelta(days=99), {"k": k})
        assert [one.action for one in audit.list_acts(session, 2)] == ["act 2", "act 1"]


# What a person says, asks for, or has erased is not of every incident.
OF_OTHERS = ("resolution", "subscription", "erasure", "action")


@pytest.mark.parametrize("resolved", [False, True])
def test_what_is_old_goes_with_everything_of_it(database, unique, opened, resolved):
    old, kept = opened(unique), opened(unique + "kept")
    with database.writing() as session:
        subscribe(session, unique)
    for incident_id in (old, kept):
        upload_id, made = uploaded(database, incident_id, "x")
        with database.writing() as session:
            evidence.add_readings(session, incident_id, [Reading(made["x"], b"x")])
            answer(session, incident_id, 1, [suspect(1, "n")])
            cluster_id = jobs.find_cluster(session, incident_id)
            problems.put(session, incident_id, cluster_id, None, None)
            send(session, incident_id, unique, incident_id)
            work.enqueue(session, WorkKind.PARSE, upload_id, NOW)
    with database.writing() as session:
        settling.settle(session, old, NOW)
        if resolved:
            settling.put(session, old, ResolutionView("gpu", None, None, "me", NOW))
        found = past.list_old_incidents(session, NOW + HOUR)
        assert (old in found, kept in found) == (not resolved, False)
        assert old not in past.list_old_incidents(session, NOW)
        query = select(Upload.id, Upload.blob_key).where(Upload.incident_id == old)
        mine, key = session.execute(query).one()
        assert key in {one for one, _ in past.list_old_blobs(session, NOW + HOUR, NOW)}
        unreferenced.forget_stored(session, [key], NOW)
        assert artifacts.find_upload(session, mine) == (old, None)
        assert key in unreferenced.list_marked(session)
        past.remove(session, [])
        past.remove(session, [old, "inc_none"])
    with database.reading() as session:
        assert incidents.find(session, old) is None
        assert incidents.find(session, kept) is not None
        for name, table in Base.metadata.tables.items():
            if name in ("past_stop", "past_suspect"):  # what the record of the fleet keeps
                of = select(table.c.incident_id)
                assert session.scalars(of.where(table.c.incident_id.in_((old, kept)))).all() == [
                    old
                ], name
            elif "incident_id" in table.columns and name not in OF_OTHERS:
                of = select(func.count()).select_from(table)
                assert session.scalar(of.where(table.c.incident_id == old)) == 0, name
                num_kept = session.scalar(of.where(table.c.incident_id == kept))
                assert num_kept == 1 or name in ("evidence", "incident_facts"), name
        assert session.scalar(select(Work.id).where(Work.key == old)) is None
        assert session.scalar(select(Work.id).where(Work.key == mine)) is None
        assert session.scalar(select(Artifact.id).where(Artifact.incident_id == kept))
