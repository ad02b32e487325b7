"""A picture of a job that runs: silent. A picture of one that stopped: never called that."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.field.make import make
from benchmarks.field.writing import write
from benchmarks.live_pulls import pulled
from simulator import Pulls, simulate
from triage import analyze
from triage.analysis.dump_view import view_dumps
from triage.analysis.live.beside_log import with_logs
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.live import Live
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Trait
from triage.formats.gather import gather

FR_SETS = Path(__file__).parents[2] / "incidents"
NOTE = "a live picture of a running job"


def notes(path: Path) -> str:
    return "\n".join(analyze(path).to_dict()["coverage"]["notes"])


def edited(path: Path, edit: Any) -> None:
    """Every dump of a folder, its entries changed by ``edit(rank, dump)``."""
    for file in sorted((path / "fr").iterdir()):
        dump = pickle.loads(file.read_bytes())
        edit(int(file.name.rpartition("_")[2]), dump)
        file.write_bytes(pickle.dumps(dump, 2))


@pytest.mark.parametrize("seed", range(40))
def test_a_job_that_runs_is_silent(seed: int) -> None:
    outcome = pulled(seed)
    assert outcome.silent, outcome


# What is left of them: one entry a rank, four, none on a rank; other numbers on each; and
# ranks without a node whose clocks are apart.
@pytest.mark.parametrize("seed", [1000133, 1000254, 1000207, 1000219, 1000261])
def test_a_job_of_which_little_is_told_is_silent(seed: int) -> None:
    outcome = pulled(seed)
    assert outcome.silent, outcome


@pytest.mark.parametrize("spread_ms", [0.0, 800.0, 20_000.0])
@pytest.mark.parametrize("timing", [False, True])
def test_says_that_it_is_a_live_picture(tmp_path: Path, spread_ms: float, timing: bool) -> None:
    simulate(
        "healthy-live", tmp_path, ranks=32, tp=4, seed=3, entries=200, timing=timing,
        pulls=Pulls(spread_ms=spread_ms, slow=20.0),
    )  # fmt: skip
    report = analyze(tmp_path).to_dict()
    assert report["verdict"]["kind"] == "healthy"
    assert report["suspects"] == []
    assert NOTE in "\n".join(report["coverage"]["notes"])


@pytest.mark.parametrize("timing", [False, True])
@pytest.mark.parametrize("kind", ["host-stall", "device-stall", "skipped-op", "two-culprits"])
def test_a_stop_is_no_live_picture(tmp_path: Path, kind: str, timing: bool) -> None:
    simulate(kind, tmp_path, ranks=16, tp=4, pp=2, seed=5, entries=300, timing=timing)
    assert NOTE not in notes(tmp_path)
    assert analyze(tmp_path).to_dict()["suspects"]


@pytest.mark.parametrize("entries", [12, 40, 100])
def test_a_ring_that_lost_what_is_stuck_is_no_live_picture(tmp_path: Path, entries: int) -> None:
    """The counters are behind what the ring still holds: the host ran ahead past its size."""
    simulate("host-stall", tmp_path, ranks=4, tp=2, pp=2, seed=1, entries=entries, culprit=1)
    report = analyze(tmp_path).to_dict()
    assert [one["ranks"] for one in report["suspects"]] == [[1]]


@pytest.mark.parametrize(
    "name",
    sorted(path.name for path in FR_SETS.glob("*") if path.name.startswith(("nccl", "gloo"))),
)
def test_no_recorded_stop_is_a_live_picture(name: str) -> None:
    assert NOTE not in notes(FR_SETS / name)


def test_a_watchdog_that_is_stuck_retires_nothing_and_is_no_sign_of_life(tmp_path: Path) -> None:
    """Its last operations ended, and were noticed ten minutes later, by the dump."""
    truth = simulate("host-stall", tmp_path, ranks=8, tp=2, pp=1, seed=2, entries=300, culprit=3)

    def unretire(rank: int, dump: dict[str, Any]) -> None:
        done = [entry for entry in dump["entries"] if entry["state"] == "completed"]
        for entry in done[-3:]:
            entry["retired"] = False
            entry["time_discovered_completed_ns"] = entry["time_created_ns"] + 600 * 10**9

    edited(tmp_path, unretire)
    report = analyze(tmp_path).to_dict()
    assert [one["ranks"] for one in report["suspects"]] == [list(truth.culprit_ranks)]


def test_what_ended_right_before_the_dump_was_not_retired(tmp_path: Path) -> None:
    """The same picture of one idle rank, with and without a sign that it is of a moment."""
    simulate("host-stall", tmp_path, ranks=8, tp=2, pp=1, seed=2, entries=300, culprit=3)
    assert analyze(tmp_path).to_dict()["suspects"]

    def unretire(rank: int, dump: dict[str, Any]) -> None:
        done = [entry for entry in dump["entries"] if entry["state"] == "completed"]
        newest = max(entry["time_discovered_completed_ns"] for entry in done)
        for entry in done[-2:]:
            entry["retired"] = False
            entry["time_discovered_completed_ns"] = newest

    edited(tmp_path, unretire)
    report = analyze(tmp_path).to_dict()
    assert report["suspects"] == []
    assert NOTE in "\n".join(report["coverage"]["notes"])


def test_belief_has_three_ranges() -> None:
    assert Live(0.97).proved
    assert Live(0.97).likely
    assert not Live(0.97).stopped
    assert not Live(0.75).proved
    assert Live(0.75).likely
    assert not Live().likely
    assert not Live().stopped
    assert Live(0.02).stopped


def test_a_clock_that_is_a_little_off_is_no_lateness(tmp_path: Path) -> None:
    """One node's clock is 80 ms ahead, the job is slow, and nobody says who sits where."""
    write(make("a", "live", "99/12/live"), tmp_path / "all", tmp_path)
    (tmp_path / "dumps").mkdir()
    for file in (tmp_path / "all").rglob("*"):
        if file.is_file() and file.read_bytes()[:1] == b"\x80":
            file.rename(tmp_path / "dumps" / file.name)
    report = analyze(tmp_path / "dumps").to_dict()
    assert report["coverage"]["dumps_read"] == 16
    assert report["suspects"] == []


def case_of(path: Path) -> Case:
    _, dumps, _, facts, _ = gather([path], None, None)
    view, _ = view_dumps(dumps, facts, None)
    assert view is not None
    return view.case


def line(kind: Kind, **given: Any) -> Evidence:
    return Evidence("job.log", 9, "a.b", kind, EvidenceRole.NOISE, "text", **given)


def test_a_watchdog_that_gave_up_makes_a_case_of_its_own(tmp_path: Path) -> None:
    """What was weighed once can be weighed again without the log: the first case stays."""
    simulate("healthy-live", tmp_path, ranks=16, tp=4, seed=3, entries=200, pulls=Pulls())
    case = replace(case_of(tmp_path), live=Live(0.8, ("likely",)))
    gave_up = line(Kind.NCCL, traits=frozenset({Trait.TIMEOUT}))
    assert not with_logs(case, [gave_up]).in_flight
    assert case.in_flight
    assert with_logs(case, [replace(gave_up, traits=frozenset())]).in_flight


@pytest.mark.parametrize(
    ("after_s", "fails", "moves"), [(60, False, True), (60, True, False), (5, False, False)]
)
def test_progress_behind_the_dumps_is_of_a_job_that_goes_on(
    tmp_path: Path, after_s: int, *, fails: bool, moves: bool
) -> None:
    simulate("host-stall", tmp_path, ranks=16, tp=4, seed=3, entries=200)
    case = case_of(tmp_path)
    last = max(one.last_created_ns or 0 for one in case.snapshot.digests)
    rows = [line(Kind.PROGRESS, at_ns=last + after_s * 1_000_000_000)]
    if fails:
        rows.append(replace(line(Kind.PYTHON), role=EvidenceRole.ROOT))
    assert with_logs(case, rows).in_flight is moves
