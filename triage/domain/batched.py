"""``itertools.batched`` of Python 3.12, for 3.11."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def split_into_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items, ``size`` at a time.

    >>> list(batched("abc", 2))
    [['a', 'b'], ['c']]
    """
    left = iter(items)
    while together := list(islice(left, size)):
        yield together
