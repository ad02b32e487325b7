"""Who is sent away comes back when there is room: the line neither runs dry nor is knocked at."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.support.virtual_time import VirtualTimeLoop
from triage.api.limits import admission_gate
from triage.api.limits.admission_gate import REMEMBERED, WINDOW_S, AdmissionGate, Sender, Turn
from triage.errors import Unavailable


class Storm:
    """All nodes send at once, in virtual time, and come back when they are told to.

    Uploads share one processor: ``a_second`` go through, and two in the first ``cold_s``.
    """

    def __init__(self, gate: AdmissionGate, a_second: float, cold_s: float) -> None:
        self.gate = gate
        self.a_second = a_second
        self.cold_s = cold_s
        self.began = 0.0
        self.processor = asyncio.Lock()
        self.chance = random.Random(1)
        self.ends: list[float] = []
        self.requests = 0

    async def node(self, number: int) -> None:
        """One node, until its upload is in."""
        jitter = self.chance.uniform(0.8, 1.2)
        while True:
            self.requests += 1
            try:
                async with self.gate.turn(Sender("t", str(number // 128))) as turn:
                    await self.received(turn)
                self.ends.append(asyncio.get_running_loop().time())
                return
            except Unavailable as refusal:
                await asyncio.sleep((refusal.retry_after_s or 0) * jitter)

    async def received(self, turn: Turn) -> None:
        """Work on the body."""
        await turn.ready()
        async with self.processor:
            cold = asyncio.get_running_loop().time() - self.began < self.cold_s
            await asyncio.sleep(1 / (2 if cold else self.a_second))

    async def send_all(self, nodes: int) -> float:
        """Seconds until the last is in."""
        self.began = asyncio.get_running_loop().time()
        await asyncio.gather(*[self.node(number) for number in range(nodes)])
        return max(self.ends) - self.began


@pytest.mark.parametrize(
    ("nodes", "a_second", "cold_s"),
    [
        pytest.param(1500, 40, 0, id="all-of-them-may-wait"),
        pytest.param(3000, 45, 0, id="more-than-may-wait"),
        pytest.param(3000, 90, 0, id="fast"),
        pytest.param(1500, 40, 20, id="cold-at-first"),
        pytest.param(1500, 20, 20, id="cold-at-first-and-slow"),
        pytest.param(700, 5, 0, id="slow"),
    ],
)
def test_no_time_is_lost_on_who_was_sent_away(
    nodes: int, a_second: float, cold_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        loop = runner.get_loop()
        monkeypatch.setattr(admission_gate, "time", SimpleNamespace(monotonic=loop.time))
        storm = Storm(AdmissionGate(8, 2048), a_second, cold_s)
        took_s = runner.run(storm.send_all(nodes))
    least_s = cold_s + (nodes - cold_s * 2) / a_second
    assert took_s < 1.1 * least_s + 5
    assert storm.requests < 6 * nodes


def test_nobody_is_sent_away_for_longer_than_the_most() -> None:
    async def story() -> list[int]:
        gate = AdmissionGate(1, 0)
        return [gate.refuse().retry_after_s or 0 for _ in range(10_000)]

    told = asyncio.run(story())
    most_s = admission_gate.MAX_RETRY_AFTER_S
    assert max(told) <= most_s
    later = told[told.index(max(told)) + 1 :]
    assert min(later) >= most_s / 2
    # Not all at one time: each second as many as in any other.
    assert max(Counter(later).values()) <= 1.2 * len(later) / (most_s / 2)


def measured_gate() -> tuple[AdmissionGate, Callable[[float, bool], None]]:
    """A gate, and what notes the end of an upload at a time, with or without others in line."""
    gate = AdmissionGate(1, 10)
    first = min(gate.means_s)

    def end(now: float, others_wait: bool) -> None:
        gate.begun.line.lines = {Sender("t"): deque()} if others_wait else {}
        gate.note_end(now)

    assert first == admission_gate.FIRST_S
    return gate, end


def test_only_time_in_which_somebody_waits_counts() -> None:
    gate, end = measured_gate()
    now = 0.0
    for _ in range(REMEMBERED * 3):
        end(now + 5000, True)
        now += 5002
        end(now, False)
    assert min(gate.means_s) == 2.0


def test_what_is_slow_for_a_moment_sends_nobody_away_for_long() -> None:
    gate, end = measured_gate()
    now, told = 0.0, []
    for gap_s in (5.0, 0.25, *[0.5] * (REMEMBERED - 1), 0.0625):
        for _ in range(int(WINDOW_S / gap_s)):
            end(now, True)
            now += gap_s
        end(now, False)
        told.append(round(min(gate.means_s), 4))
    # After as many slow times as are remembered, and at once where it is fast again.
    assert told == [*[0.1] * (REMEMBERED - 1), 0.25, 0.25, 0.0625]


def test_slow_for_long_is_slow_however_few_get_through() -> None:
    gate, end = measured_gate()
    for number in range(int(REMEMBERED * WINDOW_S / 2) + REMEMBERED):
        end(2.0 * number, True)
    assert min(gate.means_s) == pytest.approx(2.0)
