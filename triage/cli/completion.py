"""``triage completion``: scripts for bash, zsh and fish, made from the commands as they are.

A script holds all words itself: completing asks no Python, so it is there at once, and a
login node with a slow file system does not feel it.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from enum import EnumType, StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from triage.cli.command_tree import Command, Option
from triage.cli.completion_scripts import bash, fish, zsh
from triage.cli.output import emit

__all__ = ["HELP", "choices_of", "completion", "tree"]

HELP = """
Print a script that completes commands and options in a shell.

\b
    source <(triage completion bash)                       # in ~/.bashrc
    source <(triage completion zsh)                        # in ~/.zshrc
    triage completion fish > ~/.config/fish/completions/triage.fish
"""

# Metavars of options that take a path as plain text.
FILES = frozenset({"FILE", "DIR"})
HELP_OPTION = Option(("--help", "-h"), "Show help", takes_value=False)


class Shell(StrEnum):
    """For which shell."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    context: typer.Context,
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script; the help stands in ``HELP``."""
    write = {Shell.BASH: bash, Shell.ZSH: zsh, Shell.FISH: fish}[shell]
    emit(write(list(tree(context.find_root().command))).encode())


def tree(group: Any, path: tuple[str, ...] = ()) -> Iterator[Command]:  # noqa: ANN401
    """``group``, a command of typer's, and all commands below it."""
    below = getattr(group, "commands", {})
    # The types come from the function: typer's own differ by version.
    takes = get_type_hints(inspect.unwrap(group.callback)) if group.callback else {}
    arguments = [takes[one.name] for one in group.params if one.param_type_name == "argument"]
    yield Command(
        path,
        first_sentence(group.short_help or group.help),
        (*options_of(group.params, takes), HELP_OPTION),
        tuple(below),
        any(Path in kinds_of(one) for one in arguments),
        tuple(choice for one in arguments for choice in choices_of(one)),
    )
    for name, command in below.items():
        yield from tree(command, (*path, name))


def options_of(parameters: Iterable[Any], takes: Mapping[str, Any]) -> Iterator[Option]:
    for parameter in parameters:
        if parameter.param_type_name != "option" or parameter.hidden or parameter.name not in takes:
            continue
        hint = takes[parameter.name]
        yield Option(
            (*parameter.opts, *parameter.secondary_opts),
            first_sentence(parameter.help),
            not parameter.is_flag,
            choices_of(hint),
            Path in kinds_of(hint) or parameter.metavar in FILES,
        )


def kinds_of(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The types inside ``list[Path]``, ``Path | None`` or ``Path``."""
    inner = get_args(hint)
    return tuple(kind for inside in inner for kind in kinds_of(inside)) if inner else (hint,)


def choices_of(hint: Any) -> tuple[str, ...]:  # noqa: ANN401
    """The words that an option or argument of this type takes, where they are counted."""
    return tuple(
        str(choice)
        for kind in kinds_of(hint)
        if isinstance(kind, EnumType)
        for choice in list[Any](kind)
    )


def first_sentence(text: str | None) -> str:
    """The first sentence of a help text, on one line."""
    lines = " ".join((text or "").replace("\b", " ").split())
    return lines.partition(". ")[0].rstrip(".")
