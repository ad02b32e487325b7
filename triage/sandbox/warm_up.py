"""Everything that readers compile, compiled and loaded before somebody waits for it.

It has to be everything: a confined reader finds no folder to keep what it compiles in, so that
each would compile anew. An image is built with all of it compiled:

    python -m triage.sandbox.warm_up
"""

import tempfile
from pathlib import Path
from typing import Final

from triage.formats.extractor import Extractor
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import parse_job
from triage.parsers.flight_recorder.jit import require_compiled
from triage.report import study_of
from triage.sandbox.first_compile import SMALL_DUMP, one_at_a_time

__all__ = ["warm_up"]

LOG: Final = b"[Sat Nov 21 03:14:15 2026] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off\n"
# More series than the table of them has room for at first, which then grows.
EXPOSITION: Final = b"# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" + b"".join(
    b'DCGM_FI_DEV_GPU_TEMP{gpu="%d",Hostname="n3"} 61.5 1795143810000\n' % gpu
    for gpu in range(2100)
)
TABLE: Final = b"timestamp, index, temperature.gpu\n" + b"".join(
    b"2026/11/21 03:04:%d.000, 0, 61\n" % second for second in range(10, 30)
)
JOB: Final = b"".join(b"[rank0]: step %d loss 2.31\n" % step for step in range(40))
FILES: Final = (
    ("rank_0", SMALL_DUMP), ("rank_1", SMALL_DUMP), ("k.log", LOG), ("j.log", JOB),
    ("a.prom", EXPOSITION), ("b.csv", TABLE),
)  # fmt: skip


def warm_up(extractor: Extractor) -> None:
    """Read and analyse one small file of each kind that compiled code reads."""
    require_compiled()
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, data in FILES:
            path = Path(folder) / name
            path.write_bytes(data)
            files.append(InputFile(path, name, len(data)))
        with one_at_a_time():
            extracts = [unpack(pack(one)) for one in extractor.extract(files)]
            study_of(extracts, parse_job(b"{}")[0])


if __name__ == "__main__":
    warm_up(Extractor())
