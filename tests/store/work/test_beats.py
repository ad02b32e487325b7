"""Who goes round and who stands still, on both databases, and where people see it."""

from datetime import timedelta

from triage.api.readiness import Readiness
from triage.clock import read_utc_now
from triage.services.context import Context
from triage.services.doctor import work
from triage.store.work import beats
from triage.store.work.backlog import summarize_work

MINUTE = timedelta(minutes=1)


def beaten(ctx: Context, **ages: float) -> None:
    """Processes of these names beat so many minutes ago."""
    now = read_utc_now()
    for name, minutes in ages.items():
        with ctx.database.writing() as session:
            beats.note_beat(session, name, now - minutes * MINUTE)


def test_who_was_silent_for_a_minute_stands_still_until_it_is_forgotten(ctx: Context) -> None:
    beaten(ctx, gone=61, killed=59, standing=5, busy=0.5)
    now = read_utc_now()
    with ctx.database.reading() as session:
        assert [one.name for one in beats.list_silent(session, now)] == ["killed", "standing"]
        assert beats.count_beating(session, now) == 1
        assert summarize_work(session, now)["workers"] == {"beating": 1, "silent": 2}
        assert "standing has not been heard for 30" in beats.list_silent(session, now)[1].words
    beaten(ctx, standing=0)
    with ctx.database.writing() as session:
        assert [one.name for one in beats.list_silent(session, now)] == ["killed"]
        beats.forget(session, ["killed", "busy"])
    with ctx.database.reading() as session:
        assert beats.list_silent(session, read_utc_now()) == []
        assert beats.count_beating(session, read_utc_now()) == 1


def test_processes_of_a_machine_are_those_of_its_whole_name(ctx: Context) -> None:
    with ctx.database.writing() as session:
        for name in ("worker 1@a_1", "worker 2@b.a_1", "worker 3@ax1"):
            beats.note_beat(session, name, read_utc_now())
        assert beats.list_names(session, "a_1") == ["worker 1@a_1"]


def test_readiness_and_doctor_name_who_stands_still(ctx: Context) -> None:
    assert Readiness(ctx).worker() == ("ok", "")
    beaten(ctx, **{"worker 7@n1": 4})

    state, words = Readiness(ctx).worker()
    found = [one for one in work(ctx) if one.thing == "workers" and one.health != "ok"]
    assert state == "warn"
    assert words.startswith("worker 7@n1 has not been heard for 24")
    assert [(one.health, one.words[:30]) for one in found] == [("fail", words[:30])]
    assert "restart it" in found[0].step

    beaten(ctx, **{"worker 8@n1": 0})
    found = [one for one in work(ctx) if one.thing == "workers" and one.health != "ok"]
    assert [one.health for one in found] == ["warn"]
