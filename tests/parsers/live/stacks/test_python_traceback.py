"""Threads printed as Python prints tracebacks: outermost frame first."""

import pytest

from triage.domain.live.look import Tool
from triage.domain.live.stack import StackFrame
from triage.parsers.live.stacks.stack_looks import read_python_traceback_looks

FRAMES = (
    '  File "/w/train.py", line 43, in <module>\n    main()\n  File "/w/data.py", line 3, in read\n'
)


@pytest.mark.parametrize(
    ("header", "thread", "name", "main"),
    [
        ("# Thread 139741924293504 (MainThread)", 139741924293504, "MainThread", True),
        ("# Thread: MainThread", None, "MainThread", True),
        ("# ThreadID: 139741064300224", 139741064300224, None, None),
        ("# Thread 0x7f00 (Thread-1 (_feed))", 0x7F00, "Thread-1", False),
    ],
)
def test_a_thread_is_turned_innermost_first(
    header: str, thread: int | None, name: str | None, main: bool | None
) -> None:
    (look,) = read_python_traceback_looks(f"{header}\n{FRAMES}", "rank_1.txt")
    (one,) = look.stacks

    assert look.tool is Tool.TRACEBACK
    assert one.frames == (
        StackFrame("read", "/w/data.py", 3),
        StackFrame("<module>", "/w/train.py", 43),
    )
    assert (one.thread_id, one.thread_name, one.is_main) == (thread, name, main)
    assert one.process.rank == 1


def test_a_thread_seen_again_begins_a_look() -> None:
    text = f"# Thread 7 (MainThread)\n{FRAMES}\n# Thread 8 (w)\n{FRAMES}\n"

    assert [len(look.stacks) for look in read_python_traceback_looks(text * 2, "a.txt")] == [2, 2]
