"""Uploads that are somewhere together, with how many there are of each token.

Thousands may wait, and each that comes asks whose they are: nobody counts them again for that.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from triage.api.limits.fair_line import Sender


class Sent(Protocol):
    """Something that has a sender."""

    @property
    def sender(self) -> Sender:
        """On whose behalf it is there."""
        ...


T = TypeVar("T", bound=Sent)


class Crowd(Generic[T]):
    """A set of them; ``numbers`` is how many each token has, of those that have any."""

    def __init__(self) -> None:
        self.members: set[T] = set()
        self.numbers: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many are there."""
        return len(self.members)

    def __iter__(self) -> Iterator[T]:
        """In no order."""
        return iter(self.members)

    def __contains__(self, one: T) -> bool:
        """Whether it is there."""
        return one in self.members

    def add(self, one: T) -> None:
        """One more; nothing where it is there."""
        if one not in self.members:
            self.members.add(one)
            self.numbers[one.sender.token] += 1

    def discard(self, one: T) -> None:
        """It goes; nothing where it is not there."""
        if one in self.members:
            self.members.remove(one)
            self.numbers[one.sender.token] -= 1
            if not self.numbers[one.sender.token]:
                del self.numbers[one.sender.token]
