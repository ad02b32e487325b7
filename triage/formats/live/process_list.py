"""``triage live``'s list of a node's processes as a format."""

from typing import Final

from triage.formats.format import Head
from triage.formats.live.live_format import LiveFormat
from triage.parsers.live.process_list import SCHEMA, process_list_looks

__all__ = ["PROCESS_LIST"]


def _begins(head: Head) -> bool:
    return head.text.lstrip().startswith("{") and f'"{SCHEMA}"' in head.text[:512]


PROCESS_LIST: Final = LiveFormat("process_list", _begins, process_list_looks, words=(SCHEMA,))
