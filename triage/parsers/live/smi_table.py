"""The table that ``nvidia-smi`` prints without options: load and power of each GPU of a node.

::

    Tue Nov 24 03:05:06 2026
    +---------------------------------------------------------------------------------------+
    | NVIDIA-SMI 550.90.07       Driver Version: 550.90.07    CUDA Version: 12.4             |
    | Fan  Temp   Perf   Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M.         |
    |   5  NVIDIA H100 80GB HBM3   On  |   00000000:6D:00.0 Off |                    0 |
    | N/A   41C    P0     232W / 700W  |   65000MiB /  81559MiB |    100%      Default |

Two lines a GPU. Its memory in use is no traffic. A table that is printed again is a later sample.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.job import normalize_bus_id
from triage.domain.live.look import GpuSample, Look, Tool
from triage.domain.patterns import compile_re
from triage.errors import Corrupt
from triage.parsers.live.file_names import stamp_of_name

_MAX_LINE: Final = 300
_MAX_SAMPLES: Final = 65_536
_WHICH: Final = compile_re(
    r"\|\s{1,6}(\d{1,3})\s[^|]{1,100}\|\s{0,20}([0-9A-Fa-f:]{7,20}\.[0-7])\s"
)
_LOAD: Final = compile_re(
    r"\|[^|]{1,40}?(\d{1,5})W\s{0,4}/\s{0,4}(\d{1,5})W\s{0,10}\|[^|]{1,60}\|\s{0,20}(\d{1,3})%\s"
)
# "Tue Nov 24 03:05:06 2026", in the zone of the node
_DATE: Final = compile_re(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$")
_NANOSECONDS: Final = 1_000_000_000


def read_smi_tables(text: str, artifact: str) -> Sequence[Look]:
    """One look for each table. Raises :class:`Corrupt` where no GPU has a load."""
    looks = []
    for stamp, gpus in _iterate_smi_tables(text):
        named = stamp_of_name(artifact) if stamp is None else stamp
        by = None if named is None else "name" if stamp is None else "content"
        looks.append(Look(artifact, Tool.GPU_STATE, named or NO_STAMP, by, gpus=tuple(gpus)))
    if not looks:
        raise Corrupt("no GPU with a load in what begins like the table of nvidia-smi")
    return looks


def _iterate_smi_tables(text: str) -> Iterator[tuple[Stamp | None, list[GpuSample]]]:
    """(when, GPUs) of each table that has any."""
    stamp: Stamp | None = None
    gpus: list[GpuSample] = []
    which: tuple[int, str | None] | None = None
    count = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:_MAX_LINE].rstrip()
        if "NVIDIA-SMI" in line or (dated := _parse_stamp(line)) is not None:
            if gpus:
                yield stamp, gpus
                stamp, gpus = None, []
            if "NVIDIA-SMI" not in line:
                stamp = dated
        elif (head := _WHICH.match(line)) is not None:
            which = (int(head[1]), normalize_bus_id(head[2]))
        elif which is not None and (load := _LOAD.match(line)) is not None:
            count += 1
            if count > _MAX_SAMPLES:
                break
            gpus.append(
                GpuSample(
                    None, which[0], which[1], utilisation_percent=float(load[3]),
                    power_w=float(load[1]), power_limit_w=float(load[2]), line=number,
                )
            )  # fmt: skip
            which = None
    if gpus:
        yield stamp, gpus


def _parse_stamp(line: str) -> Stamp | None:
    """The date that stands above a table."""
    if _DATE.match(line) is None:
        return None
    try:
        at = datetime.strptime(line, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    return Stamp(wall_ns=int(at.timestamp()) * _NANOSECONDS, error_ns=_NANOSECONDS)
