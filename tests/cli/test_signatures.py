"""``triage signatures`` and ``--signatures``, as a person types them."""

from pathlib import Path

import pytest

from triage.cli.main import main

EXAMPLE = "examples/signatures/own.toml"
BAD = '[[signature]]\nname = "a"\npattern = "(x"\ncolour = 1\n'


def test_the_example_is_checked_and_shown_as_a_table(capsys) -> None:
    assert main(["signatures", "check", EXAMPLE]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["name", "hits", "missed", "before"]
    assert shown[1].split() == ["local.ckptfs_lost", "1", "1", "-"]
    assert shown[3].split() == ["silence", "nvidia.xid:43", "1", "0", "nvidia.xid"]


def test_each_fault_is_a_line_with_its_place(tmp_path: Path, capsys) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(BAD)
    assert main(["signatures", "check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(": ")[0] for line in err.splitlines()] == [
        f"{path}:1", f"{path}:3", f"{path}:4",
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["analyze", "parse", "explain"])
def test_a_faulty_file_stops_the_command_with_one_sentence(command, tmp_path: Path, capsys) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(BAD)
    assert main([command, "examples/stuck-job", "--signatures", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{path}:3: the pattern cannot be read" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["analyze", "parse", "explain"])
def test_a_good_file_is_taken(command, capsys) -> None:
    assert main([command, "examples/stuck-job", "--signatures", EXAMPLE]) == 0
    assert capsys.readouterr().out


def test_a_file_that_is_not_there_is_said(tmp_path: Path, capsys) -> None:
    assert main(["signatures", "check", str(tmp_path / "none.toml")]) == 2
    assert "cannot read signatures from" in capsys.readouterr().err
    assert main(["signatures", "check", str(tmp_path)]) == 2
    assert "holds no file *.toml" in capsys.readouterr().err
