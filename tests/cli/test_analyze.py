"""triage analyze: what is printed where, and what is refused before any work."""

import io
import json
import os
import stat
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.render import answers
from triage.cli.main import main
from triage.cli.options import parse_at
from triage.domain.report import Coverage
from triage.errors import NothingToAnalyze, UsageError
from triage.render.data import wire
from triage.render.page import html
from triage.render.terminal import text


@pytest.fixture
def incident(tmp_path):
    folder = tmp_path / "incident"
    folder.mkdir()
    return str(folder)


def test_prints_text_by_default(brain, incident, capsys):
    assert main(["analyze", incident]) == 0
    out, err = capsys.readouterr()
    assert out == text.render(answers.culprit())
    assert err == ""


def test_prints_the_same_json_as_the_wire_form(brain, incident, capfdbinary):
    assert main(["analyze", incident, "--format", "json"]) == 0
    assert capfdbinary.readouterr().out == wire.render(answers.culprit())


def test_prints_one_html_page(brain, incident, capsys):
    assert main(["analyze", incident, "--format", "html"]) == 0
    assert capsys.readouterr().out == html.render(answers.culprit())


def test_a_healthy_job_is_0_too(brain, incident):
    brain.answer = answers.healthy()
    assert main(["analyze", incident]) == 0


def test_top_reaches_every_format(brain, incident, capsys):
    brain.answer = answers.large()
    assert main(["analyze", incident, "--top", "1", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["suspects"]) == 1


def test_hands_on_what_it_is_given(brain, incident, tmp_path):
    job = tmp_path / "job.json"
    job.write_text("{}")
    at = "2026-11-21T05:14:15+02:00"
    assert main(["analyze", incident, incident, "--job", str(job), "--at", at]) == 0
    assert brain.call.paths == [Path(incident), Path(incident)]
    assert brain.call.job == job
    assert brain.call.at == datetime(2026, 11, 21, 3, 14, 15, tzinfo=UTC)
    assert brain.call.progress is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--top", "0"], "--top 0 shows nothing; give 1 or more", id="top 0"),
        pytest.param(["--top", "-3"], "--top -3 shows nothing", id="top negative"),
        pytest.param(["--at", "yesterday"], "no RFC 3339 time; give one like", id="time"),
        pytest.param(["--job", "/no/job.json"], "cannot find /no/job.json", id="job"),
        pytest.param(["/no/such/file"], "cannot find /no/such/file; give a folder", id="path"),
        pytest.param(["--output", "/no/folder/x"], "make the folder /no/folder first", id="output"),
        pytest.param(["--output", "/"], "it is a folder; name a file in it", id="folder"),
        pytest.param(["x" * 5000], "File name too long", id="long name"),
    ],
)
def test_refuses_in_one_sentence_before_any_work(arguments, said, brain, incident, capsys):
    assert main(["analyze", incident, *arguments]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert err.count("\n") == 1
    assert out == ""
    assert brain.call is None


def test_nothing_readable_is_2(brain, incident, capsys):
    brain.error = NothingToAnalyze("not one readable input: x is empty")
    assert main(["analyze", incident]) == 2
    assert capsys.readouterr() == ("", "triage: not one readable input: x is empty\n")


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_writes_the_output_whole(form, brain, incident, tmp_path, capsys):
    target = tmp_path / "report"
    assert main(["analyze", incident, "--format", form, "--output", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["analyze", incident, "--format", form]) == 0
    assert target.read_text() == capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["incident", "report"]


def test_a_new_file_has_the_usual_permissions(brain, incident, tmp_path):
    target = tmp_path / "report"
    before = os.umask(0o027)
    try:
        main(["analyze", incident, "--output", str(target)])
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_replaced_file_keeps_its_permissions_and_its_link(brain, incident, tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    assert main(["analyze", incident, "--output", str(link)]) == 0
    assert link.is_symlink()
    assert real.read_text() == text.render(answers.culprit())
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_device_is_written_to_and_not_replaced(brain, incident):
    assert main(["analyze", incident, "--output", os.devnull]) == 0
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_failed_write_leaves_the_old_file_and_no_other(
    brain, incident, tmp_path, capsys, monkeypatch
):
    target = tmp_path / "report"
    target.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert main(["analyze", incident, "--output", str(target)]) == 2
    assert capsys.readouterr().err == f"triage: cannot write {target}: No space left on device\n"
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["incident", "report"]


@pytest.fixture
def terminal(monkeypatch):
    """Called in the test, where stdout is the one that the command writes to."""

    def pretend():
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert sys.stdout.isatty()

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return pretend


def test_a_terminal_gets_colours(brain, incident, terminal, capsys):
    terminal()
    main(["analyze", incident])
    assert capsys.readouterr().out == text.render(answers.culprit(), colour=True)


@pytest.mark.parametrize("setting", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_switched_off(setting, brain, incident, terminal, capsys, monkeypatch):
    terminal()
    monkeypatch.setenv(*setting)
    main(["analyze", incident])
    assert capsys.readouterr().out == text.render(answers.culprit())


def test_a_file_gets_no_colours(brain, incident, terminal, tmp_path):
    terminal()
    main(["analyze", incident, "--output", str(tmp_path / "report")])
    assert (tmp_path / "report").read_text() == text.render(answers.culprit())


def test_a_terminal_sees_progress_on_stderr_alone(brain, incident, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["analyze", incident]) == 0
    assert brain.call.progress is not None
    assert capsys.readouterr().out == text.render(answers.culprit())


def test_letters_that_stdout_cannot_hold_are_written_out(brain, incident, monkeypatch):
    whole = answers.culprit()
    brain.answer = replace(whole, coverage=Coverage(notes=("knoten-\u00fc",)))
    plain = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(plain, encoding="ascii"))
    assert main(["analyze", incident]) == 0
    assert b"note: knoten-\\xfc\n" in plain.getvalue()


MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ("2026-11-21T00:00:00Z", MIDNIGHT),
        ("2026-11-21t00:00:00z", MIDNIGHT),
        ("2026-11-21T00:00:00", MIDNIGHT),
        ("2026-11-21 00:00", MIDNIGHT),
        ("2026-11-21T02:00:00+02:00", MIDNIGHT),
        ("2026-11-20T16:30:00-07:30", MIDNIGHT),
        ("2026-11-21T00:00:00.123456789Z", MIDNIGHT.replace(microsecond=123456)),
    ],
)
def test_reads_rfc_3339(given, at):
    assert parse_at(given) == at


@pytest.mark.parametrize(
    "given",
    [
        "",
        "now",
        "2026-11-21",
        "1795230855",
        "2026-13-21T00:00:00Z",
        "2026-11-21T25:00:00Z",
        "2026-11-21T00:00:00+99:00",
        "0001-01-01T00:00:00+14:00",
        "2026-11-21T00:00:00Z\n",
        "\u0662026-11-21T00:00:00Z",
    ],
)
def test_refuses_what_is_no_time(given):
    with pytest.raises(UsageError, match="RFC 3339"):
        parse_at(given)
