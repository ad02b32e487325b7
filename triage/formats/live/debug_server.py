"""What PyTorch's debug server leaves: periodic files, pages, and answers of single handlers."""

from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.format import Head
from triage.formats.live.live_format import LiveFormat
from triage.parsers.live.debug_server.debug_server_looks import (
    page_looks,
    read_counter_answer,
    read_debug_file,
    read_refusal_answer,
    store_looks,
)
from triage.parsers.live.debug_server.trace_tables import read_trace_tables

_LOOKED_AT: Final = 8 << 10
# "=== Rank 0: http://gpu-n01:33767/handler/dump_traceback? ==="
_SECTION: Final = compile_re(rb"\s{0,64}=== Rank \d{1,7}: https?://[^\s/]{1,300}/handler/\w")
# "PARTIAL DATA: 2/4 workers responded", then "  Rank 2: ..." up to the first section
_PARTIAL: Final = compile_re(rb"\s{0,64}PARTIAL DATA: \d{1,7}/\d{1,7} workers responded\r?\n")
# '{"pytorch.wait_counter.TCPStore__get":{"active_count":0,...'
_COUNTER: Final = compile_re(
    rb'\s{0,64}\{\s{0,64}"pytorch\.wait_counter\.[^"]{1,300}"\s{0,16}:\s{0,16}\{\s{0,64}"\w{1,32}"'
)
# "Handler dump_nccl_trace_json not found: Failed to find handler dump_nccl_trace_json", alone
_REFUSAL: Final = compile_re(rb"Handler \w{1,64} (?:not found|failed): [^\n]{0,2000}\n?\Z")
# "debug_server/rank0: b'http://gpu-n01:41701'", somewhere among the keys of a store
_STORED: Final = compile_re(rb"(?:\A|\n)(?:\S{1,256}/)?debug_server/rank\d{1,7}: b?['\"]?https?://")
# "default_pg/0//1//cpu//0/0: b'\x02...'"
_KEY: Final = compile_re(rb"[^\s:]{1,300}: (?:b['\"]|<)")


# "=== FR Trace ===", the CPU recorder's tables, before "=== FR Trace NCCL ==="
_TABLES: Final = compile_re(rb"\s{0,64}=== FR Trace(?: \w{1,32})? ===\r?\n")
_PAGE_WORDS: Final = ("<!doctype html", "<html", "<head", "<!-- saved from")
_PAGE_STARTS: Final = tuple(word.encode() for word in _PAGE_WORDS)


def _is_table_page(head: Head) -> bool:
    """The heading of the tables."""
    return _TABLES.match(head.data[:256]) is not None


def _is_periodic_file(head: Head) -> bool:
    """A section of a rank, or the list of those that did not answer."""
    return _SECTION.match(head.data) is not None or _PARTIAL.match(head.data) is not None


def _is_frontend_page(head: Head) -> bool:
    """The frontend's page: its title, and a heading of a rank."""
    if not head.data[:512].lstrip().lower().startswith(_PAGE_STARTS):
        return False
    whole = head.data
    return b"Torch Distributed Debug Server" in whole and b"<h2>Rank " in whole


def _is_store_listing(head: Head) -> bool:
    """Lines of keys with bytes, the addresses of the debug server among them."""
    start = head.data[:_LOOKED_AT]
    return _KEY.match(start) is not None and _STORED.search(start) is not None


def _is_wait_counters(head: Head) -> bool:
    """A JSON object of wait counters."""
    return _COUNTER.match(head.data[:_LOOKED_AT]) is not None


def _is_handler_refusal(head: Head) -> bool:
    """One line alone: there is no such handler, or it failed."""
    return head.data.startswith(b"Handler ") and _REFUSAL.match(head.data[:4096]) is not None


SERVER_FILE: Final = LiveFormat(
    "debug_server_file", _is_periodic_file, read_debug_file, words=("=== Rank ", "PARTIAL DATA: ")
)
SERVER_PAGE: Final = LiveFormat(
    "debug_server_page", _is_frontend_page, page_looks, words=_PAGE_WORDS
)
STORE_KEYS: Final = LiveFormat(
    "store_keys", _is_store_listing, store_looks, words=("debug_server/rank",)
)
WAIT_COUNTER_VALUES: Final = LiveFormat(
    "wait_counters", _is_wait_counters, read_counter_answer, words=("pytorch.wait_counter.",)
)
TRACE_TABLES: Final = LiveFormat(
    "trace_tables", _is_table_page, read_trace_tables, words=("=== FR Trace",)
)
HANDLER_REFUSAL: Final = LiveFormat(
    "handler_refusal", _is_handler_refusal, read_refusal_answer, words=("Handler ",)
)
