"""Credentials: the token, from a file or ``TRIAGE_TOKEN``, never from the command line.

What is on a command line stands in the process list, and in the logs of the scheduler.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_TOKEN = 4096
_LOOKS_LIKE_ONE = re.compile(r"triage_[A-Za-z0-9]+_[A-Za-z0-9_-]{12,}", re.ASCII)


class Token(NamedTuple):
    """``value`` is empty where none is known; ``why`` then says why one was expected.

    ``warning`` is for the person who runs it. Neither holds the value.
    """

    value: str
    why: str = ""
    warning: str = ""

    def __repr__(self) -> str:
        """Without the value: a token must not reach a log by way of a traceback."""
        return f"Token({'set' if self.value else 'none'})"


def read_token(path: str | None, environment: Mapping[str, str]) -> Token:
    """The token in the file ``path``, else in the environment; neither is allowed too."""
    if path is None:
        return _checked(environment.get("TRIAGE_TOKEN", ""), "TRIAGE_TOKEN")
    name = hide_tokens(path)
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                return Token("", f"the token file {name} is no regular file")
            text = file.read(_MAX_TOKEN + 1)
    except OSError as error:
        return Token("", f"the token file {name} cannot be read: {error.strerror}")
    token = _checked(text.decode("latin-1").strip(), f"the token file {name}")
    if not token.value:
        return token._replace(why=token.why or f"the token file {name} is empty")
    if mode & 0o077:
        return token._replace(warning=f"others can read {name}; chmod 600 it")
    return token


def hide_tokens(text: str) -> str:
    """``text`` with everything that looks like a token of ours made unreadable."""
    return _LOOKS_LIKE_ONE.sub("[token]", text)


def _checked(value: str, where: str) -> Token:
    """A value that can stand in a header; a line break in it would begin another one."""
    if len(value) > _MAX_TOKEN or not all("!" <= char <= "~" for char in value):
        return Token("", f"{where} holds no token: one word of printable characters")
    return Token(value)
