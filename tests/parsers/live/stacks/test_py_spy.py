"""py-spy's text: processes, threads, frames, and what is passed over."""

import pytest

from tests.support.stack_texts import LOADER, py_spy_text
from triage.domain.live.process import UNKNOWN_PROCESS, Process
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.live.stacks.py_spy import read_py_spy
from triage.parsers.live.stacks.stack_looks import read_py_spy_looks


def stacks(text: str, process: Process = UNKNOWN_PROCESS) -> list[ThreadStack]:
    return read_py_spy(split_clean_lines(text), process)


def test_a_dump_is_its_threads_innermost_frame_first() -> None:
    main, feeder = stacks(py_spy_text(4100, LOADER))

    assert main.process == Process(pid=4100, command="python pretrain.py")
    assert (main.thread_name, main.thread_id, main.is_main, main.line) == (
        "MainThread",
        4100,
        True,
        4,
    )
    assert str(main.frames[0]) == "Queue.get (multiprocessing/queues.py:113)"
    assert main.frames[-1] == StackFrame("<module>", "pretrain.py", 43)
    assert (feeder.is_main, feeder.active) == (False, False)


@pytest.mark.parametrize(
    ("state", "active", "owns_gil"),
    [("idle", False, None), ("active", True, False), ("active+gil", True, True)],
)
def test_a_state_says_only_what_it_knows_of_the_gil(
    state: str, active: bool, owns_gil: bool | None
) -> None:
    main = stacks(py_spy_text(4100, state=state))[0]

    assert (main.active, main.owns_gil) == (active, owns_gil)


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("    ffi_call (libffi.so.8.1.2)", StackFrame("ffi_call", "libffi.so.8.1.2", None, True)),
        ("    0x7f4dc8988f7a (libc.so.6)", StackFrame("0x7f4dc8988f7a", "libc.so.6", None, True)),
        ("    call (callproc.c:943)", StackFrame("call", "callproc.c", 943, True)),
        (
            "    c10d::(anonymous namespace)::f::{lambda(int)#1}::operator() (libtorch.so)",
            StackFrame(
                "c10d::(anonymous namespace)::f::{lambda(int)#1}::operator()",
                "libtorch.so",
                None,
                True,
            ),
        ),
        (
            "    f.<locals>.wrapper (torch/c10d_logger.py:83)",
            StackFrame("f.<locals>.wrapper", "torch/c10d_logger.py", 83),
        ),
        ("    run (<string>:1)", StackFrame("run", "<string>", 1)),
    ],
)
def test_a_frame_is_python_or_native(line: str, frame: StackFrame) -> None:
    text = f'Process 7: python\nPython v3.12.1 (python)\n\nThread 7 (idle): "MainThread"\n{line}\n'

    assert stacks(text)[0].frames == (frame,)


def test_a_thread_may_lack_name_colon_and_frames() -> None:
    server = stacks(py_spy_text(4100) + "Thread 4135 (active)\n")[2]

    assert (server.thread_name, server.thread_id, server.frames) == (None, 4135, ())
    assert server.is_main is False


def test_arguments_and_locals_are_left_out() -> None:
    text = (
        'Process 7: python\nPython v3.12.1 (python)\n\nThread 7 (active): "MainThread"\n'
        "    step (train.py:9)\n        Arguments:\n            self: <Trainer at 0x7f00>\n"
        '        Locals:\n            secret: "hunter2 (x.py:3)"\n    <module> (train.py:20)\n'
    )

    assert [frame.function for frame in stacks(text)[0].frames] == ["step", "<module>"]


def test_colours_are_taken_off() -> None:
    text = (
        py_spy_text(7)
        .replace("Thread 7 ", "Thread \x1b[1;33m7\x1b[0m ")
        .replace("train_step", "\x1b[32mtrain_step\x1b[0m")
    )

    assert stacks(text) == stacks(py_spy_text(7))


def test_a_worker_has_the_rank_of_its_parent() -> None:
    text = py_spy_text(4100, LOADER) + "\n" + "-" * 80 + "\n" + py_spy_text(4200, parent=4100)
    look = read_py_spy_looks(text, "rank_5.txt")[0]

    assert [(one.process.rank, one.process.pid, one.process.parent_pid) for one in look.stacks] == [
        (5, 4100, None), (5, 4100, None), (5, 4200, 4100), (5, 4200, 4100),
    ]  # fmt: skip


def test_a_launcher_above_gets_no_rank() -> None:
    launcher = py_spy_text(4000, command="/opt/bin/python -m torch.distributed.run train.py")
    text = launcher + "\n" + py_spy_text(4100, parent=4000)
    look = read_py_spy_looks(text, "rank_5.txt")[0]

    assert {one.process.pid: one.process.rank for one in look.stacks} == {4000: None, 4100: 5}


def test_the_name_says_nothing_of_unrelated_processes() -> None:
    look = read_py_spy_looks(py_spy_text(4100) + "\n" + py_spy_text(4300), "stacks_3.txt")[0]

    assert {one.process.rank for one in look.stacks} == {None}


def test_a_rank_may_stand_in_the_command() -> None:
    text = py_spy_text(4100, command="python t.py --local_rank=1 --rank 9") + py_spy_text(4300)
    look = read_py_spy_looks(text, "all.txt")[0]

    assert {one.process.pid: one.process.rank for one in look.stacks} == {4100: 9, 4300: None}


def test_a_number_that_is_the_pid_is_no_rank() -> None:
    assert read_py_spy_looks(py_spy_text(4100), "4100.txt")[0].stacks[0].process.rank is None


def test_dumps_behind_one_another_are_looks_of_their_own() -> None:
    first, second = read_py_spy_looks(py_spy_text(4100, LOADER) + py_spy_text(4100), "rank_1.txt")

    assert first.stacks[0].frames[0].function == "Queue.get"
    assert second.stacks[0].frames[0].function == "all_reduce"


def test_of_a_cut_dump_the_whole_frames_are_kept() -> None:
    text = py_spy_text(4100)
    look = read_py_spy_looks(text[: text.index("pretrain.py:38")], "rank_1.txt")[0]

    assert [frame.function for frame in look.stacks[0].frames] == ["all_reduce", "train_step"]
    assert look.partial


def test_ten_thousand_threads_and_a_frame_of_a_megabyte_are_read() -> None:
    threads = "".join(f'Thread {n} (idle): "w"\n    f (a.py:1)\n' for n in range(10_000, 20_000))
    text = py_spy_text(4100) + threads + "    " + "std::vector<" * 90_000 + "> (libx.so)\n"
    look = read_py_spy_looks(text, "rank_1.txt")[0]

    assert len(look.stacks) == 10_002
    assert len(look.stacks[-1].frames[-1].function) < 500
    assert look.stacks[-1].frames[-1].filename == "libx.so"


def test_of_an_endless_recursion_both_ends_are_kept() -> None:
    frames = [*LOADER[:2], *[("recurse", "a.py", 1)] * 5000, *LOADER[2:]]
    kept = stacks(py_spy_text(4100, frames))[0].frames

    assert len(kept) < 300
    assert (kept[0].function, kept[-1].function) == ("Queue.get", "<module>")
