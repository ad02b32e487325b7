"""The incident folder: dumps, ``job.json``, and what is missing, cut or empty."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from simulator.run import Run
from simulator.tables import Desk
from triage.errors import UsageError

Layout = Literal["flat", "nodes"]
Progress = Callable[[int, int], None]
_THREADS = 2


def node_name(rank: int, gpus_per_node: int) -> str:
    """The node on which ``rank`` runs."""
    return f"n{rank // gpus_per_node:04d}"


@dataclass(slots=True)
class Folder:
    """Where files go; ``progress`` is called with the number of dumps written and their total."""

    path: Path
    layout: Layout
    prefix: str
    gpus_per_node: int
    progress: Progress | None = None
    _lock: Lock = field(default_factory=Lock)
    _done: int = 0

    def check(self) -> None:
        """Refuse a folder that has something in it."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file: give a folder that is new or empty")
        if self.path.is_dir() and any(self.path.iterdir()):
            raise UsageError(f"{self.path} is not empty: give a folder that is new or empty")
        if self.layout not in ("flat", "nodes"):
            raise UsageError(f"there is no layout {self.layout!r}: give flat or nodes")

    def create(self) -> None:
        """Make the folder."""
        try:
            (self.path / ("fr" if self.layout == "flat" else "nodes")).mkdir(parents=True)
        except OSError as error:
            raise UsageError(f"cannot create {self.path}: {error.strerror}") from error

    def place(self, rank: int, prefix: str | None = None) -> Path:
        """The file of the dump of ``rank``."""
        name = f"{self.prefix if prefix is None else prefix}{rank}"
        if self.layout == "flat":
            return self.path / "fr" / name
        return self.path / "nodes" / node_name(rank, self.gpus_per_node) / name

    def write(
        self,
        run: Run,
        ranks: list[int],
        lengths: dict[int, float],
        prefix: str | None = None,
    ) -> None:
        """The dumps of ``ranks``; ``lengths`` says which files were cut, and to what part."""
        if self.layout == "nodes":
            for folder in {self.place(rank).parent for rank in ranks}:
                folder.mkdir(exist_ok=True)
        shares = [ranks[turn::_THREADS] for turn in range(_THREADS)]
        with ThreadPoolExecutor(_THREADS) as pool:
            jobs = [
                pool.submit(self._write_share, run, share, lengths, prefix, len(ranks))
                for share in shares
                if share
            ]
            for job in jobs:
                job.result()
        self._done = 0

    def _write_share(
        self,
        run: Run,
        ranks: list[int],
        lengths: dict[int, float],
        prefix: str | None,
        total: int,
    ) -> None:
        desk: Desk = run.desk()
        for rank in ranks:
            dump = run.dump(rank, desk)
            part = lengths.get(rank, 1.0)
            with self.place(rank, prefix).open("wb", buffering=0) as file:
                file.write(dump if part >= 1.0 else dump[: int(len(dump) * part)])
            with self._lock:
                self._done += 1
                if self.progress is not None:
                    self.progress(self._done, total)

    def write_job(self, facts: dict[str, Any]) -> None:
        """``job.json``, as the launcher knows the job."""
        text = json.dumps(facts, indent=1) + "\n"
        (self.path / "job.json").write_text(text, encoding="utf-8")


def utc(ns: int) -> str:
    """``ns`` since 1970 as RFC 3339 text."""
    return datetime.fromtimestamp(ns // 1_000_000_000, UTC).isoformat().replace("+00:00", "Z")
