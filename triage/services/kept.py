"""Values that are asked for again and again: kept in memory for a while, for each database."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from triage.store.database.engine import Database

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class KeptValues(Generic[K, V]):
    """The ``most`` values of each database that were asked for last, by key; safe among threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._turn = threading.Lock()
        self._making = threading.Lock()
        self._kept: WeakKeyDictionary[Database, OrderedDict[K, tuple[float, V]]] = (
            WeakKeyDictionary()
        )

    def find(self, database: Database, key: K, *, within_s: float) -> V | None:
        """What was kept no longer ago than that."""
        with self._turn:
            values = self._kept.get(database, OrderedDict())
            kept = values.get(key)
            if kept is not None:
                values.move_to_end(key)
        return None if kept is None or time.monotonic() - kept[0] > within_s else kept[1]

    def find_or_make(
        self, database: Database, key: K, make: Callable[[], V], *, within_s: float
    ) -> V:
        """The value, made now where none is kept: once for all who ask meanwhile."""
        with self._making:
            found = self.find(database, key, within_s=within_s)
            if found is None:
                found = make()
                self.keep(database, key, found)
            return found

    def keep(self, database: Database, key: K, value: V) -> None:
        """Keep the newest value; the one goes that was not asked for longest."""
        with self._turn:
            kept = self._kept.setdefault(database, OrderedDict())
            kept[key] = (time.monotonic(), value)
            kept.move_to_end(key)
            while len(kept) > self.most:
                kept.popitem(last=False)
