"""Completion: the scripts hold every command and option, and the shells take them."""

import shutil
import subprocess

import pytest
from typer.main import get_command

from triage.cli.command_tree import Command, Option
from triage.cli.completion import tree
from triage.cli.completion_scripts import bash, fish, zsh
from triage.cli.main import app, main


@pytest.fixture(scope="module")
def commands():
    return list(tree(get_command(app)))


def by_path(commands, *path):
    return next(one for one in commands if one.path == path)


def test_every_command_and_option_is_there(commands):
    group = get_command(app)
    assert set(by_path(commands).below) == set(group.commands)
    for name, command in group.commands.items():
        known = {word for one in by_path(commands, name).options for word in one.names}
        wanted = {
            word
            for one in command.params
            if one.param_type_name == "option" and not one.hidden
            for word in (*one.opts, *one.secondary_opts)
        }
        assert wanted <= known


def test_what_an_option_takes_is_known(commands):
    options = {one.names[0]: one for one in by_path(commands, "analyze").options}
    assert options["--format"].choices == ("text", "json", "html")
    assert (options["--output"].is_path, options["--output"].takes_value) == (True, True)
    assert (options["--top"].is_path, options["--top"].takes_value) == (False, True)
    assert options["--help"].takes_value is False
    assert by_path(commands, "analyze").takes_paths
    assert not by_path(commands, "show").takes_paths
    assert by_path(commands, "completion").choices == ("bash", "zsh", "fish")
    assert by_path(commands, "token", "create").options


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(shell, commands, capsysbinary):
    assert main(["completion", shell]) == 0
    wanted = {"bash": bash, "zsh": zsh, "fish": fish}[shell](commands)
    assert capsysbinary.readouterr().out.decode() == wanted


def test_an_unknown_shell_is_refused(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "bash" in capsys.readouterr().err


COMPLETED = [
    ("triage in", {"incidents"}),
    ("triage token ", {"create", "list", "revoke", "show", "taint"}),
    ("triage token create --sc", {"--scope"}),
    ("triage analyze --format ", {"text", "json", "html"}),
    ("triage analyze --to", {"--top"}),
    ("triage completion ", {"bash", "zsh", "fish"}),
    ("triage show --top 3 --out", {"--output"}),
]


def of_bash(line, script):
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f'source "$1"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _triage;'
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return ["bash", "--norc", "-c", code, "bash", script]


def of_fish(line, script):
    return ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]


@pytest.mark.parametrize("shell", [of_bash, of_fish], ids=["bash", "fish"])
@pytest.mark.parametrize(("line", "wanted"), COMPLETED, ids=[line for line, _ in COMPLETED])
def test_a_shell_completes(shell, line, wanted, commands, tmp_path):
    if shutil.which(shell("", "")[0]) is None:
        pytest.skip(f"{shell('', '')[0]} is not installed")
    script = tmp_path / "script"
    script.write_text((bash if shell is of_bash else fish)(commands))
    done = subprocess.run(
        shell(line, str(script)), capture_output=True, text=True, check=True, cwd=tmp_path,
        timeout=180,
    )  # fmt: skip
    found = {one.partition("\t")[0] for one in done.stdout.splitlines() if one}
    assert found == wanted
    assert done.stderr == ""


def test_bash_completes_files_where_files_are_meant(commands, tmp_path):
    (tmp_path / "incident one").mkdir()
    script = tmp_path / "script"
    script.write_text(bash(commands))
    for line, found in (("triage analyze inc", True), ("triage show inc", False)):
        done = subprocess.run(
            of_bash(line, str(script)), capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert ("incident one" in done.stdout) is found


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_the_script(commands, tmp_path):
    script = tmp_path / "_triage"
    script.write_text(zsh(commands))
    code = (
        f"autoload -U compinit; compinit -u -D; source {script};"
        " print -- $_comps[triage] $+functions[_triage_token_create]"
    )
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "_triage 1\n"
    assert done.stderr == ""


@pytest.mark.parametrize("write", [bash, zsh, fish])
def test_words_cannot_leave_their_quotes(write):
    hostile = 'it\'s $(touch /tmp/x) `id` \\ "a" [b]: c'
    script = write([Command((), hostile, (Option(("--a",), hostile, takes_value=True),))])
    for line in script.splitlines():
        outside = "".join(line.split("'")[::2])
        assert "touch" not in outside
        assert "`id`" not in outside
