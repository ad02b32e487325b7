"""Readers that certain names of files bring down, for tests of who asks them."""

import os
from pathlib import Path

_FOLDER = Path(__file__).parent / "crashing"
_ROOT = Path(__file__).parents[2]


def build_crash_environment(asked: str) -> dict[str, str]:
    """Variables by which a reader crashes: ``substring=segv,other=hang``."""
    return {"PYTHONPATH": f"{_FOLDER}{os.pathsep}{_ROOT}", "PYTHON_CRASH_ON": asked}
