"""The trace: what the format asks for, what is kept, and what is said to be left out."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

import triage
from triage.errors import UsageError

INCIDENTS = Path(__file__).parents[2] / "incidents"
HANG, SLOW, STUCK = (
    INCIDENTS / "nccl-never-joins-w8",
    INCIDENTS / "nccl-straggler-w8",
    Path(__file__).parents[3] / "examples" / "stuck-job",
)


@pytest.fixture(scope="module")
def reports():
    return {path: triage.analyze(path) for path in (HANG, SLOW, STUCK)}


def load(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        return json.load(file)


def slices(trace):
    return [event for event in trace["traceEvents"] if event["ph"] in "Xi"]


def names(trace, kind):
    return {
        event["args"]["name"]
        for event in trace["traceEvents"]
        if event["ph"] == "M" and event["name"] == kind
    }


@pytest.mark.parametrize("path", [HANG, SLOW, STUCK], ids=lambda path: path.name)
def test_slices_of_a_track_lie_in_each_other_or_apart(path, reports, tmp_path):
    reports[path].to_perfetto(tmp_path / "t.json")
    tracks = defaultdict(list)
    for event in slices(load(tmp_path / "t.json")):
        if event["ph"] == "X":
            assert event["dur"] >= 0
            # In ns, as readers take them.
            span = round(event["ts"] * 1e3), round((event["ts"] + event["dur"]) * 1e3)
            tracks[event["pid"], event["tid"]].append(span)
    assert tracks
    for spans in tracks.values():
        open_until = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)


def test_tracks_are_nodes_and_groups_of_ranks(reports, tmp_path):
    written = reports[STUCK].to_perfetto(tmp_path / "t.json.gz")
    trace = load(tmp_path / "t.json.gz")
    assert names(trace, "process_name") == {"n0", "n1"}
    assert "rank 5 (culprit): default_pg (pg 0)" in names(trace, "thread_name")
    assert written.num_events == len(slices(trace))
    assert written.num_ranks == 8
    assert written.left_out == ()


def test_what_never_ended_is_drawn_to_the_dump_and_says_so(reports, tmp_path):
    reports[HANG].to_perfetto(tmp_path / "t.json")
    trace = load(tmp_path / "t.json")
    stuck = [e for e in slices(trace) if e["name"].endswith("(never completed)")]
    ends = {round(event["ts"] + event["dur"]) for event in stuck}
    assert len(ends) == 1
    assert {event["args"]["state"] for event in stuck} <= {"scheduled", "started"}
    assert any("train.py" in event["args"].get("stack", "") for event in stuck)
    done = [event for event in slices(trace) if event["args"]["state"] == "completed"]
    assert done
    assert not any("never" in event["name"] for event in done)


def test_without_timing_a_finished_operation_is_an_instant(tmp_path):
    report = triage.analyze(INCIDENTS / "gloo-cascade-w8")
    report.to_perfetto(tmp_path / "t.json")
    done = [e for e in slices(load(tmp_path / "t.json")) if e["args"]["state"] == "completed"]
    assert {event["ph"] for event in done} == {"i"}
    assert all("host" in event["args"]["time"] for event in done)


def test_arrows_join_members_of_one_collective(reports, tmp_path):
    reports[HANG].to_perfetto(tmp_path / "t.json")
    trace = load(tmp_path / "t.json")["traceEvents"]
    starts = {e["id"]: e for e in trace if e["ph"] == "s"}
    ends = {e["id"]: e for e in trace if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert starts
    inside = {(e["pid"], e["tid"]) for e in trace if e["ph"] == "X"}
    for number, event in starts.items():
        assert (event["pid"], event["tid"]) in inside
        assert ends[number]["ts"] >= event["ts"]
        assert ends[number]["tid"] != event["tid"]


def test_limit_keeps_the_newest_and_says_what_is_gone(reports, tmp_path):
    every = reports[SLOW].to_perfetto(tmp_path / "all.json").num_events
    written = reports[SLOW].to_perfetto(tmp_path / "t.json", limit=100)
    trace, whole = load(tmp_path / "t.json"), load(tmp_path / "all.json")
    assert written.num_events == len(slices(trace)) == 100
    assert written.left_out == (f"the oldest {every - 100:,} operations beyond 100 (limit=)",)
    assert trace["otherData"]["left_out"] == list(written.left_out)
    newest = {(e["tid"], e["args"]["seq_id"]) for e in sorted(slices(whole), key=ts)[-100:]}
    assert {(event["tid"], event["args"]["seq_id"]) for event in slices(trace)} == newest


def ts(event):
    return event["ts"]


def test_last_seconds_are_counted_from_the_last_issue(reports, tmp_path):
    written = reports[SLOW].to_perfetto(tmp_path / "t.json", last_s=2)
    kept = slices(load(tmp_path / "t.json"))
    assert max(map(ts, kept)) - min(map(ts, kept)) <= 2e6
    assert "earlier than the last 2 s (last_s=)" in str(written)


def test_a_hang_does_not_push_what_came_before_it_out(reports, tmp_path):
    """The hang goes on for five seconds; the last half second of work is still there."""
    reports[STUCK].to_perfetto(tmp_path / "t.json", last_s=0.5)
    kept = slices(load(tmp_path / "t.json"))
    assert len([event for event in kept if event["args"]["state"] == "completed"]) > 500
    assert max(event["ts"] + event.get("dur", 0) for event in kept) > 5e6


def test_ranks_that_are_asked_for(reports, tmp_path):
    written = reports[SLOW].to_perfetto(tmp_path / "t.json", ranks=[5, 1, 5])
    assert written.num_ranks == 2
    assert {e["args"]["rank"] for e in slices(load(tmp_path / "t.json"))} == {1, 5}
    assert "6 ranks (name them with ranks=)" in written.left_out


def test_the_same_report_gives_the_same_bytes(reports, tmp_path):
    for name in ("a.json.gz", "b.json.gz"):
        reports[STUCK].to_perfetto(tmp_path / name)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


@pytest.mark.parametrize("given", [{"ranks": [99]}, {"limit": 0}, {"last_s": 0}, {"ranks": []}])
def test_what_cannot_be_is_refused(given, reports, tmp_path):
    with pytest.raises(UsageError):
        reports[STUCK].to_perfetto(tmp_path / "t.json", **given)
    assert not (tmp_path / "t.json").exists()


def test_a_report_without_dumps_has_no_trace(tmp_path):
    report = triage.Report(triage.analyze(STUCK).answer)
    with pytest.raises(UsageError, match="needs flight-recorder dumps"):
        report.to_perfetto(tmp_path / "t.json")
