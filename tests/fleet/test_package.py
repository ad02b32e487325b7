"""What `triage.reliability` hands on, and what importing it may cost."""

import subprocess
import sys
from pathlib import Path

import triage.reliability as package

ROOT = Path(__file__).resolve().parents[2]


def test_every_name_that_is_handed_on_is_there() -> None:
    assert [name for name in package.__all__ if not hasattr(package, name)] == []
    assert package.__all__ == sorted(package.__all__, key=lambda name: (name.islower(), name))


def test_importing_it_loads_no_scipy_and_no_scikit_learn() -> None:
    code = "import sys, triage.reliability; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "triage" in loaded
    assert loaded.isdisjoint({"scipy", "sklearn", "pandas", "pyarrow"})
