"""Landlock: from now on this process opens files for reading, and only below some folders."""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from triage.sandbox.confinement.kernel import system_call

__all__ = ["read_only_below"]

# One number on all machines.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION: Final = 1
RULE_PATH_BENEATH: Final = 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
# Rights over files that each version knows beside those before it.
FILE_RIGHTS: Final = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
NETWORK_SINCE, ALL_NETWORK = 4, 0b11
SCOPES_SINCE, ALL_SCOPES = 6, 0b11  # abstract sockets, and signals to processes outside


def read_only_below(paths: Iterable[Path]) -> None:
    """Refuse all files but those at or below ``paths``, and every change, with ``EACCES``.

    It holds for the calling thread and those it starts, for good. Needs no rights but
    ``NO_NEW_PRIVS``. A path that is not there is left out. Raises :class:`OSError`.
    """
    version = system_call(CREATE_RULESET, None, 0, ASK_VERSION)
    files = sum(rights for since, rights in FILE_RIGHTS.items() if version >= since)
    asked = struct.pack(
        "<QQQ",
        files,
        ALL_NETWORK if version >= NETWORK_SINCE else 0,
        ALL_SCOPES if version >= SCOPES_SINCE else 0,
    )
    # An older kernel knows no longer form, and takes one whose rest is zero.
    ruleset = system_call(CREATE_RULESET, ctypes.create_string_buffer(asked), len(asked), 0)
    try:
        for path in paths:
            allow_reading(ruleset, path)
        system_call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def allow_reading(ruleset: int, path: Path) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = READ_FILE | (READ_DIR if path.is_dir() else 0)
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, folder))
        system_call(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(folder)
