"""What the fleet's routes answer, and what they refuse."""

import json
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote

import pytest

from tests.api.service import Service, context_at, serving
from tests.fleet.services.small_fleet import END, LEMON, NODES, keep_fleet
from triage.domain.wire import format_iso_utc

SINCE, UNTIL = (quote(format_iso_utc(at) or "") for at in (END - timedelta(days=60), END))
PERIOD = f"since={SINCE}&until={UNTIL}"
ONE_ANSWER = (
    f"?{PERIOD}", f"/projection?{PERIOD}&gpus=16384", f"/checkpoint?{PERIOD}", f"/spares?{PERIOD}",
)  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ctx = context_at(tmp_path_factory.mktemp("fleet"))
    keep_fleet(ctx)
    with serving(ctx) as found:
        yield found
    ctx.close()


def told(service: Service, path: str) -> dict:
    answer = service.get(f"/v1/fleet{path}", token="read")
    assert answer.status == 200, answer.body
    return answer.json()


def test_the_report_counts_what_was_imported(service: Service) -> None:
    found = told(service, f"?{PERIOD}&cluster=a")

    assert found["schema"] == "triage.fleet/1"
    assert found["stops"]["unexpected"] == 50
    assert found["mtti"] == found["rates"]["mtti"]
    assert found["mtti"]["low"] < found["mtti"]["value"] < found["mtti"]["high"]
    assert [one["node"] for one in found["standings"]["nodes"] if one["grade"] == "lemon"] == [
        LEMON
    ]


def test_a_cluster_that_nobody_named_is_empty_and_no_error(service: Service) -> None:
    assert told(service, f"?{PERIOD}&cluster=other")["stops"]["unexpected"] == 0


@pytest.mark.parametrize("path", ONE_ANSWER)
def test_parts_are_those_of_the_report(service: Service, path: str) -> None:
    whole = told(service, f"?{PERIOD}")
    part = told(service, path)

    for key in part.keys() & whole.keys() - {"schema", "mtti", "notes", "survival"}:
        assert part[key] == whole[key], key


@pytest.mark.parametrize("path", ONE_ANSWER)
def test_what_has_not_changed_is_not_sent_again(service: Service, path: str) -> None:
    first = service.get(f"/v1/fleet{path}", token="read")
    again = service.get(
        f"/v1/fleet{path}", token="read", headers={"If-None-Match": first.headers["etag"]}
    )

    assert (first.status, again.status, again.body) == (200, 304, b"")


@pytest.mark.parametrize("path", [*ONE_ANSWER, "/nodes", "/runs"])
@pytest.mark.parametrize(("token", "status"), [(None, 401), ("ingest", 403)])
def test_it_is_read_with_a_token_that_reads(
    service: Service, path: str, token: str | None, status: int
) -> None:
    assert service.get(f"/v1/fleet{path}", token=token).status == status


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("?since=yesterday", "since"),
        (f"?since={UNTIL}&until={SINCE}", "since"),
        ("?since=0001-01-01T00:00:00Z", "since"),
        ("?until=0001-01-02T00:00:00Z", "until"),
        ("?until=9999-12-31T23:59:59Z", "until"),
        ("/nodes?until=0001-01-02T00:00:00Z", "until"),
        ("/repairs?until=2262-04-12T00:00:00Z", "until"),
        ("?sinse=x", "sinse"),
        ("?top=0", "top"),
        ("?top=2001", "top"),
        ("?gpus=0", "gpus"),
        ("?gpus=10000001", "gpus"),
        ("?gpus=1e3", "gpus"),
        ("?gpus=٣", "gpus"),
        ("?gpus=", "gpus"),
        ("?cost_s=0", "cost_s"),
        ("?cost_s=nan", "cost_s"),
        ("?cost_s=inf", "cost_s"),
        ("?cost_s=1e999", "cost_s"),
        ("?cost_s=1_0", "cost_s"),
        ("?restart_s=-1", "restart_s"),
        ("?compare_days=0", "compare_days"),
        ("/projection", "gpus"),
        ("/projection?gpus=8&hours=0", "hours"),
        ("/projection?gpus=8&gpus=9", "gpus"),
        ("/checkpoint?cost_s=86401", "cost_s"),
        ("/spares?confidence=1", "confidence"),
        ("/spares?confidence=0.49", "confidence"),
        ("/spares?nodes=0", "nodes"),
        ("/spares?repair_days=3651", "repair_days"),
        ("/nodes?standing=bad", "standing"),
        ("/nodes?cursor=x", "cursor"),
        ("/runs?ending=died", "ending"),
        ("/runs?cursor=WyJydW5zIiwiMjAyNi0wMS0wMVQwMDowMDowMCswMDowMCIsIngiXQ", "cursor"),
        ("/spares?top=5", "top"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(service: Service, path: str, place: str) -> None:
    answer = service.get(f"/v1/fleet{quote(path, safe='/?=&%')}", token="read")

    assert answer.status == 422, answer.body
    assert [one["parameter"] for one in answer.problem()["errors"]] == [place]


@pytest.mark.parametrize(
    "path",
    [
        "?top=2000", "?gpus=10000000", "?cost_s=0.001", "?cost_s=8.64e4",
        "/projection?gpus=1", "/spares?confidence=0.999999&nodes=1000000", "/nodes?standing=golden",
        "/runs?ending=planned", "?compare_days=0.01", "?until=1990-01-01T00:00:00Z",
        "?until=2200-01-01T00:00:00Z", "/nodes?until=1990-01-01T00:00:00Z",
        "/runs?until=0001-01-01T00:00:00Z", "/runs?since=9999-12-31T23:59:59Z",
    ],
)  # fmt: skip
def test_the_bounds_themselves_are_fine(service: Service, path: str) -> None:
    told(service, path)


def test_a_larger_job_stops_in_proportion(service: Service) -> None:
    small, large = (
        told(service, f"/projection?{PERIOD}&gpus={gpus}")["mtti"]["value"] for gpus in (512, 5120)
    )

    assert small / large == pytest.approx(10)


def test_survival_is_for_the_hours_asked_for(service: Service) -> None:
    found = told(service, f"/projection?{PERIOD}&gpus=512&hours=12.5")

    assert [one["hours"] for one in found["survival"]] == [12.5]


def test_nodes_come_page_by_page_and_each_once(service: Service) -> None:
    seen, path = [], f"/v1/fleet/nodes?until={UNTIL}&limit=25"
    while path:
        answer = service.get(path, token="read")
        seen += [one["node"] for one in answer.json()["items"]]
        more = answer.json()["next_cursor"]
        path = f"/v1/fleet/nodes?limit=25&cursor={more}" if more else ""

    assert seen[0] == LEMON
    assert sorted(seen) == list(NODES)


def test_a_list_does_not_change_under_its_reader(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = told(service, f"/nodes?until={UNTIL}&limit=3")
    # Whatever comes in meanwhile, and however long it takes to work it out anew.
    monkeypatch.setattr("triage.fleet.services.standings.look_at_standings", lambda *_, **__: 1 / 0)
    second = told(service, f"/nodes?limit=3&cursor={first['next_cursor']}")

    assert not {one["node"] for one in first["items"]} & {one["node"] for one in second["items"]}


def test_a_cursor_that_nobody_remembers_is_read_on_from(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = told(service, f"/nodes?until={UNTIL}&limit=3")
    monkeypatch.setattr("triage.fleet.services.standings._LISTED_S", 0.0)
    second = told(service, f"/nodes?limit=3&cursor={first['next_cursor']}")

    assert len(second["items"]) == 3


def test_nodes_are_filtered_by_standing(service: Service) -> None:
    path = f"/nodes?until={UNTIL}&standing=lemon"

    assert [one["node"] for one in told(service, path)["items"]] == [LEMON]


def test_nodes_as_lines_are_all_of_them(service: Service) -> None:
    lines = service.get(
        f"/v1/fleet/nodes?until={UNTIL}&limit=2",
        token="read",
        headers={"Accept": "application/x-ndjson"},
    ).body.splitlines()

    assert len(lines) == len(NODES)
    assert json.loads(lines[0])["node"] == LEMON


def test_a_form_that_is_none_is_refused(service: Service) -> None:
    answer = service.get("/v1/fleet/nodes", token="read", headers={"Accept": "text/csv"})

    assert answer.status == 406


def test_runs_come_newest_first_and_each_once(service: Service) -> None:
    seen, path = [], "/v1/fleet/runs?limit=20"
    while path:
        answer = service.get(path, token="read").json()
        seen += answer["items"]
        more = answer["next_cursor"]
        path = f"/v1/fleet/runs?limit=20&cursor={more}" if more else ""

    assert len({one["job_id"] for one in seen}) == len(seen) == 51
    assert [one["started_at"] for one in seen] == sorted(
        (one["started_at"] for one in seen), reverse=True
    )
    assert seen[0] | {"started_at": "", "ended_at": "", "seen_at": ""} == {
        "job_id": "a-last", "cluster": "a", "started_at": "", "ended_at": "", "seen_at": "",
        "ending": "planned", "cause": None, "num_nodes": 64, "num_gpus": 512, "source": "csv",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("job_id=a-3", 1), ("job_id=nobody", 0), ("ending=planned", 1), ("cluster=a", 51),
        ("cluster=b", 0), (f"since={UNTIL}", 0), (f"until={SINCE}", 0),
        (f"{PERIOD}&ending=unexpected", 50),
    ],
)  # fmt: skip
def test_runs_are_filtered(service: Service, query: str, number: int) -> None:
    assert len(told(service, f"/runs?{query}&limit=500")["items"]) == number
