"""How many nodes may be out, in an hour and of the pool, whoever took them out."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from models import Action, ClockMark
from tests.actions.sites import Killed, Site, due, killed_at, nodes_named
from triage.actions.schedulers.interface import NodeView
from triage.clock import read_utc_now
from triage.domain.states import WorkKind


def one(site: Site):
    [act] = site.acts()
    return act


def test_beyond_the_hourly_budget_acts_wait_for_a_person(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=2, act_pool_share=1.0)
    for node in nodes_named(121, 122, 123, 124):
        site.incident(node=node)
    assert len(site.drained) == 2
    states = site.states()
    assert states.count(("drain", "done")) == 2
    assert states.count(("drain", "proposed")) == 2
    waits = next(act for act in site.acts() if str(act.state) == "proposed")
    assert "2 nodes were taken out within an hour" in waits.why

    site.decide("approve", waits.id)
    site.work()
    assert len(site.drained) == 3


def test_an_hour_later_there_is_room_again(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=1, act_pool_share=1.0)
    site.incident(node="gpu-0121")
    with site.ctx.database.writing() as session:
        session.execute(update(Action).values(acted_at=read_utc_now() - timedelta(minutes=61)))
    site.incident(node="gpu-0122")
    assert site.drained == nodes_named(121, 122)


@pytest.mark.parametrize(("share", "most"), [(0.0, 1), (0.02, 1), (0.04, 2), (0.05, 3)])
def test_a_share_of_the_pool_is_out_at_most(ctx, share: float, most: int) -> None:
    site = Site(ctx, act_nodes_per_hour=100, act_pool_share=share)
    wanted = nodes_named(*range(121, 122 + most))
    for node in wanted:
        site.incident(node=node)
    assert site.drained == wanted[:most]


def test_what_a_service_with_another_database_took_out_counts(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=100, act_pool_share=0.04)  # two of 64
    site.scheduler.drain("gpu-0131", "triage:inc_of_another:gpu:0.97")
    for number, by in ((132, "fan"), (133, "triage looked at it")):
        view = NodeView(f"gpu-0{number}", drained=True, reason=by, by="ann")
        site.scheduler.nodes[view.name] = view
    site.incident(node="gpu-0121")
    assert site.states() == [("drain", "done")]
    site.incident(node="gpu-0122")
    assert site.states()[1:] == [("drain", "proposed")]
    assert "2 of 64 nodes are out because of triage" in site.acts()[1].why

    site.scheduler.nodes["gpu-0131"] = NodeView("gpu-0131")
    site.incident(node="gpu-0123")
    assert site.states()[2:] == [("drain", "done")]


def test_what_a_service_with_another_database_took_out_within_the_hour_counts(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=2, act_pool_share=1.0)
    site.scheduler.drain("gpu-0131", "triage:inc_of_another:gpu:0.97")
    site.incident(node="gpu-0121")
    site.incident(node="gpu-0122")
    assert site.states() == [("drain", "done"), ("drain", "proposed")]
    assert "2 nodes were taken out within an hour" in site.acts()[1].why

    site.scheduler.drained_at["gpu-0131"] = read_utc_now() - timedelta(minutes=61)
    site.incident(node="gpu-0123")
    assert site.states()[2:] == [("drain", "done")]


def test_a_drain_of_ours_counts_once_in_the_hour(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=2, act_pool_share=1.0)
    for node in nodes_named(121, 122):
        site.incident(node=node)
    assert site.drained == nodes_named(121, 122)


def test_a_drain_on_its_way_counts_before_the_scheduler_shows_it(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=100, act_pool_share=0.0)
    killed_at(site, "drain", after=False)
    with pytest.raises(Killed):
        site.incident(node="gpu-0121")
    assert site.states() == [("drain", "acting")]
    site.incident(node="gpu-0122")
    assert site.states()[1:] == [("drain", "proposed")]


def test_a_node_that_was_given_back_by_hand_is_out_no_more(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=100, act_pool_share=0.0)
    site.incident(node="gpu-0121")
    site.scheduler.nodes["gpu-0121"] = NodeView("gpu-0121")
    site.again()
    assert site.states() == [("drain", "undone")]
    site.incident(node="gpu-0122")
    assert site.drained == nodes_named(122)


def test_a_clock_that_went_back_leaves_no_room(ctx) -> None:
    site = Site(ctx, act_nodes_per_hour=1, act_pool_share=1.0)
    site.incident(node="gpu-0121")
    with site.ctx.database.writing() as session:
        session.execute(update(Action).values(acted_at=read_utc_now() + timedelta(days=1)))
    site.incident(node="gpu-0122")
    assert site.drained == nodes_named(121)


def test_a_clock_in_doubt_leaves_it_to_a_person(ctx) -> None:
    site = Site(ctx)
    with site.ctx.database.writing() as session:
        session.add(ClockMark(id=1, seen_at=read_utc_now() + timedelta(days=1)))
    site.incident()
    assert site.drained == []
    assert "the clock is in doubt" in one(site).why


def test_two_workers_stay_within_the_budget(ctx) -> None:
    """Both look before either begins: the count is made by one at a time."""
    import threading

    site = Site(ctx, act_nodes_per_hour=2, act_pool_share=1.0)
    site.scheduler.away = "not yet"
    for number in range(121, 129):
        site.incident(node=f"gpu-0{number}")
    site.scheduler.away = ""
    due(site)
    with site.ctx.database.writing() as session:
        from models import Work

        session.execute(update(Work).where(Work.kind == "act").values(not_before=read_utc_now()))
    threads = [threading.Thread(target=site.work, args=(WorkKind.ACT,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(site.drained) == 2
    assert site.states().count(("drain", "proposed")) == 6
