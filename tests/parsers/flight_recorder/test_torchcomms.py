"""torchcomms: one counter over all communicators, read as PyTorch's numbers."""

import json

import pytest

from triage.errors import Corrupt
from triage.parsers.flight_recorder.torchcomms import is_torchcomms, with_ordinals
from triage.report import analyze

T0 = 1_790_000_000_000_000_000
# A call that has started and not ended is stamped with the time of the dump.
PULLED = T0 + 900_000_000_000


def dump(calls, first=0):
    """Calls are (group, operation, done)."""
    entries = []
    for number, (group, operation, done) in enumerate(calls, first):
        at = T0 + number * 2_000_000_000
        entries.append(
            {
                "collective_seq_id": number, "p2p_seq_id": 0, "is_p2p": False, "op_id": number,
                "record_id": number, "pg_id": ["tp", "dp"].index(group), "timeout_ms": 600_000,
                "process_group": [group, "ncclx"], "profiling_name": f"ncclx:{operation}",
                "input_sizes": [[64]], "output_sizes": [[64]], "input_dtypes": ["Float"],
                "output_dtypes": ["Float"], "state": "completed" if done else "started",
                "retired": done, "time_created_ns": at,
                "time_discovered_started_ns": at + 90_000 if done else PULLED,
                "time_discovered_completed_ns": at + 900_000 if done else 0,
            }
        )  # fmt: skip
    return {"version": "2.10", "comm_lib_version": "", "pg_status": {}, "entries": entries}


def job(rank, calls):
    """Four ranks: tp pairs 0 with 1 and 2 with 3, dp pairs 0 with 2 and 1 with 3."""
    tp = "[0, 1]" if rank < 2 else "[2, 3]"
    dp = "[0, 2]" if rank % 2 == 0 else "[1, 3]"
    groups = {
        name: {"name": name, "desc": "ncclx", "ranks": ranks}
        for name, ranks in (("tp", tp), ("dp", dp))
    }
    return {**dump(calls), "pg_config": groups}


def test_a_call_has_the_same_number_on_all_its_ranks():
    long = dump([("tp", "all_reduce", True)] * 3 + [("dp", "all_gather", True)])
    short = dump([("tp", "all_reduce", True), ("dp", "all_gather", True)])
    assert [one["collective_seq_id"] for one in with_ordinals(long["entries"])] == [1, 2, 3, 1]
    assert [one["collective_seq_id"] for one in with_ordinals(short["entries"])] == [1, 1]


def test_transfers_are_counted_apart_from_collectives():
    calls = [("tp", "all_reduce", True), ("tp", "send", True), ("tp", "all_reduce", False)]
    numbered = with_ordinals(dump(calls)["entries"])
    assert [one["collective_seq_id"] for one in numbered] == [1, 1, 2]
    assert [one["is_p2p"] for one in numbered] == [False, True, False]
    assert numbered[2]["time_discovered_completed_ns"] is None


def test_a_record_without_its_beginning_is_not_compared():
    with pytest.raises(Corrupt, match="the first 900 are overwritten"):
        with_ordinals(dump([("tp", "all_reduce", True)], first=900)["entries"])


def changed(**fields):
    value = dump([("tp", "all_reduce", True), ("dp", "all_gather", False)])
    value["entries"][1].update(fields)
    return value


@pytest.mark.parametrize(
    ("value", "is_it"),
    [
        pytest.param(changed(), True, id="torchcomms"),
        pytest.param(changed(process_group=["0", "default_pg"]), False, id="a group's description"),
        pytest.param(changed(collective_seq_id=7), False, id="a counter of each group"),
        pytest.param(changed(p2p_seq_id=2), False, id="transfers have a number of their own"),
        pytest.param(changed(is_p2p=True), False, id="transfers are said"),
        pytest.param({**changed(), "pg_status": {"0": {}}}, False, id="PyTorch's progress"),
        pytest.param({**changed(), "entries": []}, False, id="nothing was called"),
        pytest.param({**changed(), "entries": [None, {}]}, False, id="no entries"),
        pytest.param(changed(profiling_name=None), False, id="no name"),
        pytest.param(changed(process_group="ncclx"), False, id="a group that is no list"),
    ],
)
def test_it_is_known_by_what_only_it_writes(value, is_it):
    assert is_torchcomms(value) is is_it


def test_the_rank_that_does_not_come_is_named(tmp_path):
    done = [("tp", "all_reduce", True), ("tp", "all_reduce", True), ("dp", "all_gather", True)]
    ends = {
        0: [("tp", "all_reduce", True), *done, ("dp", "all_gather", False)],
        1: [("tp", "all_reduce", True), *done, ("dp", "all_gather", False)],
        2: done,
        3: [*done, ("tp", "all_reduce", False)],
    }
    for rank, calls in ends.items():
        (tmp_path / f"fr_rank_{rank}.json").write_text(json.dumps(job(rank, calls)))
    report = analyze(tmp_path)
    assert report.answer.verdict.kind == "hang"
    assert report.answer.suspects[0].ranks == (2,)
    assert len(report.answer.suspects) == 1


def test_a_job_whose_record_lost_its_beginning_is_not_called_healthy(tmp_path):
    value = job(0, [("tp", "all_reduce", True)])
    value["entries"][0]["collective_seq_id"] = 4_000
    (tmp_path / "fr_rank_0.json").write_text(json.dumps(value))
    (tmp_path / "job.log").write_text("step 1 loss 2.0\n")
    report = analyze(tmp_path)
    assert report.answer.verdict.kind == "inconclusive"
    assert "torchcomms" in report.answer.coverage.unreadable[0].why
