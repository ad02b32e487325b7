"""Limits of a child that decodes foreign bytes: memory, open files, and who goes first."""

import resource
from pathlib import Path
from typing import Final

# Exit status of one that refuses what it was given, with the reason on stderr.
REFUSED: Final = 3
_OPEN_FILES: Final = 256
# Asked by the kernel who is to go first: not the service.
_OOM_SCORE: Final = "500"


def restrict(memory_bytes: int) -> None:
    """Limits that hold whatever the bytes ask for."""
    for limit, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, most = resource.getrlimit(limit)
        capped = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (capped, capped))
    try:
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")
    except OSError:
        return
