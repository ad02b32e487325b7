"""No act on old news, on what a token says of others, or on the number of a rank alone."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from models import ApiKey
from tests.actions.sites import AT, FACTS, JOB, NODE, Site
from triage.actions.schedulers.interface import NodeView
from triage.actions.services.rules import Convicted, Rule, find_broken_node_rule
from triage.actions.store.evidence import Source, Standing, choose_failure_time, load_standing
from triage.clock import read_utc_now
from triage.domain.acting import ActionState, Verb
from triage.domain.caller import Caller
from triage.domain.failure_match import Candidate, Failure, find_for_failure
from triage.errors import UsageError
from triage.services.hooks.job_failed import parse_failure
from triage.services.incidents.announce import announce
from triage.settings import Settings, load_settings
from triage.store.incidents.matching import make_key

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
GPU = Convicted(NODE, "gpu", 0.99)
SETTINGS = Settings(act_mode="auto", act_system="slurm", act_cluster="a")
BY_NAME = {NODE: Source(None, by_name=True)}


def standing(site: Site, incident_id: str) -> Standing:
    with site.ctx.database.reading() as session:
        found = load_standing(session, incident_id)
    assert found is not None
    return found


@pytest.fixture
def old(ctx) -> Standing:  # type: ignore[no-untyped-def]
    site = Site(ctx)
    return replace(standing(site, site.incident(settle=False)), sources=BY_NAME)


def test_a_failure_is_acted_on_while_it_is_fresh(old: Standing) -> None:
    for age, rule in ((0, None), (5.9, None), (6.1, Rule.FRESH), (300 * 24, Rule.FRESH)):
        one = replace(old, failed_at=NOW - timedelta(hours=age), repaired={})
        broken = find_broken_node_rule(one, GPU, SETTINGS, NOW)
        assert (broken and broken.rule) == rule, age
    longer = SETTINGS.model_copy(update={"act_max_age": 48.0})
    one = replace(old, failed_at=NOW - timedelta(hours=47), repaired={})
    assert find_broken_node_rule(one, GPU, longer, NOW) is None


def test_a_repair_or_a_start_since_then_ends_it(old: Standing) -> None:
    failed = NOW - timedelta(hours=1)
    for minutes, rule in ((-1, None), (0, Rule.FRESH), (10, Rule.FRESH)):
        at = failed + timedelta(minutes=minutes)
        one = replace(old, failed_at=failed, repaired={NODE: at})
        broken = find_broken_node_rule(one, GPU, SETTINGS, NOW)
        assert (broken and broken.rule) == rule
        other = replace(old, failed_at=failed, repaired={"gpu-0103": at})
        assert find_broken_node_rule(other, GPU, SETTINGS, NOW) is None
    one = replace(old, failed_at=failed, repaired={})
    for booted_at, rule in (
        (None, None), (failed - timedelta(days=9), None), (failed, None),
        (failed + timedelta(minutes=1), Rule.FRESH),
    ):  # fmt: skip
        broken = find_broken_node_rule(one, GPU, SETTINGS, NOW, booted_at)
        assert (broken and broken.rule) == rule


def test_a_scheduler_that_says_no_zone_means_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")  # programs of Slurm are told TZ=UTC
    time.tzset()
    for said, at in (
        ("2026-10-01T00:00:00", datetime(2026, 10, 1, tzinfo=UTC)),
        ("2026-10-01T02:00:00+02:00", datetime(2026, 10, 1, tzinfo=UTC)),
        ("", None), ("5f2a-91bc", None), (None, None), ("Unknown", None),
    ):  # fmt: skip
        seen = NodeView(NODE, details={} if said is None else {"boot_time": said})
        assert seen.booted_at == at
    monkeypatch.undo()
    time.tzset()


def test_a_failure_is_as_old_as_its_earliest_time() -> None:
    key = make_key(NOW, "")
    made = NOW + timedelta(days=300)
    for verdict, wanted in (
        (None, NOW), ({"at": "2026-11-28T11:00:00.5Z"}, NOW.replace(hour=11, microsecond=500_000)),
        ({"at": "2026-11-28T11:00:00"}, NOW), ({"at": None}, NOW),
        ({"at": "2027-01-01T00:00:00Z"}, NOW),
    ):  # fmt: skip
        assert choose_failure_time(verdict, key, made) == wanted
    assert choose_failure_time(None, make_key(None, ""), made) == made


def test_an_old_failure_is_answered_and_not_acted_on(ctx) -> None:  # type: ignore[no-untyped-def]
    site = Site(ctx, act_max_age="6h")
    found = site.incident()
    with site.ctx.database.reading() as session:
        stands = load_standing(session, found)
    assert stands is not None
    assert stands.incident.verdict["cordon"] == [NODE]
    assert site.acts() == []
    site.set(act_max_age="36500d")
    site.incident(node="gpu-0113")
    assert [one.node for one in site.acts()] == ["gpu-0113"]


def test_the_rules_are_asked_again_just_before(ctx) -> None:  # type: ignore[no-untyped-def]
    site = Site(ctx, act_mode="approve", act_system="none")
    site.incident()
    (one,) = site.acts()
    site.set(act_mode="auto", act_max_age="1h")
    site.decide("approve", one.id)
    site.again()
    (one,) = site.acts()
    assert one.state is ActionState.LEFT_ALONE
    assert "TRIAGE_ACT_MAX_AGE" in (one.error or one.why)


def keyed(site: Site, key: str, **bound: str) -> Caller:
    with site.ctx.database.writing() as session:
        session.add(
            ApiKey(id=key, name=key, token_hash=key, scopes=["ingest"], created_at=AT,
                   cluster="a", **bound)
        )  # fmt: skip
    return Caller(key)


@pytest.mark.parametrize(
    ("bound", "named_by", "acts"),
    [
        ({}, None, True),
        ({"node_pattern": NODE}, None, True),
        ({"node_pattern": "gpu-01*"}, None, True),
        ({"job_id": "job-1"}, None, False),
        ({"job_id": "job-1"}, "itself", False),
        ({"job_id": "job-1"}, "scheduler", True),
        ({"job_id": "job-1"}, "another node", False),
    ],
)
def test_what_a_token_says_of_a_node_outside_its_own(ctx, bound, named_by, acts) -> None:  # type: ignore[no-untyped-def]
    site = Site(ctx)
    caller = keyed(site, "key_up", **bound)
    speaker = {
        "itself": caller, "scheduler": keyed(site, "key_sched"),
        "another node": keyed(site, "key_node", node_pattern="gpu-0199"), None: caller,
    }[named_by]  # fmt: skip
    facts = {**FACTS, "job_id": "job-1"}
    if named_by is None and "job_id" not in bound:
        facts.pop("nodes", None)
    files = {name: data for name, data in JOB.items() if name != "job.json"}
    failure = Failure("job-1", "a", AT, facts, expected_artifacts=len(files), caller=speaker)
    incident_id = announce(site.ctx, failure).id
    site.send(incident_id, files, "job-1", caller)
    site.work()
    assert [one.node for one in site.acts()] == ([NODE] if acts else [])
    if not acts:
        broken = find_broken_node_rule(
            standing(site, incident_id), GPU, site.ctx.settings, read_utc_now()
        )
        assert broken is not None
        assert broken.rule is Rule.BOUND


def test_the_number_of_a_rank_names_nobody(old: Standing) -> None:
    one = replace(old, failed_at=NOW, repaired={})
    for sources in ({}, {NODE: Source(None, by_name=False)}):
        broken = find_broken_node_rule(replace(one, sources=sources), GPU, SETTINGS, NOW)
        assert broken is not None
        assert broken.rule is Rule.PLACED


def test_exclusions_spend_the_budget_of_drains(ctx) -> None:  # type: ignore[no-untyped-def]
    site = Site(ctx, act_system="none", act_pool_share=1.0, act_nodes_per_hour=2)
    for number in range(2, 8):
        site.incident(node=f"gpu-011{number}")
    assert site.states() == [("exclude", "done")] * 2 + [("exclude", "proposed")] * 4
    site.set(act_system="slurm")
    site.incident(node="gpu-0120")
    assert site.states()[-1] == ("drain", "proposed")


def test_exclusions_count_in_the_share_of_the_pool(ctx) -> None:  # type: ignore[no-untyped-def]
    site = Site(ctx, act_system="none", act_nodes_per_hour=99)
    for number in range(2, 5):
        site.incident(node=f"gpu-011{number}")
    assert [state for _, state in site.states()] == ["done", "proposed", "proposed"]
    assert {one.verb for one in site.acts()} == {Verb.EXCLUDE}


T = datetime(2026, 11, 28, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "attempts", "started", "same"),
    [
        (0, ("", ""), None, True),
        (3, ("", ""), None, True),
        (-12, ("", ""), None, True),
        (30, ("", ""), -900, True),
        (59, ("2", "2"), None, True),
        (30, ("1", "2"), None, False),
        (120, ("", ""), None, False),
        (45, ("", ""), 10, False),
        (600, ("", ""), None, False),
    ],
)
def test_one_failure_told_twice_is_one(seconds, attempts, started, same) -> None:  # type: ignore[no-untyped-def]
    known = Candidate("inc_1", attempts[0], T, True, 3, T, T + timedelta(minutes=5))
    began = None if started is None else T + timedelta(seconds=started)
    found = find_for_failure([known], attempts[1], T + timedelta(seconds=seconds), T, began)
    assert found == ("inc_1" if same else None)


def test_names_that_no_node_has_are_left_out_and_named() -> None:
    body = {"job_id": "1", "nodes": ["n1", "n2\nn3", "n\x1b[31m", "", "n4"]}
    found = parse_failure(body)
    assert found.facts["nodes"] == ["n1", "n4"]
    (ignored,) = found.ignored
    assert ignored.field == "nodes"
    assert "'n2\\nn3'" in ignored.why
    assert parse_failure({"job_id": "1", "nodes": ["n1", "n4"]}).ignored == ()


def test_the_age_is_said_with_or_without_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, hours in (("6", 6), ("6h", 6), ("90m", 1.5), ("2d", 48), ("3600s", 1)):
        assert Settings(act_max_age=said).act_max_age == hours
    monkeypatch.setenv("TRIAGE_ACT_MAX_AGE", "soon")
    with pytest.raises(UsageError, match=r"(?i)act_max_age"):
        load_settings()
