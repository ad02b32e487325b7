"""Clocks that are set while acts are asked for, wait for a person, and are done."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.actions.sites import Site
from triage import clock
from triage.clock import Jumps
from triage.domain.states import WorkKind
from triage.errors import Conflict
from triage.queue.runner import Runner
from triage.server.work import make_runner, make_sweeper

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SetClock = Callable[[timedelta], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the time of all processes; the clock that nobody sets goes on."""

    def by(offset: timedelta) -> None:
        monkeypatch.setattr(clock, "read", lambda: datetime.now(UTC) + offset)

    return by


def worker(site: Site) -> Runner:
    """A process that does acts, and has looked at the clock."""
    runner = make_runner(site.ctx, site.readers, site.scheduler)
    runner.stopping.wait = lambda _s=None: False
    return runner


def do_acts(runner: Runner) -> None:
    while runner.run_once(WorkKind.ACT):
        pass


def approved(site: Site, *numbers: int) -> None:
    """Acts that are decided by the service itself, and not yet done."""
    work, site.work = site.work, lambda *_: work(WorkKind.PARSE, WorkKind.ANALYSE)
    for number in numbers:
        site.incident(node=f"gpu-0{number}")
    site.work = work


def test_a_jump_is_told_from_time_that_went_by(
    set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = datetime.now(UTC)
    jumps = Jumps()

    def look(steady_s: float, clock_s: float) -> float:
        monkeypatch.setattr(clock, "read_steady_s", lambda: steady_s)
        monkeypatch.setattr(clock, "read", lambda: began + timedelta(seconds=clock_s))
        return jumps.look().total_seconds()

    assert look(0, 9e9) == 0, "the first look knows of nothing before"
    assert look(86_400, 9e9 + 86_400) == 0
    assert look(86_400, 9e9 + 86_400 + 290) == 0
    assert look(86_400, 9e9 + 86_400 + 290 + 310) == 310
    assert look(86_401, 9e9 + 86_400) == -601
    assert look(10 * 86_400, 9e9 + 10 * 86_400 + 600) == 0, "slewed over nine days"


def test_an_hour_that_was_skipped_frees_no_budget_of_any_process(ctx, set_clock: SetClock) -> None:
    site = Site(ctx, act_nodes_per_hour=1, act_pool_share=1.0)
    first, second = worker(site), worker(site)
    approved(site, 121)
    do_acts(first)
    approved(site, 122)
    do_acts(second)
    assert site.states() == [("drain", "done"), ("drain", "proposed")]

    set_clock(2 * HOUR)
    approved(site, 123)
    do_acts(second)
    assert site.states()[2:] == [("drain", "proposed")]
    assert "the clock was set on by 2.0 h" in site.acts()[2].why
    approved(site, 124)
    do_acts(worker(site))  # one that was started later believes those who saw it
    assert site.states()[3:] == [("drain", "proposed")]


def test_a_sweeper_that_saw_the_jump_tells_all(ctx, set_clock: SetClock) -> None:
    site = Site(ctx, act_nodes_per_hour=100, act_pool_share=1.0)
    sweeper = make_sweeper(site.ctx)
    sweeper.sweep()
    set_clock(2 * HOUR)
    sweeper.watch_at = 0.0
    sweeper.sweep()
    approved(site, 121)
    do_acts(worker(site))
    assert site.states() == [("drain", "proposed")]


def test_two_hours_in_which_nothing_ran_are_no_jump(
    ctx, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(ctx, act_nodes_per_hour=1, act_pool_share=1.0)
    runner, sweeper = worker(site), make_sweeper(site.ctx)
    approved(site, 121)
    sweeper.sweep()
    do_acts(runner)
    real = clock.read_steady_s
    set_clock(2 * HOUR)
    for module in ("triage.clock", "triage.queue.runner"):
        monkeypatch.setattr(f"{module}.read_steady_s", lambda: real() + 7200)
    sweeper.watch_at = 0.0
    sweeper.sweep()
    approved(site, 122)
    do_acts(runner)
    assert site.states() == [("drain", "done"), ("drain", "done")]


def test_a_clock_set_back_frees_no_budget(ctx, set_clock: SetClock) -> None:
    site = Site(ctx, act_nodes_per_hour=1, act_pool_share=1.0)
    approved(site, 121)
    do_acts(worker(site))
    set_clock(-DAY)
    approved(site, 122)
    do_acts(worker(site))
    assert site.states() == [("drain", "proposed"), ("drain", "done")]  # by their times
    assert "1 nodes were taken out within an hour" in site.acts()[0].why


def test_an_approval_ends_with_a_jump_and_does_not_come_back(ctx, set_clock: SetClock) -> None:
    site = Site(ctx, act_mode="approve")
    site.incident()
    [one] = site.acts()
    set_clock(30 * DAY)
    with pytest.raises(Conflict, match="expired at"):
        site.decide("approve", one.id)
    site.work()
    assert site.states() == [("drain", "expired")]

    set_clock(timedelta())
    with pytest.raises(Conflict, match="is expired"):
        site.decide("approve", one.id)
    assert site.drained == []


@pytest.mark.parametrize("by", [2 * HOUR, -DAY])
def test_a_jump_in_the_midst_of_an_act_has_it_done_once(
    ctx, set_clock: SetClock, by: timedelta
) -> None:
    site = Site(ctx)
    approved(site, 121)
    sweeper = make_sweeper(site.ctx)
    sweeper.sweep()
    real = site.scheduler.drain

    def slow(*asked) -> None:
        real(*asked)
        set_clock(by)
        sweeper.sweep()
        assert not worker(site).run_once(WorkKind.ACT), "the lease is held"

    site.scheduler.drain = slow
    do_acts(worker(site))
    assert len(site.scheduler.asked) == 1
    assert site.states() == [("drain", "done")]
    steps = site.steps(site.acts()[0].id)  # in the order of their times
    assert sorted(steps) == ["act asked for", "act began", "act done"]
