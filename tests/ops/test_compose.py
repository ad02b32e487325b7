"""The compose file: its form, and its commands, run as they stand without containers."""

import re
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.servers import postgres_database, redis_prefix
from tests.workers.running import announce, call, environment, first_suspect, started, upload
from triage.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("api", "worker", "scheduler", "migrate")
VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z0-9_]+)(?::?[-?][^}]*)?\}")
# Those that end by themselves are looked at by their status.
ONE_OFF = ("migrate", "bucket")
KEYS = {
    "build", "cap_drop", "command", "depends_on", "deploy", "entrypoint", "environment",
    "healthcheck", "image", "logging", "ports", "profiles", "read_only", "restart",
    "security_opt", "shm_size", "stop_grace_period", "tmpfs", "user", "volumes",
}  # fmt: skip


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded_hardened_and_looked_at(name: str) -> None:
    service = SERVICES[name]

    assert set(service) <= KEYS
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    limits = service["deploy"]["resources"]["limits"]
    assert float(limits["cpus"]) > 0
    assert re.fullmatch(r"\d+[mg]", limits["memory"])
    if name not in ONE_OFF:
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"
    for volume in service.get("volumes", []):
        assert volume.partition(":")[0] in COMPOSE["volumes"]
    for other, how in service.get("depends_on", {}).items():
        assert other in SERVICES
        expected = "service_completed_successfully" if other in ONE_OFF else "service_healthy"
        assert how == {"condition": expected}


def test_only_the_object_store_begins_as_root() -> None:
    as_root = {name for name, service in SERVICES.items() if "user" not in service}

    assert as_root == {"s3", "bucket"}
    assert {SERVICES[name]["user"] for name in OURS} == {"10001:10001"}


def test_images_are_pinned_and_ports_are_of_this_machine_alone() -> None:
    for name, service in SERVICES.items():
        if name not in OURS:
            assert re.fullmatch(r"[a-z/]+:[A-Za-z0-9.:-]*\d[A-Za-z0-9.:-]*", service["image"])
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_the_file_holds_no_secret() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASS|SECRET|KEY_ID", name):
                assert VARIABLE.fullmatch(value), name
    example = (ROOT / ".env.example").read_text("utf-8")
    for name in ("POSTGRES_PASSWORD", "S3_SECRET_ACCESS_KEY"):
        assert re.search(rf"^{name}=$", example, re.M)
    used = set(VARIABLE.findall((ROOT / "docker-compose.yml").read_text("utf-8")))
    assert used <= set(re.findall(r"^#?([A-Z0-9_]+)=", example, re.M))


def test_every_setting_in_it_exists() -> None:
    for name in OURS:
        for variable in SERVICES[name]["environment"]:
            assert variable.removeprefix("TRIAGE_").lower() in Settings.model_fields


def test_the_image_is_made_of_what_is_there_and_runs_as_nobody() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    sources = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    steps = [line.split()[0] for line in lines if re.match(r"[A-Z]+ ", line)]

    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored
    assert "USER 10001:10001" in lines
    assert steps.index("USER") < steps.index("CMD")
    assert any("--require-hashes -r requirements/server.txt" in line for line in lines)


@contextmanager
def bucket() -> Iterator[dict[str, str]]:
    """An S3-compatible store on loopback with the bucket of the compose file."""
    pytest.importorskip("moto.server", reason="moto's server stands for an S3-compatible store")
    import http.client

    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        client = http.client.HTTPConnection(host, port)
        client.request("PUT", "/triage")
        assert client.getresponse().status == 200
        client.close()
        yield {"TRIAGE_S3_ENDPOINT": f"http://{host}:{port}"}
    finally:
        server.stop()


def as_written(name: str) -> list[str]:
    """The command of a service; only the port is any free one, and the program this checkout's."""
    program, *rest = SERVICES[name]["command"]
    assert program == "triage"
    return ["0" if word == "8000" else word for word in rest]


def test_its_commands_run_as_they_stand_on_postgresql_redis_and_an_object_store(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        url, prefix = stack.enter_context(redis_prefix())
        own = {
            "TRIAGE_DATABASE_URL": stack.enter_context(postgres_database()),
            "TRIAGE_BROKER_URL": url,
            "TRIAGE_S3_ACCESS_KEY_ID": "triage",
            "TRIAGE_S3_SECRET_ACCESS_KEY": "for-this-test",
            "TRIAGE_PUBLIC_URL": "http://localhost:8000",
            "TRIAGE_DATA_DIR": str(tmp_path / "spool"),
            **stack.enter_context(bucket()),
        }
        written = SERVICES["api"]["environment"]
        assert {n for n, value in written.items() if "$" in value or "://" in value} <= {
            *own, "TRIAGE_BLOB_URL",
        }  # fmt: skip
        env = environment(**{**written, **own, "TRIAGE_QUEUE_PREFIX": prefix})

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "triage.cli.main", *arguments]
            return subprocess.run(
                command, env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180
            )

        early = run(*as_written("api"))
        assert (early.returncode, early.stdout) == (2, "")
        assert "run `triage migrate` first" in early.stderr
        migrated = run(*as_written("migrate"))
        assert migrated.returncode == 0, migrated.stderr
        tokenless = run(*as_written("api"))
        assert tokenless.returncode == 2
        assert "there is no token yet" in tokenless.stderr
        token = run("token", "create", "--scope", "admin", "--name", "me").stdout.strip()

        api = stack.enter_context(started(*as_written("api"), log=tmp_path / "api.err", env=env))
        others = [
            stack.enter_context(started(*as_written(name), log=tmp_path / f"{name}.err", env=env))
            for name in ("worker", "scheduler")
        ]
        assert api.stdout is not None
        printed = urllib.parse.urlsplit(api.stdout.readline().strip())
        assert printed.hostname == "0.0.0.0"
        address = f"http://127.0.0.1:{printed.port}"
        probe = SERVICES["api"]["healthcheck"]["test"][1:]
        probe = [word.replace("http://127.0.0.1:8000", address) for word in probe]
        assert subprocess.run([sys.executable, *probe[1:]], env=env, check=False).returncode == 0

        assert call(f"{address}/v1/incidents")[0] == 401
        incident = announce(address, "4711", token=token, expected_artifacts=8)
        taken = [upload(address, "4711", rank, token=token) for rank in range(8)]
        found = first_suspect(address, incident, token=token)
        healthy = run(*SERVICES["worker"]["healthcheck"]["test"][2:])
        for process in (*others, api):
            process.send_signal(signal.SIGTERM)
        ended = [process.wait(120) for process in (*others, api)]

    assert taken == [201] * 8
    assert found == ("ready", "n1")
    assert healthy.returncode == 0, healthy.stdout + healthy.stderr
    assert ended == [0, 0, 0]
    for log in tmp_path.glob("*.err"):
        assert token not in log.read_text()
        assert "for-this-test" not in log.read_text()
