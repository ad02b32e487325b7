"""Who is sent away comes back when there is room: the line neither runs dry nor is knocked at."""

import asyncio
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.support.virtual_time import VirtualTimeLoop
from triage.api.limits import admission_gate
from triage.api.limits.admission_gate import PRESSED_S, AdmissionGate, Turn
from triage.api.limits.fair_line import Sender
from triage.api.limits.throughput import REMEMBERED, WINDOW_S, Throughput
from triage.errors import Unavailable


class Storm:
    """All nodes send at once, in virtual time, and come back when they are told to.

    Uploads share one processor: ``a_second`` go through while they come first, and ``beside``
    readers that many; for the first ``cold_s`` two.
    """

    def __init__(
        self, gate: AdmissionGate, a_second: float, beside: float, cold_s: float = 0.0
    ) -> None:
        self.gate = gate
        self.a_second = a_second
        self.beside = beside
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
        turn.received(100)
        await turn.ready()
        async with self.processor:
            a_second = self.beside if self.gate.stands_back() else self.a_second
            cold = asyncio.get_running_loop().time() - self.began < self.cold_s
            await asyncio.sleep(1 / (2 if cold else a_second))

    async def send_all(self, nodes: int) -> float:
        """Seconds until the last is in."""
        self.began = asyncio.get_running_loop().time()
        await asyncio.gather(*[self.node(number) for number in range(nodes)])
        return max(self.ends) - self.began


@pytest.mark.parametrize(
    ("nodes", "a_second", "beside", "cold_s"),
    [
        pytest.param(1500, 40, 18, 0, id="all-of-them-may-wait"),
        pytest.param(3000, 45, 18, 0, id="more-than-may-wait"),
        pytest.param(3000, 90, 18, 0, id="much-faster-once-uploads-come-first"),
        pytest.param(1500, 40, 18, 20, id="cold-at-first"),
        pytest.param(1500, 20, None, 20, id="cold-at-first-without-readers"),
        pytest.param(3000, 30, None, 0, id="without-readers"),
        pytest.param(700, 5, None, 0, id="slow"),
    ],
)
def test_no_time_is_lost_on_who_was_sent_away(
    nodes: int,
    a_second: float,
    beside: float | None,
    cold_s: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        loop = runner.get_loop()
        monkeypatch.setattr(admission_gate, "time", SimpleNamespace(monotonic=loop.time))
        gate = AdmissionGate(8, 2048, lambda: beside is not None)
        storm = Storm(gate, a_second, beside or a_second, cold_s)
        took_s = runner.run(storm.send_all(nodes))
    slow_s = PRESSED_S + admission_gate.MAX_WAIT_S if beside else cold_s
    slowly = cold_s * 2 + (slow_s - cold_s) * (beside or a_second)
    least_s = slow_s + max(0.0, nodes - slowly) / a_second
    assert took_s < 1.1 * least_s + 5
    assert storm.requests < 6 * nodes


def test_nobody_is_sent_away_for_longer_than_the_most() -> None:
    async def story() -> list[int]:
        gate = AdmissionGate(1, 0)
        return [gate.busy().retry_after_s or 0 for _ in range(10_000)]

    told = asyncio.run(story())
    most_s = admission_gate.MAX_RETRY_AFTER_S
    assert max(told) <= most_s
    later = told[told.index(max(told)) + 1 :]
    assert min(later) >= most_s / 2
    # Not all at one time: each second as many as in any other.
    assert max(Counter(later).values()) <= 1.2 * len(later) / (most_s / 2)


def test_only_time_in_which_somebody_waits_counts() -> None:
    throughput = Throughput(0.5)
    now = 0.0
    for _ in range(REMEMBERED * 3):
        throughput.ended(now + 5000, others_wait=True)
        now += 5002
        throughput.ended(now, others_wait=False)
    assert throughput.each_s == 2.0


def test_what_is_slow_for_a_moment_sends_nobody_away_for_long() -> None:
    throughput = Throughput(0.1)
    now, told = 0.0, []
    for gap_s in (5.0, 0.25, *[0.5] * (REMEMBERED - 1), 0.0625):
        for _ in range(int(WINDOW_S / gap_s)):
            throughput.ended(now, others_wait=True)
            now += gap_s
        throughput.ended(now, others_wait=False)
        told.append(round(throughput.each_s, 4))
    # After as many slow times as are remembered, and at once where it is fast again.
    assert told == [*[0.1] * (REMEMBERED - 1), 0.25, 0.25, 0.0625]


def test_slow_for_long_is_slow_however_few_get_through() -> None:
    throughput = Throughput(0.1)
    for number in range(int(REMEMBERED * WINDOW_S / 2) + REMEMBERED):
        throughput.ended(2.0 * number, others_wait=True)
    assert throughput.each_s == pytest.approx(2.0)


def test_what_is_slow_beside_readers_says_nothing_of_when_uploads_come_first() -> None:
    async def story() -> list[float]:
        long = True
        gate, now = AdmissionGate(8, 10, lambda: long), 1000.0
        clock = SimpleNamespace(monotonic=lambda: now)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(admission_gate, "time", clock)
            gate.line.add(Sender("t"), Turn(gate, Sender("t")))
            for _ in range(REMEMBERED * 3 + 1):
                now += 2.0
                gate.through()
            told = [gate.each_s(now)]
            gate.pressed_since = now
            told += [gate.each_s(now + 1.0), gate.each_s(now + PRESSED_S + 1.0)]
            long = False
            return [*told, gate.each_s(now)]

    early = admission_gate.EARLY
    fast = early * admission_gate.FIRST_S / 8
    assert asyncio.run(story()) == pytest.approx([fast, 2.0 * early, fast, fast])
