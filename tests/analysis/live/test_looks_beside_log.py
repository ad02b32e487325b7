"""Looks beside a job log that moves up to its own end: which tells of the later moment."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import triage
from tests.support.ras_texts import behind, ras_json, ras_text, steps_text
from tests.support.stack_texts import LOADER, REDUCE, Frame, faulthandler_text, py_spy_text
from triage.domain.report import Answer

LAST = "2026-04-24 16:01:20"
LATER = ("20260424_161055", "20260424_161155")
BEFORE = ("20260424_155855", "20260424_155955")
JOB = {
    "job_id": "9", "world_size": 8, "nodes": ["gpu-a", "gpu-b"], "gpus_per_node": 4,
    "started_at": "2026-04-24T09:00:00Z",
}  # fmt: skip


def job(folder: Path, log: str | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "job.json").write_text(json.dumps(JOB))
    (folder / "train.log").write_text(steps_text(LAST) if log is None else log)
    return folder


def odd(rank: int, frames: Sequence[Frame] = LOADER) -> list[Sequence[Frame]]:
    return [frames if one == rank else REDUCE for one in range(8)]


def stacks(folder: Path, when: Sequence[str], shown: Sequence[Sequence[Frame]]) -> Path:
    """py-spy of all ranks, a folder for each moment."""
    for moment in when:
        own = folder / "stacks" / moment
        own.mkdir(parents=True)
        for rank, frames in enumerate(shown):
            (own / f"rank_{rank}.txt").write_text(py_spy_text(4000 + rank, frames))
    return folder


def clock_of(moment: str) -> str:
    day, time = moment.split("_")
    return f"{day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}:{time[4:]}"


def ras(folder: Path, when: Sequence[str], counts: Sequence[Sequence[dict[str, int]]]) -> Path:
    for moment, one in zip(when, counts, strict=True):
        (folder / f"ras_{moment}.json").write_text(ras_json(one, clock_of(moment)))
    return folder


def answer_to(folder: Path) -> Answer:
    return triage.analyze(folder).answer


def named(answer: Answer) -> list[tuple[int, ...]]:
    return [one.ranks for one in answer.suspects]


LOGS = {
    "bare times": steps_text(LAST),
    "times of a zone": steps_text(LAST, form="%Y-%m-%dT%H:%M:%S+00:00"),
    "no times": steps_text(LAST, line="step {step}/9000 loss 2.2 lr 1e-4 time 2.0s"),
    "no year": steps_text(LAST, form="%b %d %H:%M:%S", line="{at} INFO step {step}/9000 loss 2.2"),
    "a line a minute": steps_text(LAST, each_s=60.0),
}


@pytest.mark.parametrize("log", LOGS.values(), ids=list(LOGS))
@pytest.mark.parametrize("rank", [0, 5])
def test_ras_that_was_asked_later_decides(tmp_path: Path, log: str, rank: int) -> None:
    answer = answer_to(ras(job(tmp_path, log), LATER, [behind(rank)] * 2))
    assert (answer.verdict.kind, answer.verdict.category) == ("hang", "host_stall")
    assert named(answer) == [(rank,)]
    assert answer.suspects[0].role == "culprit"


@pytest.mark.parametrize("log", LOGS.values(), ids=list(LOGS))
def test_stacks_that_were_taken_later_decide(tmp_path: Path, log: str) -> None:
    answer = answer_to(stacks(job(tmp_path, log), LATER, odd(5)))
    assert (answer.verdict.kind, answer.verdict.category) == ("hang", "host_stall")
    assert named(answer)[0] == (5,)
    assert answer.suspects[0].node == "gpu-b"


@pytest.mark.parametrize(
    ("last", "zone"),
    [
        pytest.param(LAST, "+02:00", id="looks in the zone that the log prints"),
        pytest.param("2026-04-24 08:01:20", "Z", id="looks of a cluster ahead of UTC"),
        pytest.param("2026-04-24 23:01:20", "Z", id="looks of a cluster behind UTC"),
    ],
)
def test_names_hold_the_time_of_the_cluster(tmp_path: Path, last: str, zone: str) -> None:
    log = steps_text(last, form=f"%Y-%m-%dT%H:%M:%S{zone}")
    for name, folder in (
        ("ras", ras(job(tmp_path / "ras", log), LATER, [behind(5)] * 2)),
        ("stacks", stacks(job(tmp_path / "stacks", log), LATER, odd(5))),
    ):
        assert named(answer_to(folder))[0] == (5,), name


def flat_names(folder: Path, moment: str, shown: Sequence[Sequence[Frame]]) -> None:
    for rank, frames in enumerate(shown):
        (folder / f"rank_{rank}_{moment}.txt").write_text(py_spy_text(4000 + rank, frames))


def fault_handler(folder: Path, moment: str, shown: Sequence[Sequence[Frame]]) -> None:
    own = folder / "nodes" / "gpu-a" / moment
    own.mkdir(parents=True)
    for rank, frames in enumerate(shown):
        (own / f"rank_{rank}.txt").write_text(faulthandler_text(frames))


def undated_rounds(folder: Path, moment: str, shown: Sequence[Sequence[Frame]]) -> None:
    own = folder / f"look{1 + LATER.index(moment)}"
    own.mkdir()
    flat_names(own, "x", shown)


@pytest.mark.parametrize("write", [flat_names, fault_handler, undated_rounds])
def test_files_of_stacks_lie_in_many_ways(
    tmp_path: Path, write: Callable[[Path, str, Sequence[Sequence[Frame]]], None]
) -> None:
    job(tmp_path)
    for moment in LATER:
        write(tmp_path, moment, odd(6))
    answer = answer_to(tmp_path)
    assert answer.verdict.kind == "hang"
    assert named(answer)[0] == (6,)


def test_one_later_look_is_as_good_as_without_a_log(tmp_path: Path) -> None:
    bare = stacks(job(tmp_path / "bare"), LATER[:1], odd(5))
    (bare / "train.log").unlink()
    beside = stacks(job(tmp_path / "beside"), LATER[:1], odd(5))
    assert answer_to(beside).verdict == answer_to(bare).verdict
    text = job(tmp_path / "text")
    (text / f"ras_{LATER[0]}.txt").write_text(ras_text(behind(5)))
    assert named(answer_to(text)) == [(5,)]
    assert answer_to(text).verdict.kind == "inconclusive"


def test_that_all_wait_later_is_no_health(tmp_path: Path) -> None:
    answer = answer_to(stacks(job(tmp_path), LATER, [REDUCE] * 8))
    assert (answer.verdict.kind, answer.suspects) == ("hang", ())


def test_one_later_look_that_names_nobody_is_no_health(tmp_path: Path) -> None:
    answer = answer_to(ras(job(tmp_path), LATER[:1], [behind(99)]))
    assert answer.verdict.kind == "inconclusive"
    assert "575 s later" in answer.verdict.summary
    assert answer.verdict.action == "investigate"


@pytest.mark.parametrize("kind", ["Xid 79", "beside looks"])
def test_a_gpu_that_is_lost_behind_the_last_step(tmp_path: Path, kind: str) -> None:
    job(tmp_path)
    (tmp_path / "nodes" / "gpu-b").mkdir(parents=True)
    (tmp_path / "nodes" / "gpu-b" / "kernel.log").write_text(
        "2026-04-24T16:01:21.500000+00:00 gpu-b kernel: NVRM: Xid (PCI:0000:5d:00): 79,"
        " pid=4005, name=python, GPU has fallen off the bus.\n"
    )
    if kind == "beside looks":
        stacks(tmp_path, LATER, [REDUCE] * 8)
    answer = answer_to(tmp_path)
    assert answer.verdict.kind in ("hang", "crash")
    assert [one.node for one in answer.suspects] == ["gpu-b"]


# Near misses.
@pytest.mark.parametrize("rank", [0, 5])
def test_looks_before_the_last_step_are_of_a_job_that_ran_on(tmp_path: Path, rank: int) -> None:
    for folder in (
        ras(job(tmp_path / "ras"), BEFORE, [behind(rank)] * 2),
        stacks(job(tmp_path / "stacks"), BEFORE, odd(rank)),
        stacks(job(tmp_path / "between"), (BEFORE[0], "20260424_160122"), odd(rank)),
    ):
        answer = answer_to(folder)
        assert (answer.verdict.kind, answer.suspects) == ("healthy", ())


def test_a_log_that_moves_between_the_looks_and_stands_then(tmp_path: Path) -> None:
    """The first look is of the running job, and no sign that it moved later."""
    shown = [behind(99, at=4000), behind(5)]
    assert answer_to(ras(job(tmp_path), (BEFORE[0], LATER[0]), shown)).verdict.kind != "healthy"
    folder = job(tmp_path / "three")
    answer = answer_to(ras(folder, (BEFORE[0], *LATER), [*shown, behind(5)]))
    assert named(answer) == [(5,)]
    assert answer.suspects[0].role == "culprit"


def test_later_looks_at_a_job_that_moves(tmp_path: Path) -> None:
    moved = [behind(5), behind(3, at=5029)]
    answer = answer_to(ras(job(tmp_path), LATER, moved))
    assert (answer.verdict.kind, answer.suspects) == ("healthy", ())


def test_one_look_of_unknown_time_convicts_nobody_of_a_job_that_moves(tmp_path: Path) -> None:
    folder = job(tmp_path)
    for rank, frames in enumerate(odd(5)):
        (folder / f"rank_{rank}.txt").write_text(py_spy_text(4000 + rank, frames))
    answer = answer_to(folder)
    assert answer.verdict.kind == "inconclusive"
    assert [one.role for one in answer.suspects] == ["possible"]


def test_one_look_of_unknown_time_at_which_all_wait_is_of_any_job(tmp_path: Path) -> None:
    folder = job(tmp_path)
    for rank in range(8):
        (folder / f"rank_{rank}.txt").write_text(py_spy_text(4000 + rank))
    assert answer_to(folder).verdict.kind == "healthy"


def test_a_folder_of_the_run_does_not_date_its_looks(tmp_path: Path) -> None:
    """The name of a folder that holds logs too tells when the run began."""
    run = tmp_path / "run_20260424_090000"
    run.mkdir()
    job(run)
    for number in (1, 2):
        own = run / f"look{number}"
        own.mkdir()
        flat_names(own, "x", odd(5))
    answer = answer_to(tmp_path)
    assert named(answer)[0] == (5,)


def test_a_job_that_ended_in_order_is_not_blamed_for_what_it_does_last(tmp_path: Path) -> None:
    log = steps_text(LAST) + "[2026-04-24 16:01:22] training completed\n"
    early = ("20260424_160200", "20260424_160240")
    saving: Sequence[Frame] = (
        ("save", "torch/serialization.py", 850), ("main", "pretrain.py", 60),
        ("<module>", "pretrain.py", 80),
    )  # fmt: skip
    answer = answer_to(stacks(job(tmp_path / "soon", log), early, odd(0, saving)))
    assert (answer.verdict.kind, answer.suspects) == ("healthy", ())
    late = ("20260424_162000", "20260424_162100")
    assert named(answer_to(stacks(job(tmp_path / "late", log), late, odd(0, saving))))[0] == (0,)


SOON = ("20260424_160300", "20260424_160400")
MARK = steps_text(LAST) + "[2026-04-24 16:01:22] training completed\n"
BAR = steps_text(
    LAST, line="[{at}] iteration {step}/39 | elapsed time per iteration (ms): 2000.0 | lm loss: 2.2"
)
UNDATED_BAR = "".join(
    f"{100 * step // 40}%|#####     | {step}/40 [01:{step:02d}<00:00,  1.00it/s, loss=2.2]\n"
    for step in range(1, 41)
)
MAIN: Sequence[Frame] = (("main", "pretrain.py", 60), ("<module>", "pretrain.py", 80))
C10D = "torch/distributed/distributed_c10d.py"
BARRIER: Sequence[Frame] = (("barrier", C10D, 4803), *MAIN)
DESTROY: Sequence[Frame] = (("destroy_process_group", C10D, 2100), *MAIN)
SAVE: Sequence[Frame] = (("save", "torch/serialization.py", 850), *MAIN)
UPLOAD: Sequence[Frame] = (("send", "urllib3/connection.py", 400), *MAIN)
LEAVE: Sequence[Frame] = (
    ("_shutdown_workers", "torch/utils/data/dataloader.py", 1700), *MAIN,
)  # fmt: skip


@pytest.mark.parametrize("log", [MARK, BAR], ids=["end mark", "full bar"])
@pytest.mark.parametrize("when", [SOON, LATER])
def test_two_equal_looks_behind_the_end_show_a_stop(
    tmp_path: Path, log: str, when: Sequence[str]
) -> None:
    by_stacks = answer_to(stacks(job(tmp_path / "odd", log), when, odd(5)))
    assert (by_stacks.verdict.kind, named(by_stacks)) == ("hang", [(5,)])
    by_barrier = [BARRIER if rank != 3 else LOADER for rank in range(8)]
    assert named(answer_to(stacks(job(tmp_path / "barrier", log), when, by_barrier))) == [(3,)]
    all_wait = answer_to(stacks(job(tmp_path / "alike", log), when, [REDUCE] * 8))
    assert (all_wait.verdict.kind, all_wait.suspects) == ("hang", ())
    counted = answer_to(ras(job(tmp_path / "ras", log), when, [behind(5)] * 2))
    assert counted.verdict.kind == "hang"
    # Whom it counts behind may do the last work of the job, which the others wait for.
    assert [(one.ranks, one.role) for one in counted.suspects] == [((5,), "possible")]


@pytest.mark.parametrize("log", [BAR, UNDATED_BAR], ids=["dated", "undated"])
def test_a_full_bar_alone_does_not_beat_two_looks_of_an_unknown_time(
    tmp_path: Path, log: str
) -> None:
    for moment in LATER:
        undated_rounds(job(tmp_path, log), moment, odd(5))
    assert named(answer_to(tmp_path)) == [(5,)]


@pytest.mark.parametrize("log", [MARK, BAR], ids=["end mark", "full bar"])
@pytest.mark.parametrize(
    "shown",
    [
        pytest.param([SAVE, *[BARRIER] * 7], id="one saves"),
        pytest.param([SAVE, *[REDUCE] * 7], id="one saves, waited for in a collective"),
        pytest.param([UPLOAD, *[BARRIER] * 7], id="one uploads"),
        pytest.param([BARRIER] * 8, id="all in the last barrier"),
        pytest.param([DESTROY] * 8, id="all take down their groups"),
        pytest.param([*[DESTROY] * 7, BARRIER], id="all leave"),
        pytest.param([*[DESTROY] * 7, LEAVE], id="one ends its loader"),
    ],
)
def test_how_a_job_ends_is_no_stop(
    tmp_path: Path, log: str, shown: Sequence[Sequence[Frame]]
) -> None:
    answer = answer_to(stacks(job(tmp_path, log), SOON, shown))
    assert (answer.verdict.kind, answer.suspects) == ("healthy", ())


@pytest.mark.parametrize(("first", "kind"), [(4000, "hang"), (7000, "healthy")])
def test_processes_of_another_job_behind_the_end(tmp_path: Path, first: int, kind: str) -> None:
    joined = "".join(
        f"gpu-{'ab'[rank // 4]}:{first + rank}:{first + rank} [{rank % 4}] NCCL INFO"
        f" ncclCommInitRank comm 0x55aa{rank:04x} rank {rank} nranks 8 cudaDev {rank % 4} nvmlDev"
        f" {rank % 4} busId {16 + rank % 4:x}000 commId 0x8fe1d2 - Init COMPLETE\n"
        for rank in range(8)
    )
    folder = stacks(job(tmp_path, joined + MARK), SOON, odd(5))
    assert answer_to(folder).verdict.kind == kind


def test_looks_behind_the_end_that_are_no_stop(tmp_path: Path) -> None:
    one_look = stacks(job(tmp_path / "once", MARK), SOON[:1], odd(5))
    moved = ras(job(tmp_path / "moved", MARK), SOON, [behind(5), behind(3, at=5029)])
    by_itself = stacks(job(tmp_path / "zero", MARK), SOON, odd(5))
    (by_itself / "job.json").write_text(json.dumps({**JOB, "exit_code": 0}))
    leaving = ras(job(tmp_path / "leaving", MARK), SOON, [behind(5)] * 2)
    for path in leaving.glob("ras_*.json"):
        path.write_text(
            path.read_text().replace('"finalize_called": false', '"finalize_called": true')
        )
    for folder in (one_look, moved, by_itself, leaving):
        assert answer_to(folder).verdict.kind == "healthy", folder
