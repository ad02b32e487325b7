"""Everything that readers compile, compiled and loaded before somebody waits for it.

It has to be everything: a confined reader finds no folder to keep what it compiles in, so that
each would compile anew. An image is built with all of it compiled:

    python -m triage.sandbox.warm_up
"""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from triage.formats.extractor import Extractor
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.parsers.flight_recorder import jit
from triage.report import build_study

_LOG: Final = b"[Sat Nov 21 03:14:15 2026] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off\n"
_JOB: Final = b"".join(b"[rank0]: step %d loss 2.31\n" % step for step in range(40))


# The others wait for it and load what it wrote, so that the first start takes one compilation's
# time on any number of cores. Where a lock cannot be had, each compiles by itself.

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
def hold_exclusive_lock(path: Path = Path(jit.__file__)) -> Iterator[None]:
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


_FILES: Final = (
    ("rank_0", SMALL_DUMP), ("rank_1", SMALL_DUMP), ("k.log", _LOG), ("j.log", _JOB),
)  # fmt: skip


def warm_up(extractor: Extractor) -> None:
    """Read and analyse one small file of each kind that compiled code reads."""
    jit.require_compiled()
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, data in _FILES:
            path = Path(folder) / name
            path.write_bytes(data)
            files.append(InputFile(path, name, len(data)))
        with hold_exclusive_lock():
            extracts = [unpack(pack(one)) for one in extractor.extract(files)]
            build_study(extracts, parse_job(b"{}")[0])


if __name__ == "__main__":
    warm_up(Extractor())
