"""Every refusal is a problem document that says where and what next."""

import http.client
import json
import socket

import pytest
import structlog

from tests.api.service import Service

JOB = {"job_id": "4711"}
DEEP = b"[" * 100_000

WRONG_BODIES = [
    ("nothing", b"", 400),
    ("blanks", b" \n", 400),
    ("no JSON", b"{", 400),
    ("two values", b"{}{}", 400),
    ("a key twice", b'{"job_id": "1", "job_id": "2"}', 400),
    ("a key twice inside", b'{"job_id": "1", "x": {"a": 1, "a": 2}}', 400),
    ("NaN", b'{"job_id": "1", "x": NaN}', 400),
    ("Infinity", b'{"job_id": "1", "x": -Infinity}', 400),
    ("a number beyond floats", b'{"job_id": "1", "x": 1e999}', 400),
    ("no UTF-8", b'{"job_id": "\xff"}', 400),
    ("UTF-16", '{"job_id": "1"}'.encode("utf-16"), 400),
    ("very deep", DEEP, 400),
    ("too deep objects", b'{"a":' * 70 + b"1" + b"}" * 70, 400),
    ("multipart", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--', 400),
    ("a list", b"[]", 422),
    ("a text", b'"4711"', 422),
    ("null", b"null", 422),
    ("no job", b"{}", 422),
    ("job null", b'{"job_id": null}', 422),
    ("job empty", b'{"job_id": ""}', 422),
    ("job a list", b'{"job_id": ["1"]}', 422),
    ("job a float", b'{"job_id": 1.5}', 422),
    ("job true", b'{"job_id": true}', 422),
    ("job with a newline", b'{"job_id": "a\\nb"}', 422),
    ("job with NUL", b'{"job_id": "a\\u0000"}', 422),
    ("job with C1", b'{"job_id": "a\\u0085"}', 422),
    ("job too long", json.dumps({"job_id": "a" * 257}).encode(), 422),
]
# An alarm is not lost for a field.
WRONG_FIELDS = [
    ("time without zone", "failed_at", b'{"job_id": "1", "failed_at": "2026-11-21T03:14:15"}'),
    ("no such day", "failed_at", b'{"job_id": "1", "failed_at": "2026-02-30T03:14:15Z"}'),
    ("time a list", "started_at", b'{"job_id": "1", "started_at": []}'),
    ("expected negative", "expected_artifacts", b'{"job_id": "1", "expected_artifacts": -1}'),
    ("expected half", "expected_artifacts", b'{"job_id": "1", "expected_artifacts": 1.5}'),
    ("expected true", "expected_artifacts", b'{"job_id": "1", "expected_artifacts": true}'),
    (
        "expected huge",
        "expected_artifacts",
        b'{"job_id": "1", "expected_artifacts": 9e22}',
    ),
    ("within 0", "collect_within_s", b'{"job_id": "1", "collect_within_s": 0}'),
    ("within a text", "collect_within_s", b'{"job_id": "1", "collect_within_s": "5"}'),
    ("callback a number", "callback_url", b'{"job_id": "1", "callback_url": 5}'),
    (
        "callback to metadata",
        "callback_url",
        b'{"job_id": "1", "callback_url": "https://169.254.169.254/"}',
    ),
    ("callback by file", "callback_url", b'{"job_id": "1", "callback_url": "file:///etc/passwd"}'),
    ("host list open", "nodelist", b'{"job_id": "1", "nodelist": "gpu[1-"}'),
    ("host list bomb", "nodelist", b'{"job_id": "1", "nodelist": "a[0-999999999]"}'),
    ("host list product", "nodelist", b'{"job_id": "1", "nodelist": "a[0-999]b[0-999]c[0-999]"}'),
]


@pytest.mark.parametrize(
    ("body", "status"), [w[1:] for w in WRONG_BODIES], ids=[w[0] for w in WRONG_BODIES]
)
def test_a_wrong_body_of_job_failed(service: Service, body: bytes, status: int) -> None:
    answer = service.post("/v1/hooks/job-failed", body, token="ingest")
    problem = answer.problem()
    assert answer.status == status, problem
    if status == 422:
        assert problem["errors"]


@pytest.mark.parametrize(
    ("field", "body"), [w[1:] for w in WRONG_FIELDS], ids=[w[0] for w in WRONG_FIELDS]
)
def test_a_field_that_cannot_be_read_is_left_out_and_named(
    service: Service, field: str, body: bytes
) -> None:
    answer = service.post("/v1/hooks/job-failed", body, token="ingest")
    assert answer.status == 202
    [ignored] = answer.json()["ignored"]
    assert ignored["field"] == field
    assert ignored["why"]


def test_all_fields_that_cannot_be_read_are_named_at_once(service: Service) -> None:
    wrong = {"failed_at": "soon", "expected_artifacts": -1, "collect_within_s": -1}
    answer = service.post("/v1/hooks/job-failed", {"job_id": "1", **wrong})
    assert {one["field"] for one in answer.json()["ignored"]} == set(wrong)
    problem = service.post("/v1/hooks/job-failed", {"job_id": [], **wrong}).problem()
    assert [one["pointer"] for one in problem["errors"]] == ["#/job_id"]
    assert problem["hint"]


@pytest.mark.parametrize(
    ("method", "path", "status", "parameter"),
    [
        ("GET", "/v1/incidents?limit=0", 422, "limit"),
        ("GET", "/v1/incidents?limit=501", 422, "limit"),
        ("GET", "/v1/incidents?limit=1_0", 422, "limit"),
        ("GET", "/v1/incidents?limit=%D9%A3", 422, "limit"),
        ("GET", "/v1/incidents?limit=", 422, "limit"),
        ("GET", "/v1/incidents?limit=5&limit=6", 422, "limit"),
        ("GET", "/v1/incidents?limits=5", 422, "limits"),
        ("GET", "/v1/incidents?state=done", 422, "state"),
        ("GET", "/v1/incidents?state=READY", 422, "state"),
        ("GET", "/v1/incidents?category=gpus", 422, "category"),
        ("GET", "/v1/incidents?since=yesterday", 422, "since"),
        ("GET", "/v1/incidents?since=2026-11-21T00:00:00", 422, "since"),
        ("GET", "/v1/incidents?since=1732147200", 422, "since"),
        ("GET", "/v1/incidents?node=", 422, "node"),
        ("GET", "/v1/incidents?node=a%00b", 422, "node"),
        ("GET", "/v1/incidents?node=a%0Ab", 422, "node"),
        ("GET", "/v1/incidents?job_id=" + "a" * 257, 422, "job_id"),
        ("GET", "/v1/incidents?node=%FF", 422, ""),
        ("GET", "/v1/incidents?cursor=abc", 422, "cursor"),
        ("GET", "/v1/incidents?cursor=", 422, "cursor"),
        ("GET", "/v1/incidents?cursor=" + "A" * 600, 422, "cursor"),
        ("GET", "/v1/incidents/inc_x/suspects?wait_s=-1", 422, "wait_s"),
        ("GET", "/v1/incidents/inc_x/suspects?wait_s=nan", 422, "wait_s"),
        ("GET", "/v1/incidents/inc_x/suspects?wait_s=inf", 422, "wait_s"),
        ("GET", "/v1/incidents/inc_x/suspects?wait_s=1e", 422, "wait_s"),
        ("GET", "/v1/incidents/inc_x/evidence?role=guilty", 422, "role"),
        ("GET", "/v1/incidents/inc_x/evidence?kind=xids", 422, "kind"),
        ("POST", "/v1/jobs/j/artifacts?rank=-1", 422, "rank"),
        ("POST", "/v1/jobs/j/artifacts?rank=12345678", 422, "rank"),
        ("POST", "/v1/jobs/j/artifacts?rank=%D9%A3", 422, "rank"),
        ("POST", "/v1/jobs/j/artifacts?rank=1.0", 422, "rank"),
        ("POST", "/v1/jobs/j/artifacts?rank=", 422, "rank"),
        ("POST", "/v1/jobs/j/artifacts?kind=dump", 422, "kind"),
        ("POST", "/v1/jobs/j/artifacts?node=" + "n" * 257, 422, "node"),
        ("POST", "/v1/jobs/j/artifacts?nodes=n0", 422, "nodes"),
        ("POST", "/v1/jobs/a%0Ab/artifacts", 422, "job_id"),
        ("POST", "/v1/jobs/a%00b/bundle", 422, "job_id"),
        ("POST", "/v1/jobs/%FF/bundle", 422, "job_id"),
        ("POST", "/v1/jobs/" + "j" * 257 + "/bundle", 422, "job_id"),
        ("GET", "/v1/nodes/a%09b", 422, "node"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(
    service: Service, method: str, path: str, status: int, parameter: str
) -> None:
    answer = service.call(method, path, b"x" if method == "POST" else None)
    problem = answer.problem()
    assert answer.status == status
    assert [one["parameter"] for one in problem["errors"]] == [parameter]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing-here", 404),
        ("GET", "/v2/incidents", 404),
        ("GET", "/v1/incidents/", 404),
        ("GET", "/v1/incidents//report", 404),
        ("GET", "/v1/incidents/inc_0", 404),
        ("GET", "/v1/incidents/%00", 404),
        ("GET", "/v1/incidents/%FF", 404),
        ("GET", "/v1/incidents/..%2F..%2Fetc%2Fpasswd", 404),
        ("GET", "/v1/incidents/" + "a" * 5000, 404),
        ("GET", "/v1/incidents/'%20OR%201=1--", 404),
        ("GET", "/v1/nodes/never-seen", 404),
        ("GET", "/v1/nodes/a%2F..%2Fb", 404),
        ("POST", "/v1/jobs//bundle", 404),
        ("POST", "/v1/jobs/a/b/bundle", 404),
        ("POST", "/v1/jobs/j/bundle?incident=inc_00000000000000000000", 404),
        ("POST", "/v1/jobs/j/bundle?incident=", 404),
        ("POST", "/v1/deliveries/msg_0/resend", 404),
        ("DELETE", "/v1/subscriptions/sub_0", 404),
        ("DELETE", "/v1/incidents", 405),
        ("PUT", "/v1/hooks/job-failed", 405),
        ("GET", "/v1/hooks/job-failed", 405),
        ("HEAD", "/v1/hooks/job-failed", 405),
        ("OPTIONS", "/v1/incidents", 405),
        ("TRACE", "/healthz", 405),
        ("BREW", "/healthz", 405),
        ("PATCH", "/v1/subscriptions", 405),
    ],
)
def test_what_is_not_there(service: Service, method: str, path: str, status: int) -> None:
    answer = service.call(method, path, b"x" if method == "POST" else None)
    assert answer.status == status
    if method != "HEAD":
        answer.problem()
    if status == 405:
        assert answer.headers["allow"]


def test_allow_names_all_methods(service: Service) -> None:
    assert service.call("PATCH", "/v1/subscriptions").headers["allow"] == "GET, HEAD, POST"
    assert service.call("PATCH", "/v1/subscriptions/x").headers["allow"] == "DELETE"


def test_a_hook_longer_than_its_limit_is_refused_unread(service: Service) -> None:
    limit = service.ctx.settings.max_hook_bytes
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(
            b"POST /v1/hooks/job-failed HTTP/1.1\r\nHost: x\r\n"
            + f"Authorization: Bearer {service.tokens['ingest']}\r\n".encode()
            + f"Content-Length: {limit + 1}\r\n\r\n".encode()
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_chunked_hook_longer_than_its_limit_is_refused(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    chunks = (b"[" + b" " * 65536 for _ in range(40))
    headers = {"Authorization": f"Bearer {service.tokens['ingest']}"}
    try:
        connection.request(
            "POST", "/v1/hooks/alertmanager", chunks, headers, encode_chunked=True
        )  # fmt: skip
        answer = connection.getresponse()
        assert answer.status == 413
    finally:
        connection.close()


def test_a_packed_hook_is_refused_with_a_hint(service: Service) -> None:
    answer = service.post("/v1/hooks/job-failed", b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert answer.status == 415
    assert "Content-Encoding" in answer.problem()["hint"]


def test_an_error_of_ours_tells_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **more: object) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr("triage.api.routers.incidents.incidents.list_incidents", broken)
    answer = service.get("/v1/incidents")
    assert answer.status == 500
    problem = answer.problem()
    assert b"secret" not in answer.body
    assert problem["type"] == "/docs#problem-internal-error"


def test_headers_of_every_answer(service: Service) -> None:
    for path in ("/healthz", "/v1/incidents", "/nowhere", "/v1/incidents?limit=0", "/metrics"):
        headers = service.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize(
    ("given", "kept"), [("a.b-c_1", True), ("a b", False), ("x" * 65, False), ("<script>", False)]
)
def test_the_request_id_is_the_senders_if_it_is_harmless(
    service: Service, given: str, kept: bool
) -> None:
    answer = service.get("/healthz", headers={"X-Request-Id": given})
    assert (answer.headers["x-request-id"] == given) is kept
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://proxy.example/healthz", 200),
        ("HTTPS://127.0.0.1:8000/healthz", 200),
        ("http://[::1]:80/v1/incidents?limit=1", 200),
        ("http://x/v1/incidents?limit=0", 422),
        ("http://x/nowhere", 404),
        ("http:///healthz", 404),
        ("ftp://x/healthz", 404),
        ("/http://x/healthz", 404),
    ],
)
def test_a_target_may_name_the_server(service: Service, target: str, status: int) -> None:
    answer = service.get(target)
    assert answer.status == status
    if target.startswith("http://x"):
        assert answer.problem()["instance"] == target.removeprefix("http://x").partition("?")[0]


def test_a_target_that_names_the_server_alone_is_its_root(service: Service) -> None:
    wanted = service.get("/").status
    for target in ("http://x", "http://x/", "http://x?limit=1"):
        assert service.get(target).status == wanted


def test_the_request_id_of_a_refusal_stands_in_its_document(service: Service) -> None:
    found = service.get("/v1/incidents?limit=0", headers={"X-Request-Id": "mine-7"})
    assert found.problem()["request_id"] == found.headers["x-request-id"] == "mine-7"
    ours = {service.get("/healthz").headers["x-request-id"] for _ in range(3)}
    assert len(ours) == 3


def test_all_log_lines_of_a_request_bear_its_id(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound: list[object] = []

    def listing(*_given: object, **_more: object) -> None:
        bound.append(structlog.contextvars.get_contextvars().get("request_id"))
        raise RuntimeError

    monkeypatch.setattr("triage.api.routers.incidents.incidents.list_incidents", listing)
    for number in range(3):
        service.get("/v1/incidents", headers={"X-Request-Id": f"bound-{number}"})
    service.get("/v1/incidents", headers={"X-Request-Id": "not harmless"})
    assert bound[:3] == ["bound-0", "bound-1", "bound-2"]
    assert bound[3] not in {None, "bound-2", "not harmless"}


def test_head_is_get_without_the_body(service: Service) -> None:
    got, head = service.get("/v1/incidents"), service.call("HEAD", "/v1/incidents")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
