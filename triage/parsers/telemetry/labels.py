"""Whose a sample is: node, GPU, part and rack from labels or columns, whoever named them."""

import re
from collections.abc import Mapping
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
