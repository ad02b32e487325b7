"""Uploads through HTTP: kept once and whole, or not at all."""

import base64
import bz2
import gzip
import hashlib
import http.client
import io
import lzma
import socket
import tarfile
import threading
from collections.abc import Iterator

import pytest
import zstandard

from tests.api.service import Service, context_at, serving
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.waiting import eventually

LOG = b"Nov 21 03:14:15 n3 kernel: NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"
DUMP = (GPU_LOST / "fr" / "comm_lib_trace_rank_0").read_bytes()
TINY = 4096


def request_head(service: Service, path: str, *headers: str) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {service.tokens['ingest']}",
        *headers, "", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode()


def answer_of(connection: socket.socket) -> bytes:
    connection.settimeout(60)
    got = b""
    while b"\r\n\r\n" not in got and (part := connection.recv(65536)):
        got += part
    return got


def send(service: Service, job: str, body: bytes, query: str = "", **more: object):
    return service.post(f"/v1/jobs/{job}/artifacts{query}", body, token="ingest", **more)


def test_a_file_is_kept_once(service: Service) -> None:
    first = send(service, "once", LOG, "?node=n3&filename=kernel.log")
    again = send(service, "once", LOG, "?node=n3&filename=kernel.log")
    assert (first.status, again.status) == (201, 200)
    found = first.json()
    assert again.json() == found
    assert found["sha256"] == hashlib.sha256(LOG).hexdigest()
    assert (found["bytes"], found["kind"], found["node"]) == (len(LOG), "kernel_log", "n3")
    assert first.headers["location"] == f"/v1/incidents/{found['incident_id']}/artifacts"


def test_the_rank_of_a_dump_comes_from_its_name_or_the_query(service: Service) -> None:
    named = send(service, "ranks", DUMP, "?filename=comm_lib_trace_rank_7").json()
    asked = send(service, "ranks", DUMP, "?rank=0000012").json()
    assert (named["kind"], named["rank"], asked["rank"]) == ("flight_recorder", 7, 12)


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "identity"])
def test_a_content_encoding_changes_nothing(service: Service, encoding: str) -> None:
    packed = {
        "gzip": gzip.compress(LOG), "zstd": zstandard.compress(LOG), "identity": LOG,
    }[encoding]  # fmt: skip
    answer = send(service, f"coded-{encoding}", packed, headers={"Content-Encoding": encoding})
    assert answer.status == 201
    assert answer.json()["sha256"] == hashlib.sha256(LOG).hexdigest()


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("br", LOG, 415),
        ("gzip", LOG, 422),
        ("zstd", LOG, 422),
        ("gzip", gzip.compress(LOG)[:-9], 422),
    ],
    ids=["unknown", "no gzip", "no zstd", "cut"],
)
def test_a_lying_content_encoding_is_refused(
    service: Service, encoding: str, body: bytes, status: int
) -> None:
    before = service.stored_files()
    answer = send(service, "lies", body, headers={"Content-Encoding": encoding})
    assert answer.status == status
    answer.problem()
    assert service.stored_files() == before


def test_a_bomb_is_refused_and_leaves_nothing(service: Service) -> None:
    before = service.stored_files()
    bomb = zstandard.compress(bytes(300 << 20))
    answer = send(service, "bomb", bomb, headers={"Content-Encoding": "zstd"})
    assert answer.status == 413
    answer.problem()
    assert service.stored_files() == before


def test_a_bundle_says_what_became_of_each_file(service: Service) -> None:
    job = files_of(GPU_LOST)
    answer = service.post("/v1/jobs/whole/bundle", tar_of(job), token="ingest")
    assert answer.status == 201
    members = answer.json()["artifacts"]
    assert {one["member"] for one in members} == set(job)
    assert {one["status"] for one in members} == {201}
    again = service.post("/v1/jobs/whole/bundle", tar_of(job), token="ingest")
    assert again.status == 200
    assert {one["status"] for one in again.json()["artifacts"]} == {200}


def test_a_bundle_with_a_way_out_is_refused_as_a_whole(service: Service) -> None:
    before = service.stored_files()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        info = tarfile.TarInfo("../../evil")
        info.size = len(LOG)
        tar.addfile(info, io.BytesIO(LOG))
    answer = service.post("/v1/jobs/evil/bundle", data.getvalue(), token="ingest")
    assert answer.status == 422
    answer.problem()
    assert service.stored_files() == before


@pytest.mark.parametrize(
    ("raw", "job"),
    [
        ("a%2Fb", "a/b"),
        ("a%2fb%2F", "a/b/"),
        ("..%2F..", "../.."),
        ("a%20b", "a b"),
        ("%E4%BD%9C%E4%B8%9A", "作业"),
        ("a+b", "a+b"),
        ("100%25", "100%"),
        ("a%3Fb%23c", "a?b#c"),
    ],
)
def test_a_name_in_the_path_is_taken_as_it_is(service: Service, raw: str, job: str) -> None:
    answer = send(service, raw, LOG)
    assert answer.status == 201
    found = service.get(f"/v1/incidents/{answer.json()['incident_id']}").json()
    assert found["job_id"] == job


@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", "%00", "a%0Ab", "%3Cscript%3E"])
def test_a_hostile_file_name_is_only_a_name(service: Service, name: str) -> None:
    answer = send(service, "names", LOG + name.encode(), f"?filename={name}")
    assert answer.status == 201
    root = service.ctx.settings.data_dir
    assert all(path.is_relative_to(root) for path in service.stored_files())


def test_the_same_hook_then_its_upload_address(service: Service) -> None:
    body = {"job_id": "a/b c", "failed_at": "2026-11-21T03:14:15Z"}
    opened = service.post("/v1/hooks/job-failed", body, token="ingest").json()
    incident = opened["incident"]["id"]
    assert opened["upload_url"] == f"/v1/jobs/a%2Fb%20c/bundle?incident={incident}"
    answer = service.post(opened["upload_url"], tar_of({"x.log": LOG}), token="ingest")
    assert answer.json()["incident_id"] == incident


def test_chunks_of_any_size_are_one_body(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    headers = {"Authorization": f"Bearer {service.tokens['ingest']}"}
    chunks = (DUMP[i : i + 997] for i in range(0, len(DUMP), 997))
    try:
        connection.request(
            "POST", "/v1/jobs/chunks/artifacts?rank=0", chunks, headers, encode_chunked=True
        )
        answer = connection.getresponse()
        assert answer.status == 201
        assert hashlib.sha256(DUMP).hexdigest().encode() in answer.read()
    finally:
        connection.close()


def test_a_longer_content_length_is_refused_before_the_body(service: Service) -> None:
    over = service.ctx.settings.max_artifact_bytes + 1
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(request_head(service, "/v1/jobs/j/artifacts", f"Content-Length: {over}"))
        assert answer_of(connection).startswith(b"HTTP/1.1 413 ")


def test_who_asks_first_is_not_told_to_go_on(service: Service) -> None:
    over = service.ctx.settings.max_bundle_bytes + 1
    head = request_head(
        service, "/v1/jobs/j/bundle", f"Content-Length: {over}", "Expect: 100-continue"
    )
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head)
        assert answer_of(connection).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("path", ["/v1/jobs/cut/artifacts?node=n0", "/v1/jobs/cut/bundle"])
def test_a_body_cut_off_leaves_nothing(service: Service, path: str) -> None:
    before = service.stored_files()
    body = tar_of({"a.log": LOG * 1000}) if "bundle" in path else LOG * 1000
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(request_head(service, path, f"Content-Length: {len(body)}"))
        connection.sendall(body[:-100])
        connection.shutdown(socket.SHUT_WR)
        answer_of(connection)
    eventually(lambda: not service.app.state.triage.gate.active)
    assert service.stored_files() == before
    assert service.get("/v1/incidents?job_id=cut").json()["items"] == []


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("name", ["sha-256", "sha-512"])
@pytest.mark.parametrize("route", ["artifacts", "bundle"])
def test_a_content_digest_is_held_against_the_body(
    service: Service, route: str, name: str, right: bool
) -> None:
    body = LOG if route == "artifacts" else tar_of({"a.log": LOG})
    digest = hashlib.new(name.replace("-", ""), body if right else b"other").digest()
    before = service.stored_files()
    job_id = f"digest-{route}-{name}-{right}"
    header = f"unknown=:AAAA:, {name}=:{base64.b64encode(digest).decode()}:"
    answer = service.post(
        f"/v1/jobs/{job_id}/{route}", body, token="ingest", headers={"Content-Digest": header}
    )
    assert answer.status == (201 if right else 400)
    if not right:
        [error] = answer.problem()["errors"]
        assert (error["in"], error["parameter"]) == ("header", "Content-Digest")
        assert service.stored_files() == before
        assert service.get(f"/v1/incidents?job_id={job_id}").json()["items"] == []


def test_a_file_for_another_jobs_incident_is_refused(service: Service) -> None:
    incident = service.opened("mine")
    answer = send(service, "yours", LOG, f"?incident={incident}")
    assert answer.status in {404, 409, 422}
    answer.problem()


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ctx = context_at(
        tmp_path_factory.mktemp("narrow"), max_uploads=1, max_waiting=1,
        max_artifact_bytes=TINY, max_dump_bytes=TINY, max_bundle_bytes=TINY,
        body_grace_s=600, body_idle_s=600,
    )  # fmt: skip
    with serving(ctx) as found:
        yield found
    ctx.close()


def test_what_is_beyond_the_queue_is_sent_away_unread(narrow: Service) -> None:
    held = [socket.create_connection(("127.0.0.1", narrow.port)) for _ in range(2)]
    gate = narrow.app.state.triage.gate
    try:
        for number, connection in enumerate(held, start=1):
            length = f"Content-Length: {len(LOG)}"
            connection.sendall(request_head(narrow, "/v1/jobs/queue/artifacts", length))
            eventually(lambda number=number: gate.active + gate.waiting == number)
        answer = send(narrow, "queue", LOG)
        assert answer.status == 503
        answer.problem()
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        # Reads, hooks and figures are answered meanwhile.
        assert narrow.get("/v1/incidents").status == 200
        assert narrow.post("/v1/hooks/job-failed", {"job_id": "meanwhile"}).status == 202
        for connection, status in zip(held, (b"201", b"200"), strict=True):
            connection.sendall(LOG)
            assert answer_of(connection).split()[1] == status
    finally:
        for connection in held:
            connection.close()
    assert (gate.active, gate.waiting) == (0, 0)


@pytest.mark.parametrize("path", ["/v1/jobs/big/artifacts", "/v1/jobs/big/bundle"])
def test_a_chunked_body_over_the_limit_is_refused(narrow: Service, path: str) -> None:
    before = narrow.stored_files()
    connection = http.client.HTTPConnection("127.0.0.1", narrow.port, timeout=60)
    headers = {"Authorization": f"Bearer {narrow.tokens['ingest']}"}
    try:
        connection.request("POST", path, iter([bytes(1000)] * 10), headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    finally:
        connection.close()
    assert narrow.stored_files() == before


def test_what_is_packed_further_leaves_no_secret_anywhere(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Neither packed nor plain: not in a blob, the database, a spool or an answer."""
    secret = b"HF_TOKEN=hf_" + b"aB3dE6gH9j" * 4
    packed = {
        "twice.log.gz.gz": gzip.compress(gzip.compress(LOG + secret)),
        "xz.log.xz.gz": gzip.compress(lzma.compress(LOG + secret)),
        "bz2.log.bz2.bz2": bz2.compress(bz2.compress(LOG + secret)),
    }
    ctx = context_at(tmp_path_factory.mktemp("packed"))
    with serving(ctx) as alone:
        for name, body in packed.items():
            answer = send(alone, "packed", body, f"?node=n0&filename={name}")
            assert answer.status == 422
            assert "gzip, zstd, xz or bzip2" in answer.problem()["hint"]
        assert alone.stored_files() == []
        body = tar_of({"nodes/n1/kernel.log": LOG + secret, **packed})
        answer = alone.post("/v1/jobs/packed/bundle", body, token="ingest")
        assert answer.status == 201
        told = {one["member"]: one["status"] for one in answer.json()["artifacts"]}
        assert told == {"nodes/n1/kernel.log": 201, **dict.fromkeys(packed, 422)}
    ctx.close()
    files = [path for path in ctx.settings.data_dir.rglob("*") if path.is_file()]
    assert len(files) >= 2
    for path in files:
        content = path.read_bytes()
        assert secret not in content, path
        for name, body in packed.items():
            assert body[20:-20] not in content, (path, name)


def test_many_at_once_are_all_kept_once(service: Service) -> None:
    results: list[int] = []

    def one(number: int) -> None:
        results.append(send(service, "many", LOG * (1 + number % 8), f"?node=n{number % 8}").status)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200] * 24 + [201] * 8
