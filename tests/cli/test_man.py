"""Manual pages: one a command, and roff prints them without a word of complaint."""

import re
import shutil
import subprocess

import pytest
import typer

from triage.cli.main import app, main
from triage.cli.man import escaped, manual_pages

PAGES = dict(manual_pages(typer.main.get_command(app)))


def test_every_command_has_a_page(tmp_path, capsys):
    assert main(["man", str(tmp_path / "man1")]) == 0
    assert f"{len(PAGES)} pages" in capsys.readouterr().out
    assert {one.name for one in (tmp_path / "man1").iterdir()} == PAGES.keys()
    assert {"triage.1", "triage-analyze.1", "triage-fleet-report.1", "triage-launch.1"} <= {*PAGES}


def test_a_page_names_all_options_and_keeps_examples_as_they_are():
    page = PAGES["triage-analyze.1"]
    for name in (r"\-\-format", r"\-\-job", r"\-\-top"):
        assert rf"\fB{name}\fR" in page
    assert re.search(r"^\.nf\n(.*\n)*?.*triage analyze ", page, re.M)


@pytest.mark.parametrize("name", PAGES)
def test_roff_prints_it(name):
    man = shutil.which("man")
    if man is None or (shutil.which("groff") is None and shutil.which("nroff") is None):
        pytest.skip("man with groff is not there")
    done = subprocess.run(
        [man, "--warnings", "-E", "UTF-8", "-l", "-"], input=PAGES[name], text=True,
        capture_output=True, check=False, env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "NAME" in done.stdout
    assert "SYNOPSIS" in done.stdout


@pytest.mark.parametrize("text", [".so /etc/passwd", "'br", "\\fB", "a-b"])
def test_no_text_is_a_request(text):
    assert not escaped(text).startswith((".", "'"))
    assert "\\fB" not in escaped(text)
