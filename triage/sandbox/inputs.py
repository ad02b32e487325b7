"""The one folder that a reader reads: the files of the request that it has, and no others."""

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

    @contextmanager
    def lent(self, paths: Iterable[Path]) -> Iterator[list[str]]:
        """The paths under which the reader finds these files meanwhile.

        One that is not there is left for the reader to miss. Raises :class:`OSError`.
        """
        inside = []
        try:
            for number, path in enumerate(paths):
                name = self.path / str(number)
                inside.append(str(name))
                lend(path, name)
            yield inside
        finally:
            for one in inside:
                with suppress(OSError):
                    os.unlink(one)

    def remove(self) -> None:
        """Its reader has ended."""
        shutil.rmtree(self.path, ignore_errors=True)


def lend(path: Path, name: Path) -> None:
    try:
        os.link(path, name)
    except FileNotFoundError:
        return
    except OSError:  # on another file system, or of another user
        shutil.copyfile(path, name)
