"""The one folder that a reader reads: the files of the request that it has, and no others."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

__all__ = ["InputFolder"]

PREFIX: Final = "triage-reader-"


class InputFolder:
    """Made for one reader; others of the same machine cannot look into it.

    It lies where temporary files do (``TMPDIR``), as the files that are lent to it, so that
    lending costs a name and no bytes.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.identity = identity_of(self.path)

    @contextmanager
    def lent(self, paths: Iterable[Path]) -> Iterator[list[str]]:
        """The paths under which the reader finds these files meanwhile.

        Raises :class:`OSError` where one is not there, and where the folder is not the one that the
        reader may look into, before or after: then what it says of a file is not to be believed.
        """
        inside = []
        self.check()
        try:
            for number, path in enumerate(paths):
                name = self.path / str(number)
                inside.append(str(name))
                lend(path, name)
            yield inside
            self.check()
            for one in inside:
                os.lstat(one)
        finally:
            for one in inside:
                with suppress(OSError):
                    os.unlink(one)

    def check(self) -> None:
        """Raises :class:`OSError` where the folder is away, or another one lies in its place."""
        if identity_of(self.path) != self.identity:
            raise FileNotFoundError(errno.ENOENT, "the folder of a reader was replaced", self.path)

    def remove(self) -> None:
        """Its reader has ended."""
        shutil.rmtree(self.path, ignore_errors=True)


def identity_of(folder: Path) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def lend(path: Path, name: Path) -> None:
    try:
        os.link(path, name)
    except FileNotFoundError:
        raise
    except OSError:  # on another file system, or of another user
        shutil.copyfile(path, name)
