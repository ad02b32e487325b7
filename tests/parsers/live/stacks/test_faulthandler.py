"""faulthandler's text: the main thread stands last, and one file may hold several dumps."""

import pytest

from tests.support.stack_texts import LOADER, REDUCE, faulthandler_text
from triage.domain.live.process import UNKNOWN_PROCESS
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.parsers.live.stacks.faulthandler import read_faulthandler_rounds
from triage.parsers.live.stacks.lines import split_clean_lines
from triage.parsers.live.stacks.stack_looks import read_faulthandler_looks

OTHER = 'Thread 0x00007f0000001000 (most recent call first):\n  File "/w/a.py", line 3 in f\n'


def rounds(text: str) -> list[list[ThreadStack]]:
    return read_faulthandler_rounds(split_clean_lines(text), UNKNOWN_PROCESS)


def test_the_main_thread_is_the_last() -> None:
    ((queue, main),) = rounds(faulthandler_text(LOADER))

    assert (queue.is_main, main.is_main) == (False, True)
    assert main.thread_id == 0x7F5EE27FD6C0
    assert main.frames[0] == StackFrame("get", "/w/multiprocessing/queues.py", 113)
    assert main.line == 5


def test_one_thread_of_threading_at_the_end_is_not_the_main_one() -> None:
    text = faulthandler_text().partition("\n\n")[0] + "\n"

    assert [one.is_main for one in rounds(text)[0]] == [False]


def test_beyond_a_hundred_threads_the_main_one_is_not_printed() -> None:
    assert [
        one.is_main for one in rounds(OTHER + "\n" + OTHER.replace("1000", "2000") + "...\n")[0]
    ] == [
        False,
        False,
    ]


def test_the_servers_own_thread_stays_recognisable() -> None:
    text = (
        "Current thread 0x00007f0000009000 (most recent call first):\n  <no Python frame>\n\n"
        + OTHER
    )
    ((server, main),) = rounds(text)

    assert server.frames == (StackFrame("<no Python frame>"),)
    assert (server.is_main, main.is_main) == (False, True)


def test_no_frame_alone_is_nobodys_main_thread() -> None:
    text = "Current thread 0x00007f0000009000 (most recent call first):\n  <no Python frame>\n"

    assert rounds(text)[0][0].is_main is None


def test_a_stack_without_a_thread_is_of_whoever_called() -> None:
    ((only,),) = rounds('Stack (most recent call first):\n  File "/w/a.py", line 3 in f\n')

    assert (only.is_main, only.thread_id) == (None, None)


def test_dumps_behind_one_another_are_told_apart_by_the_missing_empty_line() -> None:
    first, second = rounds(
        faulthandler_text(LOADER) + faulthandler_text(REDUCE, first=0x7F0000001000)
    )

    assert [one.is_main for one in first] == [one.is_main for one in second] == [False, True]
    assert second[1].frames[0].function == "all_reduce"


def test_a_thread_seen_again_begins_a_dump() -> None:
    assert len(rounds(faulthandler_text() + "\n" + faulthandler_text())) == 2


@pytest.mark.parametrize("line", ["Timeout (0:00:10)!", "Timeout (0:00:10.500000)!"])
def test_a_timeout_begins_a_dump(line: str) -> None:
    assert len(rounds(f"{line}\n{OTHER}{line}\n{OTHER.replace('1000', '2000')}")) == 2


def test_a_fatal_error_is_of_the_current_thread() -> None:
    text = (
        "Fatal Python error: Segmentation fault\n\n"
        + OTHER
        + "\nCurrent thread 0x00007f0000002000 [pt_main] (most recent call first):\n"
        "  Garbage-collecting\n"
        '  File "/w/a.py", line 9 in main\n\n'
        "Current thread's C stack trace (most recent call first):\n"
        '  Binary file "/lib/libc.so.6", at pthread_kill+0x11c [0x7f4db1ad44a3]\n'
        '  Binary file "/lib/libpython3.14.so", at _PyEval_Vector+0x5 [0x7f4db1ad4000]\n\n'
        "Extension modules: numpy._core (total: 1)\n"
    )
    ((other, current),) = rounds(text)

    assert (other.exception, current.exception) == (None, "Segmentation fault")
    assert current.thread_name == "pt_main"
    assert [frame.function for frame in current.frames] == [
        "pthread_kill", "Garbage-collecting", "main",
    ]  # fmt: skip
    assert current.frames[0].native


def test_of_a_cut_dump_the_last_thread_is_not_the_main_one() -> None:
    text = faulthandler_text()
    look = read_faulthandler_looks(text[: text.index("in main")], "rank_3.txt")[0]

    assert [one.is_main for one in look.stacks] == [False, False]
    assert look.partial


def test_of_very_many_dumps_the_last_are_kept() -> None:
    looks = read_faulthandler_looks(OTHER * 2000 + faulthandler_text(), "rank_3.txt")

    assert len(looks) < 1000
    assert looks[-1].stacks[-1].is_main
    assert looks[-1].partial


def test_the_rank_is_in_the_name() -> None:
    look = read_faulthandler_looks(faulthandler_text(), "stacks/rank_3.txt")[0]

    assert {one.process.rank for one in look.stacks} == {3}


def test_unknown_lines_and_files_do_not_stop_it() -> None:
    text = OTHER + "  File ???, line ??? in ???\n  <truncated rest of calls>\n"

    assert [frame.function for frame in rounds(text)[0][0].frames] == [
        "f", "???", "<truncated rest of calls>",
    ]  # fmt: skip
