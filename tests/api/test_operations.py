"""Liveness, readiness, figures, the description and its page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families

from tests.api.service import Service, context_at, serving
from tests.support.waiting import eventually
from triage.errors import Unavailable
from triage.services.quotas import RateLimiter
from triage.store.database.engine import Database
from triage.store.database.migrate import migrate

ROOT = Path(__file__).parents[2]


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Service]:
    """A service whose parts a test may break."""
    ctx = context_at(tmp_path / "alone", requests_per_minute=6)
    with serving(ctx) as found:
        yield found
    ctx.close()


def states(service: Service) -> tuple[int, dict[str, str]]:
    service.app.state.triage.readiness.until = 0.0
    answer = service.get("/readyz", token=None)
    return answer.status, {part["name"]: part["state"] for part in answer.json()["parts"]}


GOOD = {
    "database": "ok", "blobs": "ok", "broker": "ok", "worker": "ok", "tokens": "ok",
    "surroundings": "ok"
}  # fmt: skip


def test_all_is_well(service: Service) -> None:
    assert service.get("/healthz", token=None).json() == {"status": "ok"}
    assert states(service) == (200, GOOD)


def away(*given: object, **more: object) -> None:
    raise Unavailable("it does not answer")


def test_without_its_database_it_lives_and_is_not_ready(
    alone: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "reading", away)
    status, parts = states(alone)
    assert (status, parts["database"], parts["worker"]) == (503, "fail", "warn")
    assert alone.get("/healthz", token=None).status == 200
    refused = alone.get("/v1/incidents")
    assert refused.status == 503
    refused.problem()
    assert refused.headers["retry-after"]
    assert b"triage_database_up 0.0" in alone.get("/metrics", token=None).body


def test_without_its_blobs_it_is_not_ready(alone: Service) -> None:
    folder = alone.ctx.settings.data_dir / "blobs"
    if folder.exists():
        folder.rename(folder.with_name("gone"))
    folder.write_bytes(b"a file where a folder was")
    status, parts = states(alone)
    assert (status, parts["blobs"], parts["database"]) == (503, "fail", "ok")


def test_a_part_that_hangs_is_not_waited_for(
    alone: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    held = threading.Event()
    monkeypatch.setattr("triage.api.readiness.PATIENCE_S", 0.2)
    monkeypatch.setattr(alone.app.state.triage.readiness.ctx.blobs, "check", held.wait)
    try:
        status, parts = states(alone)
    finally:
        held.set()
    assert (status, parts["blobs"]) == (503, "fail")


def test_an_older_database_is_not_ready(alone: Service) -> None:
    migrate(alone.ctx.database, "base")
    status, parts = states(alone)
    assert (status, parts["database"]) == (503, "fail")


def test_a_token_that_asks_too_often_is_told_when_to_come_back(alone: Service) -> None:
    alone.app.state.triage.pace.clock = lambda: 0.0
    answers = [alone.get("/v1/incidents", token="read") for _ in range(4)]
    assert answers[0].status == 200
    assert answers[-1].status == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    answers[-1].problem()
    assert alone.get("/v1/incidents", token="admin").status == 200
    for _ in range(3):
        assert alone.post("/v1/jobs/j/artifacts", b"x", token="ingest").status in {200, 201}


def test_a_poll_that_hardly_waits_is_counted_as_a_question(alone: Service) -> None:
    alone.app.state.triage.pace.clock = lambda: 0.0
    incident = alone.opened("polled")
    path = f"/v1/incidents/{incident}/suspects?wait_s=0.001"
    assert alone.get(path, token="read").status == 200
    assert [alone.get(path, token="read").status for _ in range(3)][-1] == 429


def test_wrong_tokens_are_paced_and_lock_nobody_out(alone: Service) -> None:
    alone.app.state.triage.token_lookup.failures = RateLimiter(12, clock=lambda: 0.0)
    assert alone.get("/v1/incidents", token="admin").status == 200
    wrong = {"Authorization": "Bearer triage_" + "0" * 20 + "_" + "x" * 43}
    answers = [alone.get("/v1/incidents", token=None, headers=wrong) for _ in range(3)]
    assert [answer.status for answer in answers] == [401, 401, 429]
    answers[-1].problem()
    # Who was let in lately comes in from the same address.
    alone.app.state.triage.pace.buckets.clear()
    assert alone.get("/v1/incidents", token="admin").status == 200


def test_figures_are_prometheus_text(service: Service) -> None:
    asked = {
        ("/v1/hooks/job-failed", "202"),
        ("/v1/incidents", "422"),
        ("/v1/jobs/{job_id}/artifacts", "201"),
    }
    service.opened("figures")
    service.get("/v1/incidents?limit=0")
    service.post("/v1/jobs/figures/artifacts", b"a line of a log\n")

    def counted() -> dict[str, Any]:
        """The families, once the requests are counted: they are when their answers are out."""
        text = service.get("/metrics", token=None).body.decode()
        found = {family.name: family for family in text_string_to_metric_families(text)}
        samples = {
            (s.labels["route"], s.labels["status"])
            for s in found["triage_http_requests"].samples
            if s.name.endswith("_total")
        }
        return found if samples >= asked else {}

    found = eventually(counted)
    assert found["triage_upload_bytes"].samples[0].value >= 16
    assert found["triage_database_up"].samples[0].value == 1
    assert {"triage_incidents", "triage_work", "triage_oldest_due_s"} <= set(found)
    # The fleet's gauges come when they are worked out, and have a test of their own.
    ours = [family for name, family in found.items() if not name.startswith("triage_fleet_")]
    labels = {name for family in ours for s in family.samples for name in s.labels}
    assert labels <= {"route", "method", "status", "le", "kind", "state", "result"}


@pytest.mark.parametrize(
    "sent", [None, "", "x", "Bearer", "Bearer ", "Bearer scrapf", "Bearer  scrape", "Basic scrape",
             "bearer scrap\u00e9"],
)  # fmt: skip
def test_figures_are_closed_where_a_token_is_set(service: Service, sent: str | None) -> None:
    object.__setattr__(service.ctx.settings, "metrics_token", "scrape")
    headers = {} if sent is None else {"Authorization": sent}
    try:
        refused = service.get("/metrics", token=None, headers=headers)
        admin = service.get("/metrics", token="admin")
        taken = service.get("/metrics", token=None, headers={"Authorization": "Bearer scrape"})
        alive = service.get("/healthz", token=None), service.get("/readyz", token=None)
    finally:
        object.__setattr__(service.ctx.settings, "metrics_token", "")

    assert (refused.status, admin.status, taken.status) == (401, 401, 200)
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert b"triage_" not in refused.body.replace(b"triage_metrics", b"")
    assert [one.status for one in alive] == [200, 200]
    assert service.get("/metrics", token=None).status == 200


def test_what_nobody_routes_has_one_label(service: Service) -> None:
    for number in range(5):
        service.get(f"/nowhere/{number}")

    def counted() -> str:
        text = service.get("/metrics", token=None).body.decode()
        return text if 'route="unmatched"' in text else ""

    assert "/nowhere" not in eventually(counted)


def told_of(lines: list[Any], request_id: str) -> list[Any]:
    """What the log says of the requests with that id."""
    return [
        line
        for line in lines
        if line["event"] == "request answered" and line["request_id"] == request_id
    ]


def test_the_log_says_who_asked_what_and_no_secret(service: Service) -> None:
    quiet = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("debug"))
    try:
        with structlog.testing.capture_logs() as lines:
            first, second = {"X-Request-Id": "req-1"}, {"X-Request-Id": "req-2"}
            service.get("/v1/incidents?node=secret-node", headers=first)
            service.get("/v1/incidents?token=query-secret", token=None, headers=second)
            # A line is written when its answer is out: one of an earlier test may still come.
            eventually(lambda: told_of(lines, "req-1") and told_of(lines, "req-2"))
    finally:
        structlog.configure(wrapper_class=quiet)
    [told] = told_of(lines, "req-1")
    assert told["path"] == "/v1/incidents"
    assert (told["status"], told["method"], told["request_id"]) == (200, "GET", "req-1")
    assert told["token"].startswith("key_")
    text = str(lines)
    assert "secret" not in text
    assert not any(token in text for token in service.tokens.values())


def test_the_file_in_the_repository_is_what_is_served(service: Service) -> None:
    kept = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))
    assert service.get("/openapi.json", token=None).json() == kept, (
        "python -m triage.server.openapi > docs/openapi.json"
    )


def test_the_description_is_a_valid_one(service: Service) -> None:
    from jsonschema import Draft202012Validator

    found = service.app.openapi()
    assert found["openapi"] == "3.1.0"
    for name, schema in found["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert schema.get("description"), name
    refs = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found)))
    assert refs <= set(found["components"]["schemas"])
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            statuses = set(operation["responses"])
            assert {"500", "503"} <= statuses
            if "x-scope" in operation:
                assert {"401", "403"} <= statuses
                assert operation["security"] == [{"token": []}]


def test_the_page_needs_nothing_from_elsewhere(service: Service) -> None:
    page = service.get("/docs", token=None)
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    text = page.body.decode()
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=|style=", text)
    for path in re.findall(r'(?:src|href)="(/[^"#]+)"', text):
        assert service.get(path, token=None).status == 200
    from triage.api.answers.problems import KINDS, make_slug

    for kind in KINDS:
        assert f'id="problem-{make_slug(kind.title)}">{kind.status} ' in text
    script = service.get("/docs/docs.js", token=None)
    assert script.headers["content-type"].startswith("text/javascript")
    assert "innerHTML" not in script.body.decode()
