"""Texts that a pattern holds as they are: ``--literal job=NAME`` for ``{job}`` in ``--fr``.

A script that puts the name of a folder into a pattern lets whoever chose the name write the
pattern: a job called ``*`` then asks for the files of all jobs. A literal is one name of a
file, has no wildcards, and ends the fixed part of its pattern: no link there is followed.
"""

from __future__ import annotations

import glob
import re
from typing import TYPE_CHECKING

from triage.collectors.options import Misuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["fill", "literals_of", "place_of"]

_LITERAL = re.compile(r"([a-z]+)=(.*)", re.DOTALL | re.ASCII)
_PLACE = re.compile(r"\{([a-z]+)\}", re.ASCII)
_NO_NAME = re.compile(r"[/\x00-\x1f\x7f]")


def literals_of(arguments: Sequence[str], patterns: Sequence[str]) -> dict[str, str]:
    """``NAME=TEXT`` of the command line, by name.

    Raises :class:`Misuse` for a text that is no name of a file, and, where any is given, for a
    ``{NAME}`` in ``patterns`` that none was given for.
    """
    literals = {}
    for argument in arguments:
        match = _LITERAL.fullmatch(argument)
        if match is None:
            raise Misuse(f"{argument!r} is no literal; give NAME=TEXT, NAME in lower case letters")
        name, text = match.groups()
        if text in {"", ".", ".."} or _NO_NAME.search(text):
            raise Misuse(f"{text!r} is no name of a file or folder; leave {name} out of patterns")
        literals[name] = text
    for pattern in patterns if literals else ():
        for place in _PLACE.findall(pattern):
            if place not in literals:
                raise Misuse(f"{pattern!r} has {{{place}}}; give --literal {place}=TEXT as well")
    return literals


def fill(pattern: str, literals: Mapping[str, str]) -> str:
    """``pattern`` with each ``{NAME}`` as its literal text; others stay as they are."""
    return _PLACE.sub(
        lambda match: glob.escape(literals[match[1]]) if match[1] in literals else match[0], pattern
    )


def place_of(pattern: str, literals: Mapping[str, str]) -> int:
    """Where the first literal of ``pattern`` stands; its length where there is none."""
    places = (match.start() for match in _PLACE.finditer(pattern) if match[1] in literals)
    return next(places, len(pattern))
