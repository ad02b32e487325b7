"""``triage man``: manual pages, made from the commands as they are."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from triage.cli.completion import choices_of
from triage.errors import UsageError
from triage.version import __version__

__all__ = ["HELP", "man", "manual_pages"]

HELP = """
Write manual pages, one for each command.

\b
    triage man ~/.local/share/man/man1     # then: man triage-analyze
"""
# What click marks a block with that is not to be wrapped.
AS_IT_IS: Final = "\b"


def man(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write.", show_default=False)
    ],
) -> None:
    """Write; the help stands in ``HELP``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pages = dict(manual_pages(context.find_root().command))
        for name, text in pages.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror or error}") from error
    typer.echo(f"{folder}  {len(pages)} pages")


def manual_pages(command: Any, path: tuple[str, ...] = ("triage",)) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """(file name, page) of a command of typer's and of all below it, in the macros of man(7)."""
    below = getattr(command, "commands", {})
    blocks = blocks_of(command.help)
    about = " ".join(blocks[0][1]) if blocks else ""
    lines = [
        f'.TH {quoted("-".join(path).upper())} 1 "" {quoted(f"nccl-triage {__version__}")}'
        ' "User Commands"',
        ".SH NAME",
        f"{escaped('-'.join(path))} \\- {escaped(about.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {escaped(' '.join(path))}",
        escaped(usage(command, below)),
        ".SH DESCRIPTION",
        *described(blocks),
    ]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    if options:
        takes = get_type_hints(inspect.unwrap(command.callback))
        lines.append(".SH OPTIONS")
        for one in options:
            lines += option(one, "|".join(choices_of(takes.get(one.name, str))))
    if below:
        lines.append(".SH COMMANDS")
        for name, one in below.items():
            inside = blocks_of(one.short_help or one.help)
            lines += [".TP", f".BR {escaped('-'.join((*path, name)))} (1)",
                      escaped(" ".join(inside[0][1]) if inside else "")]  # fmt: skip
    if len(path) > 1:
        lines += [".SH SEE ALSO", f".BR {escaped('-'.join(path[:-1]))} (1)"]
    yield f"{'-'.join(path)}.1", "\n".join(lines) + "\n"
    for name, one in below.items():
        yield from manual_pages(one, (*path, name))


def usage(command: Any, below: Any) -> str:  # noqa: ANN401
    words = ["[OPTIONS]"]
    for one in command.params:
        if one.param_type_name == "argument":
            name = one.metavar or one.name.upper()
            shown = f"{name}..." if one.nargs == -1 else name
            words.append(shown if one.required else f"[{shown}]")
    return " ".join([*words, *(["COMMAND [ARGUMENTS]"] if below else [])])


def option(one: Any, choices: str) -> Iterator[str]:  # noqa: ANN401
    names = ", ".join(rf"\fB{escaped(name)}\fR" for name in (*one.opts, *one.secondary_opts))
    value = "" if one.is_flag else rf" \fI{escaped(one.metavar or choices or 'VALUE')}\fR"
    yield ".TP"
    yield f"{names}{value}"
    yield escaped(" ".join((one.help or "").split()))


def blocks_of(text: str | None) -> list[tuple[bool, list[str]]]:
    """Paragraphs of a help text; the first of each pair is whether its lines stay as they are."""
    found: list[tuple[bool, list[str]]] = []
    for part in (text or "").strip().split("\n\n"):
        lines = part.splitlines()
        as_it_is = bool(lines) and lines[0].strip() == AS_IT_IS
        if lines[as_it_is:]:
            found.append((as_it_is, lines[as_it_is:]))
    return found


def described(blocks: list[tuple[bool, list[str]]]) -> Iterator[str]:
    for as_it_is, lines in blocks:
        yield ".PP"
        if as_it_is:
            yield from (".nf", *map(escaped, lines), ".fi")
        else:
            yield escaped(" ".join(" ".join(lines).split()))


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def escaped(text: str) -> str:
    r"""Text that roff prints as it is.

    >>> escaped(".so -x \\")
    '\\&.so \\-x \\e'
    """
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return rf"\&{safe}" if safe.startswith((".", "'")) else safe
