"""Secrets of every kind, sent in every way that logs come in: afterwards they are nowhere.

Looked through are the database with its journals, every frame of the blob store, the answers
of all routes, the bodies of webhooks, and the service's own log. Dumps are not cleaned: they
hold names of operations and paths of frames, and are kept as they came.
"""

import gzip
import json
import random
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from tests.hostile.log_incident import good, job_json, kernel, steps, watchdog
from tests.notify.receivers import OK, Receiver
from tests.parsers.redact.test_redact import HITS
from tests.support.waiting import eventually
from tests.system.attacked import Attacked, attacked
from tests.system.hostile_uploads import tar_of
from tests.system.wire import request

SECRETS = {gone.encode(): kind for kind, _, gone in HITS}
LINES = [text for _, text, _ in HITS]
# Where pieces are cut: by a client, by the body's reader, by what looks for secrets.
BORDERS = (1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 3 << 17, 1 << 19)


def said_by_ranks() -> bytes:
    """Errors that tell of secrets: what becomes evidence, and reasons of suspects."""
    lines = [
        f"[rank{k % 16}]: RuntimeError: storage refused the login: {text}\n"
        for k, text in enumerate(LINES)
    ]
    return (steps() + "".join(lines) + watchdog(3)).encode()


def said_by_kernel(node: str) -> bytes:
    xid = "NVRM: Xid (PCI:0000:5d:00): 79, pid=4010, name=python3, GPU has fallen off the bus."
    lines = [(-30.0 + k / 10, f"audit: cmd {text}") for k, text in enumerate(LINES)]
    return kernel(node, [*lines, (-0.4, f"{xid} {LINES[0]}")]).encode()


def across_borders(seed: int) -> bytes:
    """A log in which secrets lie across every border, a little differently for each."""
    picked = random.Random(seed)
    out = bytearray()
    for border in BORDERS:
        text = picked.choice(LINES).encode()
        lead = b"[rank1]: storage: "
        start = border - len(lead) - picked.randrange(1, len(text))
        while len(out) < start - 30:
            out += b"[rank1]: step 9 loss 2.0 ok\n"
        out += b"." * max(0, start - len(out) - 1) + b"\n" + lead + text + b"\n"
    return bytes(out)


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver(OK) as found:
        yield found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Attacked]:
    """A service to which all of it was sent, and that has analysed and told what came of it."""
    folder = tmp_path_factory.mktemp("secrets")
    settings = {"TRIAGE_WEBHOOK_ALLOW": "127.0.0.0/8", "TRIAGE_LOG_LEVEL": "debug"}
    with attacked(folder, **settings) as found:
        for kind in ("generic", "slack"):
            url = f"http://127.0.0.1:{receiver.port}/{kind}"
            answer = found.call("POST", "/v1/subscriptions", {"kind": kind, "url": url})
            assert answer.status == 201, answer.body
        plant(found)
        for incident in found.items("/v1/incidents"):
            found.settled(incident["id"])
        eventually(lambda: len(receiver.requests) >= 4)
        yield found
        assert found.faults() == []


def plant(service: Attacked) -> None:
    facts = json.loads(job_json())
    environment = {f"V{k}": text for k, text in enumerate(LINES)}
    del facts["job_id"]
    service.opened("planted", **facts | {"environment": environment, "commands": LINES})
    by_key = {"db_password": "hunter", "nested": [{"API_KEY": "hunter"}], "pgpassword": "hunter2"}
    service.opened("planted-by-key", **by_key)
    send_files(service)
    send_bundles(service, environment)
    send_alerts(service)
    send_in_heads(service)


def send(service: Attacked, path: str, body: bytes, coding: str = "") -> None:
    headers = {"Content-Encoding": coding} if coding else {}
    answer = service.call("POST", f"/v1/jobs/planted/{path}", body, headers)
    assert answer.status == 201, answer.body


def send_files(service: Attacked) -> None:
    log, node = said_by_ranks(), said_by_kernel("n1")
    send(service, "artifacts?filename=plain.log", log)
    send(service, "artifacts?filename=packed.log&node=n0", log + b"gzip\n", "")
    send(service, "artifacts?filename=coded.log", gzip.compress(log + b"coded\n"), "gzip")
    send(service, "artifacts?filename=a.gz", gzip.compress(log + b"layer\n"))
    send(service, "artifacts?filename=b.zst", zstandard.compress(log + b"zstd\n"), "zstd")
    send(service, "artifacts?filename=wide.log", log.decode().encode("utf-16"))
    send(service, "artifacts?filename=wider.log", log.decode().encode("utf-16-le"))
    send(service, "artifacts?kind=flight_recorder&rank=3&filename=x_rank_3", log + b"as a dump\n")
    send(service, "artifacts?node=n1&kind=kernel_log", node)
    for seed in range(4):
        send(service, f"artifacts?filename=border{seed}.log", across_borders(seed))
    pieces = across_borders(9)
    body = b"".join(
        b"%x\r\n%b\r\n" % (len(part), part)
        for part in (pieces[k : k + 4_099] for k in range(0, len(pieces), 4_099))
    )
    target = "/v1/jobs/planted/artifacts?filename=chunked.log"
    raw = service.raw(
        request("POST", target, "Transfer-Encoding: chunked", body=body + b"0\r\n\r\n")
    )
    assert b" 201 " in raw.splitlines()[0]


def send_bundles(service: Attacked, environment: dict[str, str]) -> None:
    files = {name: one.encode() if isinstance(one, str) else one for name, one in good().items()}
    files |= {
        "job.json": json.dumps({"environment": environment, "db_password": "hunter"}).encode(),
        "nodes/n2/kernel.log": said_by_kernel("n2"),
        "nodes/n0/job.log.gz": gzip.compress(said_by_ranks() + b"member\n"),
        "nodes/n3/job.log.zst": zstandard.compress(said_by_ranks() + b"zst member\n"),
        "late/job.log": across_borders(7),
    }
    send(service, "bundle", tar_of(files))
    send(service, "bundle?node=n7", gzip.compress(tar_of({"more.log": said_by_ranks() + b"7\n"})))


def send_alerts(service: Attacked) -> None:
    alerts = [
        {
            "status": "firing",
            "labels": {"alertname": "Failed", "job_id": "planted", "node": "n1", "x": text},
            "annotations": {"description": f"node broken: {text}", "summary": text},
            "startsAt": "2026-11-21T03:04:00Z",
            "fingerprint": f"f{k}",
        }
        for k, text in enumerate(LINES)
    ]
    body = {"version": "4", "status": "firing", "receiver": "r", "alerts": alerts}
    assert service.call("POST", "/v1/hooks/alertmanager", body).status == 202


def send_in_heads(service: Attacked) -> None:
    """Where tokens are put by mistake: queries, headers, the address itself."""
    token = next(text for kind, text, _ in HITS if kind == "triage_token").split()[-1]
    service.call("GET", f"/v1/incidents?access_token={token}")
    service.call("POST", f"/v1/jobs/planted/artifacts?token={token}", b"x")
    for name, value in (
        ("Authorization", f"Bearer {token}"), ("Authorization", "Basic dXNlcjpodW50ZXI="),
        ("X-Api-Key", token), ("Cookie", f"session={token}"), ("Referer", f"http://x/?t={token}"),
    ):  # fmt: skip
        service.call("GET", "/v1/incidents", headers={name: value})
    service.raw(request("GET", "http://user:hunter2@127.0.0.1/v1/incidents"))
    service.call("POST", "/v1/hooks/job-failed", b'{"job_id": "x", "db_password": "hunter2", ]')


def complaints(what: str, data: bytes) -> list[str]:
    """Which secrets are in it, also as UTF-16."""
    wide = data.replace(b"\0", b"") if b"\0" in data else b""
    return [f"{kind} in {what}" for gone, kind in SECRETS.items() if gone in data or gone in wide]


def test_enough_is_planted() -> None:
    assert len(SECRETS) >= 20
    assert len({kind for kind, _, _ in HITS}) >= 20
    assert complaints("here", said_by_ranks())
    assert complaints("here", said_by_ranks().decode().encode("utf-16"))


def test_no_secret_is_in_any_answer(service: Attacked) -> None:
    paths = ["/v1/incidents", "/v1/subscriptions", "/metrics", "/readyz", "/docs", "/openapi.json"]
    for incident in service.items("/v1/incidents"):
        one = f"/v1/incidents/{incident['id']}"
        paths += [one, *(f"{one}/{part}" for part in ("report", "suspects", "collectives"))]
        paths += [f"{one}/{part}?limit=500" for part in ("timeline", "artifacts", "evidence")]
    paths += [f"/v1/nodes/n{k}" for k in range(8)]
    for row in service.items("/v1/subscriptions"):
        paths.append(f"/v1/subscriptions/{row['id']}/deliveries")
    found, redacted = [], 0
    for path in paths:
        for accept in ("*/*", "text/csv", "text/markdown", "application/x-ndjson"):
            answer = service.call("GET", path, headers={"Accept": accept})
            found += complaints(f"{path} {accept}", answer.body)
            redacted += answer.body.count(b"[redacted:")
    assert found == []
    assert redacted > 20, "the reasons are there, without the secrets"


def test_no_secret_is_in_a_webhook(service: Attacked, receiver: Receiver) -> None:
    assert service.address
    found = [one for sent in receiver.requests for one in complaints("a webhook", sent)]

    assert len(receiver.requests) >= 4
    assert found == []


def test_no_secret_is_in_the_database(service: Attacked) -> None:
    data = service.folder / "data"
    found = []
    for path in data.glob("triage.db*"):
        found += complaints(path.name, path.read_bytes())
    rows = 0
    with sqlite3.connect(f"file:{data}/triage.db?mode=ro", uri=True) as database:
        tables = [
            row[0] for row in database.execute("select name from sqlite_master where type='table'")
        ]
        for table in tables:
            for row in database.execute(f'select * from "{table}"'):
                rows += 1
                for value in row:
                    found += complaints(table, plain_of(value))
    database.close()
    assert rows > 100
    assert sorted(set(found)) == []


def plain_of(value: object) -> bytes:
    """A column's value as bytes, unpacked where it is packed."""
    data = value if isinstance(value, bytes) else str(value).encode()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return unpacked(data)
    if data[:1] == b"\x78":
        try:
            return zlib.decompress(data)
        except zlib.error:
            return data
    return data


def unpacked(data: bytes) -> bytes:
    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    return bytes(reader.read())


def test_no_secret_is_in_the_blob_store(service: Attacked) -> None:
    found, plain = [], 0
    for path in (service.folder / "data").rglob("*"):
        if path.is_file() and not path.name.startswith("triage.db"):
            raw = path.read_bytes()
            found += complaints(path.name, raw)
            if raw[:4] == b"\x28\xb5\x2f\xfd":
                text = unpacked(raw)
                plain += len(text)
                found += complaints(f"{path.name}, unpacked", text)
    assert plain > 1 << 20, "the logs are there"
    assert sorted(set(found)) == []


def test_no_secret_is_in_the_service_s_log(service: Attacked) -> None:
    time.sleep(0.2)
    log = Path(service.folder / "serve.err").read_bytes()

    assert log.count(b"\n") > 30
    assert complaints("the log", log) == []


def test_what_was_redacted_is_counted(service: Attacked) -> None:
    incidents = list(service.items("/v1/incidents"))
    planted = next(one for one in incidents if one["job_id"] == "planted")
    rows = list(service.items(f"/v1/incidents/{planted['id']}/artifacts"))
    kinds = {kind for row in rows for kind in row["redacted"]}

    assert kinds >= set(SECRETS.values()) - {"private_key"}
