"""Waiting for what will happen, with a generous end: for benchmarks and tests alike."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
# A machine that others use too may be that slow; what takes longer does not happen.
PATIENCE_S: Final = 180.0


def eventually(
    ask: Callable[[], T | None], within_s: float = PATIENCE_S, every_s: float = 0.05
) -> T:
    """The first answer that is true. Raises :class:`TimeoutError`, with the last one."""
    end = time.monotonic() + within_s
    while not (answer := ask()):
        if time.monotonic() > end:
            raise TimeoutError(f"still {answer!r} after {within_s:g} s")
        time.sleep(every_s)
    return answer
