"""triage explain: what is printed, what is handed on, what is refused."""

import json
from datetime import UTC, datetime

import pytest

from tests.render import explanations
from triage.cli.main import main
from triage.errors import NothingToAnalyze
from triage.render.terminal import explained


@pytest.fixture
def incident(tmp_path, brain):
    brain.explanation = explanations.weighed()
    folder = tmp_path / "incident"
    folder.mkdir()
    return str(folder)


def test_prints_text_by_default(incident, capsys):
    assert main(["explain", incident]) == 0
    out, err = capsys.readouterr()
    assert out == explained.render(explanations.weighed())
    assert err == ""


def test_prints_json(incident, capfdbinary):
    assert main(["explain", incident, "--format", "json"]) == 0
    assert capfdbinary.readouterr().out == explained.render_json(explanations.weighed())


def test_top_reaches_both_formats(incident, capsys):
    assert main(["explain", incident, "--top", "1"]) == 0
    assert "and 2 more (--top N)" in capsys.readouterr().out
    assert main(["explain", incident, "--top", "1", "--format", "json"]) == 0
    assert [one["node"] for one in json.loads(capsys.readouterr().out)["places"]] == ["n3"]


def test_hands_on_what_it_is_given(incident, brain, tmp_path):
    job = tmp_path / "job.json"
    job.write_text("{}")
    assert main(["explain", incident, "--job", str(job), "--at", "2026-11-21T03:14:15Z"]) == 0
    assert [str(path) for path in brain.call.paths] == [incident]
    assert brain.call.job == job
    assert brain.call.at == datetime(2026, 11, 21, 3, 14, 15, tzinfo=UTC)


def test_nothing_readable_is_2(incident, brain, capsys):
    brain.error = NothingToAnalyze("the folder is empty")
    assert main(["explain", incident]) == 2
    assert capsys.readouterr().err == "triage: the folder is empty\n"


@pytest.mark.parametrize(
    "arguments", [["--top", "0"], ["--at", "yesterday"], ["--job", "/nowhere/job.json"]]
)
def test_refuses_before_any_work(arguments, incident, brain, capsys):
    assert main(["explain", incident, *arguments]) == 2
    assert brain.call is None
    assert capsys.readouterr().out == ""
