"""Standings in the service: a prior that only our own record gives, and that stays for good."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from tests.fleet.services.small_fleet import LEMON, keep_fleet
from tests.services.incidents.test_incident_life import find, upload, work_off
from triage.domain.failure_match import Failure
from triage.domain.standing import FleetStandings, Grade, Prior, Standing
from triage.fleet.services import standings as standings_cache
from triage.fleet.services.hooks import MAX_PRIORS, select_priors
from triage.fleet.services.standings import get_kept_standings
from triage.render.data import wire
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.analyse import find_priors
from triage.services.incidents.announce import announce
from triage.store.incidents import revisions, settling
from triage.store.incidents.facts import STANDINGS

OTHER = "n003"  # before the lemon by name
NOW = datetime.now(UTC).replace(microsecond=0)


def kernel_log(node: str) -> bytes:
    at = (NOW - timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%S+00:00")
    text = "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus."
    return f"{at} {node} kernel: {text}\n".encode()


TIE = {f"nodes/{node}/kernel.log": kernel_log(node) for node in (OTHER, LEMON)}
FACTS = {"nodes": [OTHER, LEMON], "gpus_per_node": 8}


def answered(ctx: Context, readers: Readers, files=TIE, facts=FACTS, job_id="4711", cluster="a"):
    """(incident id, report) of two GPUs that are lost in the same second."""
    opened = announce(ctx, Failure(job_id, cluster, NOW, facts, expected_artifacts=len(files)))
    upload(ctx, files, job_id, incident=opened.id)
    work_off(ctx, readers)
    return opened.id, report_of(ctx, opened.id)


def report_of(ctx: Context, incident_id: str):
    with ctx.database.reading() as session:
        newest = revisions.find_newest(session, incident_id)
    assert newest is not None
    return wire.report(newest.reported())


def facts_of(ctx: Context, incident_id: str):
    with ctx.database.reading() as session:
        found = settling.find_progress(session, incident_id)
    assert found is not None
    return found.facts


def nodes(report) -> list[str]:
    return [one["node"] for one in report["suspects"]]


def history(report) -> list[str]:
    return [
        reason["text"]
        for one in report["suspects"]
        for reason in one["because"]
        if reason["detector"] == "history.standing"
    ]


def planted(ctx: Context, monkeypatch, *lemons: str) -> None:
    """From now on these nodes are the lemons of the fleet."""
    rows = tuple(Standing(one, Grade.LEMON, ("r",), strikes=5, expected=0.1) for one in lemons)
    monkeypatch.setattr(
        standings_cache, "look_at_standings", lambda ctx, cluster: FleetStandings(rows)
    )
    monkeypatch.setattr(standings_cache, "_of_now", standings_cache.KeptValues(1))


def test_without_a_record_a_tie_stays_a_tie(ctx, readers):
    incident_id, report = answered(ctx, readers)

    assert nodes(report) == [OTHER, LEMON]
    assert history(report) == []
    assert facts_of(ctx, incident_id)[STANDINGS] == {}


def test_of_a_tie_the_lemon_of_the_record_stands_first_and_says_why(ctx, readers):
    keep_fleet(ctx, end=NOW - timedelta(hours=1))

    incident_id, report = answered(ctx, readers)

    assert nodes(report) == [LEMON, OTHER]
    assert len(history(report)) == 1
    assert "was a lemon: a suspect in 10 interruptions" in history(report)[0]
    assert report["verdict"]["cordon"] == []
    assert list(facts_of(ctx, incident_id)[STANDINGS]) == [LEMON]


def test_the_standings_of_the_first_answer_are_those_of_all_its_revisions(
    ctx, readers, monkeypatch
):
    planted(ctx, monkeypatch, LEMON)
    incident_id, first = answered(ctx, readers)
    planted(ctx, monkeypatch, OTHER)

    upload(ctx, {"nodes/n009/kernel.log": b"[    1.0] usb 1-1: new device\n"}, incident=incident_id)
    work_off(ctx, readers)

    assert find(ctx, incident_id).revision == 2
    assert nodes(report_of(ctx, incident_id)) == nodes(first) == [LEMON, OTHER]
    assert history(report_of(ctx, incident_id)) == history(first)


def test_an_incident_is_no_history_of_its_own(ctx, readers, monkeypatch):
    planted(ctx, monkeypatch, LEMON)
    incident_id, _ = answered(ctx, readers)
    with ctx.database.reading() as session:
        st = settling.find_progress(session, incident_id)
    asked = replace(st, facts=FACTS)

    assert find_priors(ctx, replace(asked, revision=0), "a")
    assert find_priors(ctx, replace(asked, revision=1), "a") == {}


SAID = {LEMON: Prior(Grade.LEMON, "because I say so").to_dict()}


@pytest.mark.parametrize("key", [STANDINGS, "standings"])
def test_nobody_can_send_a_standing(ctx, readers, key):
    job_json = {"job.json": orjson.dumps({"job_id": "4711", key: SAID})}

    incident_id, report = answered(ctx, readers, TIE | job_json, FACTS | {key: SAID})

    assert nodes(report) == [OTHER, LEMON]
    assert history(report) == []
    assert facts_of(ctx, incident_id)[STANDINGS] == {}


def test_the_record_of_another_cluster_says_nothing(ctx, readers):
    keep_fleet(ctx, end=NOW - timedelta(hours=1), cluster="b")

    _, report = answered(ctx, readers, cluster="a")

    assert nodes(report) == [OTHER, LEMON]


def test_an_answer_does_not_wait_for_history(ctx, readers, monkeypatch):
    def failing(ctx, cluster):
        raise RuntimeError("the record is damaged")

    monkeypatch.setattr(standings_cache, "look_at_standings", failing)

    _, report = answered(ctx, readers)

    assert nodes(report) == [OTHER, LEMON]


def test_standings_are_worked_out_anew_when_they_are_old(ctx, monkeypatch):
    asked = []
    monkeypatch.setattr(
        standings_cache,
        "look_at_standings",
        lambda ctx, cluster: asked.append(cluster) or FleetStandings(()),
    )

    for cluster in ("a", "a", None, "a"):
        get_kept_standings(ctx, cluster)
    old = replace(ctx, settings=ctx.settings.model_copy(update={"standings_every_s": 1e-9}))
    get_kept_standings(old, "a")

    assert asked == ["a", None, "a"]


def test_of_an_incident_without_a_list_of_nodes_the_worst_are_told():
    many = FleetStandings(
        tuple(Standing(f"n{k}", Grade.WATCH, ("r",), strikes=2) for k in range(MAX_PRIORS + 9))
    )

    assert len(select_priors(many, set())) == MAX_PRIORS
    assert set(select_priors(many, {"n3", "absent"})) == {"n3"}


def test_normal_and_golden_nodes_are_not_spoken_of():
    found = FleetStandings(tuple(Standing(str(one), one, ("r",)) for one in Grade))

    assert set(select_priors(found, set())) == {"lemon", "watch"}
