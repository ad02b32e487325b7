"""A crowd before the gate: who comes is refused without a look at each who waits."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.api.limits.admission_gate import AdmissionGate, Turn
from triage.api.limits.crowd import Crowd
from triage.api.limits.fair_line import Sender
from triage.errors import Unavailable


class Upload(NamedTuple):
    """One of a number."""

    number: int
    sender: Sender


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60)


@given(STEPS)
def test_its_numbers_are_those_of_its_members(steps: list[tuple[bool, int]]) -> None:
    crowd: Crowd[Upload] = Crowd()
    there: set[Upload] = set()
    for comes, number in steps:
        one = Upload(number, Sender("abc"[number % 3]))
        (crowd.add if comes else crowd.discard)(one)
        (there.add if comes else there.discard)(one)
        assert (one in crowd) == comes
        assert set(crowd) == there
        assert len(crowd) == len(there)
        assert crowd.numbers == Counter(each.sender.token for each in there)
        assert all(crowd.numbers.values())


def test_a_refusal_looks_at_nobody_who_waits_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    is_silent = Turn.is_silent

    def counted(turn: Turn, now: float) -> bool:
        nonlocal looks
        looks += 1
        return is_silent(turn, now)

    monkeypatch.setattr(Turn, "is_silent", counted)

    async def story() -> int:
        gate, refused, end = AdmissionGate(8, 500), 0, asyncio.Event()

        async def one(number: int) -> None:
            nonlocal refused
            try:
                async with gate.turn(Sender("t", str(number % 50))):
                    await end.wait()
            except Unavailable:
                refused += 1

        tasks = [asyncio.create_task(one(number)) for number in range(1508)]
        for _ in range(50):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        return refused

    assert asyncio.run(story()) == 1000
    assert looks == 0
