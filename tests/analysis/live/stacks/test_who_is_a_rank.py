"""Which thread speaks for a rank, and which process is none."""

from pathlib import Path

import pytest

import triage
from tests.support.stack_texts import LOADER, REDUCE, Frame, py_spy_text
from tests.support.stacks import DEVICE, case_of, frames, look, thread
from triage.analysis.live.stacks.program_points import ProgramPoint as P
from triage.analysis.live.stacks.program_points import find_point
from triage.analysis.registry import find_look_claims
from triage.domain.live.launchers import is_helper
from triage.domain.live.process import Process
from triage.domain.live.stack import ThreadStack

RAY = "main_loop (ray/_private/worker.py:969) <module> (ray/_private/workers/default_worker.py:3)"
JOIN = (
    "_wait_for_tstate_lock (threading.py:1116) join (threading.py:1096)"
    " main (train.py:50) <module> (train.py:60)"
)
RESULT = (
    "wait (threading.py:327) result (concurrent/futures/_base.py:451)"
    " main (train.py:50) <module> (train.py:60)"
)
IN_THREAD = " train_fn (job.py:88) run (threading.py:982) _bootstrap (threading.py:1002)"
WAITS = "all_reduce (torch/distributed/distributed_c10d.py:3252)" + IN_THREAD
READS = "_next_data (torch/utils/data/dataloader.py:1505) next_batch (job.py:60)" + IN_THREAD
MONITOR = "wait (threading.py:327) watch (monitor.py:9) run (threading.py:982)"


def process(rank: int, main: str, *others: tuple[str, str | None]) -> list[ThreadStack]:
    more = [
        thread(rank, text, is_main=False, thread_name=name, thread_id=50 + number)
        for number, (text, name) in enumerate(others)
    ]
    return [thread(rank, main, thread_id=1), *more]


@pytest.mark.parametrize("main", [RAY, JOIN, RESULT], ids=["ray", "join", "executor"])
@pytest.mark.parametrize("name", ["TrainingThread(fn)", "Thread-7", None])
def test_a_thread_that_trains_speaks_for_its_rank(main: str, name: str | None) -> None:
    def at(moment: int) -> list[ThreadStack]:
        return [
            one
            for rank in range(8)
            for one in process(rank, main, (READS if rank == 3 else WAITS, name), (MONITOR, None))
        ]

    case = case_of(look(at(0), "a/stacks.txt", at_s=100), look(at(1), "b/stacks.txt", at_s=160))
    points = {one.rank: one.point for one in case.picture.ranks}
    assert points == {rank: P.DATA if rank == 3 else P.COLLECTIVE for rank in range(8)}
    assert find_look_claims(case)[0].ranks == (3,)


def test_a_main_thread_of_the_job_speaks_for_itself() -> None:
    """A thread beside it may wait in a collective of its own: a writer of checkpoints."""
    busy = "augment (augment.py:96) step (train.py:18) main (train.py:37) <module> (train.py:43)"
    lock = (
        "acquire (threading.py:164) flush (metrics.py:88) main (train.py:37) <module> (train.py:1)"
    )
    for main, point in ((busy, P.CODE), (lock, P.LOCK), (DEVICE, P.DEVICE)):
        case = case_of(look(process(0, main, (WAITS, "writer"))))
        assert [one.point for one in case.picture.ranks] == [point]


@pytest.mark.parametrize(
    ("stack", "point"),
    [
        (
            "sem_clockwait PyThread_acquire_lock_timed lock_PyThread_acquire_lock",
            P.LOCK,
        ),
        ("__futex_abstimed_wait _PySemaphore_Wait _PyParkingLot_Park", P.LOCK),
        ("__recv sock_recv_impl sock_call_ex", P.NETWORK),
        ("read _io_FileIO_readall_impl", P.FILES),
        ("wait4 os_waitpid", P.SUBPROCESS),
        ("clock_nanosleep pysleep", P.SLEEP),
        ("pthread_cond_wait ??", P.UNKNOWN),
        ("?? cudaStreamSynchronize", P.DEVICE),
        ("pthread_cond_timedwait take_gil PyEval_RestoreThread", P.GIL),
    ],
)
def test_native_frames_tell_what_python_waits_for(stack: str, point: P) -> None:
    shown = [one for name in stack.split() for one in frames(f"{name} (lib.so)", native=True)]
    assert find_point(shown).point is point


def test_native_stacks_name_who_waits_for_a_lock() -> None:
    def native(rank: int, *names: str) -> ThreadStack:
        kept = [one for name in names for one in frames(f"{name} (lib.so)", native=True)]
        return ThreadStack(Process(rank=rank, pid=100 + rank), tuple(kept), is_main=True)

    stacks = [
        native(rank, "sem_clockwait", "PyThread_acquire_lock_timed")
        if rank == 2
        else native(rank, "poll", "cudaStreamSynchronize")
        for rank in range(8)
    ]
    case = case_of(look(stacks, "a/x.txt", at_s=100), look(stacks, "b/x.txt", at_s=160))
    assert find_look_claims(case)[0].ranks == (2,)
    alike = [native(rank, "sem_clockwait", "PyThread_acquire_lock_timed") for rank in range(8)]
    assert not [one for one in find_look_claims(case_of(look(alike))) if one.ranks]


HELPERS: dict[str, tuple[str, list[Frame]]] = {
    "compile worker": (
        "/usr/bin/python3 /v/site-packages/torch/_inductor/compile_worker/__main__.py"
        " --workers=32 --parent=4410",
        [("SubprocMain.main", "torch/_inductor/compile_worker/subproc_pool.py", 338),
         ("<module>", "torch/_inductor/compile_worker/__main__.py", 66)],
    ),
    "compile worker without its command": (
        "", [("SubprocMain.main", "torch/_inductor/compile_worker/subproc_pool.py", 338),
             ("main", "torch/_inductor/compile_worker/__main__.py", 61)],
    ),
    "worker of a pool of processes": (
        "python train.py", [("get", "multiprocessing/queues.py", 103),
                            ("_process_worker", "concurrent/futures/process.py", 240),
                            ("main", "train.py", 20), ("<module>", "train.py", 30)],
    ),
    "pool that compiles": (
        "python train.py", [("compile", "triton/compiler/compiler.py", 103),
                            ("_process_worker", "concurrent/futures/process.py", 240),
                            ("<module>", "train.py", 30)],
    ),
    "resource tracker": (
        "/usr/bin/python3 -c from multiprocessing.resource_tracker import main;main(9)",
        [("main", "multiprocessing/resource_tracker.py", 201), ("<module>", "<string>", 1)],
    ),
    "wandb": (
        "python -m wandb service --port-filename x",
        [("serve", "wandb/sdk/service/server.py", 101), ("<module>", "wandb/__main__.py", 3)],
    ),
    "manager": (
        "", [("accept", "multiprocessing/connection.py", 1),
             ("serve_forever", "multiprocessing/managers.py", 170)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(HELPERS))
@pytest.mark.parametrize("odd", [None, 2])
def test_a_helper_is_no_rank(tmp_path: Path, name: str, odd: int | None) -> None:
    command, stack = HELPERS[name]
    for moment in ("20260424_161055", "20260424_161155"):
        for number in range(8):
            own = tmp_path / "nodes" / f"gpu-{number // 4}" / moment
            own.mkdir(parents=True, exist_ok=True)
            shown = LOADER if number == odd else REDUCE
            (own / f"pyspy_{4000 + number}.txt").write_text(py_spy_text(4000 + number, shown))
            (own / f"pyspy_{990 + number // 4}.txt").write_text(
                py_spy_text(990 + number // 4, stack, command=command or "python train.py")
            )
    answer = triage.analyze(tmp_path).answer
    assert answer.verdict.kind == "hang"
    named = [one.node for one in answer.suspects if one.role == "culprit"]
    assert named == ([] if odd is None else ["gpu-0"])


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --rank 3", "python3 -m megatron.training", "python -u wandb_job.py",
        "/usr/bin/python3 -c from multiprocessing.spawn import spawn_main; spawn_main(5)",
        "ray::TrainWorker.run", "python /w/tensorboard_logger/train.py",
    ],
)  # fmt: skip
def test_a_rank_is_no_helper(command: str) -> None:
    assert not is_helper(command)


def test_a_rank_in_a_pool_of_processes_is_a_rank(tmp_path: Path) -> None:
    """Whoever runs the job's own code inside a pool's loop may be a rank."""
    below: list[Frame] = [
        ("_process_worker", "concurrent/futures/process.py", 240),
        ("<module>", "run.py", 30),
    ]
    for number in range(4):
        inside = LOADER if number == 1 else REDUCE
        text = py_spy_text(4000 + number, [*inside[:-1], *below])
        (tmp_path / f"rank_{number}.txt").write_text(text)
    answer = triage.analyze(tmp_path).answer
    assert answer.suspects[0].ranks == (1,)
