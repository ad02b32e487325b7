"""A service of one release after the other, on the same database, blobs and port.

Each release runs from its own tree; the Python and its packages are those of this checkout.
"""

import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Final

from benchmarks.service_processes import (
    ROOT,
    Installation,
    Process,
    free_port,
    servers,
)

# The last commit of 0.1.0.
FIRST_RELEASE: Final = "b22bc10"
_SETTINGS: Final = {
    "TRIAGE_LOG_LEVEL": "warning",
    "TRIAGE_LOG_FORMAT": "json",
    "TRIAGE_MIN_FREE_BYTES": "0",
    "TRIAGE_QUIET_S": "3",
    "TRIAGE_COLLECT_WITHIN_S": "20",
    "TRIAGE_LEASE_S": "10",
    "TRIAGE_WEBHOOK_ALLOW": "127.0.0.0/8",
    "TRIAGE_MESSAGES_PER_MINUTE": "100000",
    "TRIAGE_KEEP_DAYS": "4000",
    "TRIAGE_KEEP_BLOBS_DAYS": "4000",
}


class Releases:
    """One installation, and the trees that it runs from."""

    def __init__(self, folder: Path, env: Mapping[str, str], first: Path) -> None:
        self.folder = folder
        self.env = dict(env)
        self.trees = {"0.1": first, "now": ROOT}
        self.port = free_port()
        self.running: dict[str, Process] = {}

    @property
    def database_url(self) -> str:
        """For SQLAlchemy."""
        return self.env["TRIAGE_DATABASE_URL"]

    @property
    def blobs(self) -> Path:
        """The folder of the blob store."""
        return self.folder / "data" / "blobs"

    def env_of(self, release: str) -> dict[str, str]:
        """The settings of a process of this release."""
        return {**self.env, "PYTHONPATH": str(self.trees[release])}

    def start(self, release: str, *names: str) -> None:
        """Start ``api``, ``worker`` or ``scheduler`` of a release; wait until the API answers."""
        commands = {
            "api": ["serve", "--port", str(self.port), "--open", "--no-worker"],
            "worker": ["worker", "--concurrency", "1"],
            "scheduler": ["scheduler"],
        }
        for name in names:
            command = [sys.executable, "-m", "triage.cli.main", *commands[name]]
            process = Process(
                name, command, self.env_of(release), self.folder / f"{name}-{release}.log",
                cwd=self.trees[release],
            )  # fmt: skip
            process.start()
            self.running[name] = process
        if "api" in names:
            api = self.running["api"]
            Installation("redis", self.folder, self.env, self.port, api).wait_up()

    def stop(self, *names: str) -> float:
        """SIGTERM, as an operator does; seconds until all have ended."""
        began = time.monotonic()
        for name in names:
            self.running.pop(name).end()
        return time.monotonic() - began

    def end(self) -> None:
        """Stop what runs."""
        self.stop(*reversed(list(self.running)))

    def command(self, release: str, *arguments: str) -> tuple[int, str, float]:
        """One ``triage`` command of a release: status, what it printed, CPU seconds."""
        return self.python(release, "-m", "triage.cli.main", *arguments)

    def python(self, release: str, *arguments: str) -> tuple[int, str, float]:
        """One Python process in the tree of a release: status, what it printed, CPU seconds."""
        before = os.times()
        done = subprocess.run(
            [sys.executable, *arguments], env=self.env_of(release), cwd=self.trees[release],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=3000,
        )  # fmt: skip
        after = os.times()
        used = after.children_user - before.children_user
        used += after.children_system - before.children_system
        return done.returncode, done.stdout.decode().strip(), used


@contextmanager
def released(folder: Path, first: Path) -> Iterator[Releases]:
    """An installation with PostgreSQL and Redis on which nothing runs yet."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRIAGE_")}
    with servers("redis") as settings:
        data = {"TRIAGE_DATA_DIR": str(folder / "data")}
        made = Releases(folder, {**kept, **_SETTINGS, **data, **settings}, first)
        try:
            yield made
        finally:
            made.end()


def tree_of(commit: str, folder: Path) -> Path:
    """The files of a commit, in a folder of their own."""
    packed = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=ROOT, check=True, capture_output=True
    )
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder
