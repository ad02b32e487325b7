"""A body: bytes that are read once, from a request, a file or a process."""

from typing import Protocol


class Body(Protocol):
    """Bytes to be read once."""

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        ...
