"""Two backends of one group in one dump: a hook's operations on devices, and gloo's on the host."""

from pathlib import Path
from typing import Any

import pytest

from tests.analysis.by_hand import Record as Written
from tests.analysis.by_hand import answer, convicted, named, write

WORLD, STEPS = 4, 20
CULPRIT = 2


class Record(Written):
    """A rank of which the hook and gloo record into one ring that holds ``ring`` entries."""

    ring = 10**6
    dispatched = 0

    def on_device(self, seq: int, *, done: bool) -> None:
        """An operation that the hook records, with the number of the dispatcher."""
        entry = self.issue("all_reduce", queued=True, done=done)
        entry |= {
            "profiling_name": "nccl2:all_reduce", "collective_seq_id": seq,
            "op_id": self.dispatched, "time_discovered_started_ns": None,
        }  # fmt: skip
        self.dispatched += 1

    def on_host(self, seq: int) -> None:
        """An operation that gloo records, and the dispatcher counts."""
        entry = self.issue("all_reduce", (3,))
        entry |= {
            "profiling_name": "gloo:all_reduce", "collective_seq_id": seq, "op_id": seq,
            "state": "scheduled", "time_discovered_started_ns": None,
            "time_discovered_completed_ns": None,
        }  # fmt: skip
        self.dispatched += 1

    def dump(self) -> dict[str, Any]:
        """The newest entries; the hook's counters are numbers of the dispatcher."""
        hooks = [one for one in self.entries if one["profiling_name"].startswith("nccl2:")]
        ended = [one["op_id"] for one in hooks if one["retired"]]
        counted = {
            "last_enqueued_collective": hooks[-1]["op_id"], "last_started_collective": -1,
            "last_completed_collective": ended[-1],
        }  # fmt: skip
        kept = self.entries[-self.ring :]
        return {**super().dump(), "entries": kept, "pg_status": {"0": counted}}


def job(kind: str, rank: int, on_host: int) -> Record:
    """After each step ``on_host`` operations of gloo; the last step ends nowhere in a hang."""
    record = Record(WORLD)
    for step in range(1, STEPS + 1):
        stalls = rank == CULPRIT and kind == "device" and step == STEPS
        record.on_device(step, done=not stalls)
        for number in range(on_host):
            record.on_host((step - 1) * on_host + number + 1)
    if kind == "device" or (kind == "host" and rank != CULPRIT):
        record.on_device(STEPS + 1, done=False)
    return record


@pytest.mark.parametrize("ring", [10**6, 20], ids=["whole", "wrapped"])
@pytest.mark.parametrize("on_host", [1, 2])
@pytest.mark.parametrize(
    ("kind", "category"), [("host", "host_stall"), ("device", "gpu"), ("healthy", "none")]
)
def test_each_backend_counts_by_itself(
    tmp_path: Path, kind: str, category: str, on_host: int, ring: int
) -> None:
    records = {rank: job(kind, rank, on_host) for rank in range(WORLD)}
    for record in records.values():
        record.ring = ring
    said = answer(write(tmp_path / "job", records))
    assert said.verdict.category == category
    assert convicted(said) == (set() if kind == "healthy" else {CULPRIT})
    assert named(said)[:1] == ([] if kind == "healthy" else [CULPRIT])
