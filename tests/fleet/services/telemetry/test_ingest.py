"""Telemetry on arrival: the same samples twice add nothing, and the order of files is free."""

import io
import itertools
from datetime import datetime, timedelta

import pytest
import zstandard
from sqlalchemy import select

from models import Node, TelemetryDay, TelemetryPack
from triage.clock import read_utc_now
from triage.errors import TooLarge, Unprocessable
from triage.fleet.services.telemetry import summary as telemetry_summary
from triage.fleet.services.telemetry.cells import BRAKED, SLOWED_DOWN, unpack_day
from triage.fleet.services.telemetry.ingest import (
    TelemetryTarget,
    prune_telemetry,
    take_telemetry,
)
from triage.fleet.services.telemetry.rollups import sum_node_telemetry
from triage.fleet.store import telemetry

NOW = read_utc_now().replace(minute=0, second=0, microsecond=0)
BEGIN = NOW.replace(hour=0) - timedelta(days=3)
HEADER = "at,node,gpu,gpu_temp_c,throttle_reasons,ecc_dbe_total"


def at(minute: float, day: int = 0) -> datetime:
    return BEGIN + timedelta(days=day, minutes=minute)


def row(minute, node="n3", gpu=0, temp=60, reasons=0, errors=0, day=0):
    when = at(minute, day).isoformat().replace("+00:00", "Z")
    return f"{when},{node},{gpu},{temp},{reasons},{errors}"


def table(*rows):
    return "\n".join([HEADER, *rows]) + "\n"


def minutes(begin, end, **given):
    """A row a minute; a counter that grows by one each ten minutes."""
    return table(*[row(m, errors=m // 10, temp=60 + m % 7, **given) for m in range(begin, end)])


def post(ctx, text, **given):
    data = text if isinstance(text, bytes) else text.encode()
    return take_telemetry(ctx, TelemetryTarget(**given), io.BytesIO(data).read, None).to_dict()


def state(ctx):
    """All that is stored, as values that can be compared."""
    with ctx.database.reading() as session:
        days = session.scalars(select(TelemetryDay).order_by(TelemetryDay.node, TelemetryDay.day))
        found = []
        for one in days:
            cells = session.scalar(
                select(TelemetryPack.cells).where(TelemetryPack.day_id == one.id)
            )
            names = [column.name for column in TelemetryDay.__table__.columns]
            values = {name: getattr(one, name) for name in names if name != "id"}
            named, packed = unpack_day(cells, one.day)
            found.append((values, named, packed.tolist()))
    return found


def sums(ctx, **given):
    with ctx.database.reading() as session:
        return sum_node_telemetry(session, NOW, **given)


def test_the_same_samples_twice_add_nothing(ctx):
    text = minutes(0, 200) + "\n".join(minutes(0, 90, gpu=1).split("\n")[1:])
    first = post(ctx, text)
    before = state(ctx)

    assert (first["nodes"], first["node_days"], first["kept"]) == (1, 1, 4 * 290)
    again = post(ctx, text)
    assert (again["kept"], again["repeated"], again["node_days"]) == (0, first["kept"], 0)
    assert state(ctx) == before


def test_overlapping_uploads_are_told_apart_sample_by_sample(ctx, tmp_path):
    for begin in range(0, 200, 20):
        post(ctx, minutes(begin, min(begin + 50, 200)))
    overlapping = state(ctx)
    with ctx.database.writing() as session:
        session.query(TelemetryPack).delete()
        session.query(TelemetryDay).delete()
    post(ctx, minutes(0, 200))

    assert overlapping == state(ctx)


def test_the_order_of_files_does_not_matter(ctx):
    parts = [minutes(0, 70), minutes(70, 110), minutes(110, 300), minutes(0, 40, node="n4")]
    seen = []
    # Any order in which each hour grows from its ends.
    for order in ([0, 1, 2, 3], [2, 1, 0, 3], [3, 1, 0, 2], [1, 2, 3, 0]):
        for part in order:
            post(ctx, parts[part])
        seen.append(state(ctx))
        with ctx.database.writing() as session:
            session.query(TelemetryPack).delete()
            session.query(TelemetryDay).delete()

    assert all(one == seen[0] for one in seen)


def test_rows_in_any_order_within_a_file_say_the_same(ctx):
    lines = minutes(0, 120).split("\n")[1:-1]
    post(ctx, table(*lines))
    before = state(ctx)
    with ctx.database.writing() as session:
        session.query(TelemetryPack).delete()
        session.query(TelemetryDay).delete()
    post(ctx, table(*lines[::-1]))

    assert state(ctx) == before


def test_throttle_reasons_become_time_and_a_power_cap_none(ctx):
    post(
        ctx,
        table(
            *[row(m, reasons=0x40 if m < 10 else 0x4) for m in range(60)],
            *[row(m, gpu=1, reasons=0x80 if m < 5 else 0) for m in range(60)],
        ),
    )
    found = sums(ctx)["n3"]

    assert found["throttled_hours"] * 60 == pytest.approx(15)
    assert found["power_brake_hours"] * 60 == pytest.approx(5)
    ((_, names, _),) = state(ctx)
    assert {metric for metric, _, _ in names} >= {SLOWED_DOWN, BRAKED}


def test_counters_grow_over_midnight_whichever_day_comes_first(ctx):
    first = table(row(10, errors=2), row(1439, errors=3))
    second = table(row(5, errors=7, day=1), row(9, errors=8, day=1))
    for order in itertools.permutations([first, second]):
        for part in order:
            post(ctx, part)
        assert sums(ctx)["n3"]["ecc_growth"] == 6
        with ctx.database.writing() as session:
            session.query(TelemetryPack).delete()
            session.query(TelemetryDay).delete()


def test_writing_half_way_gives_the_same(ctx, monkeypatch):
    text = minutes(0, 400) + "\n".join(minutes(0, 400, node="n4").split("\n")[1:])
    post(ctx, text)
    before = state(ctx)
    with ctx.database.writing() as session:
        session.query(TelemetryPack).delete()
        session.query(TelemetryDay).delete()
    monkeypatch.setattr(telemetry_summary, "MOST_CELLS", 1)
    for start in range(0, 400, 37):  # as batches would come
        post(ctx, minutes(start, min(start + 37, 400)))
        post(ctx, minutes(start, min(start + 37, 400), node="n4"))

    assert state(ctx) == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no telemetry"),
        ("hello\n", "no telemetry"),
        (b"\x7fELF" + bytes(100), "no telemetry"),
        (table(row(0).replace(at(0).isoformat()[:10], "1999-01-01")), "of times"),
        ("at,gpu,gpu_temp_c\n" + at(0).isoformat() + ",0,60\n", "which node"),
        (b"BZh91AY&SY" + bytes(90), "bzip2"),
    ],
    ids=["empty", "log", "program", "old", "nameless", "bzip2"],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_what_to_do(ctx, text, why):
    with pytest.raises(Unprocessable, match=why) as refused:
        post(ctx, text)

    assert refused.value.hint
    assert state(ctx) == []


def test_a_bad_line_stops_no_other(ctx):
    text = table(row(0), "nonsense", row(1), row(2).replace("60", "hot"), row(3))
    found = post(ctx, text)

    assert found["kept"] > 0
    assert sums(ctx)["n3"]["gpu_temp_max_c"] == 60


def test_samples_of_a_time_to_come_are_not_taken(ctx):
    later = (read_utc_now() + timedelta(days=2)).isoformat()
    found = post(ctx, table(row(0), f"{later},n3,0,99,0,0"))

    assert found["outside"] > 0
    assert sums(ctx)["n3"]["gpu_temp_max_c"] == 60


def test_the_node_of_the_request_is_that_of_samples_without_one(ctx):
    text = f"at,gpu,gpu_temp_c\n{at(0).isoformat()},0,60\n"
    post(ctx, text, node="n9", cluster="b")

    assert list(sums(ctx, cluster="b")) == ["n9"]
    assert sums(ctx, cluster="a") == {}


def test_packed_bodies_are_read(ctx):
    post(ctx, zstandard.ZstdCompressor().compress(minutes(0, 30).encode()))

    assert list(sums(ctx)) == ["n3"]


@pytest.mark.parametrize("name", ["n" * 257, "n\x01"], ids=["long", "control"])
def test_what_cannot_be_a_name_is_nobodys(ctx, name):
    found = post(ctx, table(row(0), row(1, node=name), row(2)))

    assert (found["kept"], found["nameless"], found["nodes"]) == (8, 3, 1)


@pytest.mark.parametrize(
    ("bound", "most", "words"),
    [
        ("MOST_SERIES", 39, "more than 39 series"),
        ("MOST_OF_NODE", 19, "19 series of one node, 'n1'"),
    ],
)
def test_a_body_has_so_many_series(ctx, monkeypatch, bound, most, words):
    # Two nodes with five GPUs of four series each.
    text = table(*[row(0, node=f"n{k % 2 + 1}", gpu=k // 2) for k in range(10)])
    assert post(ctx, text)["series"] == 40
    monkeypatch.setattr(telemetry_summary, bound, most + 1)
    assert post(ctx, text)["series"] == 40
    monkeypatch.setattr(telemetry_summary, bound, most)
    with pytest.raises(TooLarge, match=words) as refused:
        post(ctx, text)
    assert [one.where for one in refused.value.places] == ["body"]


def test_scrapes_name_racks(ctx):
    when = at(600).isoformat().replace("+00:00", "Z")
    rows = [f'inlet_temp_c{{node="{rack}-n",rack="{rack}"}} 22\n' for rack in ("r1", "r2")]
    post(ctx, f"# at {when}\n# TYPE inlet_temp_c gauge\n" + "".join(rows))

    with ctx.database.reading() as session:
        assert session.scalars(select(Node.rack).order_by(Node.rack)).all() == ["r1", "r2"]


def test_old_days_are_pruned_and_not_taken_in_again(ctx):
    post(ctx, minutes(0, 30))
    post(ctx, minutes(0, 30, day=2))

    assert prune_telemetry(ctx, 1.5) == 1
    assert len(state(ctx)) == 1


def test_sums_are_of_the_days_asked_for(ctx):
    post(ctx, table(row(0, errors=1), row(5, errors=3)))
    day = int(BEGIN.timestamp() // 86_400)
    with ctx.database.reading() as session:
        sums_of_day = telemetry.list_node_sums(session, day, day + 1)
        assert [one["ecc_growth"] for one in sums_of_day.values()] == [2]
        assert telemetry.list_node_sums(session, day + 1, day + 9) == {}
        assert telemetry.list_node_sums(session, day - 9, day) == {}
