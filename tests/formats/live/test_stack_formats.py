"""Which files are stacks: near misses, cuts, and what hostile files cost."""

import random
from contextlib import suppress

import pytest

from tests.formats.live.examples import LIVE_EXAMPLES
from tests.support.spent import spent_s
from tests.support.stack_texts import LOADER, faulthandler_text, py_spy_text, server_file
from triage.errors import ArtifactError
from triage.formats.format import Head
from triage.formats.live import LIVE, LiveFormat
from triage.formats.registry import identify_stream

STEPS = "".join(f"2026-03-14 02:40:{k:02d} INFO trainer: step {k} loss 2.31\n" for k in range(20))
OURS = (
    "debug_server_file", "debug_server_page", "store_keys", "wait_counters", "handler_refusal",
    "py_spy", "faulthandler", "py_spy_json", "gdb", "proc_files", "python_traceback",
)  # fmt: skip
ROWS = [row for row in LIVE if row.name in OURS]
TEXTS = {
    **{name: LIVE_EXAMPLES[name] for name in OURS},
    "server_stacks": server_file("dump_traceback", [faulthandler_text(LOADER)] * 3),
    "server_py_spy": server_file("pyspy_dump", [py_spy_text(4100)] * 3),
}


def format_of(text: str) -> str:
    head = Head(text.encode()[: 64 << 10], "nodes/n1/job-4711.log")
    row = identify_stream(head)
    assert row is not None
    return row.name


@pytest.mark.parametrize(
    "text",
    [
        STEPS + py_spy_text(4100),
        STEPS + faulthandler_text(),
        STEPS[:400] + "Fatal Python error: Aborted\n\n" + faulthandler_text(),
        "Fatal Python error: Segmentation fault\n\n" + faulthandler_text(),
        "Timeout waiting\n" + STEPS[:180] + faulthandler_text() + STEPS,
        "".join(f"[rank{k}]: {line}\n" for k in (0, 1) for line in faulthandler_text().split("\n")),
        "Traceback (most recent call last):\n" + '  File "/w/a.py", line 3, in f\n    g()\n' * 20,
        "Process 4100: started\nPython version is 3.11.7\n" + STEPS,
        "Handler ping not found: x\n" + STEPS,
        "# Thread pools\n\nUse one.\n" + STEPS,
        STEPS + 'Thread 1 (Thread 0x7f (LWP 4100) "python"):\n#0  0x00007f in poll ()\n',
        STEPS + "CUDA Exception: Warp Illegal Address\n" + "Current focus set to CUDA kernel 0\n",
        "== status\nall well\n" + STEPS,
        "PARTIAL DATA: some workers responded\n" + STEPS,
        STEPS[:120] + server_file("dump_traceback", [faulthandler_text()]),
    ],
    ids=range(15),
)
def test_a_log_that_holds_a_dump_or_looks_like_one_is_a_log(text: str) -> None:
    assert format_of(text) == "log"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("=== rank 3 on gpu-n01 ===\n" + py_spy_text(4100), "py_spy"),
        ("Sat Nov 22 08:38:45 UTC 2026\nrank 3 pid 4100\n" + py_spy_text(4100), "py_spy"),
        ("Timeout (0:00:10)!\n" + faulthandler_text(), "faulthandler"),
        ("\x1b[1mProcess 7: python\x1b[0m\n" + py_spy_text(4100), "py_spy"),
        (py_spy_text(4100).replace("\n", "\r\n"), "py_spy"),
        ("\n\n" + server_file("ping", ["", "Error: 503"]), "debug_server_file"),
        ("[New LWP 4142]\n" * 900 + LIVE_EXAMPLES["gdb"], "gdb"),
        (LIVE_EXAMPLES["proc_files"].partition("\n")[2], "proc_files"),
        ("[<0>] futex_do_wait+0x46/0x90\n[<0>] do_syscall_64+0x71/0x280\n", "proc_files"),
    ],
    ids=range(9),
)
def test_headings_colours_and_line_ends_do_not_hide_a_dump(text: str, name: str) -> None:
    assert format_of(text) == name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("name", TEXTS)
def test_no_bytes_break_a_reader(row: LiveFormat, name: str) -> None:
    """Cuts at any place, lines in any order, another tool's file."""
    text = TEXTS[name]
    dice = random.Random(name)
    lines = text.splitlines(keepends=True)
    texts = [text[:cut] for cut in range(0, len(text), max(1, len(text) // 60))]
    texts += ["".join(dice.sample(lines, len(lines))) for _ in range(5)]
    texts += [text.replace(one, "\ufffd\x00") for one in ("(", '"', ":", "0", " ")]
    for one in texts:
        row.claims(Head(one.encode("utf-8", "replace"), "a.txt"))
        try:
            looks = row.parse(one, "a.txt")
        except ArtifactError:
            continue
        assert looks


# Of a few megabytes, several times what they take: what is quadratic in one takes minutes.
HOSTILE_S = 2.5
HOSTILE = {
    "spaces": " " * 2_000_000,
    "names": "    " + "a::" * 500_000 + "f (" * 250_000,
    "brackets": "[" * 1_500_000,
    "objects": '[{"pid": 1, "thread_id": 2, "frames": ' + "[" * 1_000_000,
    "headings": "<h2>Rank 1: x" * 100_000,
    "pre": "<h2>Rank 1: x</h2>" + "<pre>" * 250_000,
    "sections": "=== Rank 1: http://x/handler/y ===\n" * 30_000,
    "threads": "Thread 0x1 (most recent call first):\n" * 30_000,
    "gdb": 'Thread 2 (Thread 0x1 (LWP 1) "' + '"x' * 500_000 + "\n" + "#0  0x1 in (" * 150_000,
    "keys": "debug_server/rank" * 100_000,
    "focus": "[Current focus set to CUDA kernel 0, grid 1," + " device" * 250_000,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_read_in_bounded_time(row: LiveFormat, name: str) -> None:
    text = TEXTS[row.name] + "\n" + HOSTILE[name]

    def read() -> None:
        row.claims(Head(HOSTILE[name].encode()[: 64 << 10], "a.txt"))
        with suppress(ArtifactError):
            row.parse(text, "a.txt")
            row.parse(HOSTILE[name], "a.txt")

    assert spent_s(read, HOSTILE_S) < HOSTILE_S
