"""The list of checks page by page: nothing twice, nothing left out, no more read than is shown."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice

import pytest

from tests.fleet.services.fleets import service_on
from triage.clock import read_utc_now
from triage.domain.health import CheckResult, Outcome
from triage.fleet.services.health.due_list import (
    STATES,
    get_list_position,
    iterate_check_rows,
)
from triage.fleet.store import checks as health
from triage.services.context import Context
from triage.store import jobs

NOW = read_utc_now()
OUTCOMES = (Outcome.PASS, Outcome.PASS, Outcome.FAIL, Outcome.WARN, Outcome.SKIPPED)
# Capitals, digits and letters beyond ASCII stand where the database's own order has them.
NAMES = [f"{prefix}{number}" for number in (0, 1, 2, 3, 10) for prefix in ("n", "N-", "n_", "ü")]


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        keep(found, "a", NAMES)
        keep(found, "b", NAMES[::3])
        with found.database.writing() as session:  # known, and never checked
            jobs.note_nodes_seen(session, jobs.cluster_key(session, "a"), ["n00", "zz"], NOW)
        yield found


def keep(ctx: Context, cluster: str, nodes: list[str]) -> None:
    """Some results of each node; of every third they are long ago."""
    results = [
        CheckResult(
            node, check, OUTCOMES[(place + k) % 5], NOW - timedelta(days=20 if place % 3 else 0),
            part, "",
        )
        for place, node in enumerate(nodes)
        for k, (check, part) in enumerate(
            [("dcgm.memory", "gpu 1"), ("dcgm.memory", "gpu 0"), ("gpu.ecc", None), ("ib.x", None)]
        )
    ]  # fmt: skip
    with ctx.database.writing() as session:
        key = jobs.cluster_key(session, cluster)
        health.keep(session, key, results, NOW)
        jobs.note_nodes_seen(session, key, nodes, NOW)


def pages(ctx: Context, limit: int, **asked):
    """The list as a client reads it, each page in a session of its own."""
    after = None
    while True:
        with ctx.database.reading() as session:
            rows = list(islice(iterate_check_rows(session, NOW, after=after, **asked), limit))
        yield from rows
        if len(rows) < limit:
            return
        after = get_list_position(rows[-1])


@pytest.mark.parametrize("asked", [{}, {"cluster": "b"}, {"node": "n3"}, {"cluster": "nowhere"}])
def test_pages_hold_each_row_once_in_one_order(ctx: Context, asked) -> None:
    for state in (None, *STATES):
        with ctx.database.reading() as session:
            whole = list(iterate_check_rows(session, NOW, state=state, **asked))
        assert len({get_list_position(row) for row in whole}) == len(whole)
        # A page may end at every row of the whole; a state only leaves rows out of it.
        for limit in (3, 100) if state else (1, 7, 100):
            assert list(pages(ctx, limit, state=state, **asked)) == whole
        if not asked:
            assert whole, state


def test_states_share_the_rows_out(ctx: Context) -> None:
    with ctx.database.reading() as session:
        whole = list(iterate_check_rows(session, NOW))
        parts = [row for state in STATES for row in iterate_check_rows(session, NOW, state=state)]

    assert sorted(map(get_list_position, parts)) == sorted(map(get_list_position, whole))
    assert sum(row["state"] != "due" for row in whole) == 4 * (len(NAMES) + len(NAMES[::3]))
    assert {row["node"] for row in whole} == {*NAMES, "n00", "zz"}


def test_rows_that_come_while_it_is_read_repeat_nothing(ctx: Context) -> None:
    reader = pages(ctx, 3)
    first = list(islice(reader, 30))
    with ctx.database.reading() as session:
        rest = list(iterate_check_rows(session, NOW))[30:]
    new = CheckResult(first[0]["node"], "gpu.aaa", Outcome.PASS, NOW)
    with ctx.database.writing() as session:
        key = jobs.cluster_key(session, "a")
        health.keep(session, key, [new, replace(new, node=rest[-1]["node"], check="zz")], NOW)

    read = [get_list_position(row) for row in [*first, *reader]]
    assert len(set(read)) == len(read)
    assert {get_list_position(row) for row in rest} <= set(read)
    assert ("zz" in {place.check for place in read}) is True


def test_a_page_reads_the_results_of_a_few_nodes(ctx: Context, monkeypatch) -> None:
    read = []
    newest = health.list_newest_checks

    def counted(*given, **more):
        found = newest(*given, **more)
        read.extend(found)
        return found

    monkeypatch.setattr(health, "list_newest_checks", counted)
    for state in (None, "passing"):
        read.clear()
        with ctx.database.reading() as session:
            assert len(list(islice(iterate_check_rows(session, NOW, state=state), 5))) == 5
        assert 0 < len(read) < 4 * (len(NAMES) + len(NAMES[::3])) / 2
