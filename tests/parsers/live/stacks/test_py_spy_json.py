"""py-spy's JSON: the same threads as its text."""

import json
from typing import Any

import pytest

from triage.domain.live.process import Process
from triage.domain.live.stack import StackFrame
from triage.errors import Corrupt
from triage.parsers.live.stacks.py_spy import read_py_spy_json
from triage.parsers.live.stacks.stack_looks import read_py_spy_json_looks


def thread(**changed: Any) -> dict[str, Any]:
    frame = {"name": "main", "filename": "/w/train.py", "short_filename": "train.py", "line": 37}
    native = {"name": "poll", "filename": "libc.so.6", "module": "/lib/libc.so.6", "line": 0}
    return {
        "pid": 4100, "thread_id": 139741924293504, "thread_name": "MainThread",
        "os_thread_id": 4100, "active": False, "owns_gil": True, "frames": [native, frame],
        "process_info": None, **changed,
    }  # fmt: skip


def test_a_thread_is_read() -> None:
    ((one,), whole) = read_py_spy_json(json.dumps([thread()], indent=1))

    assert whole
    assert one.process == Process(pid=4100)
    assert (one.thread_name, one.thread_id, one.is_main) == ("MainThread", 4100, True)
    assert (one.active, one.owns_gil, one.line) == (False, True, 2)
    assert one.frames == (
        StackFrame("poll", "libc.so.6", None, True), StackFrame("main", "train.py", 37),
    )  # fmt: skip


def test_sub_processes_tell_command_and_parent() -> None:
    info = {"pid": 4200, "command_line": "python w.py", "parent": {"pid": 4100}}
    text = json.dumps([thread(), thread(pid=4200, os_thread_id=4200, process_info=info)])
    (look,) = read_py_spy_json_looks(text, "rank_3.json")

    assert [one.process for one in look.stacks] == [
        Process(rank=3, pid=4100),
        Process(rank=3, pid=4200, parent_pid=4100, command="python w.py"),
    ]


def test_of_a_cut_file_the_whole_threads_are_kept() -> None:
    text = json.dumps([thread(), thread(os_thread_id=4101, thread_name="w")])
    (look,) = read_py_spy_json_looks(text[:-40], "rank_3.json")

    assert [one.thread_name for one in look.stacks] == ["MainThread"]
    assert look.partial


def test_arrays_behind_one_another_are_looks_of_their_own() -> None:
    assert len(read_py_spy_json_looks(json.dumps([thread()]) * 2, "a.json")) == 2


@pytest.mark.parametrize(
    "text",
    ["", "[", '[{"pid": 1, "thread_id": 2', "[" * 200_000, "[1, 2, 3]", '[{"pid": 1}]', '"x"'],
)
def test_json_that_is_none_of_it_is_refused(text: str) -> None:
    with pytest.raises(Corrupt):
        read_py_spy_json_looks(text, "a.json")


def test_values_of_other_types_are_passed_over() -> None:
    odd = thread(pid="4100", os_thread_id=-3, active="no", owns_gil=1, thread_name=7)
    odd["frames"] = [None, {"name": 5, "line": 1 << 70}]
    ((one,), _) = read_py_spy_json(json.dumps([odd]))

    assert (one.process.pid, one.active, one.owns_gil, one.thread_name) == (None, None, None, None)
    assert one.frames == (StackFrame("", "", None, True),)
