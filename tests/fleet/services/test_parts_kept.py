"""Parts that files and inventories name become stays: each once, of which node, by whose token."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import select

from models import Artifact, Node, PartSighting, Upload
from tests.fleet.services.fleets import T0, at, failed, imported, service_on
from triage.domain.caller import Caller
from triage.fleet.services.parts import keep_seen_parts
from triage.fleet.store.brought import count_brought, withdraw
from triage.services.context import Context
from triage.store import jobs
from triage.store.uploads.evidence import Reading

GPUS = tuple(f"GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b{k:02d}" for k in range(99))
HEADER = "node,kind,identity,slot,seen_at"


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def stays(ctx: Context) -> list[tuple[str, str, str, float, float]]:
    with ctx.database.reading() as session:
        rows = session.execute(
            select(PartSighting, Node.name)
            .join(Node, PartSighting.node_id == Node.id)
            .order_by(PartSighting.kind, PartSighting.identity, PartSighting.first_at)
        )
        return [
            (name, row.identity, row.slot, hours(row.first_at), hours(row.last_at))
            for row, name in rows
        ]


def hours(at_time) -> float:
    return (at_time - T0) / timedelta(hours=1)


def inventory(ctx: Context, *rows: str, **options) -> None:
    imported(ctx, "\n".join([HEADER, *rows]), **options)


def line(node: str, gpu: str, hour: float, slot: str = "0") -> str:
    return f"{node},gpu,{gpu},{slot},{at(hour):%Y-%m-%dT%H:%M:%SZ}"


def test_an_inventory_that_is_imported_twice_adds_nothing(ctx: Context) -> None:
    rows = [line("n1", GPUS[10], 0), line("n1", GPUS[10], 48), line("n2", GPUS[11], 0)]
    inventory(ctx, *rows)
    once = stays(ctx)
    again = imported(ctx, "\n".join([HEADER, *rows]))
    assert (again.format, again.added, again.changed) == ("hardware", 0, 0)
    assert stays(ctx) == once == [("n1", GPUS[10], "0", 0, 48), ("n2", GPUS[11], "0", 0, 0)]


def test_a_part_has_one_row_a_node_over_several_imports(ctx: Context) -> None:
    for node, hour in (("n1", 0), ("n2", 200), ("n1", 400), ("n2", 100)):
        inventory(ctx, line(node, GPUS[10], hour))
    assert [(row[0], *row[3:]) for row in stays(ctx)] == [("n1", 0, 400), ("n2", 100, 200)]


def test_of_several_rows_of_an_earlier_release_the_oldest_is_kept_up(ctx: Context) -> None:
    inventory(ctx, line("n1", GPUS[10], 0))
    with ctx.database.writing() as session:
        row = session.query(PartSighting).one()
        old = {name: getattr(row, name) for name in ("node_id", "kind", "identity", "source")}
        session.add(PartSighting(**old, slot="0", first_at=at(90), last_at=at(99)))
    inventory(ctx, line("n1", GPUS[10], 48, slot="0000:5d:00"))
    assert [row[2:] for row in stays(ctx)] == [("0000:5d:00", 0, 48), ("0", 90, 99)]


def test_clusters_have_rows_of_their_own(ctx: Context) -> None:
    inventory(ctx, line("n1", GPUS[10], 0), line("n1", GPUS[10], 400), cluster="a")
    inventory(ctx, line("n1", GPUS[10], 200), cluster="b")
    assert [row[3:] for row in stays(ctx)] == [(0, 400), (200, 200)]


def reading(
    ctx: Context, *rows: dict, node: str | None = "n1", key_id: str | None = None
) -> Reading:
    """A file of an incident, as rows of the database and as its reading."""
    incident = failed(ctx, "j1", 1)
    with ctx.database.writing() as session:
        number = session.query(Artifact).count()
        session.add(
            Upload(
                id=f"u{number}",
                incident_id=incident,
                stored_bytes=1,
                key_id=key_id,
                created_at=at(2),
            )
        )
        session.flush()
        session.add(
            Artifact(
                id=f"a{number}", incident_id=incident, upload_id=f"u{number}", node=node,
                identity=f"i{number}", kind="job_log", filename="x", name_hash="x", sha256="x",
                size_bytes=1, position=0, stored_bytes=1, state="stored", created_at=at(2),
            )
        )  # fmt: skip
    return Reading(f"a{number}", b"", rows)


def keep(ctx: Context, *readings: Reading) -> None:
    with ctx.database.writing() as session:
        keep_seen_parts(session, jobs.cluster_key(session, "a"), readings, at(2))


def naming(gpu: str, node: str | None = None, hour: float | None = None, slot: str = "0") -> dict:
    parts = [{"kind": "gpu", "identity": gpu, "slot": slot}]
    return {"node": node, "at": None if hour is None else at(hour).isoformat(), "parts": parts}


def test_a_file_tells_of_its_own_node_when_it_came(ctx: Context) -> None:
    keep(ctx, reading(ctx, naming(GPUS[10])), reading(ctx, naming(GPUS[11], "n2", 1), node=None))
    keep(ctx, reading(ctx, naming(GPUS[13], "n2")))  # n1 tells of n2
    keep(ctx, reading(ctx, naming(GPUS[12]), node=None))
    assert stays(ctx) == [("n1", GPUS[10], "0", 2, 2), ("n2", GPUS[11], "0", 1, 1)]


def test_a_long_name_is_the_short_one_that_the_scheduler_has(ctx: Context) -> None:
    inventory(ctx, line("n1", GPUS[10], 0), cluster="a")
    keep(ctx, reading(ctx, naming(GPUS[10], "n1.example.com", 1)))
    assert stays(ctx) == [("n1", GPUS[10], "0", 0, 1)]


def test_a_file_that_names_a_whole_fleets_gpus_is_no_nodes(ctx: Context) -> None:
    keep(ctx, reading(ctx, *(naming(gpu) for gpu in GPUS[10:90])))
    assert stays(ctx) == []


@pytest.mark.parametrize(
    "row",
    [
        {"node": "n1", "parts": [{"kind": "gpu", "identity": "N/A"}]},
        {"node": "n1", "parts": [{"kind": "nothing", "identity": GPUS[10]}]},
        {"node": "n1", "parts": [{}]},
        {"node": "", "at": "x", "parts": None},
    ],
)
def test_rows_that_name_nothing_keep_nothing(ctx: Context, row: dict) -> None:
    keep(ctx, reading(ctx, row, node=None))
    assert stays(ctx) == []


def test_what_a_clock_says_that_cannot_be_is_when_the_file_came(ctx: Context) -> None:
    keep(ctx, reading(ctx, {**naming(GPUS[10]), "at": "1970-01-01T00:00:00Z"}))
    keep(ctx, reading(ctx, {**naming(GPUS[11]), "at": "2099-01-01T00:00:00Z"}))
    assert [row[3:] for row in stays(ctx)] == [(2, 2), (2, 2)]


def test_what_a_tainted_token_brought_goes(ctx: Context) -> None:
    inventory(ctx, line("n1", GPUS[10], 0), cluster="a", caller=Caller(key_id="key_a"))
    inventory(ctx, line("n1", GPUS[11], 0), cluster="a", caller=Caller(key_id="key_b"))
    keep(ctx, reading(ctx, naming(GPUS[12]), key_id="key_a"))
    with ctx.database.writing() as session:
        assert count_brought(session, "key_a", None)["parts"] == 2
        assert count_brought(session, "key_a", at(1))["parts"] == 1
        assert withdraw(session, "key_a", None)["parts"] == 2
    assert [row[1] for row in stays(ctx)] == [GPUS[11]]
