"""How many uploads are received at once, who comes next, and who is refused.

An upload takes a share of three rooms: of all that may come or wait (``max_active`` and
``max_waiting``), of those in the middle of their bodies, which have a thread and buffers each, and
of the ``max_active`` places, in which bytes are worked on. Who finds the first room full is refused
before its body is read, with the time at which there will be a place: a client that waits at home
costs no memory.

The next comes by :class:`FairLine`. No token fills a room alone: one that has less than an equal
part of it comes in beyond the bound. While a sender is silent, its place is another's: slow
senders hold none, and silent ones no thread.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from math import ceil
from typing import Final, Generic, NamedTuple, TypeVar

import anyio

from triage.errors import Unavailable

T = TypeVar("T")
# Proxies and people give up later.
MAX_WAIT_S: Final = 4.0
MAX_RETRY_AFTER_S: Final = 120
# What an upload is taken to need of a place until some have ended.
FIRST_S: Final = 0.1
# Clients come back a little early: a place that waits for them serves nobody.
EARLY: Final = 0.8
# While others wait, the mean time between ends is taken over so long. The fastest of the last means
# counts: a client that is told to wait for too long cannot be called back.
WINDOW_S: Final = 5.0
REMEMBERED: Final = 6
_BEGUN_FOR_A_PLACE: Final = 4
# Silence after which a place goes to the next.
PATIENCE_S: Final = 0.05
# Turns that are remembered for fairness.
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
        self.lines: dict[Sender, deque[T]] = {}
        self.turns = count(1)
        self.last_turn: dict[str | Sender, int] = {}

    def __len__(self) -> int:
        """How many wait."""
        return sum(map(len, self.lines.values()))

    def add(self, sender: Sender, one: T) -> None:
        """Stand behind those of the same sender."""
        self.lines.setdefault(sender, deque()).append(one)

    def next(self, may_come: Callable[[Sender], bool] = lambda _: True) -> T:
        """Who comes next of those who may. Raises IndexError where nobody waits who may."""
        sender = min(filter(may_come, self.lines), key=self._order, default=None)
        if sender is None:
            raise IndexError("nobody waits")
        one = self.lines[sender][0]
        self.remove(sender, one)
        self.note_turn(sender)
        return one

    def note_turn(self, sender: Sender) -> None:
        """It is this sender's turn now."""
        for served in (sender.token, sender):
            self.last_turn.pop(served, None)
            self.last_turn[served] = next(self.turns)
        if len(self.last_turn) > _MOST_REMEMBERED:
            del self.last_turn[next(iter(self.last_turn))]

    def _order(self, sender: Sender) -> tuple[int, int]:
        return self.last_turn.get(sender.token, 0), self.last_turn.get(sender, 0)

    def remove(self, sender: Sender, one: T) -> None:
        """Take one out that does not wait any more; nothing where it is not there."""
        line = self.lines.get(sender, deque())
        if one in line:
            line.remove(one)
            if not line:
                del self.lines[sender]

    def others_wait(self, token: str) -> bool:
        """Whether one of another token waits."""
        return any(sender.token != token for sender in self.lines)


class Room:
    """Has room for ``most``, and for more of tokens that have less than an equal part of it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held: Counter[str] = Counter()
        self.line: FairLine[tuple[Sender, asyncio.Event]] = FairLine()

    def has_room(self, sender: Sender) -> bool:
        """Whether one more of this sender may come in."""
        part = self.most // len({*self.held, sender.token})
        return self.held.total() < self.most or self.held[sender.token] < part

    def take(self, sender: Sender) -> bool:
        """Come in where there is room; whether there was."""
        found = self.has_room(sender)
        if found:
            self.held[sender.token] += 1
            self.line.note_turn(sender)
        return found

    async def enter(self, sender: Sender) -> None:
        """Come in, now or when it is this sender's turn."""
        if self.take(sender):
            return
        mine = sender, asyncio.Event()
        self.line.add(sender, mine)
        try:
            await mine[1].wait()
        except asyncio.CancelledError:
            self.line.remove(sender, mine)
            if mine[1].is_set():
                self.leave(sender)
            raise

    def leave(self, sender: Sender) -> None:
        """Go, and let in who is next."""
        self.held.subtract([sender.token])
        self.held = +self.held
        while any(map(self.has_room, self.line.lines)):
            following, called = self.line.next(self.has_room)
            self.held[following.token] += 1
            called.set()


class Turn:
    """One upload at the gate, from its head to its answer. Used in the event loop alone."""

    def __init__(self, gate: "AdmissionGate", sender: Sender) -> None:
        self.gate = gate
        self.sender = sender
        self.has_begun = self.has_place = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While bytes are waited for; the place goes to others if that takes long."""
        timer = asyncio.get_running_loop().call_later(PATIENCE_S, self.give_place)
        try:
            yield
        finally:
            timer.cancel()

    async def ready(self) -> None:
        """Bytes are here to be worked on: returns with a place, which may take a while.

        Raises :class:`Unavailable` where the body has not begun and others are ahead for too long.
        """
        if not self.has_begun:
            with anyio.move_on_after(MAX_WAIT_S):
                await self.gate.begun.enter(self.sender)
                self.has_begun = True
            if not self.has_begun:
                raise self.gate.refuse()
        if self.gate.places.line.others_wait(self.sender.token):
            self.give_place()
        if not self.has_place:
            await self.gate.places.enter(self.sender)
            self.has_place = True

    def give_place(self) -> None:
        """Give the place up for the time being."""
        if self.has_place:
            self.has_place = False
            self.gate.places.leave(self.sender)


class AdmissionGate:
    """``max_active`` uploads inside, ``max_waiting`` before it."""

    def __init__(self, max_active: int, max_waiting: int) -> None:
        self.everybody = Room(max_active + max_waiting)
        self.begun = Room(max_active * _BEGUN_FOR_A_PLACE)
        self.places = Room(max_active)
        self.means_s = deque([FIRST_S / max_active] * REMEMBERED, maxlen=REMEMBERED)
        self.window_s, self.num_ended = 0.0, 0
        self.last_end: float | None = None
        self.booked_until = 0.0

    @property
    def active(self) -> int:
        """How many have a place."""
        return self.places.held.total()

    @property
    def waiting(self) -> int:
        """How many wait for a place, or for bytes of their senders."""
        return self.everybody.held.total() - self.active

    @asynccontextmanager
    async def turn(self, sender: Sender) -> AsyncIterator[Turn]:
        """One upload. Raises :class:`Unavailable` when too many are there."""
        if not self.everybody.take(sender):
            raise self.refuse(len(self.begun.line) + len(self.places.line))
        turn = Turn(self, sender)
        try:
            yield turn
            self.note_end(time.monotonic())
        finally:
            turn.give_place()
            if turn.has_begun:
                self.begun.leave(sender)
            self.everybody.leave(sender)

    def refuse(self, num_ahead: int = 0) -> Unavailable:
        """The refusal of one upload; so many of those who wait come before it when it is back."""
        return Unavailable(
            f"{self.active} uploads are being taken in and {self.waiting} wait",
            hint="nothing was kept; send it again after Retry-After seconds",
            retry_after_s=self.book_s(num_ahead),
        )

    def book_s(self, num_ahead: int) -> int:
        """Seconds after which one more may come back: behind those who wait, as far as they do not
        leave before, and behind all who were told before. So clients that are refused together do
        not come back together. Beyond the longest time they come in the second half of it.
        """
        now, each_s = time.monotonic(), EARLY * min(self.means_s)
        line_s = min(MAX_WAIT_S, num_ahead * each_s)
        self.booked_until = max(self.booked_until, now + line_s) + each_s
        if self.booked_until > now + MAX_RETRY_AFTER_S:
            self.booked_until = now + MAX_RETRY_AFTER_S / 2
        return ceil(self.booked_until - now)

    def note_end(self, now: float) -> None:
        """An upload is in: measures how fast they go through while others wait."""
        if self.last_end is not None:
            self.window_s += now - self.last_end
            self.num_ended += 1
        if self.window_s >= WINDOW_S:
            self.means_s.append(self.window_s / self.num_ended)
            self.window_s, self.num_ended = 0.0, 0
        self.last_end = now if self.begun.line.lines else None
