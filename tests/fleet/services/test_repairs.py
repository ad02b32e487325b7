"""Repairs out of the database: outages and notes become returns, and nodes are on probation."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import select

from models import Node, Repair
from tests.fleet.services.fleets import T0, imported, service_on
from triage.domain.health import CheckResult, Outcome
from triage.fleet.render.sentences import list_headlines, list_weekly_sentences
from triage.fleet.render.terminal import format_standing_lines, repair_lines
from triage.fleet.services.answers import look_at_fleet, look_at_standings
from triage.fleet.services.health.due_list import iterate_check_rows
from triage.fleet.services.hooks import select_priors
from triage.fleet.services.record.record import answer_repairs
from triage.fleet.store import checks
from triage.services.context import Context
from triage.store import jobs

NOW = T0 + timedelta(days=20)


@pytest.fixture
def ctx(tmp_path) -> Iterator[Context]:
    with service_on("sqlite", tmp_path) as found:
        yield found


def keep_outages(ctx: Context, *rows: tuple[str, float, float | None, str]) -> None:
    """Import outages: node, from, to (days), reason."""

    def stamp(day: float | None) -> str:
        return "" if day is None else f"{T0 + timedelta(days=day):%Y-%m-%dT%H:%M:%SZ}"

    lines = [f"{node},{stamp(a)},{stamp(b)},{reason},a" for node, a, b, reason in rows]
    imported(ctx, "\n".join(["node,from,to,reason,cluster", *lines]))


def keep_fleet(ctx: Context) -> None:
    """Two hundred nodes, ten of them out for a day once, and one that came back two days ago."""
    rows = [(f"n{k:03d}", 1.0 + k, 2.0 + k, "GPU replaced") for k in range(10)]
    keep_outages(ctx, *rows, ("n007", 17.0, 18.0, "cable replaced"))
    imported(ctx, "node,rack,cluster\nn[000-199],r1,a")


def test_a_node_that_came_back_is_on_probation_in_its_standing(ctx):
    keep_fleet(ctx)

    found = look_at_standings(ctx, until=NOW)

    by_node = {row.node: row.probation for row in found.nodes}
    assert by_node["n007"] is not None
    assert by_node["n007"].action == "swap_cable"
    assert by_node["n007"].returned_at == T0 + timedelta(days=18)
    assert by_node["n100"] is None


def test_it_is_a_prior_of_an_analysis_and_a_line_for_people(ctx):
    keep_fleet(ctx)
    found = look_at_standings(ctx, until=NOW)
    rows = [row.to_dict() for row in found.nodes]

    prior = select_priors(found, {"n007", "n100"})

    assert list(prior) == ["n007"]
    assert prior["n007"].weight == 1
    assert "on probation" in prior["n007"].text
    text = "\n".join(line.text for line in format_standing_lines(rows, 300))
    assert "on probation: returned 2 days ago after a cable swap" in text
    week = look_at_fleet(ctx, since=T0, until=NOW).report.to_dict()
    said = list_weekly_sentences(week, week, found.to_dict(), {}, ())
    assert any(
        "on probation, with the chance to fail again" in one and "n007 (" in one for one in said
    )


def test_the_answer_of_the_fleet_says_it_at_the_head(ctx):
    keep_fleet(ctx)

    found = look_at_fleet(ctx, since=T0, until=NOW)

    assert "n007" in [row["node"] for row in found.to_dict()["standings"]["nodes"]]
    standings = found.standings.to_dict()
    said = [one.text for one in list_headlines({**found.report.to_dict()}, standings)]
    assert any("on probation" in text for text in said) or not said


def test_notes_of_repairs_are_joined_to_outages(ctx):
    keep_outages(ctx, ("n1", 10, 11, "Not responding"), ("n2", 10, 11, "Not responding"))
    with ctx.database.writing() as session:
        keys = dict(session.execute(select(Node.name, Node.id)).all())
        for name, day, action in (("n1", 10.5, "swap_nic"), ("n2", 15.0, "of a later release")):
            at = T0 + timedelta(days=day)
            session.add(
                Repair(node_id=keys[name], at=at, action=action, text="", source="x", key_id=None)
            )

    found = answer_repairs(ctx, until=NOW)

    assert [(row.node, row.action) for row in found.returns] == [("n2", None), ("n1", "swap_nic")]
    assert found.num_visits == 1


def test_another_cluster_is_another_record(ctx):
    keep_fleet(ctx)

    assert answer_repairs(ctx, until=NOW, cluster="b").num_returns == 0
    assert answer_repairs(ctx, until=NOW, cluster="a").num_returns == 11


def test_the_answer_as_text_says_what_holds_and_what_is_lacking(ctx):
    keep_fleet(ctx)
    found = answer_repairs(ctx, until=NOW).to_dict()

    text = "\n".join(line.text for line in repair_lines(found, 100))

    assert " on probation." in text
    assert "a cable swap" in text
    assert "What the record lacks" in text
    assert all(len(line.text) <= 100 for line in repair_lines(found, 100))


def test_a_service_without_outages_says_so(ctx):
    text = "\n".join(line.text for line in repair_lines(answer_repairs(ctx, until=NOW).to_dict()))

    assert "No node has come back" in text
    assert look_at_standings(ctx, until=NOW).nodes == ()


def test_the_check_of_its_cause_is_due_until_it_ran(ctx):
    keep_fleet(ctx)

    def due(session) -> list[tuple[str, str]]:
        rows = list(iterate_check_rows(session, NOW, node="n007", state="due"))
        return [(row["check"], row["because"]) for row in rows]

    with ctx.database.reading() as session:
        [(check, because)] = due(session)
        assert list(iterate_check_rows(session, NOW, node="n100", state="due")) == []
    assert check == "ib.counters"
    assert because.startswith("asked for by probation since its return at 2026-11-19T00:00:00")

    passed = [CheckResult("n007", "ib.counters", Outcome.PASS, NOW - timedelta(days=1))]
    with ctx.database.writing() as session:
        checks.keep(session, jobs.cluster_key(session, "a"), passed, NOW)
    with ctx.database.reading() as session:
        assert [row for row in due(session) if "probation" in row[1]] == []
