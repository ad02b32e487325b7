"""Who may do what: every route of the OpenAPI file with every scope, one expected status a cell.

The file has to name it.
"""

import re
from typing import Any

import pytest

from tests.api.service import Service
from triage.server.application import create_app
from triage.services.tokens import create_token, revoke_token

WHO = ("nobody", "unknown", "read", "ingest", "admin")


@pytest.fixture(scope="module")
def routes(service: Service) -> list[tuple[str, str, dict[str, Any]]]:
    paths = service.app.openapi()["paths"]
    return [
        (method.upper(), path, operation)
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]


def expected(scope: str | None, who: str, routed: int) -> int:
    """The status of a request that names nothing that exists."""
    if scope is None:
        return routed
    if who in {"nobody", "unknown"}:
        return 401
    if who == "admin" or who == scope:
        return routed
    return 403


# What a request for something that is not there, or without a body, is told when it may ask.
ROUTED = {
    ("POST", "/v1/hooks/job-failed"): 400,
    ("POST", "/v1/hooks/job-ended"): 400,
    ("POST", "/v1/hooks/alertmanager"): 400,
    ("POST", "/v1/hooks/cloudevents"): 400,
    ("POST", "/v1/fleet/import"): 422,
    ("POST", "/v1/fleet/checks"): 422,
    ("GET", "/v1/fleet/checks"): 200,
    ("GET", "/v1/fleet"): 200,
    ("GET", "/v1/fleet/hardware"): 422,
    ("GET", "/v1/fleet/repairs"): 200,
    ("GET", "/v1/fleet/projection"): 422,
    ("GET", "/v1/fleet/checkpoint"): 200,
    ("GET", "/v1/fleet/spares"): 200,
    ("GET", "/v1/fleet/nodes"): 200,
    ("GET", "/v1/fleet/runs"): 200,
    ("POST", "/v1/fleet/telemetry"): 422,
    ("GET", "/v1/jobs/{job_id}/launch"): 422,  # takes no incident
    ("POST", "/v1/jobs/{job_id}/artifacts"): 404,
    ("POST", "/v1/jobs/{job_id}/bundle"): 404,
    ("GET", "/v1/incidents"): 200,
    ("GET", "/v1/problems"): 200,
    ("POST", "/v1/problems/{id}/merge"): 400,
    ("POST", "/v1/problems/{id}/split"): 400,
    ("POST", "/v1/incidents/{id}/resolution"): 404,
    ("DELETE", "/v1/incidents/{id}"): 422,
    ("DELETE", "/v1/artifacts/{id}"): 422,
    ("POST", "/v1/subscriptions"): 400,
    ("GET", "/v1/subscriptions"): 200,
    ("GET", "/v1/audit"): 200,
    ("GET", "/v1/actions"): 200,
    ("POST", "/v1/actions/{id}/{decision}"): 422,
    ("GET", "/v1/search"): 422,
    ("GET", "/healthz"): 200,
    ("GET", "/readyz"): 200,
    ("GET", "/metrics"): 200,
}


def test_every_route_with_every_scope(
    service: Service, routes: list[tuple[str, str, dict[str, Any]]]
) -> None:
    wrong = []
    for method, path, operation in routes:
        query = "?incident=inc_unknown" if "/jobs/" in path else ""
        concrete = re.sub(r"\{\w+\}", "unknown", path) + query
        for who in WHO:
            # So many wrong tokens in a row are beyond their rate.
            service.app.state.triage.token_lookup.failures.buckets.clear()
            token = {"nobody": None, "unknown": "triage_" + "0" * 20 + "_" + "a" * 43}.get(who, who)
            got = service.call(method, concrete, b"" if method == "POST" else None, token=token)
            want = expected(operation.get("x-scope"), who, ROUTED.get((method, path), 404))
            if got.status != want or str(want) not in operation["responses"]:
                wrong.append((method, path, who, got.status, want))
            if got.status >= 400:
                got.problem()
            if got.status == 401:
                assert got.headers["www-authenticate"].startswith("Bearer")
    assert wrong == []


def test_the_table_covers_the_contract(routes: list[tuple[str, str, dict[str, Any]]]) -> None:
    scopes = {(method, path): operation.get("x-scope") for method, path, operation in routes}
    assert len(scopes) == 50
    assert {path for (_, path), scope in scopes.items() if scope is None} == {
        "/healthz", "/readyz", "/metrics",
    }  # fmt: skip
    assert {path for (_, path), scope in scopes.items() if scope == "ingest"} == {
        "/v1/hooks/job-failed", "/v1/hooks/job-ended", "/v1/hooks/alertmanager",
        "/v1/hooks/cloudevents", "/v1/fleet/import",
        "/v1/fleet/checks", "/v1/fleet/telemetry",
        "/v1/jobs/{job_id}/artifacts", "/v1/jobs/{job_id}/bundle", "/v1/jobs/{job_id}/wanted",
    }  # fmt: skip
    assert {path for (_, path), scope in scopes.items() if scope == "admin"} == {
        "/v1/audit",
        "/v1/subscriptions", "/v1/subscriptions/{id}", "/v1/subscriptions/{id}/deliveries",
        "/v1/deliveries/{id}/resend",
        "/v1/artifacts/{id}", "/v1/incidents/{id}",
        "/v1/incidents/{id}/actions", "/v1/actions/{id}/{decision}",
    }  # fmt: skip


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Basic {t}", "Bearer {t} {t}", "Bearer {t}x", "{t}", "Bearer\t{t}"],
    ids=repr,
)
def test_only_a_bearer_token_is_one(service: Service, header: str) -> None:
    sent = header.replace("{t}", service.tokens["read"])
    answer = service.get("/v1/incidents", token=None, headers={"Authorization": sent})
    assert answer.status == 401
    answer.problem()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(service: Service, scheme: str) -> None:
    sent = {"Authorization": f"{scheme} {service.tokens['read']}"}
    assert service.get("/v1/incidents", token=None, headers=sent).status == 200


@pytest.mark.parametrize("key", ["token", "access_token", "api_key", "authorization"])
def test_a_token_in_the_query_is_none(service: Service, key: str) -> None:
    path = f"/v1/incidents?{key}={service.tokens['admin']}"
    assert service.get(path, token=None).status == 401


def test_a_new_token_counts_at_once_and_a_revoked_one_no_more(service: Service) -> None:
    view, token = create_token(service.ctx, "late", ["read"], "test")
    assert service.get("/v1/incidents", token=token).status == 200
    revoke_token(service.ctx, view.id, "test")
    assert service.get("/v1/incidents", token=token).status == 401


def test_a_token_of_two_scopes_has_both(service: Service) -> None:
    _, token = create_token(service.ctx, "both", ["read", "ingest"], "test")
    assert service.get("/v1/incidents", token=token).status == 200
    assert service.post("/v1/hooks/job-failed", {"job_id": "both"}, token=token).status == 202
    assert service.get("/v1/subscriptions", token=token).status == 403


def test_an_application_is_made_without_a_server(service: Service) -> None:
    assert create_app(service.ctx).openapi()["openapi"].startswith("3.1")
