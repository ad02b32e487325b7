"""All text of all dumps, once each: the dump writer refers to strings by number."""

import numpy as np
import numpy.typing as npt

from simulator.topology import Ints

Bytes = npt.NDArray[np.uint8]


class Strings:
    """Equal text has one number, as the real writer memoises by content."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of ``text``."""
        return self._numbers.setdefault(text, len(self._numbers))

    def numbers(self, *texts: str) -> Ints:
        """The numbers of ``texts``."""
        return np.array([self.number(text) for text in texts], np.int64)

    def arrays(self) -> tuple[Bytes, Ints]:
        """All text end to end, and where each begins (one more than there are strings)."""
        parts = [text.encode() for text in self._numbers]
        ends = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
        return np.frombuffer(b"".join(parts), np.uint8), ends
