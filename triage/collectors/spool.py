"""Spool: bundles on this node's disk until the service has them.

One file per bundle: a line of JSON that says what it is, then the body of the request,
byte for byte. It gets its name only when it is whole and on disk, and loses it only
after a 2xx, so that an ending of the process at any moment loses nothing and sends at
worst twice, which the service takes as once. A lock keeps two collectors apart.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from triage.collectors.options import Misuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FORMAT = "triage.spool/1"
_SUFFIX = ".bundle"
# A bundle that is being written, and a folder for copies; a kill leaves them behind.
_PARTIAL, SCRATCH = ".partial-", ".scratch-"
_MAX_LABEL = 4096
# A partial file that old belongs to no process that still runs: deadlines are minutes.
_STALE_S = 86_400.0
_SYSTEM_FOLDER = "/var/spool/triage"


class Label(NamedTuple):
    """Whose bundle it is; what it does not name is empty."""

    job_id: str
    node: str
    incident: str
    encoding: str
    cluster: str = ""
    attempt: str = ""

    def line(self) -> bytes:
        """The first line of the file."""
        return json.dumps({"format": _FORMAT, **self._asdict()}).encode("ascii") + b"\n"


class Draft(NamedTuple):
    """A bundle that is being written; ``path`` is its place once it is whole."""

    file: IO[bytes]
    path: str


class Entry(NamedTuple):
    """An opened and locked bundle: its body is ``size_bytes`` from ``offset`` on."""

    path: str
    label: Label
    file: IO[bytes]
    offset: int
    size_bytes: int


class Spool:
    """The folder ``root``, of this user alone."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.refused = os.path.join(root, "refused")
        try:
            os.makedirs(root, 0o700, exist_ok=True)
            os.makedirs(self.refused, 0o700, exist_ok=True)
        except OSError as error:
            raise Misuse(f"--spool {root} cannot be made: {error.strerror}") from error
        status = os.lstat(root)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            # The owner of the folder could put links and other jobs' files into it.
            raise Misuse(f"--spool {root} must be a folder of the user that runs this")
        if status.st_mode & 0o077 and not status.st_mode & stat.S_ISVTX and self._holds_bundles():
            os.chmod(root, 0o700)
        if not os.access(root, os.W_OK | os.X_OK):
            raise Misuse(f"--spool {root} cannot be written")

    def _holds_bundles(self) -> bool:
        """Whether nothing else is in it: a shared folder is not closed to those who share it."""
        return all(
            name == "refused" or name.endswith(_SUFFIX) or name.startswith((_PARTIAL, SCRATCH))
            for name in os.listdir(self.root)
        )

    def room(self) -> int:
        """Bytes that a bundle may take: some are left for the others on this disk."""
        free = os.statvfs(self.root)
        return free.f_bavail * free.f_frsize * 4 // 5

    @contextmanager
    def writing(self, label: Label) -> Iterator[Draft]:
        """A file for the body of one bundle, which is in the spool once the block ends.

        When the block raises, nothing is. Raises OSError when the disk refuses.
        """
        name = f"{time.time_ns() // 1_000_000:015d}-{secrets.token_hex(4)}{_SUFFIX}"
        path = os.path.join(self.root, name)
        handle, partial = tempfile.mkstemp(dir=self.root, prefix=_PARTIAL)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(label.line())
                yield Draft(file, path)
                file.flush()
                os.fsync(file.fileno())
            os.rename(partial, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial)
            raise
        self._sync(self.root)

    def pending(self) -> list[str]:
        """Paths of the bundles that wait, the oldest first."""
        with os.scandir(self.root) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX))
        return [os.path.join(self.root, name) for name in names]

    @contextmanager
    def opened(self, path: str) -> Iterator[Entry | None]:
        """The bundle at ``path``; None where another collector has it or has sent it.

        A file that is no bundle goes to ``refused`` and gives None too.
        """
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            yield None
            return
        with os.fdopen(handle, "rb") as file:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(file.fileno())
                there = os.stat(path)
            except OSError:
                yield None
                return
            if (status.st_dev, status.st_ino) != (there.st_dev, there.st_ino):
                yield None
                return
            label = _label(file.readline(_MAX_LABEL))
            if label is None:
                self.refuse(path)
                yield None
                return
            offset = file.tell()
            yield Entry(path, label, file, offset, status.st_size - offset)

    def sent(self, path: str) -> None:
        """Delete a bundle that the service has."""
        with suppress(OSError):
            os.unlink(path)

    def refuse(self, path: str) -> str:
        """Move a bundle to ``refused``, where it is never sent again; its new path."""
        kept = os.path.join(self.refused, os.path.basename(path))
        with suppress(OSError):
            os.rename(path, kept)
        return kept

    def prune(self, max_bytes: int, max_age_s: float, keep: tuple[str, ...] = ()) -> list[str]:
        """Delete bundles that are too old, then the oldest until the rest fits; the deleted paths.

        ``keep`` is never deleted. Refused bundles go before those that wait.
        """
        now = time.time()
        self._drop_stale(now)
        bundles: list[tuple[int, str, os.stat_result]] = []
        for turn, folder in enumerate((self.refused, self.root)):
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(_SUFFIX):
                        with suppress(OSError):
                            bundles.append((turn, entry.path, entry.stat(follow_symlinks=False)))
        # Within a folder the name begins with the time.
        bundles.sort(key=lambda bundle: (bundle[0], os.path.basename(bundle[1])))
        total = sum(status.st_size for _, _, status in bundles)
        deleted = []
        for _, path, status in bundles:
            if path in keep:
                continue
            if total > max_bytes or now - status.st_mtime > max_age_s:
                with suppress(OSError):
                    os.unlink(path)
                    deleted.append(path)
                    total -= status.st_size
        return deleted

    def _drop_stale(self, now: float) -> None:
        with suppress(OSError), os.scandir(self.root) as entries:
            for entry in entries:
                if not entry.name.startswith((_PARTIAL, SCRATCH)):
                    continue
                with suppress(OSError):
                    if now - entry.stat(follow_symlinks=False).st_mtime <= _STALE_S:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path, ignore_errors=True)
                    else:
                        os.unlink(entry.path)

    @staticmethod
    def _sync(folder: str) -> None:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def choose_default_folder(environment: Mapping[str, str]) -> str:
    """``/var/spool/triage`` where this user may write it, else below the user's state folder."""
    if os.geteuid() == 0:
        return _SYSTEM_FOLDER
    if os.path.isdir(_SYSTEM_FOLDER) and os.stat(_SYSTEM_FOLDER).st_uid == os.geteuid():
        return _SYSTEM_FOLDER
    state = environment.get("XDG_STATE_HOME")
    if not state or not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "triage", "spool")


def _label(line: bytes) -> Label | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.pop("format", None) != _FORMAT:
        return None
    values = [data.get(name, "") for name in Label._fields]
    if not all(isinstance(value, str) for value in values) or not values[0]:
        return None
    return Label(*values)
