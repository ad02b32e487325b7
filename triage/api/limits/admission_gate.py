"""How many uploads are received at once, who comes next, and who is refused.

``max_active`` uploads have a place; the next comes by :class:`FairLine`. ``max_waiting`` more may
wait, for some seconds. Others are refused before a byte of their bodies is read, with the time
at which there will be a place: a client that waits at home costs no memory.

An upload whose sender is silent gives its place to the next, and asks for one again when bytes
are here: slow senders, however many, hold no place. As each upload that has begun has a thread
and buffers, the number of those is bounded too.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Collection, Iterator
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
# Silence after which a place goes to the next. The first bytes are mostly here before their turn.
PATIENCE_S: Final = 0.05
_FIRST_PATIENCE_S: Final = 0.005
# Silence after which an upload makes room for another, before its first byte and later.
_SILENT_FIRST_S: Final = 2.0
_SILENT_S: Final = 5.0
# An upload that has had a place for so long gives it to those of other tokens.
SLICE_S: Final = 0.5
# How often those who wait are looked at when no upload ends.
LOOK_EVERY_S: Final = 0.25
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

    def __bool__(self) -> bool:
        """Whether one waits."""
        return bool(self.lines)

    def add(self, sender: Sender, one: T, *, first: bool = False) -> None:
        """Stand behind those of the same sender, or before them."""
        line = self.lines.setdefault(sender, deque())
        (line.appendleft if first else line.append)(one)

    def next(self) -> T:
        """Who comes next. Raises IndexError where nobody waits."""
        if not self.lines:
            raise IndexError("nobody waits")
        sender = min(self.lines, key=self._order)
        one = self.lines[sender][0]
        self.remove(sender, one)
        for served in (sender.token, sender):
            self.last_turn.pop(served, None)
            self.last_turn[served] = next(self.turns)
        if len(self.last_turn) > _MOST_REMEMBERED:
            del self.last_turn[next(iter(self.last_turn))]
        return one

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


class Turn:
    """One upload at the gate, from its head to its answer. Used in the event loop alone.

    It waits in line, then holds a place, or is ``parked``: its sender is waited for.
    """

    def __init__(self, gate: "AdmissionGate", sender: Sender) -> None:
        self.gate = gate
        self.sender = sender
        self.came_at = self.heard_at = self.since = anyio.current_time()
        self.num_bytes = 0
        self.has_place = False
        self.refusal: Unavailable | None = None
        self.scope: anyio.CancelScope | None = None
        self.called = asyncio.Event()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While bytes are waited for; the place goes to others if that takes long.

        Raises :class:`Unavailable` when the upload has to make room altogether.
        """
        patience_s = PATIENCE_S if self.num_bytes else _FIRST_PATIENCE_S
        timer = asyncio.get_running_loop().call_later(patience_s, self.park)
        try:
            with anyio.CancelScope() as self.scope:
                if self.refusal is not None:
                    self.scope.cancel()
                yield
        finally:
            self.scope = None
            timer.cancel()
        if self.refusal is not None:
            raise self.refusal

    def received(self, num_bytes: int) -> None:
        """So many bytes came."""
        self.heard_at = anyio.current_time()
        self.num_bytes += num_bytes

    async def ready(self) -> None:
        """Bytes are here to be worked on: returns with a place, which may take a while.

        Raises :class:`Unavailable` when it has to make room instead.
        """
        self.gate.begun.add(self)
        over = anyio.current_time() - self.since > SLICE_S
        if over and self.gate.line.others_wait(self.sender.token):
            self.park()
        if not self.has_place:
            await self.line_up(first=True)

    def park(self) -> None:
        """Give the place up for the time being."""
        if self.has_place:
            self.gate.parked.add(self)
            self.gate.release(self)

    async def line_up(self, *, first: bool = False) -> None:
        """Wait for a place. Raises :class:`Unavailable` when it is sent away meanwhile."""
        self.gate.parked.discard(self)
        self.called.clear()
        self.gate.line.add(self.sender, self, first=first)
        self.gate.let_in()
        try:
            await self.called.wait()
        finally:
            self.gate.line.remove(self.sender, self)
        if self.refusal is not None:
            raise self.refusal

    def call_in(self) -> None:
        """Give it a place."""
        self.has_place, self.since = True, anyio.current_time()
        self.gate.active += 1
        self.called.set()

    def send_away(self, why: Unavailable) -> None:
        """End it, wherever it waits."""
        self.refusal = why
        self.called.set()
        if self.scope is not None:
            self.scope.cancel()

    def is_silent(self, now: float) -> bool:
        """Whether nothing has come of it for longer than others should wait."""
        return now - self.heard_at > (_SILENT_S if self.num_bytes else _SILENT_FIRST_S)


class AdmissionGate:
    """``max_active`` uploads inside, ``max_waiting`` before it."""

    def __init__(self, max_active: int, max_waiting: int) -> None:
        self.max_active = max_active
        self.max_waiting = max_waiting
        self.active = 0
        self.line: FairLine[Turn] = FairLine()
        self.turns: set[Turn] = set()
        self.turns_by_token: Counter[str] = Counter()
        self.begun: set[Turn] = set()
        self.parked: set[Turn] = set()
        self.means_s = deque([FIRST_S / max_active] * REMEMBERED, maxlen=REMEMBERED)
        self.window_s, self.num_ended = 0.0, 0
        self.last_end: float | None = None
        self.booked_until = 0.0
        self.is_looking = False

    @property
    def waiting(self) -> int:
        """How many wait for a place, or for bytes of their senders."""
        return len(self.turns) - self.active

    @asynccontextmanager
    async def turn(self, sender: Sender) -> AsyncIterator[Turn]:
        """A place inside. Raises :class:`Unavailable` when too many wait, or for too long."""
        full = len(self.turns) >= self.max_active + self.max_waiting
        if full and not self.make_room(sender, self.turns, self.turns_by_token):
            raise self.refuse(len(self.line))
        turn = Turn(self, sender)
        self.turns.add(turn)
        self.turns_by_token[sender.token] += 1
        try:
            with anyio.move_on_after(MAX_WAIT_S) as scope:
                await turn.line_up()
            if scope.cancelled_caught:
                raise self.refuse()
            turn.heard_at = anyio.current_time()
            yield turn
            self.note_end(time.monotonic())
        finally:
            self.forget(turn)
            self.release(turn)

    def let_in(self) -> None:
        """Fill the places that are free."""
        while self.active < self.max_active and self.line:
            turn = self.line.next()
            if turn not in self.begun and not self.may_begin(turn):
                self.line.add(turn.sender, turn, first=True)
                break
            turn.call_in()
        if self.line and not self.is_looking:
            self.is_looking = True
            asyncio.get_running_loop().call_later(LOOK_EVERY_S, self.look)

    def look(self) -> None:
        """Silences grow also when no upload ends."""
        self.is_looking = False
        self.let_in()

    def may_begin(self, turn: Turn) -> bool:
        """Whether one more may be in the middle of its body."""
        if len(self.begun) < self.max_active * _BEGUN_FOR_A_PLACE:
            return True
        by_token = Counter(one.sender.token for one in self.begun)
        return self.make_room(turn.sender, self.begun, by_token)

    def release(self, turn: Turn) -> None:
        """Give its place, where it has one, to the next."""
        if turn.has_place:
            turn.has_place = False
            self.active -= 1
        self.let_in()

    def forget(self, turn: Turn) -> None:
        """It has ended, or was sent away."""
        if turn in self.turns:
            self.turns.remove(turn)
            self.turns_by_token[turn.sender.token] -= 1
            if not self.turns_by_token[turn.sender.token]:
                del self.turns_by_token[turn.sender.token]
        self.begun.discard(turn)
        self.parked.discard(turn)

    def make_room(self, newcomer: Sender, crowd: Collection[Turn], by_token: Counter[str]) -> bool:
        """Send one of a crowd away; whether there was one to send.

        A silent one goes first, whosesoever it is; then the slowest and latest of the token that
        has most of them, if that has more than the newcomer's would have.
        """
        now = anyio.current_time()
        there = [turn for turn in self.parked if turn in crowd and turn.refusal is None]
        victims = [turn for turn in there if turn.is_silent(now)]
        most = max(by_token.values())
        if not victims and by_token[newcomer.token] + 1 < most:
            victims = [
                turn
                for turn in crowd
                if by_token[turn.sender.token] == most
                and not turn.has_place
                and turn.refusal is None
            ]
        if not victims:
            return False
        last = min(victims, key=lambda one: (one.num_bytes / (now - one.came_at + 1), -one.came_at))
        last.send_away(self.refuse())
        self.forget(last)
        return True

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
        self.last_end = now if self.line else None
