"""The commands of the service: what they refuse, what they print, what they need."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.cli.main import main
from triage.cli.service import lock_data_dir
from triage.server.context import open_context
from triage.services.tokens import check_token
from triage.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ROOT / "migrations" / "versions"
SERVICE = ("serve", "worker", "scheduler", "migrate", "token", "prune", "doctor")
# What an installation without the extras lacks.
FOREIGN = (
    "alembic", "celery", "fastapi", "kombu", "obstore", "prometheus_client", "psycopg",
    "pydantic_settings", "redis", "sqlalchemy", "starlette", "structlog", "uvicorn",
)  # fmt: skip
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, on a data directory of its own: status, stdout, stderr."""
    import logging

    monkeypatch.setenv("TRIAGE_DATA_DIR", str(tmp_path / "data"))
    root = logging.getLogger()
    before = root.level, list(root.handlers)

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        said = capsys.readouterr()
        return status, said.out, said.err

    yield call
    root.setLevel(before[0])
    root.handlers = before[1]


def without_extras(code: str) -> subprocess.CompletedProcess[str]:
    """Run code where the packages of the service cannot be imported."""
    guard = (
        "import sys\n"
        f"missing = {FOREIGN!r}\n"
        "class Guard:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in missing:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Guard())\n"
    )
    return subprocess.run(
        [sys.executable, "-c", guard + code], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_library_alone_analyses_and_says_what_the_service_needs() -> None:
    analysed = without_extras(
        "from triage.cli.main import main\n"
        "sys.exit(main(['analyze', 'examples/stuck-job', '--format', 'json']))"
    )
    served = without_extras("from triage.cli.main import main\nsys.exit(main(['serve']))")

    assert analysed.returncode == 0, analysed.stderr
    assert json.loads(analysed.stdout)["suspects"][0]["node"] == "n1"
    assert served.returncode == 2
    assert 'pip install "nccl-triage[server]"' in served.stderr
    assert served.stdout == ""


@pytest.mark.parametrize(
    "command",
    [["worker"], ["scheduler"], ["migrate"], ["doctor"], ["prune"], ["token", "list"],
     ["token", "create", "--scope", "read", "--name", "x"]],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_every_command_of_the_service_says_so(command: list[str]) -> None:
    from triage.cli.extras import require_service_packages
    from triage.errors import UsageError

    with pytest.raises(UsageError, match=r"nccl-triage\[redis\]"), require_service_packages():
        raise ModuleNotFoundError("no redis", name="redis.client")
    with pytest.raises(UsageError, match="checkout or from the image"), require_service_packages():
        raise ModuleNotFoundError("no workers", name="workers.worker")
    with pytest.raises(ModuleNotFoundError), require_service_packages():
        raise ModuleNotFoundError("ours", name="triage.nothing")
    assert command[0] in SERVICE


def test_help_names_every_command_without_loading_the_service() -> None:
    code = (
        "import sys\nfrom triage.cli.main import main\nmain(['--help'])\n"
        f"print(sorted(set(sys.modules) & set({FOREIGN!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    for name in SERVICE:
        assert re.search(rf"^  {name}\b", done.stdout, re.M)
    assert done.stdout.rstrip().endswith("[]")


def test_a_token_stands_alone_on_stdout_and_its_database_is_made(run: Run, tmp_path: Path) -> None:
    status, out, err = run("token", "create", "--scope", "ingest", "--name", "epilogue")

    assert status == 0
    assert re.fullmatch(r"triage_[0-9a-z]{20}_[A-Za-z0-9_-]{43}\n", out)
    assert out.strip() not in err
    ctx = open_context(Settings(data_dir=tmp_path / "data"))
    found = check_token(ctx, out.strip())
    ctx.close()
    assert found is not None
    assert found.scopes == {"ingest"}


def test_a_token_is_listed_without_its_secret_and_revoked(run: Run) -> None:
    _, token, _ = run(
        "token", "create", "--scope", "read", "--name", "a\x1b[31m b", "--expires-days", "1"
    )
    _, listed, _ = run("token", "list")
    key_id = listed.split()[0]

    assert token.strip() not in listed
    assert "\x1b" not in listed
    assert "until 2" in listed
    assert run("token", "revoke", key_id)[0] == 0
    assert "revoked" in run("token", "list")[1]
    status, out, err = run("token", "revoke", "key_of_nobody")
    assert (status, out) == (2, "")
    assert "there is no token key_of_nobody" in err


@pytest.mark.parametrize(
    ("options", "days"),
    [
        ("--scope ingest", 365),
        ("--scope ingest --scope read", 365),
        ("--scope read", None),
        ("--scope admin", None),
        ("--scope admin --scope ingest", None),
        ("--scope ingest --expires-days 0", None),
        ("--scope ingest --expires-days 7.5", 7.5),
    ],
)
def test_a_token_that_sends_ends_within_a_year_unless_somebody_says(
    run: Run, tmp_path: Path, options: str, days: float | None
) -> None:
    _, token, _ = run("token", "create", "--name", "x", *options.split())
    ctx = open_context(Settings(data_dir=tmp_path / "data"))
    found = check_token(ctx, token.strip())
    ctx.close()

    assert found is not None
    ends = None if found.expires_at is None else found.expires_at - found.created_at
    assert (ends is None) == (days is None)
    assert ends is None or abs(ends.total_seconds() - (days or 0) * 86_400) < 3_600


def test_a_token_keeps_its_bounds(run: Run, tmp_path: Path) -> None:
    bounds = "--cluster a --node-pattern gpu-0[0-4]* --job 4711"
    _, token, _ = run("token", "create", "--scope", "ingest", "--name", "x", *bounds.split())
    ctx = open_context(Settings(data_dir=tmp_path / "data"))
    found = check_token(ctx, token.strip())
    ctx.close()

    assert found is not None
    assert (found.cluster, found.node_pattern, found.job_id) == ("a", "gpu-0[0-4]*", "4711")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *[
            (["token", "create", "--name", "x", *options.split()], words)
            for options, words in {
                "--scope ingest --cluster \x1b": "--cluster needs a name",
                "--scope ingest --node-pattern a/b": "--node-pattern needs",
                "--scope ingest --job \x00": "--job needs a name",
                "--scope admin --cluster a": "reaches everything",
                "--scope read --job 1": "ingest alone",
                "--scope read --scope ingest --node-pattern n*": "ingest alone",
                "--scope ingest --expires-days -1": "--expires-days",
                "--scope ingest --expires-days 1e9": "--expires-days",
            }.items()
        ],
        (["token", "create", "--scope", "root", "--name", "x"], "needs scopes out of"),
        (["token", "create", "--scope", "read", "--name", " "], "needs a name"),
        (["token", "create", "--name", "x"], "--scope"),
        (["migrate", "--to", "9999"], "9999 is no revision"),
        (["serve", "--open", "--host", "0.0.0.0", "--port", "0"], "--open gives everybody"),
        (["serve", "--host", "0.0.0.0", "--port", "0"], "there is no token yet"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--host", "192.0.2.1", "--port", "0"], "there is no token yet"),
        (["worker"], "memory://"),
        (["scheduler"], "memory://"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    run: Run, arguments: list[str], words: str
) -> None:
    status, out, err = run(*arguments)
    sentences = [line for line in err.splitlines() if not line.startswith(("{", "20"))]

    assert (status, out) == (2, "")
    assert len(sentences) == 1
    assert words in sentences[0]


def test_an_address_that_is_not_here_is_refused(run: Run) -> None:
    run("token", "create", "--scope", "read", "--name", "x")
    status, out, err = run("serve", "--host", "192.0.2.1", "--port", "0")

    assert (status, out) == (2, "")
    assert "192.0.2.1 port 0 cannot be had" in err


def test_a_second_service_on_one_folder_is_refused(run: Run, tmp_path: Path) -> None:
    with lock_data_dir(tmp_path / "data"):
        status, out, err = run("serve", "--port", "0")

    assert (status, out) == (2, "")
    assert "another `triage serve` runs on" in err


def test_a_database_of_a_newer_release_is_refused(run: Run, tmp_path: Path) -> None:
    import sqlite3

    newest = max(file.name for file in VERSIONS.glob("[0-9]*.py"))[:4]
    assert run("migrate")[1] == f"base -> {newest}\n"
    assert run("migrate")[1] == f"{newest}, nothing to do\n"
    database = sqlite3.connect(tmp_path / "data" / "triage.db")
    database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.commit()
    database.close()
    status, out, err = run("serve", "--port", "0")

    assert (status, out) == (2, "")
    assert "which this release does not know" in err


def test_pruning_nothing_removes_nothing(run: Run) -> None:
    assert run("prune", "--dry-run")[1] == "would remove 0 incidents, 0 blobs, 0.0 MB\n"
    assert run("retry", "--all")[1] == "0 files of 0 incidents are read again\n"
    assert run("retry")[0] == 2
    assert run("retry", "--incident", "inc_none")[0] != 0
    assert run("prune", "--older-than-days", "0")[1] == "removed 0 incidents, 0 blobs, 0.0 MB\n"


def test_the_doctor_looks_at_everything_and_says_the_next_step(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("doctor")
    assert status == 0
    assert "warn  database    none yet" in out
    assert not (tmp_path / "data" / "triage.db").exists(), "looking makes nothing"

    run("migrate")
    status, out, _ = run("doctor", "--json")
    found = json.loads(out)
    by_thing = {one["thing"]: one for one in found["findings"]}
    assert (status, found["healthy"]) == (0, True)
    assert set(by_thing) == {
        "database", "migrations", "blobs", "broker", "workers", "waiting", "clock",
        "receivers", "tokens", "readers", "disk",
    }  # fmt: skip
    assert by_thing["broker"]["health"] == "warn"
    assert by_thing["broker"]["step"] == "start `triage serve`"
    with lock_data_dir(tmp_path / "data"):
        assert "ok    broker" in run("doctor")[1]


def test_the_doctor_says_what_of_the_confinement_is_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = ("it makes all system calls (Function not implemented)",)
    monkeypatch.setattr("triage.services.doctor.probe_confinement_gaps", lambda: missing)
    status, out, _ = run("doctor")
    assert status == 0
    assert "warn  readers     of a process that reads foreign bytes: it makes all system" in out
    assert "-> docs/security.md" in out


def test_the_doctor_says_that_nobody_works(run: Run, tmp_path: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from triage.domain.states import WorkKind
    from triage.store.work.table import enqueue

    run("migrate")
    ctx = open_context(Settings(data_dir=tmp_path / "data"))
    with ctx.database.writing() as session:
        enqueue(session, WorkKind.PARSE, "upl_1", datetime.now(UTC) - timedelta(hours=1))
    ctx.close()
    status, out, _ = run("doctor")

    assert status == 1
    assert "fail  workers     nobody works" in out
    assert "-> start `triage serve`" in out


def test_the_doctor_reports_a_database_that_does_not_answer(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        monkeypatch.setenv(
            "TRIAGE_DATABASE_URL", f"postgresql+psycopg://x:secret@127.0.0.1:{port}/x"
        )
        monkeypatch.setenv("TRIAGE_BROKER_URL", f"redis://:secret@127.0.0.1:{port}/0")
        status, out, err = run("doctor")

    assert status == 1
    assert "fail  database" in out
    assert "warn  broker" in out
    assert "secret" not in out + err
