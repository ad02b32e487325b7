"""`run.py`: the guard for old Pythons, the environment and its stamp, the demo's port."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tools import checks, commands, commit_subject, demo, environment

RUN = environment.ROOT / "run.py"
OLD_PYTHONS = ("python2.7", "python3.6", "python3.7", "python3.8", "python3.9", "python3.10")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with locks and metadata, and an environment that looks made but has no stamp."""
    for name in ("run.py", "pyproject.toml"):
        (tmp_path / name).write_bytes((environment.ROOT / name).read_bytes())
    (tmp_path / "requirements").mkdir()
    for kind in ("server", "dev", "uv"):
        (tmp_path / "requirements" / f"{kind}.txt").write_text(f"{kind}==1\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    for module in (environment, commands):
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    return tmp_path


@pytest.fixture
def installs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have been installed, and whether from nothing."""
    done: list[str] = []

    def install(kind: str, *, fresh: bool) -> None:
        done.append(f"{kind} {'anew' if fresh else 'on top'}")

    monkeypatch.setattr(environment, "install", install)
    return done


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *arguments], capture_output=True, text=True, check=False
    )


def interpreter_named(name: str) -> str | None:
    """Where it is; a pyenv shim for a version that it does not run counts as nothing."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for found in (shutil.which(name), *pyenv.glob(f"versions/*/bin/{name}")):
        if found and not subprocess.run([found, "-V"], capture_output=True, check=False).returncode:
            return str(found)
    return None


@pytest.mark.parametrize("old", OLD_PYTHONS)
def test_an_old_python_says_which_one_is_needed(old: str) -> None:
    interpreter = interpreter_named(old)
    if interpreter is None:
        pytest.skip(f"no {old} on PATH, nor kept by pyenv")

    done = subprocess.run(
        [interpreter, str(RUN), "test"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "Python 3.11 or newer is needed, this is " + old.removeprefix("python") in done.stderr
    assert "Traceback" not in done.stderr
    assert "SyntaxError" not in done.stderr


def test_the_guard_keeps_to_syntax_of_every_python() -> None:
    # No old interpreter may be at hand; what they choke on is known.
    source = RUN.read_text("utf-8")

    for too_new in ('f"', "f'", "->", ":=", "match ", "async ", "from __future__"):
        assert too_new not in source
    assert source.isascii()


def test_help_goes_to_stdout_and_wrong_usage_to_stderr() -> None:
    helped, wrong, nothing = run("-h"), run("brew", "coffee"), run()

    assert helped.returncode == 0
    assert "demo [--once]" in helped.stdout
    for failed in (wrong, nothing):
        assert failed.returncode == 2
        assert "usage:" in failed.stderr
        assert failed.stdout == ""


def test_an_environment_is_made_once(checkout: Path, installs: list[str]) -> None:
    environment.ensure("server")
    environment.ensure("server")

    assert installs == ["server anew"]


def test_development_tools_come_on_top_and_serve_for_both(
    checkout: Path, installs: list[str]
) -> None:
    for kind in ("server", "dev", "server", "dev"):
        environment.ensure(kind)

    assert installs == ["server anew", "dev on top"]


def test_a_changed_lock_starts_the_environment_over(checkout: Path, installs: list[str]) -> None:
    environment.ensure("server")
    (checkout / "requirements" / "server.txt").write_text("server==2\n")
    environment.ensure("server")

    assert installs == ["server anew", "server anew"]


def test_a_changed_lint_rule_does_not(checkout: Path, installs: list[str]) -> None:
    environment.ensure("server")
    metadata = (checkout / "pyproject.toml").read_text("utf-8")
    (checkout / "pyproject.toml").write_text(metadata + "\n[tool.other]\nrule = 1\n")
    environment.ensure("server")

    assert installs == ["server anew"]


def test_an_interrupted_install_is_started_over(
    checkout: Path, installs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(kind: str, *, fresh: bool) -> None:
        raise KeyboardInterrupt

    environment.ensure("server")
    with monkeypatch.context() as patch:
        patch.setattr(environment, "install", interrupted)
        with pytest.raises(KeyboardInterrupt):
            environment.ensure("dev")
    environment.ensure("server")

    assert installs == ["server anew", "server anew"]


def test_a_second_run_waits_and_then_finds_the_work_done(
    checkout: Path, installs: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fcntl")
    second = threading.Thread(target=environment.ensure, args=["server"])
    with environment.alone():
        second.start()
        while "waiting" not in capfd.readouterr().err:
            second.join(0.01)
        (checkout / ".venv" / environment.STAMP).write_text(environment.digest("server"))
    second.join()

    assert installs == []


def test_without_ensurepip_the_package_to_install_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(environment.NextStep, match=r"apt install python3\.\d+-venv"):
        environment.make_venv(None)


def test_pip_is_tried_when_uv_fails_and_a_failure_says_the_next_step(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def attempt(what: str | None, command: list[str]) -> bool:
        tried.append(str(what))
        return str(what).startswith("fetching")

    monkeypatch.setattr(environment, "attempt", attempt)
    monkeypatch.setattr(environment, "make_venv", lambda uv: None)
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)

    with pytest.raises(environment.NextStep, match="PIP_FIND_LINKS"):
        environment.install("server", fresh=True)
    assert [what.split("with ")[-1] for what in tried] == [
        "fetching uv, the fast installer",
        "uv",
        "pip, in about a minute",
    ]


def test_clean_removes_what_was_made_and_nothing_else(checkout: Path) -> None:
    (checkout / "var" / "demo").mkdir(parents=True)

    assert commands.main(["clean"]) == 0
    assert commands.main(["clean"]) == 0

    left = sorted(path.name for path in checkout.iterdir())
    assert left == ["pyproject.toml", "requirements", "run.py"]


def test_every_check_runs_and_the_failed_ones_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def ends(command: list[str], **_options: object) -> "subprocess.CompletedProcess[str]":
        ran.append(" ".join([Path(command[0]).name, *command[1:2]]))
        failed = ran[-1] in {"ruff check", "mypy --strict"}
        return subprocess.CompletedProcess(command, int(failed), stdout=f"of {ran[-1]}\n")

    monkeypatch.setattr(checks.subprocess, "run", ends)

    assert checks.run_beside(checks.all_checks([])) == 1
    first = ["ruff format", "ruff check", "lint-imports --no-logo", "python -m"]
    assert sorted(ran) == sorted([*first, "mypy --strict", "pytest -n"])
    assert set(first) < set(ran[: ran.index("pytest -n")])
    printed = capsys.readouterr()
    assert printed.out == "".join(f"of {command}\n" for command in (*first, "mypy --strict"))
    assert "failed: lint, types" in printed.err


def test_options_after_test_go_to_pytest() -> None:
    for steps in (checks.all_checks(["-k", "hang"]), checks.quick(["-k", "hang"])):
        name, command = steps[-1]
        assert (name, command[-2:]) == ("tests", ["-k", "hang"])


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["lint"], ["format", "lint", "imports"]),
        (["types"], ["types"]),
        (["fix"], ["lint", "format"]),
        (["test", "--quick"], ["format", "lint", "imports", "compile", "types", "tests"]),
    ],
)
def test_a_command_runs_its_checks(
    arguments: list[str], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(commands, "ensure", lambda _kind: None)
    monkeypatch.setattr(checks, "run", lambda asked: ran.extend(asked) or 0)
    monkeypatch.setattr(checks, "run_beside", lambda asked: ran.extend(asked) or 0)

    assert commands.main(arguments) == 0
    assert [name for name, _ in ran] == names
    assert not [word for _, command in ran for word in command if word == "--quick"]


def test_the_quick_tests_are_there() -> None:
    assert all((environment.ROOT / "tests" / name).is_dir() for name in checks.QUICK)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("Read stored kinds once\n\nThey were read twice.\n", None),
        ("Read stored kinds once", None),
        (f"Read {'x' * 67}", None),
        (f"Read {'x' * 68}", "73 characters"),
        ('Revert "Read stored kinds once, which has a subject that is longer than that"', None),
        ("", "empty"),
        ("read stored kinds once", "small letter"),
        ("Read stored kinds once.", "full stop"),
        ("Read stored kinds once\nand more", "second line"),
    ],
)
def test_a_subject_of_a_commit(message: str, why: str | None) -> None:
    found = commit_subject.complaint(message)
    assert (found is None) == (why is None)
    assert why is None or why in str(found)


def test_the_demo_takes_the_next_free_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = taken.getsockname()[1]
        found = demo.free_port(first)

    assert found != first
    assert found == 0 or first < found < first + 20


def test_the_demo_minds_no_settings_of_another_service() -> None:
    given = {"PATH": "/bin", "TRIAGE_DATABASE_URL": "postgresql://production/triage"}

    assert demo.without_settings(given) == {"PATH": "/bin"}


def test_the_bundled_incident_is_whole_and_holds_no_answer() -> None:
    names = sorted(path.name for path in demo.INCIDENT.rglob("*") if path.is_file())

    assert names == [*(f"comm_lib_trace_rank_{rank}" for rank in range(8)), "job.json"]


def test_the_demo_names_the_node_of_the_rank_that_stopped() -> None:
    if not environment.ready("server"):
        pytest.skip("the environment of run.py is not made, or of another Python")

    done = run("demo", "--once")

    assert done.returncode == 0, done.stderr
    assert "Rank 5 (n1) stopped" in done.stdout
    assert re.search(
        r"The service says the same of incident \S+: n1 \(host_stall, 0\.\d\d\)", done.stdout
    )
    assert re.search(r"http://127\.0\.0\.1:\d+/v1/incidents/\S+/suspects", done.stdout)


def test_a_demo_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    if sys.platform != "linux" or not environment.ready("server"):
        pytest.skip("the environment of run.py is not made, or this is not Linux")
    code = (
        "import os, pathlib, signal, sys\n"
        "from tools import demo\n"
        f"with demo.service(0, pathlib.Path({str(tmp_path)!r})) as address:\n"
        "    print(address, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=environment.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    where = urlsplit(done.stdout.strip())

    assert done.returncode == -signal.SIGKILL
    end = time.monotonic() + 180
    while listens(str(where.hostname), int(where.port or 0)):
        assert time.monotonic() < end, "the service goes on without the demo"
        time.sleep(0.1)


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=60).close()
    except ConnectionError:
        return False
    return True


def test_the_readme_shows_the_two_commands() -> None:
    readme = (environment.ROOT / "README.md").read_text("utf-8")

    assert "python3 run.py demo" in readme
    assert "python3 run.py test" in readme
