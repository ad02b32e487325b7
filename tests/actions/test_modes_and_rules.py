"""What is acted on by itself, and what is not: each rule with what just keeps it and what not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.actions.sites import NODE, Site
from tests.services.whole_jobs import INCIDENTS, files_of
from triage.actions.schedulers.interface import NodeView
from triage.actions.services.rules import (
    Convicted,
    Rule,
    find_broken_incident_rule,
    find_broken_node_rule,
    find_contradiction,
    iterate_convicted,
)
from triage.actions.store.acts import find_cluster_id
from triage.actions.store.evidence import Source, Standing, list_acted_on
from triage.clock import read_utc_now
from triage.domain.states import IncidentState
from triage.errors import UsageError
from triage.services.taint import taint_token
from triage.services.tokens import create_token
from triage.settings import Settings, load_settings
from triage.store.views import IncidentView, ResolutionView

BUG = files_of(INCIDENTS / "logs-traceback-w16" / "files")
SETTINGS = Settings(act_mode="auto", act_system="slurm", act_cluster="a")
SUSPECT = {
    "node": NODE,
    "role": "culprit",
    "category": "gpu",
    "score": 0.97,
    "action": "drain_node",
}
INCIDENT = IncidentView(
    "inc_1", "4711", "a", IncidentState.READY, 1, False,
    {"cordon": [NODE], "confidence": 0.97, "category": "gpu"}, None, None,
    read_utc_now(), read_utc_now(), read_utc_now(), None, 3, 3,
)  # fmt: skip
NOW = read_utc_now()
SOURCES = {node: Source(None, by_name=True) for node in (NODE, "n1.a-b_c")}
STANDING = Standing(
    INCIDENT, 1, [SUSPECT], answered=True, doubted=None, failed_at=NOW, repaired={}, sources=SOURCES
)


def standing(**incident: object) -> Standing:
    return replace(STANDING, incident=replace(INCIDENT, **incident))


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        (STANDING, None),
        (standing(cluster="b"), Rule.CLUSTER),
        (standing(cluster=None), Rule.CLUSTER),
        (standing(provisional=True), Rule.SETTLED),
        (standing(state=IncidentState.ANALYSING), Rule.SETTLED),
        (standing(state=IncidentState.FAILED), Rule.SETTLED),
        (replace(STANDING, answered=False), Rule.SETTLED),
        (replace(STANDING, doubted="the token key_1"), Rule.EVIDENCE),
    ],
)
def test_rules_of_an_incident(found: Standing, rule: Rule | None) -> None:
    broken = find_broken_incident_rule(found, SETTINGS)
    assert (broken and broken.rule) == rule
    assert broken is None or (broken.why and broken.hint)


@pytest.mark.parametrize(
    ("suspect", "verdict", "nodes"),
    [
        ({}, {}, [NODE]),
        ({"role": "possible"}, {}, []),
        ({"role": "affected"}, {}, []),
        ({}, {"cordon": []}, []),
        ({}, {"cordon": ["gpu-0103"]}, []),
        ({"node": None}, {}, []),
    ],
)
def test_only_culprits_that_are_to_be_cordoned(suspect, verdict, nodes) -> None:
    found = standing(verdict={**INCIDENT.verdict, **verdict})
    found = replace(found, suspects=[{**SUSPECT, **suspect}] * 2)
    assert [one.node for one in iterate_convicted(found)] == nodes


def test_the_smaller_confidence_counts() -> None:
    low = replace(STANDING, suspects=[{**SUSPECT, "score": 0.91}])
    assert [one.confidence for one in iterate_convicted(low)] == [0.91]
    low = standing(verdict={**INCIDENT.verdict, "confidence": 0.92})
    assert [one.confidence for one in iterate_convicted(low)] == [0.92]


@pytest.mark.parametrize(
    ("one", "rule"),
    [
        (Convicted(NODE, "gpu", 0.95), None),
        (Convicted(NODE, "gpu", 0.9499), Rule.CONFIDENCE),
        (Convicted(NODE, "host_oom", 0.99), Rule.CATEGORY),
        (Convicted(NODE, "software_user", 0.99), Rule.CATEGORY),
        (Convicted(NODE, "host_maintenance", 0.99), Rule.CATEGORY),
        (Convicted("n1;reboot", "gpu", 0.99), Rule.NAME),
        (Convicted("-n1", "gpu", 0.99), Rule.NAME),
        (Convicted("n1 n2", "gpu", 0.99), Rule.NAME),
        (Convicted("n1\n", "gpu", 0.99), Rule.NAME),
        (Convicted("n[1-4]", "gpu", 0.99), Rule.NAME),
        (Convicted("ｎ1", "gpu", 0.99), Rule.NAME),
        (Convicted("n1.a-b_c", "gpu", 0.99), None),
    ],
)  # fmt: skip
def test_rules_of_a_node(one: Convicted, rule: Rule | None) -> None:
    broken = find_broken_node_rule(STANDING, one, SETTINGS, NOW)
    assert (broken and broken.rule) == rule


@pytest.mark.parametrize(
    ("category", "node", "wrong"),
    [
        ("gpu", NODE, False),
        ("gpu_hbm", NODE, False),
        ("gpu", None, False),
        ("gpu", "gpu-0103", True),
        ("software_user", NODE, True),
        ("software_user", None, True),
        ("none", None, True),
        ("network", None, True),
        ("network", NODE, False),
    ],
)
def test_what_a_person_says_against_an_act(category: str, node: str | None, wrong: bool) -> None:
    said = ResolutionView(category, node, None, "key_1", read_utc_now())
    assert (find_contradiction(said, NODE, "gpu") is not None) is wrong
    one = Convicted(NODE, "gpu", 0.99)
    broken = find_broken_node_rule(standing(resolution=said), one, SETTINGS, NOW)
    assert (broken is not None) is wrong


@pytest.mark.parametrize(
    ("name", "step"),
    [("ACT_WEBHOOK_URL", r"action\.done"), ("ACT_WEBHOOK_SECRET_FILE", r"action\.done"),
     ("ACT_VERBS", "TRIAGE_ACT_SYSTEM=none")],
)  # fmt: skip
def test_a_setting_that_is_none_any_more_is_told_with_what_to_do(
    name: str, step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(f"TRIAGE_{name}", "x")
    with pytest.raises(UsageError, match=rf"TRIAGE_{name} is no setting any more: .*{step}"):
        load_settings()
    monkeypatch.delenv(f"TRIAGE_{name}")
    (tmp_path / "triage.toml").write_text(f'{name.lower()} = "x"')
    monkeypatch.setenv("TRIAGE_CONFIG", str(tmp_path / "triage.toml"))
    with pytest.raises(UsageError, match="is no setting any more"):
        load_settings()


def test_off_does_nothing_at_all(ctx) -> None:
    site = Site(ctx, act_mode="off")
    site.incident()
    assert (site.acts(), site.scheduler.asked, site.steps()) == ([], [], [])


def test_auto_drains_the_convicted_node_and_says_each_step(ctx) -> None:
    site = Site(ctx)
    incident = site.incident()
    assert site.states() == [("drain", "done")]
    [act] = site.acts(incident)
    [(verb, node, reason)] = site.scheduler.asked
    assert (verb, node) == ("drain", NODE)
    assert reason.startswith(f"triage:{incident}:gpu:")
    assert act.before["drained"] is False
    assert act.after["reason"] == reason
    assert site.steps(act.id) == ["act asked for", "act began", "act done"]


def test_a_software_fault_drains_nobody(ctx) -> None:
    site = Site(ctx)
    site.incident(BUG)
    assert (site.acts(), site.drained) == ([], [])


def test_an_incident_that_has_not_settled_drains_nobody(ctx) -> None:
    site = Site(ctx, provisional_every_s=0.1)
    site.incident(settle=False)
    assert (site.acts(), site.drained) == ([], [])


def test_another_cluster_is_never_acted_on(ctx) -> None:
    site = Site(ctx)
    site.incident(cluster="b")
    site.set(act_cluster="")
    site.incident(cluster="a")
    assert (site.acts(), site.drained) == ([], [])


def test_evidence_of_a_token_that_is_no_longer_believed_never_acts(ctx) -> None:
    site = Site(ctx, act_mode="approve")
    key, _ = create_token(site.ctx, "liar", ["ingest"], "test")
    site.incident(caller=key.caller())
    [act] = site.acts()
    assert str(act.state) == "proposed"
    taint_token(site.ctx, key.id, "test")
    site.work()
    site.again()
    [act] = site.acts()
    assert str(act.state) == "left_alone"
    assert site.drained == []


def test_a_taint_between_decision_and_act_is_in_time(ctx) -> None:
    site = Site(ctx)
    site.scheduler.away = "asleep"
    key, _ = create_token(site.ctx, "liar", ["ingest"], "test")
    site.incident(caller=key.caller())
    assert site.states() == [("drain", "approved")]
    taint_token(site.ctx, key.id, "test")
    site.scheduler.away = ""
    site.again()
    assert site.drained == []
    assert site.states() == [("drain", "left_alone")]


@pytest.mark.parametrize(
    ("found", "state", "words"),
    [
        (NodeView(NODE, drained=True, reason="disk swap", by="ann"), "left_alone", "by ann"),
        (NodeView(NODE, drained=True, reason="triage:inc_other:gpu:0.97"), "left_alone",
         "already by triage, for inc_other"),
        (None, "failed", "knows no node"),
        (NodeView(NODE, drained=False, reason="was odd once"), "done", ""),
    ],
)  # fmt: skip
def test_a_node_in_a_state_that_is_not_ours(ctx, found, state: str, words: str) -> None:
    site = Site(ctx)
    site.scheduler.nodes.pop(NODE)
    if found is not None:
        site.scheduler.nodes[NODE] = found
    site.incident()
    [act] = site.acts()
    assert str(act.state) == state
    assert words in (act.error or "")
    if state != "done":
        assert site.scheduler.asked == []
        assert act.acted_at is None


def test_never_twice_for_one_incident(ctx) -> None:
    site = Site(ctx)
    incident = site.incident()
    for _ in range(3):
        with site.ctx.database.writing() as session:
            site.ctx.acting.answered(session, site.ctx.settings, incident, read_utc_now())
        site.again()
    assert len(site.scheduler.asked) == 1
    assert len(site.acts()) == 1


def test_no_scheduler_means_exclusions_that_launchers_see(ctx) -> None:
    site = Site(ctx, act_system="none")
    incident = site.incident()
    assert site.states() == [("exclude", "done")]
    with site.ctx.database.reading() as session:
        cluster_id = find_cluster_id(session, "a")
        [out] = list_acted_on(session, cluster_id, NOW, read_utc_now())[0]
        assert (out.node, out.incident_id) == (NODE, incident)
        assert out.until is not None
        assert list_acted_on(session, cluster_id, NOW, out.until)[0] == []
    assert json.dumps(site.acts()[0].to_dict())
