"""Keys of senders on both databases: one claims, one answers, whoever else comes."""

from datetime import timedelta

from tests.store.conftest import NOW
from tests.store.racing import in_threads
from triage.store.access import idempotency
from triage.store.access.idempotency import KEPT, LEASE

SECOND = timedelta(seconds=1)


def claim(database, row_id, owner, now=NOW, fingerprint="f"):
    with database.writing() as session:
        return idempotency.claim(session, row_id, fingerprint, owner, now)


def finish(database, row_id, owner, **answer):
    with database.writing() as session:
        return idempotency.finish(session, row_id, owner, **{"status": 201, **answer})


def test_of_many_at_once_one_claims_and_all_hear_its_answer(database, unique):
    found = {}

    def ask(k, word="owner"):
        found[k] = claim(database, unique, f"{word}-{k}")

    in_threads(12, ask)
    [first] = [k for k, one in found.items() if one is None]
    assert {one.status for one in found.values() if one} == {None}

    assert finish(database, unique, f"owner-{first}", body=b"\x00{}", location="/x")
    in_threads(12, lambda k: ask(k, "late"))
    assert {(one.status, one.body, one.location) for one in found.values()} == {
        (201, b"\x00{}", "/x")
    }


def test_only_the_one_that_claimed_answers_and_releases(database, unique):
    assert claim(database, unique, "mine") is None
    with database.writing() as session:
        idempotency.release(session, unique, "other")

    assert not finish(database, unique, "other")
    assert finish(database, unique, "mine")
    assert not finish(database, unique, "mine", status=500)
    with database.writing() as session:
        idempotency.release(session, unique, "mine")
    assert claim(database, unique, "late").status == 201


def test_what_was_released_is_free_for_anything(database, unique):
    claim(database, unique, "mine")
    with database.writing() as session:
        idempotency.release(session, unique, "mine")

    assert claim(database, unique, "other", fingerprint="g") is None


def test_a_dead_ones_claim_is_taken_over_by_the_same_request_alone(database, unique):
    claim(database, unique, "dead")

    assert claim(database, unique, "early", NOW + LEASE - SECOND) is not None
    assert claim(database, unique, "foreign", NOW + LEASE, "g").fingerprint == "f"
    assert claim(database, unique, "heir", NOW + LEASE) is None
    assert claim(database, unique, "third", NOW + LEASE + SECOND) is not None
    assert not finish(database, unique, "dead")
    assert finish(database, unique, "heir")
    # An answer is an answer, however long ago it was claimed.
    assert claim(database, unique, "fourth", NOW + 9 * LEASE).status == 201


def test_after_a_day_the_key_is_free_and_the_row_goes(database, unique):
    claim(database, unique, "mine")
    finish(database, unique, "mine")

    assert claim(database, unique, "other", NOW + KEPT - SECOND, "g").status == 201
    assert claim(database, unique, "other", NOW + KEPT, "g") is None
    with database.writing() as session:
        assert idempotency.prune(session, NOW + KEPT) >= 0
    assert claim(database, unique, "third", NOW + KEPT) is not None
    with database.writing() as session:
        assert idempotency.prune(session, NOW + 2 * KEPT) >= 1
    assert claim(database, unique, "third", NOW + KEPT) is None
