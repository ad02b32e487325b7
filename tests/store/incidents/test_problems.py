"""Recurring problems are kept: at once, grouped anew, by hand, by two at once, and as they age."""

import random
from datetime import timedelta
from types import SimpleNamespace

import pytest

from tests.store.conftest import NOW, new_answer, suspect
from tests.store.racing import in_threads
from triage.errors import Conflict, NotFound, Unprocessable
from triage.services.incidents import problems as service
from triage.services.incidents.problems import merge_problems, place_incident, split_problem
from triage.store.database.ids import make_id
from triage.store.incidents import incidents, past, problems, revisions, settling
from triage.store.retention.unreferenced import answer_anew
from triage.store.views import ResolutionView

DAY = timedelta(days=1)
XID = "NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus."
CABLE = "mlx5_core 0000:1e:00.0: Port module event[error]: module 7, Cable unplugged"
KINDS = {"gpu": XID, "nic": CABLE, "software_user": "TypeError: unsupported operand types"}


def make_report(category="gpu", node="n1"):
    because = [{"detector": f"log.{category}", "text": KINDS[category], "line": 1}]
    return {
        "verdict": {"kind": "crash", "category": category, "cordon": [], "summary": f"{category}!"},
        "suspects": [suspect(1, node, category=category, because=because)],
        "groups": [],
        "coverage": {},
    }


@pytest.fixture
def answered(database, opened, unique):
    """Opens an incident so many days ago, answers it for good and places it; its id."""
    numbers = iter(range(1000))

    def one(days_ago=0.0, category="gpu", node="n1", *, cluster=None, placed=True):
        now = NOW - days_ago * DAY
        incident_id = opened(f"{unique}-{next(numbers)}", cluster=cluster or unique, now=now)
        report = make_report(category, node)
        with database.writing() as session:
            new = new_answer(*report["suspects"])
            new.report["verdict"].update(report["verdict"])
            revisions.add(session, incident_id, 1, new, now)
            settling.note_answer(session, incident_id, 1, new, now)
            settling.settle(session, incident_id, now)
            if placed:
                place_incident(session, incident_id, report, NOW)
        return incident_id

    return one


@pytest.fixture
def ctx(database):
    """As much of a context as keeping problems needs."""
    return SimpleNamespace(database=database)


def problem_of(database, incident_id):
    with database.reading() as session:
        return incidents.find(session, incident_id).problem


def listed(database, **wanted):
    with database.reading() as session:
        return problems.list_problems(session, **wanted)


def resolve(database, incident_id, category, node=None):
    with database.writing() as session:
        settling.put(session, incident_id, ResolutionView(category, node, None, "x", NOW))


def test_a_new_incident_is_told_from_the_first_on(database, answered, unique):
    first = answered(8.5)
    assert problem_of(database, first).describe() == "the 1st of its kind"
    answered(5, node="n2")
    cable = answered(4, "nic")
    answered(2)
    fourth = answered(0, node="n3")

    found = problem_of(database, fourth)

    assert (found.nth, found.count) == (4, 4)
    assert found.describe() == "the 4th of this kind in 9 days"
    assert problem_of(database, first).id == found.id != problem_of(database, cable).id
    assert problem_of(database, cable).count == 1
    resolve(database, first, "gpu", "n1")
    resolve(database, fourth, "gpu", "n1")
    assert problem_of(database, fourth).describe() == (
        "the 4th of this kind in 9 days; twice resolved as gpu on n1"
    )
    newest, other = listed(database, cluster=unique)
    assert (newest.id, newest.count, newest.category) == (found.id, 4, "gpu")
    assert [(one.node, one.count) for one in newest.nodes] == [("n1", 2), ("n2", 1), ("n3", 1)]
    assert newest.summary == "gpu!"
    assert (newest.first_seen, newest.last_seen) == (NOW - 8.5 * DAY, NOW)
    assert other.count == 1


def test_what_is_asked_for_is_listed_in_pages(database, answered, unique):
    answered(9)
    answered(7, "nic", "n2")
    answered(1, "software_user", "n3")

    def categories(**wanted):
        return [one.category for one in listed(database, cluster=unique, **wanted)]

    assert categories() == ["software_user", "nic", "gpu"]
    assert categories(category="nic") == ["nic"]
    assert categories(node="n1") == ["gpu"]
    assert categories(node="n1", category="nic") == []
    assert categories(since=NOW - 7 * DAY) == ["software_user", "nic"]
    assert categories(limit=1) == ["software_user"]
    [newest, *_] = listed(database, cluster=unique)
    assert categories(before=(newest.last_seen, newest.id)) == ["nic", "gpu"]


def test_done_twice_it_changes_nothing(database, answered, ctx):
    ids = [answered(k, "gpu" if k % 2 else "nic") for k in range(6)]
    before = [problem_of(database, one) for one in ids]
    for one, k in zip(ids, range(6), strict=True):
        with database.writing() as session:
            place_incident(session, one, make_report("gpu" if k % 2 else "nic"), NOW)
    assert [problem_of(database, one) for one in ids] == before
    assert service.group_anew(ctx, NOW)
    assert service.group_anew(ctx, NOW)
    assert [problem_of(database, one) for one in ids] == before


def test_the_order_of_answers_does_not_matter(database, answered, ctx, unique):
    kinds = [*KINDS] * 4
    groups = []
    for seed in range(3):
        order = list(enumerate(kinds))
        random.Random(seed).shuffle(order)
        cluster = f"{unique}-{seed}"
        made = {k: answered(k, kind, cluster=cluster) for k, kind in order}
        assert service.group_anew(ctx, NOW)
        of = [problem_of(database, made[k]).id for k in range(len(kinds))]
        groups.append([of.index(one) for one in of])
    assert groups[0] == groups[1] == groups[2]
    assert len(set(groups[0])) == 3


def test_an_answer_that_is_revised_changes_the_problem(database, answered):
    gpu, cable = answered(3), answered(2, "nic")
    moved = answered(1)
    assert problem_of(database, moved).id == problem_of(database, gpu).id

    with database.writing() as session:
        place_incident(session, moved, make_report("nic"), NOW)
    assert problem_of(database, moved).id == problem_of(database, cable).id
    with database.writing() as session:
        place_incident(session, moved, make_report("software_user"), NOW)
    alone = problem_of(database, moved)
    assert alone.id not in {problem_of(database, gpu).id, problem_of(database, cable).id}
    healthy = make_report()
    healthy["verdict"].update(kind="healthy", category="none")
    with database.writing() as session:
        place_incident(session, moved, healthy, NOW)
    assert problem_of(database, moved) is None


def test_an_old_incident_attracts_none_and_keeps_its_problem(database, answered, ctx):
    old, new = answered(91), answered(0)
    assert problem_of(database, old).id != problem_of(database, new).id
    assert service.group_anew(ctx, NOW)
    assert problem_of(database, old).count == 1


def test_what_is_merged_by_hand_stays_one(database, answered, ctx, unique):
    gpu, cable, bug = answered(3), answered(2, "nic"), answered(1, "software_user")
    of_gpu, of_cable = problem_of(database, gpu).id, problem_of(database, cable).id

    merged = merge_problems(ctx, of_gpu, of_cable, "me")

    assert (merged.id, merged.count) == (of_gpu, 2)
    with pytest.raises(NotFound):
        merge_problems(ctx, of_gpu, of_cable, "me")
    assert service.group_anew(ctx, NOW)
    again = answered(0, "nic", "n7")
    assert service.group_anew(ctx, NOW)
    for one in (gpu, cable, again):
        assert (problem_of(database, one).id, problem_of(database, one).count) == (of_gpu, 3)
    assert problem_of(database, bug).count == 1
    with pytest.raises(Unprocessable):
        merge_problems(ctx, of_gpu, of_gpu, "me")
    elsewhere = problem_of(database, answered(0, cluster=f"{unique}-x")).id
    with pytest.raises(Conflict):
        merge_problems(ctx, of_gpu, elsewhere, "me")


def test_what_is_split_by_hand_stays_two(database, answered, ctx):
    ids = [answered(9 - k, node=f"n{k}") for k in range(4)]
    whole = problem_of(database, ids[0]).id

    parted = split_problem(ctx, whole, ids[2:], "me")

    for _ in range(2):
        assert service.group_anew(ctx, NOW)
        assert [problem_of(database, one).id for one in ids] == [whole] * 2 + [parted.id] * 2
    # What comes is put to the part whose node it shares.
    assert problem_of(database, answered(0, node="n3")).id == parted.id
    assert problem_of(database, answered(0, node="n0")).id == whole
    for wrong in ([], ids, ["inc_none"], [ids[3]]):
        with pytest.raises(Unprocessable):
            split_problem(ctx, whole, wrong, "me")


def test_two_workers_at_once_make_one_problem(database, answered, unique):
    ids = [answered(k, placed=False) for k in range(4)]

    def place(k):
        with database.writing() as session:
            assert incidents.keep(session, ids[k])
            place_incident(session, ids[k], make_report(), NOW)

    in_threads(4, place)

    [only] = listed(database, cluster=unique)
    assert only.count == 4


def test_two_groupings_at_once_change_nothing(database, answered, ctx, unique):
    for k in range(6):
        answered(k, [*KINDS][k % 3])
    before = listed(database, cluster=unique)
    in_threads(3, lambda _: service.group_anew(ctx, NOW))
    assert listed(database, cluster=unique) == before


def test_what_a_person_says_while_all_are_grouped_counts(
    database, answered, ctx, monkeypatch
):  # fmt: skip
    ids = [answered(k, node=f"n{k}") for k in range(2)]
    whole = problem_of(database, ids[0]).id
    group = service.group_incidents

    def interrupted(known):
        monkeypatch.setattr(service, "group_incidents", group)
        split_problem(ctx, whole, ids[1:], "me")
        return group(known)

    monkeypatch.setattr(service, "group_incidents", interrupted)
    assert not service.group_anew(ctx, NOW)
    assert problem_of(database, ids[0]).id != problem_of(database, ids[1]).id


def test_removed_incidents_leave_their_problem(database, answered, unique):
    first, second, cable = answered(3), answered(2), answered(1, "nic")
    with database.writing() as session:
        past.remove(session, [first, cable])
    [only] = listed(database, cluster=unique)
    assert (only.count, problem_of(database, second).nth) == (1, 1)


def test_an_erased_file_takes_its_words_along(database, answered, ctx):
    one, other = answered(2), answered(1)
    merged = problem_of(database, one).id
    with database.writing() as session:
        answer_anew(session, one, 1, 30.0, NOW)
        known = problems.list_occurrences(session, NOW - 30 * DAY)
        assert one not in {it.incident_id for it in known}
    assert service.group_anew(ctx, NOW)
    assert problem_of(database, other).id == merged


def test_answers_of_an_earlier_release_are_placed(database, answered):
    one = answered(2, placed=False)
    provisional = make_id("inc", NOW)
    with database.reading() as session:
        unplaced = problems.list_unplaced(session, NOW - 90 * DAY, 1000)
    assert one in unplaced
    assert provisional not in unplaced
