"""Arrays of numbers as bytes, one behind the other, and back.

Numbers that lie close together are stored as differences, and by planes of bytes: most of it is
then zeros, and compresses to nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from triage.errors import Corrupt

Array = NDArray[Any]

BYTE, SHORT, WORD, WIDE = (np.dtype(name) for name in ("<u1", "<i2", "<i4", "<i8"))


def convert_to_little_endian(values: Array) -> Array:
    """The same numbers, contiguous and little-endian."""
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def split_planes(values: Array) -> bytes:
    """The lowest bytes of all numbers, then the next ones."""
    return convert_to_little_endian(values).view(np.uint8).reshape(-1, values.itemsize).T.tobytes()


def compute_differences(values: Array) -> Array:
    """Each number less the one before; both directions wrap, so nothing is lost."""
    found = values.copy()
    found[1:] -= values[:-1]
    return found


class Arrays:
    """The arrays of an extract, taken one behind the other."""

    def __init__(self, data: bytes, offset: int) -> None:
        self.data = data
        self.offset = offset

    def take(self, dtype: np.dtype[Any], count: int, columns: int = 1) -> Array:
        """The next array; a copy, since the compiled code wants it writable and aligned."""
        size = self.room(count * columns * dtype.itemsize)
        flat = np.frombuffer(self.data, dtype, count * columns, self.offset).copy()
        self.offset += size
        return flat.reshape(count, columns) if columns > 1 else flat

    def view(self, dtype: np.dtype[Any], count: int) -> Array:
        """The next array, which cannot be written to and is no copy."""
        size = self.room(count * dtype.itemsize)
        self.offset += size
        return np.frombuffer(self.data, dtype, count, self.offset - size)

    def skip(self, length: int) -> None:
        """Go on behind the next bytes."""
        self.offset += self.room(length)

    def take_planes(self, dtype: np.dtype[Any], count: int) -> Array:
        """The next array, stored by :func:`split_planes`."""
        size = self.room(count * dtype.itemsize)
        raw = np.frombuffer(self.data, np.uint8, size, self.offset)
        self.offset += size
        # A copy in any case: the transposed bytes of a single number are still the ones given.
        own = np.array(raw.reshape(dtype.itemsize, count).T, order="C", copy=True)
        return own.view(dtype).reshape(-1)

    def bytes(self, length: int) -> bytes:
        """The next bytes as they are."""
        self.offset += self.room(length)
        return self.data[self.offset - length : self.offset]

    def room(self, length: int) -> int:
        """``length``, where so many bytes are left."""
        if length < 0 or self.offset + length > len(self.data):
            raise Corrupt("a stored extract ends too early", offset=self.offset)
        return length
