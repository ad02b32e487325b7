"""Who is sent away comes back when there is room: the line neither runs dry nor is knocked at."""

import asyncio
import random
from types import SimpleNamespace

import pytest

from tests.support.virtual_time import VirtualTimeLoop
from triage.api.limits import admission_gate
from triage.api.limits.admission_gate import PRESSED_S, AdmissionGate, Turn
from triage.api.limits.fair_line import Sender
from triage.api.limits.throughput import MEASURED, Throughput
from triage.errors import Unavailable


class Storm:
    """All nodes send at once, in virtual time, and come back when they are told to.

    Uploads share one processor: ``a_second`` go through while they come first, and ``beside``
    readers that many.
    """

    def __init__(self, gate: AdmissionGate, a_second: float, beside: float) -> None:
        self.gate = gate
        self.a_second = a_second
        self.beside = beside
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
            await asyncio.sleep(1 / (self.beside if self.gate.stands_back() else self.a_second))

    async def send_all(self, nodes: int) -> float:
        """Seconds until the last is in."""
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*[self.node(number) for number in range(nodes)])
        return max(self.ends) - began


@pytest.mark.parametrize(
    ("nodes", "a_second", "beside", "readers_wait"),
    [
        pytest.param(1500, 40, 18, True, id="all-of-them-may-wait"),
        pytest.param(3000, 45, 18, True, id="more-than-may-wait"),
        pytest.param(3000, 90, 18, True, id="much-faster-once-uploads-come-first"),
        pytest.param(3000, 30, 30, False, id="no-readers-beside"),
        pytest.param(700, 5, 5, False, id="slow"),
    ],
)
def test_no_time_is_lost_on_who_was_sent_away(
    nodes: int, a_second: float, beside: float, readers_wait: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        loop = runner.get_loop()
        monkeypatch.setattr(admission_gate, "time", SimpleNamespace(monotonic=loop.time))
        storm = Storm(AdmissionGate(8, 2048, lambda: readers_wait), a_second, beside)
        took_s = runner.run(storm.send_all(nodes))
    slow_s = PRESSED_S + admission_gate.MAX_WAIT_S if readers_wait else 0.0
    least_s = slow_s + max(0.0, nodes - slow_s * beside) / a_second
    assert took_s < 1.1 * least_s + 5
    assert storm.requests < 3.5 * nodes


def test_only_time_in_which_somebody_waits_counts() -> None:
    throughput = Throughput(0.5)
    assert throughput.each_s == 0.5
    for number in range(MEASURED + 1):
        throughput.ended(100.0 + 2 * number, others_wait=True)
    assert throughput.each_s == 2.0
    throughput.ended(1000.0, others_wait=False)
    busy_s = throughput.each_s
    throughput.ended(5000.0, others_wait=True)
    assert throughput.each_s == busy_s


def test_what_is_slow_beside_readers_says_nothing_of_when_uploads_come_first() -> None:
    async def story() -> list[float]:
        long = True
        gate, now = AdmissionGate(8, 10, lambda: long), 1000.0
        clock = SimpleNamespace(monotonic=lambda: now)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(admission_gate, "time", clock)
            gate.line.add(Sender("t"), Turn(gate, Sender("t")))
            for _ in range(MEASURED + 1):
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
