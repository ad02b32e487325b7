"""The compose file: its form, and its commands, run as they stand without containers."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.servers import missing, postgres_database
from tests.support.waiting import eventually
from tests.workers.running import announce, call, environment, first_suspect, started, upload
from triage.domain.states import WorkKind
from triage.settings import FROM_FILES, Settings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("api", "worker", "notifier", "scheduler", "migrate")
VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z0-9_]+)(?::?[-?]([^}]*))?\}")
# Those that end by themselves are looked at by their status.
ONE_OFF = ("migrate", "bucket")
KEYS = {
    "build", "cap_drop", "command", "depends_on", "deploy", "entrypoint", "environment",
    "healthcheck", "image", "init", "logging", "networks", "ports", "profiles", "pull_policy",
    "read_only", "restart", "secrets", "security_opt", "shm_size", "stop_grace_period", "tmpfs",
    "user", "volumes",
}  # fmt: skip
MAKE_SECRETS = ROOT / "compose" / "make-secrets.sh"


def secrets_of(name: str) -> dict[str, str]:
    """The file of each secret of a service, by its path in the container."""
    found = {}
    for one in SERVICES[name].get("secrets", []):
        source, target = (one, one) if isinstance(one, str) else (one["source"], one["target"])
        file = VARIABLE.sub(lambda match: match[2], COMPOSE["secrets"][source]["file"])
        found[target if target.startswith("/") else f"/run/secrets/{target}"] = Path(file).name
    return found


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The folder of secrets that the script of the page makes."""
    subprocess.run(["/bin/sh", str(MAKE_SECRETS), str(tmp_path / "secrets")], check=True)
    return tmp_path / "secrets"


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
    assert 0 < limits["pids"] <= 512
    if name not in ONE_OFF:
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"
    for volume in service.get("volumes", []):
        source, _, target = volume.partition(":")
        if source.startswith("./"):
            assert (ROOT / source).is_file()
            assert target.endswith(":ro")
        else:
            assert source in COMPOSE["volumes"]
    for other, how in service.get("depends_on", {}).items():
        assert other in SERVICES
        expected = "service_completed_successfully" if other in ONE_OFF else "service_healthy"
        assert how == {"condition": expected}


def test_only_the_object_store_begins_as_root() -> None:
    as_root = {name for name, service in SERVICES.items() if "user" not in service}

    assert as_root == {"s3", "bucket"}
    assert {SERVICES[name]["user"] for name in OURS} == {"10001:10001"}


def images() -> dict[str, list[str]]:
    """Every image that an example, the compose file or the Dockerfile names, by its place."""
    found = {"docker-compose.yml": [one["image"] for one in SERVICES.values()]}
    found["Dockerfile"] = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.M)
    for path in sorted((ROOT / "examples").rglob("*.y*ml")):
        found[path.name] = re.findall(r"^\s*(?:- )?image: (\S+)", path.read_text("utf-8"), re.M)
    return found


def test_every_image_has_a_tag_and_a_digest() -> None:
    digests: dict[str, set[str]] = {}
    for place, names in images().items():
        for name in names:
            # Ours is made here, and the user's training image is the user's.
            if name == "nccl-triage:local" or name.startswith("registry.example/train:"):
                continue
            match = re.fullmatch(r"([a-z./-]+:[\w.-]+)@(sha256:[0-9a-f]{64})", name)
            assert match, f"{place}: {name} has no digest"
            digests.setdefault(match[1], set()).add(match[2])
    assert all(len(known) == 1 for known in digests.values())
    assert len(digests) >= 6


def test_a_bot_renews_the_digests() -> None:
    rules = json.loads((ROOT / "renovate.json").read_text("utf-8"))
    assert "docker:pinDigests" in rules["extends"]
    assert set(rules["enabledManagers"]) == {"dockerfile", "docker-compose"}


def test_ours_is_never_fetched_and_ports_are_of_this_machine_alone() -> None:
    for name in OURS:
        assert (SERVICES[name]["image"], SERVICES[name]["pull_policy"]) == (
            "nccl-triage:local", "build",
        )  # fmt: skip
    for service in SERVICES.values():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_stores_and_readers_reach_no_other_network() -> None:
    assert COMPOSE["networks"] == {"front": None, "data": {"internal": True}}
    beyond = {name for name, one in SERVICES.items() if one["networks"] != ["data"]}
    assert beyond == {"api", "notifier"}
    kinds = {
        name: set(SERVICES[name]["command"]) & set(WorkKind) for name in ("worker", "notifier")
    }
    assert kinds["notifier"] == {"notify", "act"}
    assert kinds["worker"] | kinds["notifier"] == set(WorkKind)
    assert not kinds["worker"] & kinds["notifier"]


def test_files_on_their_way_have_a_disk() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    (folder,) = re.findall(r"TMPDIR=(\S+)", dockerfile)
    for name in OURS:
        targets = {volume.split(":")[1] for volume in SERVICES[name]["volumes"]}
        assert {folder, SERVICES[name]["environment"]["TRIAGE_DATA_DIR"]} <= targets
        assert not any(folder.startswith(mount.split(":")[0]) for mount in SERVICES[name]["tmpfs"])


def test_the_file_holds_no_secret(made: Path) -> None:
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASS|SECRET|TOKEN|(DATABASE|BROKER)_URL", variable):
                assert variable.endswith("_FILE"), (name, variable)
                assert value in secrets_of(name), (name, variable)
    assert {file for name in SERVICES for file in secrets_of(name).values()} <= {
        path.name for path in made.iterdir()
    }
    example = (ROOT / ".env.example").read_text("utf-8")
    used = VARIABLE.findall((ROOT / "docker-compose.yml").read_text("utf-8"))
    assert {name for name, _ in used} == set(re.findall(r"^([A-Z0-9_]+)=", example, re.M))
    assert {"/.env", "/secrets/"} <= set((ROOT / ".gitignore").read_text().splitlines())


def test_nobody_has_a_secret_of_somebody_else() -> None:
    holders: dict[str, set[str]] = {}
    for name in SERVICES:
        for file in secrets_of(name).values():
            holders.setdefault(file, set()).add(name)
    assert holders["s3_root_password"] == {"s3", "bucket"}
    assert holders["postgres_password"] == {"postgres"}
    assert holders["owner_database_url"] == {"migrate"}
    assert holders["database_url"] == set(OURS) - {"migrate"}
    assert holders["redis_acl"] == {"redis"}
    assert (
        SERVICES["s3"]["environment"]["MINIO_ROOT_USER"]
        != (SERVICES["api"]["environment"]["TRIAGE_S3_ACCESS_KEY_ID"])
    )


def test_secrets_are_made_once_apart_from_others_and_never_alike(made: Path) -> None:
    before = {path.name: path.read_text() for path in made.iterdir()}
    subprocess.run(["/bin/sh", str(MAKE_SECRETS), str(made)], check=True)

    assert {path.name: path.read_text() for path in made.iterdir()} == before
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.iterdir()} == {0o444}
    plain = [text for name, text in before.items() if "url" not in name and "_" in name]
    assert len(set(plain)) == len(plain)
    for name in ("database_password", "redis_password", "s3_root_password"):
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{43}", before[name])
    assert before["database_password"] in before["database_url"]
    assert before["database_owner_password"] not in before["database_url"]


def test_the_service_has_a_user_of_the_store_with_one_bucket(made: Path, tmp_path: Path) -> None:
    """The script as it stands, with a client that notes what it is asked."""
    said = tmp_path / "said"
    (tmp_path / "mc").write_text(
        '#!/bin/sh\necho "$@" >>"$SAID"\n'
        '[ "$3" != info ] || [ ! -e "$SAID.attached" ] || echo "PolicyName: triage-packs"\n'
        '[ "$3" != attach ] || : >"$SAID.attached"\n'
    )
    (tmp_path / "mc").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SAID": str(said), "SECRETS": str(made)}
    for _ in range(2):
        subprocess.run(["/bin/sh", str(ROOT / "compose" / "bucket.sh")], env=env, check=True)

    lines = said.read_text().splitlines()
    own = (made / "s3_secret_access_key").read_text()
    assert f"admin user add store triage {own}" in lines
    assert lines.count("admin policy attach store triage-packs --user triage") == 1
    policy = json.loads((ROOT / "compose" / "bucket-policy.json").read_text("utf-8"))
    for rule in policy["Statement"]:
        assert rule["Effect"] == "Allow"
        assert not any("*" in action for action in rule["Action"])
        assert set(rule["Resource"]) <= {"arn:aws:s3:::triage", "arn:aws:s3:::triage/*"}


def test_every_setting_in_it_exists() -> None:
    for name in OURS:
        for variable in SERVICES[name]["environment"]:
            field = variable.removeprefix("TRIAGE_").lower()
            assert field in Settings.model_fields or field.removesuffix("_file") in FROM_FILES


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


@pytest.mark.parametrize("with_wheels", [False, True])
def test_the_image_takes_wheels_from_a_folder_where_there_is_one(
    tmp_path: Path, with_wheels: bool
) -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", "")
    [run] = re.findall(r"^RUN --mount=type=bind,target=/context +(.*pip install.*)$", text, re.M)
    context = tmp_path / "context"
    context.mkdir()
    if with_wheels:
        (context / "wheels").mkdir()
    pip = tmp_path / "pip"
    pip.write_text('#!/bin/sh\necho "$@"\n')
    pip.chmod(0o755)

    said = subprocess.run(
        ["sh", "-ec", run.replace("/context", str(context))], capture_output=True, text=True,
        check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    ).stdout.split()  # fmt: skip

    assert "--require-hashes" in said
    assert said[-2:] == ["-r", "requirements/server.txt"]
    assert ("--no-index" in said) is with_wheels


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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def redis_as_written(acl: Path, folder: Path) -> Iterator[int]:
    """Redis with the users of the compose file, on a port of its own."""
    program = shutil.which("redis-server")
    if program is None:
        missing("Redis", "no redis-server here")
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--aclfile", str(acl), "--save", ""]
    process = subprocess.Popen(
        [str(program), *options, "--dir", str(folder)], stdout=subprocess.DEVNULL
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(60)


def asked(port: int, *words: str, user: str | None = None, password: str = "") -> int:
    """The status of one command of redis-cli; ``words`` may hold its own options."""
    login = [] if user is None else ["--user", user, "--pass", password, "--no-auth-warning"]
    command = ["redis-cli", "-e", "-p", str(port), *login, *words]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_redis_knows_two_users_and_neither_may_administer_it(made: Path, tmp_path: Path) -> None:
    password = (made / "redis_password").read_text()
    probe = SERVICES["redis"]["healthcheck"]["test"][2:]
    with redis_as_written(made / "redis_acl", tmp_path) as port:
        eventually(lambda: asked(port, *probe) == 0)
        assert asked(port, "ping") != 0
        assert asked(port, "get", "a", user="health", password="none") != 0
        assert asked(port, "set", "a", "1", user="triage", password=password) == 0
        assert asked(port, "ping", user="triage", password="wrong") != 0
        for words in (("config", "get", "*"), ("flushall",), ("shutdown",), ("acl", "list")):
            assert asked(port, *words, user="triage", password=password) != 0


@contextmanager
def roles_as_written(made: Path, url: str) -> Iterator[tuple[str, str]]:
    """(owner's, application's) addresses of a database, by the script of the compose file."""
    import psycopg
    from psycopg import sql

    if shutil.which("psql") is None:
        missing("PostgreSQL", "no psql here")
    parts = urllib.parse.urlsplit(url)
    names = {"OWNER_ROLE": f"owner_{parts.path[-8:]}", "APP_ROLE": f"app_{parts.path[-8:]}"}
    env = {
        "PATH": os.environ["PATH"], "PGHOST": parts.hostname or "", "PGPORT": str(parts.port),
        "POSTGRES_USER": parts.username or "", "POSTGRES_DB": parts.path[1:],
        "SECRETS": str(made), **names,
    }  # fmt: skip
    script = ["/bin/sh", str(ROOT / "compose" / "postgres-roles.sh")]
    try:
        for _ in range(2):
            subprocess.run(script, env=env, check=True)
        there = f"@{parts.hostname}:{parts.port}{parts.path}"
        owner, app = (
            (made / file).read_text().strip().replace("@postgres:5432/triage", there)
            for file in ("owner_database_url", "database_url")
        )
        yield (
            owner.replace("//triage_owner:", f"//{names['OWNER_ROLE']}:"),
            app.replace("//triage_app:", f"//{names['APP_ROLE']}:"),
        )
    finally:
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as admin:
            for role in names.values():
                admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(role)))
                admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE mine (x int)", "DROP TABLE incident", "ALTER TABLE incident ADD x int",
     "TRUNCATE incident", "CREATE TEMPORARY TABLE mine (x int)", "CREATE SCHEMA mine",
     "CREATE ROLE mine", "COPY incident TO PROGRAM 'id'"],
)  # fmt: skip
def test_who_serves_changes_rows_and_no_tables(made: Path, statement: str) -> None:
    import psycopg

    with postgres_database() as url, roles_as_written(made, url) as (owner, app):
        with psycopg.connect(owner.replace("+psycopg", ""), autocommit=True) as maker:
            maker.execute("CREATE TABLE incident (id serial PRIMARY KEY)")
        with psycopg.connect(app.replace("+psycopg", ""), autocommit=True) as served:
            served.execute("INSERT INTO incident DEFAULT VALUES")
            served.execute("DELETE FROM incident")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                served.execute(statement)


def as_written(name: str) -> list[str]:
    """The command of a service; only the port is any free one, and the program this checkout's."""
    program, *rest = SERVICES[name]["command"]
    assert program == "triage"
    return ["0" if word == "8000" else word for word in rest]


def test_its_commands_run_as_they_stand_on_postgresql_redis_and_an_object_store(
    tmp_path: Path, made: Path
) -> None:
    with ExitStack() as stack:
        port = stack.enter_context(redis_as_written(made / "redis_acl", tmp_path))
        database = stack.enter_context(postgres_database())
        owner, app = stack.enter_context(roles_as_written(made, database))
        here = {
            "owner_database_url": owner,
            "database_url": app,
            "broker_redis": (made / "broker_redis")
            .read_text()
            .replace("@redis:6379", f"@127.0.0.1:{port}"),
        }
        for file, text in here.items():
            (made / file).chmod(0o600)
            (made / file).write_text(text)
        own = {
            "TRIAGE_PUBLIC_URL": "http://localhost:8000",
            "TRIAGE_DATA_DIR": str(tmp_path / "spool"),
            **stack.enter_context(bucket()),
        }
        written = SERVICES["api"]["environment"]
        assert {n for n, value in written.items() if "$" in value or "://" in value} <= {
            *own, "TRIAGE_BLOB_URL",
        }  # fmt: skip

        def environment_of(name: str) -> dict[str, str]:
            files = {path: str(made / file) for path, file in secrets_of(name).items()}
            return environment(**{n: files.get(v, v) for n, v in written.items()} | own)

        env = environment_of("api")

        def run(*arguments: str, env: dict[str, str] = env) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "triage.cli.main", *arguments]
            return subprocess.run(
                command, env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180
            )

        early = run(*as_written("api"))
        assert (early.returncode, early.stdout) == (2, "")
        assert "run `triage migrate` first" in early.stderr
        migrated = run(*as_written("migrate"), env=environment_of("migrate"))
        assert migrated.returncode == 0, migrated.stderr
        tokenless = run(*as_written("api"))
        assert tokenless.returncode == 2
        assert "there is no token yet" in tokenless.stderr
        token = run("token", "create", "--scope", "admin", "--name", "me").stdout.strip()

        api = stack.enter_context(started(*as_written("api"), log=tmp_path / "api.err", env=env))
        others = [
            stack.enter_context(started(*as_written(name), log=tmp_path / f"{name}.err", env=env))
            for name in ("worker", "notifier", "scheduler")
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
    assert ended == [0, 0, 0, 0]
    for log in tmp_path.glob("*.err"):
        assert token not in log.read_text()
        for secret in made.iterdir():
            assert secret.read_text().strip() not in log.read_text(), secret.name
