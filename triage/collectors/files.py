"""Files of a node, found by patterns and opened with distrust.

The folders belong to the job's user, the collector may be root: a link, a pipe or a
device among the matches is passed by and named, never opened.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.artifact import Skipped
from triage.collectors.options import NO_LITERALS, Misuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from triage.collectors.artifact import Artifact, Deadline

# More matches than one node has ranks and logs: a pattern that is too wide.
MAX_MATCHES = 10_000
_MAX_PARTS = 4
_MAX_NAME = 200

# A wildcard, or one that is escaped as glob.escape does: "[*]".
_MAGIC = re.compile(r"\[[*?\[]\]|([*?\[])")
_UNSAFE = re.compile(rb"[\x00-\x1f\x7f%\\]")


class Match(NamedTuple):
    """A path that fits a pattern; ``under`` is the path below the pattern's fixed folder."""

    path: str
    under: str
    status: os.stat_result


def search(
    patterns: Sequence[str],
    deadline: Deadline,
    *,
    since: float | None = None,
    literals: Mapping[str, str] = NO_LITERALS,
) -> Iterator[Match | Skipped]:
    """Files that fit any of ``patterns``, each once; folders are passed by in silence.

    With ``since`` (seconds since the epoch) files last written before it are skipped. Each
    ``{NAME}`` of a pattern is the text of ``literals``, of which no character is a wildcard.
    """
    seen: set[tuple[int, int]] = set()
    for pattern in patterns:
        fixed = _fixed_folder(pattern[: _find_first_literal(pattern, literals)])
        filled = _fill(pattern, literals)
        paths = sorted(islice(glob.iglob(filled, recursive=True), MAX_MATCHES + 1))
        if len(paths) > MAX_MATCHES:
            yield Skipped(pattern, f"fits more than {MAX_MATCHES:,} files; the rest is left")
        for path in paths[:MAX_MATCHES]:
            if deadline.passed():
                yield Skipped(pattern, "no time was left to look further")
                return
            try:
                status = os.lstat(path)
            except OSError as error:
                yield Skipped(path, f"cannot be looked at: {error.strerror}")
                continue
            if stat.S_ISDIR(status.st_mode) or (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            if not stat.S_ISREG(status.st_mode):
                yield Skipped(path, "a link, pipe or device, not a regular file")
            elif since is not None and status.st_mtime < since:
                yield Skipped(path, "written before the job began", usual=True)
            else:
                under = os.path.relpath(path, fixed)
                yield Match(os.path.join(fixed, under), under, status)


def open_regular(
    path: str, *, under: str = "", owner: int | None = None, named: bool = False
) -> int:
    """A file descriptor of the regular file ``path``, to read; it never waits for one.

    ``under`` is the end of ``path`` in which no part may be a link, at least the last.
    ``named`` follows all links, for a path that a person gave. ``owner`` is the user id
    it must belong to. Raises OSError with a clause as its ``strerror``.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    if named:
        # Opening alone can set off a device; the second look is at what was opened.
        _check(path, os.stat(path), owner)
        handle = os.open(path, flags)
    else:
        name = os.path.basename(path)
        folder = _folder(path, under)
        try:
            _check(path, os.stat(name, dir_fd=folder, follow_symlinks=False), owner)
            handle = os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
        except OSError as error:
            raise _link(path) if error.errno == errno.ELOOP else error from None
        finally:
            os.close(folder)
    try:
        _check(path, os.fstat(handle), owner)
    except OSError:
        os.close(handle)
        raise
    return handle


def open_artifact(artifact: Artifact) -> int:
    """A file descriptor of an artifact, as :func:`open_regular` gives it."""
    return open_regular(
        artifact.path, under=artifact.under, owner=artifact.owner, named=artifact.named
    )


def _folder(path: str, under: str) -> int:
    """The folder of ``path``, entered step by step below where ``under`` begins."""
    fixed = path[: -len(under)] if under and path.endswith(under) else os.path.dirname(path)
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    handle = os.open(fixed or ".", flags)
    steps = under.split("/")[:-1] if under else []
    for step in steps:
        try:
            below = os.open(step, flags | os.O_NOFOLLOW, dir_fd=handle)
        except OSError as error:
            linked = error.errno in {errno.ELOOP, errno.ENOTDIR}
            raise _link(path) if linked else error from None
        finally:
            os.close(handle)
        handle = below
    return handle


def _link(path: str) -> OSError:
    return OSError(errno.ELOOP, "reached by a link; links are not followed", path)


def safe_name(path: str) -> str:
    """``path`` as the name of a member: relative, its last parts, text without surprises.

    Bytes that are no UTF-8, control characters, ``%`` and backslash become ``%XX``. Of a
    long name the end is kept, where the rank stands.
    """
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
    return "/".join(_safe_part(part) for part in parts[-_MAX_PARTS:]) or "unnamed"


def node_folder(node: str) -> str:
    """``nodes/NODE``, one folder whatever the node is called."""
    return f"nodes/{safe_name(node.replace('/', '%2F'))}"


def _safe_part(part: str) -> str:
    raw = _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], os.fsencode(part))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = "".join(chr(byte) if byte < 128 else f"%{byte:02X}" for byte in raw)
    while len(text.encode("utf-8")) > _MAX_NAME:
        text = text[max(1, (len(text.encode("utf-8")) - _MAX_NAME) // 4) :]
    return text


def _check(path: str, status: os.stat_result, owner: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "a link, pipe or device, not a regular file", path)
    if owner is not None and status.st_uid != owner:
        raise OSError(errno.EPERM, "belongs to another user than the job", path)


def _fixed_folder(pattern: str) -> str:
    """The folder before the first part with a wildcard, of what stands before a literal."""
    ends = (match.start() for match in _MAGIC.finditer(pattern) if match[1])
    fixed = pattern[: next(ends, len(pattern))]
    return os.path.dirname(_MAGIC.sub(lambda match: match[0].strip("[]") or "[", fixed)) or "."


# A script that puts the name of a folder into a pattern lets whoever chose the name write the
# pattern: a job called ``*`` then asks for the files of all jobs. A literal is one name of a
# file, has no wildcards, and ends the fixed part of its pattern: no link there is followed.

_LITERAL = re.compile(r"([a-z]+)=(.*)", re.DOTALL | re.ASCII)
_PLACE = re.compile(r"\{([a-z]+)\}", re.ASCII)
_NO_NAME = re.compile(r"[/\x00-\x1f\x7f]")


def parse_literals(arguments: Sequence[str], patterns: Sequence[str]) -> dict[str, str]:
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


def _fill(pattern: str, literals: Mapping[str, str]) -> str:
    """``pattern`` with each ``{NAME}`` as its literal text; others stay as they are."""
    return _PLACE.sub(
        lambda match: glob.escape(literals[match[1]]) if match[1] in literals else match[0], pattern
    )


def _find_first_literal(pattern: str, literals: Mapping[str, str]) -> int:
    """Where the first literal of ``pattern`` stands; its length where there is none."""
    places = (match.start() for match in _PLACE.finditer(pattern) if match[1] in literals)
    return next(places, len(pattern))
