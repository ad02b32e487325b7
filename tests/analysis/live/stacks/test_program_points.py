"""A frame tells its point by function and file together; the first from the inside decides."""

import pytest

from tests.support.stacks import frames
from triage.analysis.live.stacks.program_points import ProgramPoint as P
from triage.analysis.live.stacks.program_points import find_point, own_frames

MAIN = " step (train.py:24) main (train.py:37) <module> (train.py:43)"


@pytest.mark.parametrize(
    ("stack", "point"),
    [
        pytest.param("all_reduce (torch/distributed/distributed_c10d.py:1)", P.COLLECTIVE, id="it"),
        pytest.param("all_reduce (reduce.py:1)", P.CODE, id="a function of that name"),
        pytest.param("wait (multiprocessing/connection.py:9)", P.LOCK, id="another wait"),
        pytest.param(
            "destroy_process_group (torch/distributed/distributed_c10d.py:9)", P.TEARDOWN,
            id="teardown, not a collective",
        ),
        pytest.param(
            "new_group (torch/distributed/distributed_c10d.py:9) wrapper"
            " (torch/distributed/c10d_logger.py:83)",
            P.STORE, id="new group, not the logger around it",
        ),
        pytest.param("synchronize (torch/cuda/streams.py:1)", P.DEVICE, id="device"),
        pytest.param("synchronize (sync.py:1)", P.CODE, id="another synchronize"),
        pytest.param(
            "wait (threading.py:3) get (queue.py:1) _get_data (torch/utils/data/dataloader.py:9)",
            P.DATA, id="the loader, not its queue",
        ),
        pytest.param("wait (threading.py:3)", P.LOCK, id="a lock"),
        pytest.param("linear (torch/nn/functional.py:3)", P.DISPATCH, id="in torch"),
        pytest.param(
            "fn (torch/_dynamo/eval_frame.py:3)", P.DISPATCH, id="compiled code that runs",
        ),
        pytest.param(
            "compile_to_fn (torch/_inductor/graph.py:3)", P.COMPILE, id="compiles",
        ),
        pytest.param("copyfile (shutil.py:3)", P.CHECKPOINT, id="copies files"),
        pytest.param("which (shutil.py:3)", P.CODE, id="another function of shutil"),
    ],
)  # fmt: skip
def test_tells_the_point(stack: str, point: P) -> None:
    assert find_point(own_frames(frames(stack + MAIN))).point is point


@pytest.mark.parametrize(
    ("stack", "point"),
    [
        ("cudaStreamSynchronize (libcudart.so.12)", P.DEVICE),
        ("take_gil (libpython3.11.so)", P.GIL),
        ("gc_collect_main (libpython3.11.so)", P.GC),
        ("ncclCommInitRankConfig (libnccl.so.2)", P.NCCL_INIT),
        ("ncclAllReduce (libnccl.so.2)", P.COLLECTIVE),
        ("clock_nanosleep (libc.so.6)", P.SLEEP),
        ("poll (libc.so.6)", P.UNKNOWN),
    ],
)
def test_tells_the_point_of_native_frames(stack: str, point: P) -> None:
    assert find_point(own_frames(frames(stack, native=True))).point is point


def test_the_line_to_look_at_is_of_the_jobs_own_code() -> None:
    found = find_point(own_frames(frames("read (ssl.py:1) get (urllib3/response.py:2)" + MAIN)))
    assert found.told_by is not None
    assert (found.told_by.function, found.told_by.line) == ("step", 24)


def test_frames_below_a_worker_loop_are_the_parents() -> None:
    stack = "read (shards.py:1) _worker_loop (torch/utils/data/_utils/worker.py:9)" + MAIN
    assert [one.function for one in own_frames(frames(stack))] == ["read", "_worker_loop"]


def test_no_frames_are_unknown() -> None:
    assert find_point(()).point is P.UNKNOWN


def test_names_of_a_megabyte_are_bounded() -> None:
    (frame,) = frames("f" * 2_000_000 + " (x.so)", native=True)
    assert find_point(own_frames([frame] * 10_000)).point is P.UNKNOWN
