"""How many uploads are taken in at once, who comes next, and who has to make room.

What comes beyond is told to come again, before a byte of its body is read: memory stays
bounded, and a client that waits at home costs nothing. Tokens take turns, and the jobs of
one token (:mod:`triage.api.limits.fair_line`).

A place is for who has something to give. An upload whose sender says nothing for a moment
gives its place to the next, and asks for one again when it has more; so senders that are slow
or silent, however many they are, hold no place that others need. Of those that have begun
and hold none there is a number too; beyond it those go first that send nothing, then the
slowest of the token that has most of them.

Nobody waits for long with an open connection: who is not let in within some seconds is told when
its turn will be, by how fast uploads went through lately, and comes back then.

Where readers and uploads share few processors, a file that is acknowledged and not read helps
nobody: while many wait to be read one place serves all. The rest open again when the line is
short, or when uploads have been sent away for so long that to be safe comes first.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from math import ceil
from typing import Final

import anyio

from triage.api.limits.crowd import Crowd
from triage.api.limits.fair_line import FairLine, Sender
from triage.api.limits.throughput import Throughput
from triage.errors import Unavailable

# A client that waits at home costs nothing, and its proxies and its people give up later.
MAX_WAIT_S: Final = 4.0
# The latest time that somebody is told to come back at: much may have changed until then. Those
# for whom there is no room until then come in the second half of it, one behind the other.
MAX_RETRY_AFTER_S: Final = 120
# What an upload is taken to need of a place until some have ended. Who is told to come back comes
# a little early: a line that runs dry serves nobody.
FIRST_S: Final = 0.1
EARLY: Final = 0.8
# Uploads in the middle of their bodies for each place: each has a thread and some buffers.
_BEGUN_FOR_A_PLACE: Final = 4
# Silence after which a place goes to the next; a sender that is merely busy is quicker. The first
# bytes of a body that comes at all are here before its turn is.
PATIENCE_S: Final = 0.05
_FIRST_PATIENCE_S: Final = 0.005
# After so long a silence, before its first byte and later, an upload makes room for others.
_SILENT_FIRST_S: Final = 2.0
_SILENT_S: Final = 5.0
# An upload that has had a place for so long gives way to other tokens. While they are at work,
# one of so many places is for such long ones of its token.
SLICE_S: Final = 0.5
_LANE_SHARE: Final = 8
# Uploads come before readers once some have been sent away for so long without a break, and until
# the last of them may have come back.
PRESSED_S: Final = 45.0
_BREAK_S: Final = 20.0
# How often those who wait are looked at when no upload ends.
LOOK_EVERY_S: Final = 0.25


def _return_false() -> bool:
    """Nobody reads here."""
    return False


class Turn:
    """One upload at the gate, from its head to its answer. Used in the event loop alone.

    It waits in line, then holds a place, or is ``parked``: heard, and without one.
    """

    def __init__(self, gate: "AdmissionGate", sender: Sender) -> None:
        self.gate = gate
        self.sender = sender
        self.came_at = self.heard_at = anyio.current_time()
        self.num_bytes = 0
        self.since = self.used_s = 0.0
        self.place = self.in_lane = False
        self.parked = False
        self.sent_away: Unavailable | None = None
        self.scope: anyio.CancelScope | None = None
        self.called = asyncio.Event()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While the sender is waited for; its place goes to others if that takes long.

        Raises :class:`Unavailable` when it has to make room altogether.
        """
        patience_s = PATIENCE_S if self.num_bytes else _FIRST_PATIENCE_S
        timer = asyncio.get_running_loop().call_later(patience_s, self.park)
        try:
            with anyio.CancelScope() as self.scope:
                if self.sent_away is not None:
                    self.scope.cancel()
                yield
        finally:
            self.scope = None
            timer.cancel()
        if self.sent_away is not None:
            raise self.sent_away

    def received(self, num_bytes: int) -> None:
        """So many bytes came."""
        self.heard_at = anyio.current_time()
        self.num_bytes += num_bytes

    async def ready(self) -> None:
        """Bytes are here to be worked on: returns with a place, which may take a while.

        Raises :class:`Unavailable` when it has to make room instead.
        """
        self.gate.begun.add(self)
        held_s = anyio.current_time() - self.since if self.place else 0.0
        if self.used_s + held_s > SLICE_S:
            await self.keep_lane()
        if held_s > SLICE_S and self.gate.line.others_wait(self.sender.token):
            self.park()
        if not self.place:
            await self.line_up(first=True)

    async def keep_lane(self) -> None:
        """While other tokens are at work, the long uploads of one take turns among themselves."""
        others = self.gate.others_at_work(self.sender.token)
        if others and not self.in_lane:
            lane = self.gate.lanes[self.sender.token]
            if lane.locked():
                self.park()
            with anyio.CancelScope() as self.scope:
                await lane.acquire()
                self.in_lane = True
            self.scope = None
        elif not others:
            self.leave_lane()

    def leave_lane(self) -> None:
        """Let another long upload of the token go on."""
        if self.in_lane:
            self.in_lane = False
            self.gate.lanes[self.sender.token].release()

    def park(self) -> None:
        """Give the place up for the time being."""
        if self.place:
            self.used_s += anyio.current_time() - self.since
            self.parked = True
            self.gate.parked.add(self)
            self.gate.left(self)

    async def line_up(self, *, first: bool = False) -> None:
        """Wait for a place. Raises :class:`Unavailable` when it is sent away meanwhile."""
        self.parked = False
        self.gate.parked.discard(self)
        self.called.clear()
        self.gate.line.add(self.sender, self, first=first)
        self.gate.let_in()
        try:
            await self.called.wait()
        finally:
            self.gate.line.remove(self.sender, self)
        if self.sent_away is not None:
            raise self.sent_away

    def call_in(self) -> None:
        """A place is its own."""
        self.place, self.since = True, anyio.current_time()
        self.gate.at_work[self.sender.token] += 1
        self.called.set()

    def send_away(self, why: Unavailable) -> None:
        """End it, wherever it waits."""
        self.sent_away = why
        self.called.set()
        if self.scope is not None:
            self.scope.cancel()

    def is_silent(self, now: float) -> bool:
        """Whether nothing has come of it for longer than others should wait."""
        longest_s = _SILENT_S if self.num_bytes else _SILENT_FIRST_S
        return self.parked and now - self.heard_at > longest_s


class AdmissionGate:
    """``max_active`` inside, ``max_waiting`` before it.

    While ``line_is_long`` says so there is one place instead of ``max_active``.
    """

    def __init__(
        self, max_active: int, max_waiting: int, line_is_long: Callable[[], bool] = _return_false
    ) -> None:
        self.max_active = max_active
        self.max_waiting = max_waiting
        self.at_work: Counter[str] = Counter()
        self.lanes: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(max(1, max_active // _LANE_SHARE))
        )
        self.line_is_long = line_is_long
        self.line: FairLine[Turn] = FairLine()
        self.turns: Crowd[Turn] = Crowd()
        self.begun: Crowd[Turn] = Crowd()
        self.parked: set[Turn] = set()
        self.looking = False
        # Of all places, and of the one there is while readers come first.
        self.throughput = Throughput(FIRST_S / max_active)
        self.slow_throughput = Throughput(FIRST_S)
        self.booked_until = 0.0
        self.pressed_since = self.pressed_until = -_BREAK_S

    @property
    def active(self) -> int:
        """How many have a place."""
        return self.at_work.total()

    @property
    def waiting(self) -> int:
        """How many wait for a place, or for bytes of their senders."""
        return len(self.turns) - self.active

    @asynccontextmanager
    async def turn(self, sender: Sender) -> AsyncIterator[Turn]:
        """A place inside. Raises :class:`Unavailable` when too many wait, or for too long."""
        full = len(self.turns) >= self.max_active + self.max_waiting
        if full and not self.make_room(sender, self.turns):
            raise self.busy(len(self.line))
        turn = Turn(self, sender)
        self.turns.add(turn)
        try:
            with anyio.move_on_after(MAX_WAIT_S) as scope:
                await turn.line_up()
            if scope.cancelled_caught:
                raise self.busy()
            turn.heard_at = anyio.current_time()
            yield turn
            self.through()
        finally:
            self.turns.discard(turn)
            self.begun.discard(turn)
            self.parked.discard(turn)
            turn.leave_lane()
            self.left(turn)

    def through(self) -> None:
        """An upload is in."""
        now, others_wait, slow = time.monotonic(), len(self.line) > 0, self.stands_back()
        self.throughput.ended(now, others_wait=others_wait and not slow)
        self.slow_throughput.ended(now, others_wait=others_wait and slow)

    def let_in(self) -> None:
        """Fill the places that are free."""
        while self.active < self.capacity() and len(self.line):
            turn = self.line.next()
            if turn not in self.begun and not self.may_begin(turn):
                self.line.add(turn.sender, turn, first=True)
                break
            turn.call_in()
        if len(self.line) and not self.looking:
            self.looking = True
            asyncio.get_running_loop().call_later(LOOK_EVERY_S, self.look)

    def may_begin(self, turn: Turn) -> bool:
        """Whether one more may be in the middle of its body."""
        full = len(self.begun) >= self.max_active * _BEGUN_FOR_A_PLACE
        return not full or self.make_room(turn.sender, self.begun)

    def look(self) -> None:
        """Places open, and silences grow, also when no upload ends."""
        self.looking = False
        self.let_in()

    def left(self, turn: Turn) -> None:
        """Somebody is there no more, or gives up its place."""
        if turn.place:
            turn.place = False
            self.at_work[turn.sender.token] -= 1
            if not self.at_work[turn.sender.token]:
                del self.at_work[turn.sender.token]
        self.let_in()

    def others_at_work(self, token: str) -> bool:
        """Whether somebody of another token has a place, or waits for one."""
        return len(self.at_work) > (token in self.at_work) or self.line.others_wait(token)

    def capacity(self) -> int:
        """How many places there are now."""
        return 1 if self.stands_back() else self.max_active

    def stands_back(self) -> bool:
        """Whether readers come before uploads now."""
        return self.line_is_long() and not self.is_pressed()

    def is_pressed(self) -> bool:
        """Whether uploads have been sent away for long."""
        now = time.monotonic()
        return self.pressed_until + _BREAK_S > now > self.pressed_since + PRESSED_S

    def make_room(self, newcomer: Sender, crowd: Crowd[Turn]) -> bool:
        """Send one of a crowd away; whether there was one to send.

        Who is silent goes first, whosoever it is; then the slowest and latest of the token that
        has most of them, if that has more than the newcomer's would have.
        """
        now = anyio.current_time()
        victims = [
            turn
            for turn in self.parked
            if turn in crowd and turn.sent_away is None and turn.is_silent(now)
        ]
        if not victims:
            most = max(crowd.numbers.values())
            if crowd.numbers[newcomer.token] + 1 < most:
                victims = [
                    turn
                    for turn in crowd
                    if crowd.numbers[turn.sender.token] == most
                    and not turn.place
                    and turn.sent_away is None
                ]
        if not victims:
            return False
        last = min(victims, key=lambda one: (one.num_bytes / (now - one.came_at + 1), -one.came_at))
        last.send_away(self.busy())
        self.turns.discard(last)
        self.begun.discard(last)
        return True

    def busy(self, ahead: int = 0) -> Unavailable:
        """The refusal of one upload too many, or of one that others wait for.

        So many of those who wait will have their turn before one that comes back.
        """
        return Unavailable(
            f"{self.active} uploads are being taken in and {self.waiting} wait",
            hint="nothing was kept; send it again after Retry-After seconds",
            retry_after_s=self.booked_s(ahead),
        )

    def booked_s(self, ahead: int) -> int:
        """Seconds after which one more may come back: behind those who wait, as far as they do not
        leave before, and behind all who were told before. Who is sent away together does not come
        back together.
        """
        now = time.monotonic()
        if now > self.pressed_until + _BREAK_S:
            self.pressed_since = now
        line_s = min(MAX_WAIT_S, ahead * self.each_s(now))
        self.booked_until = max(self.booked_until, now + line_s)
        self.booked_until += self.each_s(self.booked_until)
        if self.booked_until > now + MAX_RETRY_AFTER_S:
            self.booked_until = now + MAX_RETRY_AFTER_S / 2
        self.pressed_until = max(self.pressed_until, self.booked_until)
        return ceil(self.booked_until - now)

    def each_s(self, at: float) -> float:
        """What one upload will take of the time of those who wait then: while readers come first,
        that is until uploads have been sent away for long, it is more.
        """
        slow = self.stands_back() and at < self.pressed_since + PRESSED_S
        return EARLY * (self.slow_throughput if slow else self.throughput).each_s
