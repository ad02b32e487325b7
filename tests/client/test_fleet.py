"""The fleet from a notebook and from the command line: over HTTP, and from the database itself."""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.api.service import Service, context_at, serving
from tests.fleet.services.small_fleet import END, LEMON, NODES, keep_fleet
from triage.cli.main import main
from triage.client import Client
from triage.domain.wire import format_iso_utc
from triage.errors import Unprocessable
from triage.fleet.render import notebook
from triage.fleet.standings.places import place_rates
from triage.fleet.standings.standing import place_of

SINCE = END - timedelta(days=60)
PERIOD = ("--since", format_iso_utc(SINCE), "--until", format_iso_utc(END))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ctx = context_at(tmp_path_factory.mktemp("fleet"))
    keep_fleet(ctx)
    with serving(ctx, open_access=True) as found:
        yield found
    ctx.close()


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{service.port}") as made:
        yield made


@pytest.fixture
def fleet(client: Client):
    return client.fleet(since=SINCE, until=END)


@pytest.fixture(params=["database", "service"])
def run(request, service, monkeypatch, capsysbinary):
    """A command of the fleet, asked of either: status, stdout, stderr."""
    for name in ("TRIAGE_TOKEN", "TRIAGE_TOKEN_FILE", "TRIAGE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRIAGE_DATA_DIR", str(service.ctx.settings.data_dir))
    if request.param == "service":
        monkeypatch.setenv("TRIAGE_URL", f"http://127.0.0.1:{service.port}")
    # The service runs in this process, and what is set up for one command would stay for it.
    monkeypatch.setattr("triage.logging.configure_logging", lambda settings: None)

    def call(*arguments):
        status = main(["fleet", *arguments])
        said = capsysbinary.readouterr()
        return status, said.out.decode(), said.err.decode()

    return call


TABLES = (
    "causes", "leaves", "mtti", "sizes", "projection", "checkpoints", "spares", "spares_cost",
    "nodes", "parts", "runs",
)  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_columns_full_or_empty(client, fleet, name):
    empty = client.fleet(since=SINCE, until=END, cluster="nobody")
    for one in (fleet, empty):
        found = getattr(one, name)
        assert {column: str(kind) for column, kind in found.dtypes.items()} == notebook.FRAMES[
            name
        ].columns
    assert len(getattr(fleet, name)) > 0


def test_the_tables_say_what_happened(fleet):
    assert fleet.causes["count"].sum() == 50
    assert fleet.nodes["node"][0] == LEMON
    assert len(fleet.nodes) == len(NODES)
    assert len(fleet.runs) == 51
    assert fleet.mtti["events"].sum() == 50


def test_a_fleet_shows_itself(fleet):
    shown = fleet._repr_html_()

    assert f"1 lemon to take out: {LEMON}" in " ".join(fleet.answers)
    assert "A job of 512 GPUs stops every" in shown
    assert "<script" not in shown
    assert repr(fleet).startswith("<Fleet ")


def test_an_empty_fleet_says_what_to_do(client):
    empty = client.fleet(since=SINCE, until=END, cluster="nobody")

    assert "Import" in empty.answers[0]
    assert empty._repr_html_()


def test_nothing_is_asked_before_it_is_needed(client):
    unused = client.fleet(since=END, until=SINCE)

    with pytest.raises(Unprocessable, match="since has to be before until"):
        unused.to_dict()


def test_the_last_days_end_where_they_are_told_to(client):
    found = client.fleet(days=7, until=END).to_dict()

    assert found["since"] == format_iso_utc(END - timedelta(days=7))


def test_a_plan_is_of_the_period(fleet):
    found = fleet.plan(5120, hours=2, nodes=64, confidence=0.9)

    assert found["projection"]["mtti"]["value"] == pytest.approx(60 * 24 / 50 / 10, rel=1e-4)
    assert found["spares"]["confidence"] == 0.9


def test_the_report_is_for_people(run):
    status, out, err = run("report", *PERIOD)

    assert (status, err) == (0, "")
    assert "stops every 29 h" in out
    assert LEMON in out


def test_the_report_as_json_is_that_of_the_service(run, fleet):
    status, out, _ = run("report", *PERIOD, "--format", "json", "--top", "5")

    assert status == 0
    assert json.loads(out)["rates"] == fleet.to_dict()["rates"]
    assert json.loads(out)["standings"]["nodes"][0]["node"] == LEMON


def test_the_report_as_a_page_needs_nothing_else(run, tmp_path):
    page = tmp_path / "fleet.html"
    status, out, _ = run("report", *PERIOD, "--format", "html", "--output", str(page))

    assert (status, out) == (0, "")
    assert "<script" not in page.read_text()
    assert LEMON in page.read_text()


def test_nodes_are_listed_the_worst_first(run):
    status, out, _ = run("nodes", "--until", format_iso_utc(END), "--limit", "3")

    assert status == 0
    assert out.startswith(f"{LEMON}  lemon")


def test_nodes_are_lines_for_scripts_too(run):
    _, out, _ = run("nodes", "--until", format_iso_utc(END), "--standing", "lemon", "-f", "jsonl")

    assert [json.loads(line)["node"] for line in out.splitlines()] == [LEMON]


def test_a_plan_is_told_in_hours_minutes_and_nodes(run):
    status, out, _ = run("plan", "--gpus", "5120", *PERIOD)

    assert status == 0
    assert "A job of 5,120 GPUs\n  is interrupted every 2.9 h" in out
    assert "best interval" in out
    assert "more than 4 times outside the sizes seen" in " ".join(out.split())


def test_a_plan_as_json_is_all_three(run):
    _, out, _ = run("plan", "--gpus", "512", *PERIOD, "--format", "json")

    assert json.loads(out).keys() == {"projection", "checkpoint", "spares"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("report", "--days", "0"), "--days 0"),
        (("report", "--since", "yesterday"), "--since"),
        (("report", "--top", "0"), "--top"),
        (("report", "--since", format_iso_utc(END), "--until", format_iso_utc(SINCE)), "before"),
        (("report", "--cost-s", "-1"), "cost"),
        (("plan",), "--gpus"),
        (("plan", "--gpus", "0"), "--gpus"),
        (("plan", "--gpus", "8", "--confidence", "1"), "confidence"),
        (("nodes", "--standing", "sour"), "--standing"),
        (("nodes", "--limit", "0"), "--limit"),
    ],
)
def test_what_cannot_be_is_one_sentence(run, arguments, said):
    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert err.startswith("triage: ")
    assert len(err.splitlines()) == 1
    assert said in err


def test_places_are_a_table_where_there_are_several(fleet):
    rows = place_rates([9, 8, 7, 1, 0, 2], [1000.0] * 6, {"cage": list("aaabbb")})
    standings = {"places": [place_of(row).to_dict() for row in rows]}

    places = notebook.FRAMES["places"].build({"standings": standings})

    assert {name: str(kind) for name, kind in places.dtypes.items()} == dict(
        notebook.FRAMES["places"].columns
    )
    assert places["name"].tolist() == ["a", "b"]
    assert fleet.places.empty
