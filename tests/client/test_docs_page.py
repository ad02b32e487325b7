"""The Python of docs/notebook.md, and the commands that ask a service, run as they stand."""

import re
import shlex
import shutil

import pytest

from tests.docs.pages import PAGES, fenced_commands
from tests.docs.test_commands import ASKING
from tests.workers.running import ROOT
from triage.cli.main import main

PAGE = (ROOT / "docs" / "notebook.md").read_text("utf-8")
COMMANDS = [line for path in PAGES for line in fenced_commands(path) if line.split()[0] in ASKING]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples" / "stuck-job", tmp_path / "incident")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_runs(folder, address, capsys):
    names = {"TOKEN": None}
    for block in BLOCKS:
        code = compile(block.replace("https://triage.example", address), "notebook.md", "exec")
        exec(code, names)  # noqa: S102
    assert names["report"].verdict.category == "host_stall"
    assert names["incident"].state == "ready"
    assert names["incident"].suspects["node"][0] == "n1"
    names["client"].close()
    names["store"].close()
    said = capsys.readouterr().out
    assert "last-seconds.json.gz: " in said
    assert "two.json.gz: " in said
    assert "6 ranks (name them with ranks=)" in said
    assert (folder / "last-seconds.json.gz").stat().st_size > 1000
    assert len(BLOCKS) == 7


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_asks_a_service_is_answered(
    command, folder, address, lost, monkeypatch, capsysbinary
):
    for name in ("TRIAGE_TOKEN", "TRIAGE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRIAGE_URL", address)
    named = re.sub(r"\binc_\w+", lost.id, command.replace("n3", "gpu-0102"))
    assert main(shlex.split(named)) == 0
    assert capsysbinary.readouterr().out or "--output" in command


def test_all_that_ask_are_shown():
    assert {command.split()[0] for command in COMMANDS} == set(ASKING)
