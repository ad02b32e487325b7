"""Command tree: the commands and their options, as plain values."""

from dataclasses import dataclass

__all__ = ["Command", "Option"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option by all its names; ``choices`` are the words it takes, ``is_path`` a file."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...] = ()
    is_path: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its path below ``triage``, which has the empty one.

    ``below`` are the commands in it; ``takes_paths`` and ``choices`` are of its arguments.
    """

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    below: tuple[str, ...] = ()
    takes_paths: bool = False
    choices: tuple[str, ...] = ()
