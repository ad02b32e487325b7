"""The newest result of each check: once each, in whatever order, bounded."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.store.conftest import NOW
from triage.domain.category import Category
from triage.domain.health import CheckResult, Outcome
from triage.fleet.store import checks as health
from triage.fleet.store.exposure import Tally
from triage.store import jobs

HOUR = timedelta(hours=1)


def result(hours: float = 0, outcome: Outcome = Outcome.PASS, **given) -> CheckResult:
    one = CheckResult("n0", "dcgm.memory", outcome, NOW + hours * HOUR, "gpu 3", "said so")
    return replace(one, **given)


@pytest.fixture
def keep(database, unique):
    """Keeps results in a cluster of the test's own."""

    def of(*results, at=NOW):
        with database.writing() as session:
            return health.keep(session, jobs.cluster_key(session, unique), results, at)

    return of


@pytest.fixture
def rows(database, unique):
    def read(**given):
        with database.reading() as session:
            return health.list_newest_checks(session, cluster=unique, **given)

    return read


def test_the_same_results_twice_add_nothing(keep, rows):
    some = [result(), result(part=None), result(check="ib.counters")]

    assert keep(*some) == Tally(3, 0, 0)
    before = rows()
    assert keep(*some) == Tally(0, 0, 3)
    assert rows() == before
    assert {one.part for one in before} == {"gpu 3", None}


def test_the_order_of_results_does_not_matter(database, unique):
    some = [result(0), result(1, Outcome.FAIL), result(2, Outcome.WARN), result(1, Outcome.PASS)]
    seen = []
    for number, order in enumerate(itertools.permutations(some)):
        with database.writing() as session:
            key = jobs.cluster_key(session, f"{unique}-{number}")
            for one in order:
                health.keep(session, key, [one], NOW)
        with database.reading() as session:
            (row,) = health.list_newest_checks(session, cluster=f"{unique}-{number}")
        seen.append((row.outcome, row.at, row.history))

    assert all(one == seen[0] for one in seen)
    assert seen[0][0] is Outcome.WARN
    assert [one["outcome"] for one in seen[0][2]] == ["warn", "fail", "pass", "pass"]


def test_an_older_result_is_history_and_no_news(keep, rows):
    keep(result(2, Outcome.FAIL, category=Category.GPU_HBM))
    keep(result(1))

    (row,) = rows()
    assert (row.outcome, row.category) == (Outcome.FAIL, Category.GPU_HBM)
    assert len(row.history) == 2


def test_what_was_skipped_hides_no_failure(keep, rows):
    keep(result(1, Outcome.FAIL))
    keep(result(2, Outcome.SKIPPED))

    assert rows()[0].outcome is Outcome.FAIL


def test_an_undated_result_that_says_the_same_only_moves_its_time(keep, rows):
    keep(result(at=None), at=NOW)
    assert keep(result(at=None), at=NOW + HOUR) == Tally(0, 1, 0)
    (row,) = rows()
    assert (row.at, len(row.history)) == (NOW.replace(microsecond=926000) + HOUR, 1)

    keep(result(at=None, outcome=Outcome.FAIL), at=NOW + 2 * HOUR)
    keep(result(at=None), at=NOW + 3 * HOUR)
    assert [one["outcome"] for one in rows()[0].history] == ["pass", "fail", "pass"]


def test_history_is_bounded_to_the_newest(keep, rows):
    keep(*[result(hour, Outcome.FAIL if hour % 2 else Outcome.PASS) for hour in range(50)])
    (row,) = rows()

    assert len(row.history) == health.MAX_HISTORY
    assert row.history[0]["at"] > row.history[-1]["at"]
    assert row.outcome is Outcome.FAIL


def test_nodes_of_one_name_in_two_clusters_are_two(database, unique, keep, rows):
    keep(result())
    with database.writing() as session:
        key = jobs.cluster_key(session, unique + "-other")
        health.keep(session, key, [result(outcome=Outcome.FAIL)], NOW)

    assert [one.outcome for one in rows()] == [Outcome.PASS]


def test_results_without_a_node_are_nobodys(keep, rows):
    assert keep(result(node=None)) == Tally(0, 0, 0)
    assert rows() == []


def test_hostile_names_are_kept_as_names(keep, rows):
    keep(result(node="n\x00\ud800" + "x" * 900, part="p" * 900, detail="\x00d"))
    keep(result(node="n\x00\ud800" + "x" * 900, part="p" * 900, detail="\x00d"))

    assert len(rows()) == 1


def test_what_was_left_out_did_not_run(database, unique, keep):
    keep(result(1), result(3, part="gpu 4"), result(9, Outcome.SKIPPED, check="dcgm.pcie"))
    with database.reading() as session:
        last = health.last_runs(session, cluster=unique)
        used = health.map_checks_in_use(session, cluster=unique)

    assert last == [(unique, "n0", "dcgm.memory", used[unique, "dcgm.memory"])]
    assert list(used) == [(unique, "dcgm.memory")]


def test_only_the_outcomes_that_are_asked_for_are_read(keep, rows):
    keep(result(part="a"), result(part="b", outcome=Outcome.FAIL))

    assert [one.part for one in rows(outcomes=[Outcome.FAIL])] == ["b"]


def test_a_node_has_so_many_checks_and_those_there_go_on(keep, rows, monkeypatch):
    monkeypatch.setattr(health, "MOST_OF_NODE", 3)
    some = [result(check=f"c{k}") for k in range(5)]

    assert keep(*some, result(node="n1")) == Tally(4, 0, 0, 2)
    assert keep(*some) == Tally(0, 0, 3, 2)
    assert keep(*(replace(one, at=NOW + HOUR) for one in some)) == Tally(0, 3, 0, 2)
    assert [(one.node, one.check) for one in rows()] == [
        ("n0", "c0"), ("n0", "c1"), ("n0", "c2"), ("n1", "dcgm.memory"),
    ]  # fmt: skip
