"""The gate of uploads: tokens take turns, and who is slow or silent holds nothing of others."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.api.limits import admission_gate
from triage.api.limits.admission_gate import AdmissionGate, FairLine, Sender, Turn
from triage.errors import Unavailable

NOISY, QUIET = Sender("noisy"), Sender("quiet")


async def as_far_as_they_go() -> None:
    """Every task of the loop comes to where it waits for something."""
    for _ in range(50):
        await asyncio.sleep(0)


class Uploads:
    """Uploads at one gate: what each has come to, by its name."""

    def __init__(self, gate: AdmissionGate) -> None:
        self.gate = gate
        self.inside: list[str] = []
        self.refused: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, sender: Sender, body: Callable[[Turn], Awaitable[None]]) -> None:
        async def run() -> None:
            try:
                async with self.gate.turn(sender) as turn:
                    await body(turn)
                    self.inside.append(name)
            except Unavailable:
                self.refused.append(name)

        self.tasks.append(asyncio.create_task(run()))

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert (self.gate.active, self.gate.waiting) == (0, 0)
        assert not self.gate.begun.held
        assert not len(self.gate.begun.line) + len(self.gate.places.line)


async def silent(turn: Turn) -> None:
    """A sender that never says anything."""
    with turn.listening():
        await asyncio.Event().wait()


async def slow(turn: Turn) -> None:
    """A sender that has begun, and says a little now and then."""
    await turn.ready()
    while True:
        with turn.listening():
            await asyncio.sleep(0.1)


async def quick(turn: Turn) -> None:
    """A sender whose bytes are all here."""
    with turn.listening():
        pass
    await turn.ready()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silences are short, so that no test waits; what is compared is an order, not a time."""
    monkeypatch.setattr(admission_gate, "PATIENCE_S", 0.01)


SENDERS = st.tuples(st.sampled_from("abc"), st.sampled_from("12")).map(lambda one: Sender(*one))


@given(st.lists(st.one_of(SENDERS, st.none()), max_size=60))
def test_nobody_who_waits_sees_another_token_twice(steps: list[Sender | None]) -> None:
    line: FairLine[int] = FairLine()
    waiting: dict[int, Sender] = {}
    seen: dict[str, list[str]] = {}
    for number, sender in enumerate(steps):
        if sender is not None:
            line.add(sender, number)
            waiting[number] = sender
            seen.setdefault(sender.token, [])
        elif waiting:
            one = line.next()
            mine = waiting.pop(one)
            assert not any(two < one for two, other in waiting.items() if other == mine)
            seen.pop(mine.token)
            for others in seen.values():
                assert mine.token not in others
                others.append(mine.token)
            if any(other.token == mine.token for other in waiting.values()):
                seen[mine.token] = []
        assert len(line) == len(waiting)
        assert line.others_wait("a") == any(one.token != "a" for one in waiting.values())
    while waiting:
        waiting.pop(line.next())
    with pytest.raises(IndexError):
        line.next()


def test_a_crowd_of_one_token_keeps_the_other_back_by_one() -> None:
    line: FairLine[str] = FairLine()
    for number in range(100):
        line.add(NOISY, f"n{number}")
    line.add(QUIET, "q0")
    assert [line.next() for _ in range(3)] == ["n0", "q0", "n1"]


def test_the_jobs_of_a_token_take_turns() -> None:
    line: FairLine[str] = FairLine()
    for number in range(100):
        line.add(Sender("t", "big"), f"b{number}")
    line.add(Sender("t", "small"), "s0")
    assert [line.next() for _ in range(3)] == ["b0", "s0", "b1"]


def test_senders_that_say_nothing_hold_no_place() -> None:
    async def story() -> None:
        all_of_them = Uploads(AdmissionGate(2, 600))
        for number in range(500):
            all_of_them.start(f"s{number}", NOISY, silent)
        all_of_them.start("honest", NOISY, quick)
        async with asyncio.timeout(60):
            while all_of_them.inside != ["honest"]:
                await asyncio.sleep(0.01)
        await all_of_them.end()

    asyncio.run(story())


@pytest.mark.parametrize("number", [2, 8, 40])
def test_slow_senders_of_one_token_do_not_keep_another_out(number: int) -> None:
    async def story() -> None:
        all_of_them = Uploads(AdmissionGate(2, 600))
        for one in range(number):
            all_of_them.start(f"s{one}", NOISY, slow)
        await asyncio.sleep(0.1)
        all_of_them.start("honest", QUIET, quick)
        async with asyncio.timeout(60):
            while "honest" not in all_of_them.inside:
                await asyncio.sleep(0.01)
        await all_of_them.end()

    asyncio.run(story())


def test_slow_senders_of_the_same_token_are_waited_for() -> None:
    async def story() -> None:
        all_of_them = Uploads(AdmissionGate(2, 600))
        for one in range(8):  # as many as may have begun
            all_of_them.start(f"s{one}", NOISY, slow)
        await asyncio.sleep(0.1)
        all_of_them.start("late", NOISY, quick)
        await asyncio.sleep(0.2)
        assert all_of_them.refused == []
        await all_of_them.end()

    asyncio.run(story())


def test_a_room_that_one_token_fills_has_room_for_another() -> None:
    async def story() -> None:
        uploads = Uploads(AdmissionGate(1, 4))
        stay = asyncio.Event()

        async def stays(turn: Turn) -> None:
            await turn.ready()
            await stay.wait()

        for number in range(6):
            uploads.start(f"n{number}", NOISY, stays)
        await as_far_as_they_go()
        assert uploads.refused == ["n5"]
        for number in range(3):
            uploads.start(f"q{number}", QUIET, stays)
        await as_far_as_they_go()
        assert uploads.refused == ["n5", "q2"]
        stay.set()
        await asyncio.gather(*uploads.tasks)
        assert uploads.inside.index("q0") <= 2
        await uploads.end()

    asyncio.run(story())


def test_a_long_body_gives_way_to_another_token() -> None:
    async def story() -> None:
        uploads = Uploads(AdmissionGate(1, 10))
        seen: list[str] = []

        async def long(turn: Turn) -> None:
            for number in range(5):
                await turn.ready()
                seen.append(f"{turn.sender.token} {number}")
                await as_far_as_they_go()

        uploads.start("a", NOISY, long)
        uploads.start("b", NOISY, long)
        await as_far_as_they_go()
        uploads.start("c", QUIET, long)
        await asyncio.gather(*uploads.tasks)
        assert seen.index("quiet 4") < 11
        assert seen.index("quiet 0") < 4
        await uploads.end()

    asyncio.run(story())


def test_who_is_sent_away_is_told_when_its_turn_will_be() -> None:
    async def story() -> list[int]:
        gate, told, go = AdmissionGate(1, 4), [], asyncio.Event()

        async def one(number: int) -> None:
            try:
                async with gate.turn(Sender("t", str(number))) as turn:
                    await turn.ready()
                    await go.wait()
            except Unavailable as refusal:
                told.append(refusal.retry_after_s or 0)

        tasks = [asyncio.create_task(one(number)) for number in range(205)]
        await as_far_as_they_go()
        go.set()
        await asyncio.gather(*tasks)
        return told

    told = asyncio.run(story())
    # Behind the four who wait, and one behind the other.
    assert told == sorted(told)
    assert len(told) == 200
    assert max(told) == ceil(204 * admission_gate.FIRST_S * admission_gate.EARLY)
    assert max(Counter(told).values()) <= 1 / (admission_gate.FIRST_S * admission_gate.EARLY) + 1
