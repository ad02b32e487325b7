"""Real incidents as a sender would bring them."""

import io
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).parents[2]
INCIDENTS = ROOT / "tests" / "incidents"
GPU_LOST = INCIDENTS / "logs-gpu-lost-with-dumps-w8" / "files"


def body_of(data: bytes) -> Callable[[int], bytes]:
    """A request's body."""
    return io.BytesIO(data).read


def tar_of(files: dict[str, bytes]) -> bytes:
    """A tar of these files."""
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return found.getvalue()


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of an incident folder by name, without what tests know of it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "expected.json"
    }


def fresh_files_of(folder: Path) -> dict[str, bytes]:
    """The same but its dumps, with the days of its logs moved to the last one: nobody is left out
    of a start for what failed long ago. They end at 01:36:47.
    """
    ended = timedelta(hours=1, minutes=36, seconds=47)
    day = (datetime.now(UTC) - ended).strftime("%Y-%m-%d").encode()
    return {
        name: data.replace(b"2026-11-21", day)
        for name, data in files_of(folder).items()
        if not name.startswith("fr/")
    }
