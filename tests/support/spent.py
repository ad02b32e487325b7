"""What a call costs in seconds of an idle machine, so that a busy one fails no test.

Processor time alone is not enough: it grows by half, and at times threefold, while other
processes share the cores, their caches and their memory. A fixed piece of work, timed right
after the call, says how slow the machine is just then.
"""

import json
import time
from collections.abc import Callable

WORK = json.dumps({f"key {k}": [k, str(k), k / 7] for k in range(20_000)})
# What the work takes on the idle machine that the tests' bounds in seconds were chosen on.
WORK_S = 0.010


def work_s(clock: Callable[[], float]) -> float:
    """Seconds of the fixed work now: many small objects, then a loop over them."""
    began = clock()
    sum(value[0] for value in json.loads(WORK).values())
    return clock() - began


def in_idle_seconds(measured_s: float, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of ``clock`` measured just now, as an idle machine would have needed them.

    What another process does is measured by ``time.monotonic``, which counts waiting for a core.
    """
    now_s = sorted(work_s(clock) for _ in range(3))[1]
    return measured_s * min(1.0, WORK_S / now_s)


def spent_s(call: Callable[[], object], enough_s: float, attempts: int = 3) -> float:
    """The least idle seconds of some attempts; of the first that took ``enough_s`` or less.

    A collection of garbage, or what another thread does, falls into one of them. What is slow
    by itself is slow each time.
    """
    least = float("inf")
    for _ in range(attempts):
        began = time.process_time()
        call()
        took_s = time.process_time() - began
        least = min(least, took_s if took_s <= enough_s else in_idle_seconds(took_s))
        if least <= enough_s:
            break
    return least
