"""How busy each GPU of a node is at one moment, as nvidia-smi and amd-smi print it.

``nvidia-smi --query-gpu=index,utilization.gpu,... --format=csv``, and ``nvidia-smi dmon``::

    index, uuid, utilization.gpu [%], utilization.memory [%], power.draw [W], power.limit [W]
    0, GPU-6b1f, 100 %, 0 %, 232.50 W, 700.00 W

    # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
    # Idx      W      C      C      %      %      %      %    MHz    MHz
        0    232     41      -    100      0      0      0   2619   1980

``amd-smi metric --usage --power --json``::

    [{"gpu": 0, "usage": {"gfx_activity": {"value": 100, "unit": "%"}, "umc_activity": ...},
      "power": {"socket_power": {"value": 240, "unit": "W"}}}]

A table that is printed again each second tells a GPU several times, in the order of time.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from triage.domain.evidence import Stamp
from triage.domain.job import normalize_bus_id
from triage.domain.live.look import GpuSample, Look, Tool
from triage.domain.patterns import compile_re
from triage.errors import Corrupt
from triage.parsers.live.file_names import stamp_of_name
from triage.parsers.live.foreign_values import (
    get_finite_number,
    get_json_object,
    iterate_json_objects,
    make_stamp,
    parse_json_value,
    parse_whole_number,
)
from triage.parsers.telemetry.labels import Columns, parse_header

_MAX_SAMPLES: Final = 65_536
_MAX_LINE: Final = 4096
_NUMBER: Final = compile_re(r"\s{0,8}(\d{1,7}(?:\.\d{1,6})?)\s{0,4}(?:%|W|MHz)?\s{0,8}$")

_Values = Mapping[str, str]


def read_gpu_table(text: str, artifact: str) -> Sequence[Look]:
    """One look at the GPUs of a node. Raises :class:`Corrupt` where no row can be read."""
    lines = text.split("\n")
    columns = parse_header(lines[0].encode()) if lines else None
    if columns is None:
        raise Corrupt("the first line names no columns of GPUs")
    return _build_gpu_look(artifact, _iterate_table_samples(lines[1:], columns))


def _iterate_table_samples(lines: Sequence[str], columns: Columns) -> Iterator[GpuSample]:
    for number, line in enumerate(lines, 2):
        one = [line] if len(line) <= _MAX_LINE else []
        with suppress(csv.Error):
            row = next(csv.reader(one, delimiter=columns.delimiter, skipinitialspace=True), [])
            if len(row) >= len(columns.names):
                yield _make_sample(dict(zip(columns.names, row, strict=False)), number)


def _make_sample(values: _Values, line: int) -> GpuSample:
    index = values.get("index", "").strip()
    uuid = _get_first_value(values, "uuid", "gpu_uuid").strip()
    return GpuSample(
        node=None,
        index=int(index) if index.isdecimal() and len(index) <= 4 else None,
        bus_id=normalize_bus_id(_get_first_value(values, "pci.bus_id", "gpu_bus_id")),
        uuid=uuid[:100] or None,
        utilisation_percent=_parse_first_measure(values, "utilization.gpu"),
        memory_percent=_parse_first_measure(values, "utilization.memory"),
        power_w=_parse_first_measure(
            values, "power.draw", "power.draw.instant", "power.draw.average"
        ),
        power_limit_w=_parse_first_measure(values, "power.limit", "enforced.power.limit"),
        line=line,
    )


def _get_first_value(values: _Values, *names: str) -> str:
    return next((values[name] for name in names if values.get(name)), "")


def _parse_first_measure(values: _Values, *names: str) -> float | None:
    """The first of these columns that holds a number, whatever its unit."""
    found = (_NUMBER.match(values.get(name, "")[:40]) for name in names)
    return next((float(one[1]) for one in found if one is not None), None)


def read_dmon(text: str, artifact: str) -> Sequence[Look]:
    """One look of ``nvidia-smi dmon``. Raises :class:`Corrupt` where no row can be read."""
    return _build_gpu_look(artifact, _iterate_dmon_samples(text))


_DMON_NAMES: Final = {
    "gpu": "index",
    "pwr": "power.draw",
    "sm": "utilization.gpu",
    "mem": "utilization.memory",
}


def _iterate_dmon_samples(text: str) -> Iterator[GpuSample]:
    names: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line[:_MAX_LINE].split()
        if words[:2] == ["#", "gpu"]:
            names = [_DMON_NAMES.get(word, word) for word in words[1:]]
        elif words and words[0].isdecimal() and len(words) == len(names):
            yield _make_sample(dict(zip(names, words, strict=True)), number)


def read_amd_smi(text: str, artifact: str) -> Sequence[Look]:
    """One look of ``amd-smi metric --json``. Raises :class:`Corrupt` where no GPU can be read."""
    value = parse_json_value(text)
    listed = value if isinstance(value, list) else get_json_object(value).get("gpu_data")
    return _build_gpu_look(artifact, map(_build_amd_sample, iterate_json_objects(listed)))


def _build_amd_sample(one: Mapping[str, Any]) -> GpuSample:
    usage, power = get_json_object(one.get("usage")), get_json_object(one.get("power"))
    index = parse_whole_number(one.get("gpu"))
    return GpuSample(
        node=None,
        index=index if index is not None and 0 <= index < 10_000 else None,
        utilisation_percent=_parse_unit_value(usage.get("gfx_activity")),
        memory_percent=_parse_unit_value(usage.get("umc_activity")),
        power_w=_parse_unit_value(power.get("socket_power") or power.get("average_socket_power")),
    )


def _parse_unit_value(value: Any) -> float | None:
    """``{"value": 100, "unit": "%"}``, or the number alone; ``"N/A"`` is none."""
    found = get_finite_number(value.get("value") if isinstance(value, dict) else value)
    return found if found is not None and found >= 0 else None


def _build_gpu_look(artifact: str, rows: Iterator[GpuSample]) -> Sequence[Look]:
    gpus: list[GpuSample] = []
    partial = None
    for row in rows:
        if row.utilisation_percent is None or (row.index, row.bus_id, row.uuid) == (None,) * 3:
            continue
        if len(gpus) >= _MAX_SAMPLES:
            partial = f"more than {_MAX_SAMPLES:,} rows"
            break
        gpus.append(row)
    if not gpus:
        raise Corrupt("no GPU that says how busy it is")
    stamp = stamp_of_name(artifact)
    return (Look(artifact, Tool.GPU_STATE, stamp, gpus=tuple(gpus), partial=partial),)


# The table that ``nvidia-smi`` prints without options: load and power of each GPU of a node.
#
# ::
#
#     Tue Nov 24 03:05:06 2026
#     +---------------------------------------------------------------------------------------+
#     | NVIDIA-SMI 550.90.07       Driver Version: 550.90.07    CUDA Version: 12.4             |
#     | Fan  Temp   Perf   Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M.         |
#     |   5  NVIDIA H100 80GB HBM3   On  |   00000000:6D:00.0 Off |                    0 |
#     | N/A   41C    P0     232W / 700W  |   65000MiB /  81559MiB |    100%      Default |
#
# Two lines a GPU. Its memory in use is no traffic. A table that is printed again is a later sample.

_MAX_SMI_LINE: Final = 300
_WHICH: Final = compile_re(
    r"\|\s{1,6}(\d{1,3})\s[^|]{1,100}\|\s{0,20}([0-9A-Fa-f:]{7,20}\.[0-7])\s"
)
_LOAD: Final = compile_re(
    r"\|[^|]{1,40}?(\d{1,5})W\s{0,4}/\s{0,4}(\d{1,5})W\s{0,10}\|[^|]{1,60}\|\s{0,20}(\d{1,3})%\s"
)
# "Tue Nov 24 03:05:06 2026", in the zone of the node
_DATE: Final = compile_re(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$")


def read_smi_tables(text: str, artifact: str) -> Sequence[Look]:
    """One look for each table. Raises :class:`Corrupt` where no GPU has a load."""
    looks = [
        Look(artifact, Tool.GPU_STATE, stamp or stamp_of_name(artifact), gpus=tuple(gpus))
        for stamp, gpus in _iterate_smi_tables(text)
    ]
    if not looks:
        raise Corrupt("no GPU with a load in what begins like the table of nvidia-smi")
    return looks


def _iterate_smi_tables(text: str) -> Iterator[tuple[Stamp | None, list[GpuSample]]]:
    stamp: Stamp | None = None
    gpus: list[GpuSample] = []
    which: tuple[int, str | None] | None = None
    count = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:_MAX_SMI_LINE].rstrip()
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
    if _DATE.match(line) is None:
        return None
    try:
        return make_stamp(datetime.strptime(line, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC))
    except ValueError:
        return None
