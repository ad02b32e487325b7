"""Completion: each shell gets its script, and what bash asks is answered by the commands."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from triage.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_its_script(shell: str, capsys, tmp_path: Path) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_TRIAGE_COMPLETE" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script)
    done = subprocess.run(
        [shell, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_shell_is_refused(capsys) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("triage in", {"incidents"}),
        ("triage token ", {"create", "list", "revoke", "show", "taint"}),
        ("triage token create --sc", {"--scope"}),
        ("triage analyze --format ", {"text", "json", "html"}),
        ("triage completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes(line: str, wanted: set[str], capsys, tmp_path: Path) -> None:
    main(["completion", "bash"])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    program = tmp_path / "triage"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m triage.cli.main "$@"\n')
    program.chmod(0o755)
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f'source "$1"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1};'
        ' _triage_completion triage; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", str(tmp_path / "script")],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, cwd=tmp_path, timeout=180,
    )  # fmt: skip
    assert (set(done.stdout.split()), done.stderr) == (wanted, "")
