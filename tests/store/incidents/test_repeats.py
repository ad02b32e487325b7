"""Earlier incidents of the same node: which count, which do not, and what it costs."""

from datetime import timedelta

import pytest
from sqlalchemy import event, insert, text

from models import Incident, Job, Resolution, Suspect
from tests.store.conftest import NOW, new_answer, suspect
from triage.services.incidents.repeats import MAX_REPEATS, list_repeats
from triage.store import jobs
from triage.store.database.ids import make_id
from triage.store.incidents import revisions, settling
from triage.store.views import ResolutionView

DAY = timedelta(days=1)
GPU = "0000:5d:00"
XID = "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus."


@pytest.fixture
def answered(database, opened, unique):
    """Opens an incident so many days ago and answers it with these suspects; its id."""
    numbers = iter(range(1000))

    def one(days_ago, *rows, cluster="c", final=True):
        now = NOW - days_ago * DAY
        job_id = f"{unique}-{next(numbers)}"
        incident_id = opened(job_id, cluster=cluster, now=now)
        with database.writing() as session:
            revisions.add(session, incident_id, 1, new_answer(*rows, provisional=not final), now)
            if final:
                settling.settle(session, incident_id, now)
        return incident_id

    return one


@pytest.fixture
def bad(unique):
    """A node of this test alone, convicted with an Xid of one GPU."""

    def row(position=1, node=unique, gpu=GPU, code=79, **given):
        line = XID.replace(GPU, gpu).replace("79", str(code))
        return suspect(position, node, gpus=[gpu], because=[{"text": line}], **given)

    return row


def repeats(database, incident_id):
    with database.reading() as session:
        return [one.to_dict() for one in list_repeats(session, incident_id)]


def resolve(database, incident_id, node, category="gpu"):
    with database.writing() as session:
        settling.put(session, incident_id, ResolutionView(category, node, None, "x", NOW))


def test_the_same_gpu_with_the_same_code_says_so_and_how_often(database, answered, bad, unique):
    first, second = answered(11.5, bad()), answered(3, bad())
    present = answered(0, bad())

    found = repeats(database, present)

    assert [one["incident_id"] for one in found] == [second, first]
    assert found[0] == {
        "incident_id": second, "job_id": f"{unique}-1", "at": "2026-11-18T03:14:15.926Z",
        "node": unique, "part": f"GPU {GPU}",
        "why": f"same node, same GPU {GPU}, same code XID 79; 3 incidents in 12 days",
    }  # fmt: skip
    assert [one["incident_id"] for one in repeats(database, second)] == [first]
    assert repeats(database, first) == []


def test_an_adapter_by_its_address_is_the_same_by_its_name(database, answered, unique):
    def row(line):
        return suspect(1, unique, category="nic", gpus=[], because=[{"text": line}])

    answered(9, row("ib3: NIC Link is Down"))
    by_name = answered(7, row("NETDEV WATCHDOG: rdma1 (mlx5_core): transmit queue 3 timed out"))
    by_both = answered(5, row("mlx5_core 0000:1e:00.1 rdma1: TX timeout detected"))
    module = "Port module event[error]: module 7, Cable unplugged"
    present = answered(0, row(f"mlx5_core 0000:1e:00.1: {module}"))

    newest, second, other = repeats(database, present)

    assert [newest["incident_id"], second["incident_id"]] == [by_both, by_name]
    same = "same NIC 0000:1e:00.1"
    assert same in newest["why"]
    assert same in second["why"]
    assert same not in other["why"]


def test_another_gpu_of_the_node_is_told_apart(database, answered, bad):
    answered(5, bad(gpu="0000:9b:00", code=48))
    answered(2, bad(code=48))
    present = answered(0, bad())

    near, far = repeats(database, present)

    assert near["part"] == f"GPU {GPU}"
    assert near["why"] == f"same node, same GPU {GPU}, same category gpu; 2 incidents in 2 days"
    assert far["part"] == "GPU 0000:9b:00"
    assert far["why"] == (
        "same node, then GPU 0000:9b:00, same category gpu; 3 incidents in 5 days"
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"node": "another"}, id="another-node"),
        pytest.param({"position": 2}, id="not-first"),
        pytest.param({"role": "possible"}, id="not-convicted"),
        pytest.param({"role": "affected"}, id="only-affected"),
        pytest.param({"category": "software_user"}, id="the-programs-fault"),
    ],
)
def test_what_is_no_repeat(database, answered, bad, changes):
    answered(1, bad(**changes))
    present = answered(0, bad())

    assert repeats(database, present) == []


def test_a_provisional_conviction_does_not_count_yet(database, answered, bad):
    answered(1, bad(), final=False)
    present = answered(0, bad())

    assert repeats(database, present) == []


def test_a_node_of_that_name_in_another_cluster_is_another_node(database, answered, bad):
    answered(3, bad(), cluster="other")
    unnamed = answered(2, bad(), cluster="")
    present = answered(0, bad())

    assert [one["incident_id"] for one in repeats(database, present)] == [unnamed]


@pytest.mark.parametrize(
    ("node", "category", "stays"),
    [
        pytest.param("another", "gpu", False, id="wrong-node"),
        pytest.param(None, "software_user", False, id="no-nodes-fault"),
        pytest.param("", "storage", False, id="this-node-yet-not-its-trouble"),
        pytest.param("", "gpu", True, id="this-node"),
        pytest.param(None, "gpu_hbm", True, id="a-fault-of-a-node-and-no-other-named"),
    ],
)
def test_what_a_person_says_counts(database, answered, bad, unique, node, category, stays):
    earlier = answered(1, bad())
    present = answered(0, bad())
    assert [one["incident_id"] for one in repeats(database, present)] == [earlier]

    resolve(database, earlier, unique if node == "" else node, category)

    assert bool(repeats(database, present)) == stays


def test_an_incident_whose_own_node_was_cleared_repeats_nothing(database, answered, bad):
    answered(1, bad())
    present = answered(0, bad())

    resolve(database, present, "another")

    assert repeats(database, present) == []


def test_of_a_tie_the_past_of_both_is_told(database, answered, bad, unique):
    one, other = f"{unique}-a", f"{unique}-b"
    earlier = answered(4, bad(node=other))
    tie = [bad(1, one, role="possible"), bad(2, other, role="possible")]
    present = answered(0, *tie)

    assert [(found["incident_id"], found["node"]) for found in repeats(database, present)] == [
        (earlier, other)
    ]


def test_the_same_part_comes_before_the_newest_when_there_are_too_many(database, answered, bad):
    same = answered(90, bad())
    for k in range(MAX_REPEATS + 5):
        answered(1 + k, bad(gpu="0000:9b:00"))
    present = answered(0, bad())

    found = repeats(database, present)

    assert len(found) == MAX_REPEATS
    assert found[-1]["incident_id"] == same
    assert [one["at"] for one in found] == sorted((one["at"] for one in found), reverse=True)


def many_incidents(session, job_fk, number, nodes):
    """So many incidents that are over, each with a convicted node of the list in turn."""
    ids = [make_id("inc", NOW - timedelta(minutes=1 + k)) for k in range(number)]
    session.execute(
        insert(Incident),
        [
            {
                "id": one, "job_fk": job_fk, "key": one, "announced": True, "facts": {},
                "state": "ready", "provisional": False, "created_at": NOW, "updated_at": NOW,
                "deadline_at": NOW, "settle_at": NOW,
            }
            for one in ids
        ],
    )  # fmt: skip
    session.execute(
        insert(Suspect),
        [
            {
                "incident_id": one, "position": 1, "node": nodes[k % len(nodes)],
                "category": "gpu", "role": "culprit", "score": 0.9, "row": {"gpus": [GPU]},
            }
            for k, one in enumerate(ids)
        ],
    )  # fmt: skip
    session.execute(
        insert(Resolution),
        [
            {"incident_id": one, "category": "gpu", "said_by": "x", "resolved_at": NOW}
            for one in ids[::2]
        ],
    )


def test_among_many_rows_it_walks_along_indexes(database, opened, answered, bad, unique):
    nodes = [unique, *(f"{unique}-{k}" for k in range(40))]
    with database.writing() as session:
        job = session.get_one(Job, jobs.lock_job(session, "c", unique, NOW))
        many_incidents(session, job.id, 20_000, nodes)
    present = answered(0, bad())
    with database.engine.connect() as connection:
        connection.execution_options(writes=True).execute(text("ANALYZE"))
        connection.commit()
    asked = []

    def keep(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith("SELECT"):
            asked.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", keep)
    try:
        assert len(repeats(database, present)) == MAX_REPEATS
    finally:
        event.remove(database.engine, "before_cursor_execute", keep)

    first, second = asked
    explain = "EXPLAIN QUERY PLAN " if database.sqlite else "EXPLAIN "
    for statement, parameters in (first, second):
        with database.engine.connect() as connection:
            rows = connection.exec_driver_sql(explain + statement, parameters).all()
        plan = "\n".join(str(row) for row in rows)
        for table in ("suspect", "incident", "resolution"):
            assert f"Seq Scan on {table}" not in plan, plan
            assert f"SCAN {table}" not in plan, plan
    assert "ix_suspect_role_node_incident_id" in plan
