"""Alerts of Prometheus as lines: the node that their labels name, and what they say.

Labels are as different as the rules that made them: those of kube-state-metrics, of Slurm's and
NVIDIA's exporters are known here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from triage.domain.patterns import compile_re
from triage.parsers.logs.record_fields import Holds, join_texts, read_fields
from triage.render.words.clean import format_one_line

_MAX_TEXT: Final = 4000
_PORT: Final = compile_re(r"(?<=[^:]):[0-9]{1,5}$", re.ASCII)
_XID: Final = compile_re(r"[0-9]{1,5}", re.ASCII)
_XID_LABELS: Final = ("xid", "err_code", "xid_code")
_BUS_LABELS: Final = ("pci_bus_id", "pci_bus", "bus_id")
_BUS: Final = compile_re(
    r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?", re.ASCII
)


def iterate_node_labels(labels: Mapping[str, str]) -> Iterator[str]:
    """The names of a node that labels hold, the surest first."""
    return (_PORT.sub("", name) for name in read_fields(labels).get(Holds.HOST, ()) if name)


def compose_alert(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The alert as a kernel would have said it; an Xid as the driver prints it."""
    texts = [annotations.get(name, "") for name in ("summary", "message", "description")]
    parts = [labels.get("alertname", ""), *texts]
    said = format_one_line(join_texts(parts))[:_MAX_TEXT]
    code = next((labels[key] for key in _XID_LABELS if _XID.fullmatch(labels.get(key, ""))), None)
    bus = next((labels[key] for key in _BUS_LABELS if _BUS.fullmatch(labels.get(key, ""))), None)
    if code is not None and bus is not None:
        return f"NVRM: Xid (PCI:{bus}): {code}, {said}"
    return said


def keep_texts(value: object) -> dict[str, str]:
    """The members of an object that are words or numbers, as text."""
    if not isinstance(value, Mapping):
        return {}
    return {
        key: str(one)
        for key, one in value.items()
        if isinstance(one, str | int | float) and not isinstance(one, bool)
    }
