"""The command as a whole: exit statuses, one sentence on stderr, a quick start."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import triage
from triage.cli import main as command
from triage.cli.main import main
from triage.errors import TriageError

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "triage.cli.main", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        **options,
    )


def test_the_first_screen_shows_the_one_command(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "triage analyze incident/" in shown
    for name in ("analyze", "explain", "parse"):
        assert f"\n  {name} " in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


EXAMPLES = (
    "analyze", "explain", "parse", "collect", "live", "simulate", "incidents", "show", "watch",
    "node", "launch", "mcp", "fleet report", "fleet nodes", "fleet plan",
    "fleet import",
    "fleet isolate", "fleet simulate", "fleet repairs", "fleet parts", "signatures check",
    "signatures labels", "signatures learn",
)  # fmt: skip
NO_EXAMPLES = (
    "act approve", "act drain", "act exclude", "act list",
    "act undo", "act undrain",
    "serve", "worker", "scheduler", "migrate", "audit", "prune", "retry", "doctor",
    "completion",
    "delete artifact", "delete incident",
    "store sweep",
    "token create", "token list", "token revoke", "token show", "token taint",
)  # fmt: skip


def test_no_command_is_forgotten_here():
    commands = typer.main.get_command(command.app).commands
    groups = [one for one in commands if hasattr(commands[one], "commands")]
    named = {*commands} - {*groups}
    named |= {f"{one} {name}" for one in groups for name in commands[one].commands}

    assert named == {*EXAMPLES, *NO_EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_help_has_examples(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    assert f" triage {name} " in capsys.readouterr().out


@pytest.mark.parametrize("name", [*EXAMPLES, *NO_EXAMPLES])
def test_a_help_fits_a_terminal_and_names_what_an_option_takes(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert not re.search(r"^ +-.*<(str|int|float|path|list)", shown, re.MULTILINE)


def test_what_can_be_simulated_is_listed_in_the_width_of_a_terminal(capsys):
    assert main(["simulate", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "\n  straggler " in shown
    assert "\n  hbm-dbe            gpu_hbm " in shown


def test_sizes_that_are_no_numbers_are_wrong_usage(tmp_path, capsys):
    given = ["simulate", "--campaign", "llama3", "--sizes", "16,many", "--out", str(tmp_path)]

    assert main(given) == 2
    assert "--sizes 16,many: give numbers of ranks" in capsys.readouterr().err


def test_says_its_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"nccl-triage {triage.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["nonsense"], id="no such command"),
        pytest.param(["--nonsense"], id="no such option"),
        pytest.param(["analyze"], id="no path"),
        pytest.param(["analyze", ".", "--format", "xml"], id="no such format"),
        pytest.param(["analyze", ".", "--top", "many"], id="no number"),
        pytest.param(["explain"], id="nothing to explain"),
        pytest.param(["explain", ".", "--format", "html"], id="no page of an explanation"),
        pytest.param(["parse", ".", "--format", "html"], id="no such row format"),
    ],
)
def test_wrong_usage_is_one_sentence_and_2(arguments, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("triage: ")
    assert "--help'." in err
    assert err.count("\n") == 1


@pytest.fixture
def failing(monkeypatch):
    """The command fails with the given error."""

    def fail_with(error):
        def app(*_, **__):
            raise error

        monkeypatch.setattr(command, "app", app)

    return fail_with


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        pytest.param(TriageError("no dump"), 2, "triage: no dump\n", id="ours"),
        pytest.param(TriageError("a\n\x1b[2Jb"), 2, "triage: a \\x1b[2Jb\n", id="hostile"),
        pytest.param(KeyboardInterrupt(), 130, "triage: interrupted\n", id="interrupt"),
        pytest.param(OSError(28, "No space left", "x"), 2, "triage: x: No space left\n", id="disk"),
    ],
)
def test_errors_are_one_sentence(error, status, sentence, failing, capsys):
    failing(error)
    assert main(["analyze", "."]) == status
    assert capsys.readouterr().err == sentence


def test_a_fault_of_ours_is_no_traceback(failing, capsys, monkeypatch):
    monkeypatch.delenv("TRIAGE_TRACEBACK", raising=False)
    failing(KeyError("x"))
    assert main(["analyze", "."]) == 1
    err = capsys.readouterr().err
    assert err.startswith("triage: internal error, please report it (KeyError: 'x')")
    assert err.count("\n") == 1


def test_a_fault_of_ours_shows_its_place_when_asked(failing, monkeypatch):
    monkeypatch.setenv("TRIAGE_TRACEBACK", "1")
    failing(KeyError("x"))
    with pytest.raises(KeyError):
        main(["analyze", "."])


def test_out_of_memory_says_what_to_do(failing, capsys):
    failing(MemoryError())
    assert main(["analyze", "."]) == 1
    assert "fewer files" in capsys.readouterr().err


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from triage.cli.main import main; main(['--help']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert not {"numba", "numpy", "pandas", "rich", "triage.report", "http.client", "ssl"} & loaded


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "triage.cli.main", "--help"],
            cwd=ROOT,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            timeout=180,
            check=False,
        )
    assert done.stderr == ""


def test_a_missing_path_is_said_by_the_process_too():
    done = run("analyze", "/nowhere/at/all")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "triage: cannot find /nowhere/at/all; give a folder, a file or a tar archive\n"
    )
