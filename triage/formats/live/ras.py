"""Reports of NCCL RAS as formats: text, JSON, and streams of events."""

from typing import Final

from triage.formats.format import Head
from triage.formats.live.live_format import LiveFormat
from triage.parsers.live.ras.monitor import begins_as_monitor, parse_monitor
from triage.parsers.live.ras.report_json import begins_as_json, parse_json
from triage.parsers.live.ras.report_text import begins_as_text, parse_text

__all__ = ["RAS_JSON", "RAS_MONITOR", "RAS_TEXT"]


def is_text(head: Head) -> bool:
    return begins_as_text(head.text)


def is_json(head: Head) -> bool:
    return head.data.lstrip()[:1] in (b"{", b"O", b"S", b"\xef") and begins_as_json(head.whole_text)


def is_monitor(head: Head) -> bool:
    return begins_as_monitor(head.text)


RAS_TEXT: Final = LiveFormat("ras_text", is_text, parse_text, words=("Job summary",))
RAS_JSON: Final = LiveFormat("ras_json", is_json, parse_json)
RAS_MONITOR: Final = LiveFormat("ras_monitor", is_monitor, parse_monitor, words=("PEER_",))
