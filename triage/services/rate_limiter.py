"""How often one sender may ask: a bucket of tries that fills up again, kept in this process."""

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from typing import Final

from triage.errors import TooMany

_MAX_KEYS: Final = 10_000
# A burst of a sixth of a minute's tries may come at once.
_BURST_SHARE: Final = 6


class RateLimiter:
    """``per_minute`` tries for each key, a sixth of them at once; used by one thread at a time."""

    def __init__(
        self,
        per_minute: int,
        detail: str = "this token asks too often",
        hint: str = "ask again after Retry-After seconds; `wait_s` waits without asking again",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.per_s = per_minute / 60
        self.size = max(1.0, per_minute / _BURST_SHARE)
        self.detail = detail
        self.hint = hint
        self.clock = clock
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> None:
        """Use one try. Raises as :meth:`check` does."""
        self.check(key)
        self.spend(key)

    def check(self, key: str) -> None:
        """Raises :class:`TooMany` when no try is left, with the wait until the next."""
        left = self.left(key)
        if left < 1:
            raise TooMany(
                self.detail,
                hint=self.hint,
                retry_after_s=max(1, ceil((1 - left) / self.per_s)),
            )

    def spend(self, key: str) -> None:
        """Use one try, if one is left."""
        self.buckets[key] = (max(0.0, self.left(key) - 1), self.clock())
        self.buckets.move_to_end(key)
        if len(self.buckets) > _MAX_KEYS:
            self.buckets.popitem(last=False)

    def left(self, key: str) -> float:
        """How many tries are left."""
        now = self.clock()
        left, since = self.buckets.get(key, (self.size, now))
        return min(self.size, left + (now - since) * self.per_s)
