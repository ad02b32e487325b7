"""Processor time of a call: what other work takes of the machine is not its fault."""

import time
from collections.abc import Callable

__all__ = ["spent_s"]


def spent_s(call: Callable[[], object], enough_s: float, attempts: int = 3) -> float:
    """The least processor seconds of some attempts; of the first that took ``enough_s`` or less.

    A collection of garbage, or what another thread does, falls into one of them. What is slow
    by itself is slow each time.
    """
    least = float("inf")
    for _ in range(attempts):
        began = time.process_time()
        call()
        least = min(least, time.process_time() - began)
        if least <= enough_s:
            break
    return least
