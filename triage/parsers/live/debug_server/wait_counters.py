"""PyTorch's wait counters, as the debug server's handler ``wait_counter_values`` gives them.

::

    {"pytorch.wait_counter.TCPStore__wait": {"active_count": 1, "max_time_us": 1530,
                                             "total_calls": 6, "total_time_us": 1658}}
"""

import json
from typing import Any, Final

from triage.domain.live.process import Process
from triage.domain.live.wait_counter import WaitCounter
from triage.parsers.live.stacks.lines import short

__all__ = ["PREFIX", "counters_of"]

PREFIX: Final = "pytorch.wait_counter."
MAX_COUNTERS: Final = 256
MAX_CHARACTERS: Final = 1 << 20


def counters_of(body: str, process: Process) -> list[WaitCounter]:
    """The counters of one process by name; none where the body is not whole."""
    if len(body) > MAX_CHARACTERS:
        return []
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(values, dict):
        return []
    found: list[WaitCounter] = []
    for name, value in list(values.items())[:MAX_COUNTERS]:
        if isinstance(value, dict) and "active_count" in value:
            numbers = [
                number(value, key)
                for key in ("active_count", "total_calls", "total_time_us", "max_time_us")
            ]
            found.append(WaitCounter(process, short(name.removeprefix(PREFIX)), *numbers))
    return sorted(found, key=lambda one: one.name)


def number(value: dict[str, Any], key: str) -> int:
    found = value.get(key)
    if not isinstance(found, int) or isinstance(found, bool):
        return 0
    return found if 0 <= found < 1 << 62 else 0
