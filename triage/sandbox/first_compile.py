"""Compiling once: of the processes that start together after an installation, one compiles.

The others wait for it and load what it wrote, so that the first start takes one compilation's
time on any number of cores. Where a lock cannot be had, each compiles by itself.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from triage.parsers.flight_recorder import jit

__all__ = ["SMALL_DUMP", "one_at_a_time"]

# Reading it compiles all by which dumps are read.
SMALL_DUMP: Final = (
    b'{"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"'
    b'}}, "pg_status": {}, "entries": [{"record_id": 0, "pg_id": 0, "process_group": ["0",'
    b' "default_pg"], "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1, "profiling_name":'
    b' "nccl:all_reduce", "time_created_ns": 1700000000000000000, "input_sizes": [[8]],'
    b' "input_dtypes": ["Float"], "output_sizes": [[8]], "output_dtypes": ["Float"], "state":'
    b' "scheduled", "time_discovered_started_ns": null, "time_discovered_completed_ns": null,'
    b' "retired": false, "timeout_ms": 600000, "is_p2p": false, "frames": []}]}'
)


@contextmanager
def one_at_a_time(path: Path = Path(jit.__file__)) -> Iterator[None]:
    """Hold the lock on ``path``, which is not written to: the source of how things are compiled.

    A process that dies lets go of it.
    """
    try:
        source = path.open("rb")
    except OSError:
        yield
        return
    with source:
        with suppress(OSError):  # some network file systems lock only what may be written
            fcntl.flock(source, fcntl.LOCK_EX)
        yield
