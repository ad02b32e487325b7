"""The command: two faces of one thing, light enough for a bare interpreter."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from tests.collectors.scripted import ROOT, accepted, arguments, bare_environment, finished, service
from triage.cli import collect as face
from triage.collectors import command
from triage.collectors.command import list_options, parser
from triage.collectors.endpoint import make_bundle_path, parse_endpoint
from triage.collectors.options import Misuse, Options, parse_bytes, parse_seconds
from triage.collectors.send import retry_after_s, wait_s
from triage.collectors.spool import Label

SOURCES = sorted((ROOT / "triage" / "collectors").glob("*.py"))
OLD = sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))


def typer_command():
    app = typer.Typer()
    app.command("collect")(face.collect)
    return get_command(app)


def test_both_faces_have_the_same_options() -> None:
    mine = {o for action in parser()._actions for o in action.option_strings if o.startswith("--")}
    theirs = {o for one in typer_command().params for o in (*one.opts, *one.secondary_opts)}

    assert mine - {"--help", "--version"} == theirs - {
        "--help", "--install-completion", "--show-completion",
    }  # fmt: skip


def test_the_page_names_every_option_and_shows_none_that_is_not() -> None:
    page = (ROOT / "docs" / "collecting.md").read_text("utf-8")
    mine = {o for action in parser()._actions for o in action.option_strings if o.startswith("--")}

    assert [one for one in mine - {"--help", "--version"} if f"{one}" not in page] == []
    shown = re.findall(r"triage collect (--[^`\n]*)", page)
    assert len(shown) >= 3
    for line in shown:
        parser().parse_args(shlex.split(line))


def test_both_faces_have_the_same_defaults(monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(command, "run", lambda options, _environment: seen.append(options) or 0)
    typer_command()(["--url", "http://x"], standalone_mode=False)

    assert seen == [list_options(parser().parse_args(["--url", "http://x"]))]
    assert seen == [Options(url="http://x")]


def test_the_typer_face_hands_the_status_on(monkeypatch) -> None:
    monkeypatch.setattr(command, "run", lambda *_: 1)
    assert typer_command()(["--url", "http://x"], standalone_mode=False) == 1


def test_it_loads_nothing_but_the_standard_library(tmp_path) -> None:
    shutil.copytree(
        ROOT / "triage", tmp_path / "triage", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = (
        "import sys, triage.collectors.command\n"
        "print(*sorted(name for name in sys.modules if name.startswith('triage')))"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )

    others = {n for n in done.stdout.split() if not n.startswith("triage.collectors")}
    assert others == {"triage", "triage.version"}


def test_help_needs_no_packages(tmp_path) -> None:
    status, out, _ = finished(tmp_path, "--help")

    assert status == 0
    assert "--flush-spool" in out


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_language_is_that_of_python_3_9(path) -> None:
    tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 9))

    imported = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert {name.split(".")[0] for name in imported} <= {*sys.stdlib_module_names, "triage"}


@pytest.mark.skipif(not OLD, reason="no Python 3.9 here")
def test_it_runs_on_python_3_9(node, tmp_path) -> None:
    with service(accepted()) as there:
        done = subprocess.run(
            [str(OLD[-1]), "-m", "triage.collectors", *arguments(node(there.url))],
            env=bare_environment(tmp_path), capture_output=True, text=True, timeout=180,
            check=False,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert re.search(
        r"sent 2 dumps, kernel log, 1 job log: .* kB in .* s; incident inc_7", done.stderr
    )
    assert "fr/trace_rank_0" in there.requests[0].members


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("4096", 4096),
        ("64M", 64 << 20),
        ("1GiB", 1 << 30),
        ("2kb", 2048),
        ("1T", 1 << 40),
    ],
)
def test_a_size(text, size) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5M", "M", "1X", "１", "9" * 40])
def test_no_size(text) -> None:
    with pytest.raises(Misuse, match="no size"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("6h", 1_000_000 - 21_600), ("90s", 1_000_000 - 90), ("2d", 1_000_000 - 172_800),
        ("@1700000000", 1_700_000_000), ("1700000000", 1_700_000_000),
        ("2023-11-14T22:13:20Z", 1_700_000_000), ("2023-11-14 22:13:20", 1_700_000_000),
        ("2023-11-15T00:13:20.5+02:00", 1_700_000_000),
        ("2023-11-14T16:43:20-05:30", 1_700_000_000),
    ],
)  # fmt: skip
def test_a_time(text, at) -> None:
    assert parse_seconds(text, now=1_000_000) == at


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2023-13-01T00:00:00Z", "6 h", "@1", "2023-01-01"]
)
def test_no_time(text) -> None:
    with pytest.raises(Misuse, match="no time"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000, "")),
        ("http://h/", ("h", 80, "")),
        ("https://h/triage/", ("h", 443, "/triage")),
        ("http://[::1]:9", ("::1", 9, "")),
    ],
)
def test_an_address(url, place) -> None:
    found = parse_endpoint(url)

    assert (found.host, found.port, found.prefix) == place
    assert (found.tls is not None) == url.startswith("https")


def test_certificates_are_checked_unless_told_otherwise_on_loopback() -> None:
    checked, not_checked = (
        parse_endpoint("https://h").tls,
        parse_endpoint("https://localhost", insecure=True).tls,
    )

    assert checked is not None
    assert checked.check_hostname
    assert not_checked is not None
    assert not not_checked.check_hostname


def test_proxies_of_the_environment_are_not_asked(node, tmp_path) -> None:
    with service(accepted()) as there, service(accepted()) as proxy:
        finished(tmp_path, *arguments(node(there.url)), http_proxy=proxy.url, HTTP_PROXY=proxy.url)

    assert len(there.requests) == 1
    assert proxy.requests == []


def test_names_are_quoted_in_the_path() -> None:
    assert (
        make_bundle_path("/p", Label("../x?y#z", "a&b=c", "", ""))
        == "/p/v1/jobs/..%2Fx%3Fy%23z/bundle?node=a%26b%3Dc"
    )
    assert make_bundle_path("", Label(os.fsdecode(b"\xff"), "", "", "")) == "/v1/jobs/%FF/bundle"


def test_waits_grow_and_are_not_all_the_same() -> None:
    longest = [wait_s(turn, None, lambda _low, high: high) for turn in range(8)]
    assert longest == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]
    assert wait_s(0, None, lambda low, _high: low) == 0.25
    assert wait_s(3, 60.0, lambda low, _high: low) == 60.0
    assert wait_s(3, 60.0, lambda _low, high: high) == 75.0
    assert wait_s(10**6, None) <= 10.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), ("0", 0.0), ("99999999999", 86_400.0), ("soon", None), ("-1", None), (None, None),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)  # fmt: skip
def test_retry_after(text, seconds) -> None:
    assert retry_after_s(text) == seconds
