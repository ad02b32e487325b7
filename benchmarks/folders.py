"""Simulated incident folders: made once, kept, and used again."""

import json
import shutil
from pathlib import Path
from typing import Any

from benchmarks.child import run, triage_command


def made(kind: str, out: Path, *options: str) -> Path:
    """The folder ``out`` with a fault of ``kind``; made by a process of its own when absent."""
    marker = _truth_file(out)
    if out.is_dir() and marker.is_file():
        return out
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    done = run(triage_command("simulate", kind, "--out", str(out), *options))
    if done.status:
        raise SystemExit(f"simulate {kind} {' '.join(options)}: {done.output.strip()}")
    return out


def _truth_file(folder: Path) -> Path:
    """Where the simulator writes the truth: beside the folder."""
    return folder.with_name(folder.name + ".truth.json")


def truth_of(folder: Path) -> dict[str, Any] | None:
    """What was done to the job; None for a folder that nobody simulated."""
    path = _truth_file(folder)
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def dump_folder(folder: Path) -> Path:
    """Where the dumps alone lie."""
    return folder / "fr" if (folder / "fr").is_dir() else folder
