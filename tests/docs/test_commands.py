"""Every command that the pages show is run, or where it would serve for ever or need a
cluster, parsed. Those that ask a service are run in ``tests/client/test_docs_page.py``.
"""

import importlib
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from tests.docs.pages import DOCS, PAGES, ROOT, TEXT, fenced_commands, fenced_lines
from tools.commands import USAGE
from triage.cli.main import app, main

OFFLINE = ("analyze", "explain", "parse", "simulate", "completion", "--version", "--help")
ASKING = ("incidents", "show", "watch", "node")
# A campaign of the size in the page takes minutes; it is the same command.
SMALLER = {"--count": "2", "--healthy": "1"}
BENCHMARK = re.compile(r"^\.venv/bin/python -m benchmarks\.([\w.]+)(.*)")


def offline(path: Path) -> list[list[str]]:
    found = [shlex.split(line) for line in fenced_commands(path)]
    return [words for words in found if words[0] in OFFLINE]


def serving() -> list[str]:
    known = get_command(app).commands  # type: ignore[attr-defined]
    lines = {line for path in PAGES for line in fenced_commands(path)}
    return sorted(
        line
        for line in lines
        if (name := line.split()[0]) in known and name not in (*OFFLINE, *ASKING)
    )


def benchmarks() -> list[tuple[str, str]]:
    found = [BENCHMARK.match(line) for path in PAGES for line in fenced_lines(path)]
    return sorted({(match[1], match[2].strip()) for match in found if match})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages speak of: an incident, under each of its names."""
    incident = ROOT / "tests" / "incidents" / "logs-gpu-lost-with-dumps-w8" / "files"
    for name in ("incident", "DIR"):
        shutil.copytree(incident, tmp_path / name)
    shutil.copy(incident / "nodes" / "gpu-0102" / "kernel.log", tmp_path / "kern.log")
    for name in ("tests", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "path", [path for path in PAGES if offline(path)], ids=lambda path: path.stem
)
def test_the_commands_of_a_page_run_one_after_the_other(
    path: Path, place: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for words in offline(path):
        pairs = zip(["", *words], words, strict=False)
        assert main([SMALLER.get(before, word) for before, word in pairs]) == 0, words
        said = capsysbinary.readouterr()
        assert said.out or "--output" in words or words[0] == "simulate", words
        assert said.err == b"" or words[0] == "simulate", words


def test_the_first_pages_are_among_them() -> None:
    for path in (ROOT / "README.md", DOCS / "on-call.md", DOCS / "development.md"):
        assert offline(path), path.name


@pytest.mark.parametrize("command", serving())
def test_a_command_that_serves_or_collects_parses(command: str) -> None:
    words = shlex.split(command)
    found = get_command(app)
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    with found.make_context("triage", words) as context:
        assert context.command is found


def test_the_commands_of_a_service_are_shown() -> None:
    assert {line.split()[0] for line in serving()} >= {
        "collect", "migrate", "prune", "scheduler", "serve", "token", "worker",
    }  # fmt: skip


def test_run_py_is_asked_for_nothing_that_it_does_not_know() -> None:
    asked = {word for text in TEXT.values() for word in re.findall(r"python3 run\.py (\w+)", text)}

    assert asked == set(re.findall(r"^  ([a-z]+)", USAGE, re.M))


def test_a_benchmark_that_a_page_names_is_there() -> None:
    named = {
        (path.name, name)
        for path, text in TEXT.items()
        for name in re.findall(r"\bbenchmarks[./]([a-z_]+)(?:\.py)?\b", text)
    }
    table = TEXT[ROOT / "benchmarks" / "README.md"]
    named |= {("README.md", name) for name in re.findall(r"^\| `(\w+)\.py` \|", table, re.M)}
    folder = ROOT / "benchmarks"

    assert len(named) > 20
    assert [
        one
        for one in sorted(named)
        if not (folder / f"{one[1]}.py").is_file() and not (folder / one[1]).is_dir()
    ] == []


def test_an_option_of_run_py_that_a_page_shows_is_in_its_help() -> None:
    shown = {
        option
        for text in TEXT.values()
        for options in re.findall(
            r"python3 run\.py (?:demo|lint|types|fix|clean)((?: --\w+)+)", text
        )
        for option in options.split()
    }
    assert shown
    assert sorted(shown) == [option for option in sorted(shown) if f"{option}]" in USAGE]


@pytest.mark.parametrize(("name", "options"), benchmarks())
def test_a_benchmark_has_the_options_that_are_shown(
    name: str,
    options: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"benchmarks.{name}").main()

    known = set(re.findall(r"--[a-z][\w-]*", capsys.readouterr().out))
    assert ended.value.code == 0
    assert set(re.findall(r"--[a-z][\w-]*", options)) <= known
