"""The locked wheels of the service in a folder, for an image that is built without a network."""

import subprocess
from pathlib import Path
from typing import Final

from tools.environment import BASE_PYTHON, ROOT, NextStep, say

IMAGE_PYTHON: Final = "3.12"
"""Of the image in ``Dockerfile``."""
# Tags that the wheels of a platform bear, the newest first.
_GLIBC: Final = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
PLATFORMS: Final = ("x86_64", "aarch64")
_LOCK: Final = "requirements/server.txt"


def fetch_wheels(platform: str = PLATFORMS[0], folder: Path = ROOT / "wheels") -> int:
    """Fetch what ``requirements/server.txt`` locks, checked by hash; how many wheels there are.

    Raises:
        NextStep: one of them cannot be had; the message is pip's last word.
    """
    say(f"fetching the locked wheels for Python {IMAGE_PYTHON} on {platform}")
    command = [
        BASE_PYTHON, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--require-hashes", "--only-binary=:all:", "--python-version", IMAGE_PYTHON,
        *(f"--platform={tag}_{platform}" for tag in _GLIBC), "-r", _LOCK, "-d", str(folder),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(done.stderr.splitlines()[-4:])
        raise NextStep(f"pip failed: {last}. Next: run it where a package index can be reached")
    num = len(list(folder.glob("*.whl")))
    say(f"{folder.name} has {num} wheels; `docker build .` takes them from there")
    return num
