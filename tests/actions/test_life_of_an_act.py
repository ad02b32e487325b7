"""From the decision to the record: people, kills, schedulers that are away, undoing."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import delete, update

from models import Action
from tests.actions.sites import NODE, Killed, Site, due, killed_at, nodes_named
from triage.actions.schedulers.interface import NodeView
from triage.actions.services.acts import ActWish
from triage.actions.store.acts import find_cluster_id
from triage.actions.store.evidence import list_acted_on
from triage.clock import read_utc_now
from triage.domain.acting import Verb
from triage.errors import Conflict
from triage.services.incidents.resolve import resolve
from triage.store.work.table import count_waiting


def one(site: Site):
    [act] = site.acts()
    return act


# --- people


def test_a_proposal_waits_and_is_carried_out_when_a_person_says_yes(ctx) -> None:
    site = Site(ctx, act_mode="approve")
    site.incident()
    site.again()
    assert site.states() == [("drain", "proposed")]
    assert site.drained == []

    act = one(site)
    site.decide("approve", act.id)
    site.work()
    assert site.drained == [NODE]
    assert one(site).decided_by == "key_ann"
    assert site.steps(act.id) == ["act proposed", "act approved", "act began", "act done"]
    with pytest.raises(Conflict, match="no proposal any more: it is done by key_ann"):
        site.decide("approve", act.id)


def test_a_proposal_expires(ctx) -> None:
    site = Site(ctx, act_mode="approve")
    site.incident()
    with site.ctx.database.writing() as session:
        session.execute(update(Action).values(expires_at=read_utc_now() - timedelta(seconds=1)))
    with pytest.raises(Conflict, match="expired at"):
        site.decide("approve", one(site).id)
    site.again()
    assert site.states() == [("drain", "expired")]
    assert site.drained == []


def test_a_person_acts_without_approval_and_within_all_other_rules(ctx) -> None:
    site = Site(ctx, act_mode="off")
    incident = site.incident()
    site.set(act_mode="approve")
    with pytest.raises(Conflict, match="gpu-0123 is not convicted"):
        site.ask(incident, ActWish(Verb.DRAIN, "gpu-0123"))
    with pytest.raises(Conflict, match="no such incident"):
        site.ask("inc_none", ActWish(Verb.DRAIN))
    said = site.ask(incident, ActWish(Verb.DRAIN, dry_run=True))
    assert (said.dry_run, said.actions[0].node) == (True, NODE)
    assert (site.acts(), site.steps()) == ([], [])

    site.ask(incident, ActWish(Verb.DRAIN, NODE))
    site.work()
    assert site.drained == [NODE]
    for dry_run in (False, True):
        with pytest.raises(Conflict, match=r"acted on for this incident already.*rule once"):
            site.ask(incident, ActWish(Verb.DRAIN, dry_run=dry_run))


def test_a_persons_act_beyond_the_budget_needs_approve(ctx) -> None:
    site = Site(ctx, act_mode="approve", act_nodes_per_hour=0)
    incident = site.incident()
    site.ask(incident, ActWish(Verb.DRAIN))
    site.work()
    assert (site.states(), site.drained) == ([("drain", "proposed")], [])
    site.ask(incident, ActWish(Verb.DRAIN, approve=True))
    site.work()
    assert site.drained == [NODE]


def test_no_person_acts_where_acting_is_off(ctx) -> None:
    site = Site(ctx, act_mode="off")
    incident = site.incident()
    with pytest.raises(Conflict, match=r"acting is off.*rule mode"):
        site.ask(incident, ActWish(Verb.DRAIN))
    site.work()
    assert site.drained == []


# --- kills, and schedulers that are away


@pytest.mark.parametrize(
    ("method", "after"),
    [("node", False), ("pool", False), ("drain", False), ("drain", True)],
)
def test_a_killed_process_acts_once_and_the_audit_says_what_was_done(
    ctx, method: str, after: bool
) -> None:
    site = Site(ctx)
    killed_at(site, method, after=after)
    with pytest.raises(Killed):
        site.incident()
    due(site)
    site.again()
    assert [verb for verb, *_ in site.scheduler.asked] == ["drain"]
    act = one(site)
    assert str(act.state) == "done"
    assert site.steps(act.id) == ["act asked for", "act began", "act done"]


def test_what_others_did_after_a_kill_is_theirs(ctx) -> None:
    site = Site(ctx)
    killed_at(site, "drain", after=False)
    with pytest.raises(Killed):
        site.incident()
    site.scheduler.nodes[NODE] = NodeView(NODE, drained=True, reason="fan", by="bob")
    due(site)
    site.again()
    assert (site.scheduler.asked, site.states()) == ([], [("drain", "left_alone")])


def test_a_scheduler_that_is_away_is_waited_for_and_says_so(ctx) -> None:
    site = Site(ctx)
    site.scheduler.away = "connection refused"
    site.incident()
    for _ in range(8):  # more than an upload is tried
        site.again()
    assert site.states() == [("drain", "approved")]
    assert one(site).waits_since is not None
    with site.ctx.database.reading() as session:
        [waits] = count_waiting(session)
    assert waits.words("piece").startswith("1 piece waits for the scheduler since 20")

    site.scheduler.away = ""
    site.again()
    assert (site.states(), site.drained) == ([("drain", "done")], [NODE])


def test_a_scheduler_that_goes_away_in_the_act_is_looked_at_first(ctx) -> None:
    site = Site(ctx)
    real = site.scheduler.drain

    def lost(*arguments):
        real(*arguments)
        site.scheduler.drain = real
        from triage.actions.schedulers.interface import SchedulerAway

        raise SchedulerAway("no answer within 30 s")

    site.scheduler.drain = lost
    site.incident()
    site.again()
    assert len(site.scheduler.asked) == 1
    assert site.states() == [("drain", "done")]


def test_a_scheduler_that_refuses_has_its_words_kept(ctx) -> None:
    site = Site(ctx)
    site.scheduler.refuses = "slurm_update error: Invalid user id"
    site.incident()
    act = one(site)
    assert str(act.state) == "failed"
    assert act.error == "memory refused: slurm_update error: Invalid user id"
    site.scheduler.refuses = ""
    site.again()
    assert site.drained == []
    site.ask(act.incident_id, ActWish(Verb.DRAIN))
    site.work()
    assert site.drained == [NODE]


def test_a_scheduler_that_takes_an_act_and_does_nothing_is_not_believed(ctx) -> None:
    site = Site(ctx)
    site.scheduler.drain = lambda *_: None
    site.incident()
    assert "the node is not drained" in one(site).error
    assert site.states() == [("drain", "failed")]


# --- undoing


def test_undo_goes_back_to_what_was_there(ctx) -> None:
    site = Site(ctx)
    site.scheduler.nodes[NODE] = NodeView(NODE, reason="checked in May", by="ann")
    site.incident()
    act = one(site)
    back = site.decide("undo", act.id)
    assert (str(back.verb), back.undoes) == ("undrain", act.id)
    site.work()
    assert site.scheduler.nodes[NODE] == NodeView(NODE, reason="checked in May")
    assert site.states() == [("drain", "undone"), ("undrain", "done")]
    assert site.steps(act.id)[-1] == "act undone"
    with pytest.raises(Conflict, match="nothing to undo"):
        site.decide("undo", act.id)


def test_undo_leaves_a_reason_of_others_alone(ctx) -> None:
    site = Site(ctx)
    site.incident()
    theirs = replace(site.scheduler.nodes[NODE], reason="RMA 4711", by="bob")
    site.scheduler.nodes[NODE] = theirs
    site.decide("undo", one(site).id)
    site.work()
    assert site.scheduler.nodes[NODE] == theirs
    assert site.states() == [("drain", "undone"), ("undrain", "left_alone")]


def test_an_exclusion_ends_with_undo(ctx) -> None:
    site = Site(ctx, act_system="none")
    site.incident()
    site.decide("undo", one(site).id)
    assert site.states() == [("exclude", "undone")]
    with site.ctx.database.reading() as session:
        now = read_utc_now()
        out, back = list_acted_on(
            session, find_cluster_id(session, "a"), now - timedelta(days=1), now
        )
    assert (out, [node for _, node in back]) == ([], [NODE])


def test_undrain_of_an_incident(ctx) -> None:
    site = Site(ctx)
    incident = site.incident()
    site.ask(incident, ActWish(Verb.UNDRAIN))
    site.work()
    assert site.drained == []
    with pytest.raises(Conflict, match="no drain of this incident stands"):
        site.ask(incident, ActWish(Verb.UNDRAIN))


# --- what proves wrong


def test_a_wrong_act_is_undone_by_itself_once(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=100, act_pool_share=1.0)
    first, second = site.incident(node="gpu-0121"), site.incident(node="gpu-0122")
    resolve(site.ctx, first, "software_user", None, None, "key_ann")
    site.work()
    assert site.drained == nodes_named(122)
    resolve(site.ctx, first, "software_user", None, "said again", "key_ann")
    resolve(site.ctx, second, "gpu", "gpu-0199", None, "key_ann")
    site.work()
    assert site.drained == []
    assert [site.steps(act.id).count("act proved wrong") for act in site.acts()[:2]] == [1, 1]


def test_what_a_person_bears_out_is_not_wrong(ctx) -> None:
    site = Site(ctx)
    incident = site.incident()
    resolve(site.ctx, incident, "gpu_hbm", NODE, None, "key_ann")
    site.work()
    assert (site.drained, "act proved wrong" in site.steps()) == ([NODE], False)


def test_a_revision_that_no_longer_convicts_takes_the_act_back(ctx) -> None:
    from models import Incident, Suspect

    site = Site(ctx)
    incident = site.incident()
    with site.ctx.database.writing() as session:
        session.execute(delete(Suspect))
        session.execute(update(Incident).values(revision=2))
        site.ctx.acting.answered(session, site.ctx.settings, incident, read_utc_now())
    site.work()
    assert site.drained == []
    [drain, _] = site.acts()
    assert site.steps(drain.id)[-2:] == ["act proved wrong", "act undone"]


def test_a_revision_takes_a_proposal_back_without_counting_it(ctx) -> None:
    from models import Suspect

    site = Site(ctx, act_mode="approve")
    incident = site.incident()
    with site.ctx.database.writing() as session:
        session.execute(delete(Suspect))
        site.ctx.acting.answered(session, site.ctx.settings, incident, read_utc_now())
    assert site.states() == [("drain", "left_alone")]
    assert "act proved wrong" not in site.steps()
