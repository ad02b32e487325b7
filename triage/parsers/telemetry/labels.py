"""Whose a sample is: node, GPU, part and rack from labels or columns, whoever named them."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from triage.domain.job import normalize_bus_id
from triage.domain.patterns import compile_re
from triage.parsers.telemetry.metrics import Source, find_metric
from triage.parsers.telemetry.samples import SeriesKey

# A node's name may have 256 characters; nothing that is longer names anything.
MAX_NAME: Final = 256
# In the order of trust: an exporter's own word for the machine, then where it was scraped.
_NODE: Final = (
    "hostname", "node", "node_name", "nodename", "kubernetes_node", "exported_node", "host",
    "exported_instance", "instance",
)  # fmt: skip
_BUS: Final = ("pci_bus_id", "pci.bus_id", "gpu_bus_id", "pci_bus", "bus_id")
_INDEX: Final = ("gpu", "gpu_index", "index", "minor_number", "device_index")
_UUID: Final = ("uuid", "gpu_uuid")
_RACK: Final = ("rack", "rack_id", "rack_name")
_PART: Final = ("link", "nvlink", "lane", "port", "part")
_DEVICE: Final = ("device", "hca", "ib_device", "infiniband")
IDENTITY: Final = frozenset(
    {*_NODE, *_BUS, *_INDEX, *_UUID, *_RACK, *_PART, *_DEVICE, "gpu_i_id", "rank"}
)
"""Columns of a table that tell series apart."""
_PORT_OF_INSTANCE = compile_re(r":[0-9]{1,5}$")
_LABEL = compile_re(r'\s*([A-Za-z_][A-Za-z0-9_.]{0,127})\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPED = compile_re(r"\\(.)")
# "Inlet Temp", "Inlet_Temp", "System Board Inlet", "Ambient"
_INLET = compile_re(r"\b(?:inlet|ambient)\b|inlet", re.IGNORECASE)
_SENSORS: Final = frozenset({"ipmi_temperature_celsius", "node_ipmi_temperature_celsius"})


def parse_labels(text: str) -> dict[str, str] | None:
    """``a="x",b="y"`` as a mapping with lower-case names; None where it is not well-formed."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None:
            return found if not text[at:].strip(" ,") else None
        found[match[1].lower()] = (
            _ESCAPED.sub(_unescape_match, match[2]) if "\\" in match[2] else match[2]
        )
        at = match.end()
    return found


def _unescape_match(match: re.Match[str]) -> str:
    return {"n": "\n"}.get(match[1], match[1])


def is_read(name: str) -> bool:
    """Whether a metric of this name is read, with the right labels."""
    return find_metric(name) is not None or name.lower() in _SENSORS


def find_source(name: str, labels: Mapping[str, str]) -> Source | None:
    """What the metric ``name`` stands for with these labels; None for what is not read."""
    if name.lower() in _SENSORS:
        sensor = labels.get("name", "") or labels.get("sensor", "")
        return find_metric("inlet_temp_c") if _INLET.search(sensor) else None
    return find_metric(name)


def build_series_key(source: Source, labels: Mapping[str, str], node: str | None) -> SeriesKey:
    """The series of ``source`` that ``labels`` (names in lower case) tell; ``node`` where they
    name none.
    """
    return SeriesKey(
        metric=source.metric,
        node=_find_labelled_node(labels) or node,
        gpu=_find_labelled_gpu(labels),
        part=_find_labelled_part(source, labels),
        rack=_find_first_label(labels, _RACK),
    )


def _find_first_label(labels: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = labels.get(name, "").strip()
        if value and len(value) <= MAX_NAME and value.isprintable():
            return value
    return None


def _find_labelled_node(labels: Mapping[str, str]) -> str | None:
    found = _find_first_label(labels, _NODE)
    return None if found is None else _PORT_OF_INSTANCE.sub("", found)


def _find_labelled_gpu(labels: Mapping[str, str]) -> str | None:
    """The bus id, else the index, else the uuid; None for a quantity of the node."""
    for name in (*_BUS, *_INDEX):
        bus = normalize_bus_id(labels[name]) if name in labels else None
        if bus is not None:
            return bus
    for name in _INDEX:
        index = labels.get(name, "").strip()
        if index.isascii() and index.isdecimal() and len(index) <= 3:
            return str(int(index))
    device = labels.get("device", "").removeprefix("nvidia")
    if device.isascii() and device.isdecimal() and labels["device"] != device:
        return str(int(device[:3]))
    return _find_first_label(labels, _UUID) or _find_first_label(labels, _INDEX[:1])


def find_labelled_uuid(labels: Mapping[str, str]) -> str | None:
    """The UUID of the GPU that a sample is of, or of which it is a slice."""
    return _find_first_label(labels, _UUID)


def _find_labelled_part(source: Source, labels: Mapping[str, str]) -> str | None:
    """The port, the link or the sort of error; and the slice of a GPU that is cut in slices."""
    found = [source.part] if source.part else []
    if source.metric.startswith("ib_"):
        device, port = _find_first_label(labels, _DEVICE), _find_first_label(labels, ("port",))
        found += ["/".join(one for one in (device, port) if one)]
    else:
        found += [f"{value}" for name in _PART if (value := _find_first_label(labels, (name,)))]
    if labels.get("gpu_i_id", "").strip():
        found.append(f"mig {labels['gpu_i_id'].strip()[:16]}")
    if labels.get("rank", "").strip().isdecimal():
        found.append(f"rank {labels['rank'].strip()[:7]}")
    return " ".join(one for one in found if one) or None


# What the columns of a table of telemetry are, from its first line.
#
# Wide: one column a metric, one row a GPU and time, as ``nvidia-smi --query-gpu`` prints it.
# Long: columns ``metric`` and ``value``, one row a sample.

# What a column is.
PASSED: Final = 0
KEY: Final = 1
TIME: Final = 2
VALUE: Final = 3

MAX_COLUMNS: Final = 512
_DELIMITERS: Final = (",", "\t", ";", "|")
_TIMES: Final = (
    "timestamp", "at", "time", "datetime", "ts", "date_time", "timestamp_ns", "timestamp_ms",
    "timestamp_s", "at_ns", "time_ns",
)  # fmt: skip
_METRICS: Final = ("metric", "metric_name", "__name__", "field")
_VALUES: Final = ("value", "metric_value")
# "power.draw [W]", "utilization.gpu [%]"
_UNIT = compile_re(r"\s*\[[^\]]{0,12}\]$")


@dataclass(frozen=True, slots=True)
class Columns:
    """``roles[i]`` is what column ``i`` is; ``sources`` are those of the columns of values in
    their order, empty for a long table, whose ``metric`` column says it row by row. ``time`` is
    -1 where no column says when.
    """

    delimiter: str
    names: tuple[str, ...]
    roles: tuple[int, ...]
    sources: tuple[Source, ...]
    time: int
    metric: int = -1

    @property
    def names_node(self) -> bool:
        """Whether a column says of which node a row is."""
        return not set(_NODE).isdisjoint(self.names)

    def list_places(self, role: int) -> list[int]:
        """The columns that are this."""
        return [place for place, one in enumerate(self.roles) if one == role]


def parse_header(line: bytes) -> Columns | None:
    """The columns that the first line of a file names; None where it heads no telemetry."""
    text = line.decode("utf-8", "replace").strip("\r\n\ufeff ")
    if not text or (not text.isprintable() and "\t" not in text):
        return None
    delimiter = max(_DELIMITERS, key=text.count)
    if not text.count(delimiter):
        return None
    try:
        row = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return None
    names = tuple(_UNIT.sub("", one.strip().strip('"').strip()).lower() for one in row)
    if not 2 <= len(names) <= MAX_COLUMNS:
        return None
    time = next((names.index(one) for one in _TIMES if one in names), -1)
    metric = next((names.index(one) for one in _METRICS if one in names), -1)
    value = next((names.index(one) for one in _VALUES if one in names), -1)
    if metric >= 0 and value >= 0 and time >= 0:
        roles = [KEY if name in IDENTITY else PASSED for name in names]
        roles[metric], roles[value], roles[time] = KEY, VALUE, TIME
        return Columns(delimiter, names, tuple(roles), (), time, metric)
    found = [find_metric(name) for name in names]
    sources = tuple(one for one in found if one is not None)
    if not sources:
        return None
    roles = [
        VALUE if source is not None else KEY if name in IDENTITY else PASSED
        for name, source in zip(names, found, strict=True)
    ]
    if time >= 0:
        roles[time] = TIME
    return Columns(delimiter, names, tuple(roles), sources, time)


# A table of GPUs at one moment: ``nvidia-smi --query-gpu`` without ``timestamp``.
#
# ::
#
#     index, pci.bus_id, utilization.gpu [%], utilization.memory [%], power.draw [W]
#     0, 00000000:18:00.0, 100 %, 0 %, 232.50 W
#
# No sample of telemetry is without a time; what the GPUs did at one moment is a look.

_SAYS_WHICH: Final = frozenset({"index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"})


def is_gpu_table(columns: Columns) -> bool:
    """Whether it tells how busy each GPU is, and not when."""
    return (
        columns.time < 0
        and "utilization.gpu" in columns.names
        and not _SAYS_WHICH.isdisjoint(columns.names)
    )
