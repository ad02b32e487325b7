"""A line in which tokens take turns, and the jobs of one token: no crowd keeps others back."""

from collections import deque
from itertools import count
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
# Turns that are remembered; who has not come for so long is as good as new.
_MOST_REMEMBERED: Final = 10_000


class Sender(NamedTuple):
    """On whose behalf something waits: the id of a token, and the job that it speaks of."""

    token: str
    job: str = ""


class FairLine(Generic[T]):
    """Next comes the token that has waited longest since its last turn, and of it the job that
    has; first come, first served within one (token, job).
    """

    def __init__(self) -> None:
        self.lines: dict[str, dict[str, deque[T]]] = {}
        self.numbers: dict[str, int] = {}
        self.turns = count(1)
        self.last_turn: dict[Sender, int] = {}

    def __len__(self) -> int:
        """How many wait."""
        return sum(self.numbers.values())

    def add(self, sender: Sender, one: T, *, first: bool = False) -> None:
        """Stand behind those of the same sender, or before them."""
        line = self.lines.setdefault(sender.token, {}).setdefault(sender.job, deque())
        (line.appendleft if first else line.append)(one)
        self.numbers[sender.token] = self.numbers.get(sender.token, 0) + 1

    def next(self) -> T:
        """Who comes next. Raises IndexError where nobody waits."""
        if not self.lines:
            raise IndexError("nobody waits")
        token = min(self.lines, key=lambda name: self.last_turn.get(Sender(name), 0))
        jobs = self.lines[token]
        job = min(jobs, key=lambda name: self.last_turn.get(Sender(token, name), 0))
        one = jobs[job].popleft()
        self._left(Sender(token, job))
        for served in (Sender(token), Sender(token, job)):
            self.last_turn.pop(served, None)
            self.last_turn[served] = next(self.turns)
        if len(self.last_turn) > _MOST_REMEMBERED:
            del self.last_turn[next(iter(self.last_turn))]
        return one

    def remove(self, sender: Sender, one: T) -> None:
        """Somebody goes away; nothing where it does not wait."""
        line = self.lines.get(sender.token, {}).get(sender.job, deque())
        if one in line:
            line.remove(one)
            self._left(sender)

    def others_wait(self, token: str) -> bool:
        """Whether somebody of another token waits."""
        return len(self.lines) > (token in self.lines)

    def _left(self, sender: Sender) -> None:
        self.numbers[sender.token] -= 1
        jobs = self.lines[sender.token]
        if not jobs[sender.job]:
            del jobs[sender.job]
        if not jobs:
            del self.numbers[sender.token], self.lines[sender.token]
