"""``triage completion``: Typer's scripts for bash, zsh and fish, which ask the command itself."""

import os
from enum import StrEnum
from typing import Annotated, Final

import typer

_VARIABLE: Final = "_TRIAGE_COMPLETE"


class Shell(StrEnum):
    """For which shell."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that completes commands and options in a shell.

    \b
        source <(triage completion bash)                       # in ~/.bashrc
        source <(triage completion zsh)                        # in ~/.zshrc
        triage completion fish > ~/.config/fish/completions/triage.fish
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="triage", complete_var=_VARIABLE, shell=str(shell)))


def prepare_completion() -> None:
    """Make Typer know the shells, where one of them asks which words may follow."""
    if _VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
