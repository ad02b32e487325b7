"""Ctrl-C stops a real process at once, in whatever it is doing, with one sentence and 130."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.spent import in_idle_seconds
from tests.support.waiting import eventually
from triage.cli.interrupt import stop_at_once

# What stands in for a phase lasts far longer than anybody waits.
PHASES = {
    "a pool that reads": """
from concurrent.futures import ThreadPoolExecutor
def phase(*_, **__):
    with ThreadPoolExecutor(2) as pool:
        tasks = [pool.submit(time.sleep, 120) for _ in range(8)]
        ready()
        [one.result() for one in tasks]
""",
    "native code in the main thread": """
import ctypes
def phase(*_, **__):
    ready()
    for _ in range(120):
        ctypes.CDLL(None).usleep(1_000_000)
""",
    "a compiler that takes the interrupt for itself": """
def phase(*_, **__):
    ready()
    for _ in range(1200):
        try:
            time.sleep(0.1)
        except KeyboardInterrupt:
            pass
""",
    "the analysis": """
def phase(*_, **__):
    ready()
    while True:
        sum(range(1000))
""",
}
PLACES = {
    "a pool that reads": "triage.formats.dumps.read_dumps",
    "native code in the main thread": "triage.formats.streams.read_logs",
    "a compiler that takes the interrupt for"
    " itself": "triage.parsers.logs.catalogue.build_catalogue",
    "the analysis": "triage.analysis.answer.weigh_incident",
}
A_COMMAND = """
import tempfile, threading
from triage.collectors.capture import capture
from triage.collectors.artifact import Deadline
def phase(options, environment, root):
    def command():
        argv = ["/bin/sh", "-c", "echo $$ > pid; exec sleep 300"]
        capture(argv, tempfile.TemporaryFile(), 1 << 20, Deadline(300))
    threading.Thread(target=command, daemon=True).start()
    while not (os.path.exists("pid") and open("pid").read().endswith("\\n")):
        time.sleep(0.01)
    ready()
    while True:
        try:
            time.sleep(0.1)
        except KeyboardInterrupt:
            if not {hangs}:
                raise
"""
SAID = "triage: interrupted: stopped before it was done\n"
SCRIPT = """
import importlib, os, signal, sys, time
# Whoever starts tests in the background has them ignore the interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
def ready():
    sys.stderr.write("ready\\n"); sys.stderr.flush()
{phase}
module, _, name = {place!r}.rpartition(".")
setattr(importlib.import_module(module), name, phase)
from triage.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


SERVICE = ("--url", "http://127.0.0.1:9")
# Whatever these do goes on in one place.
LONG = {
    "live": ("triage.cli.live_pull.fill", ("--every", "60", "--send", *SERVICE)),
    "collect": ("triage.collectors.command.collect", ("--job-id", "4711", *SERVICE)),
    "watch": ("triage.cli.watch.follow", ("inc_1", *SERVICE)),
    "simulate": ("simulator.simulate", ("host-stall", "--out", "drill")),
}
AT_ONCE_S = 1.0


def interrupt(script: str, arguments: Sequence[str], folder: Path) -> tuple[str, str, int]:
    """What the command writes after an interrupt, and its status; it ends within the limit."""
    scratch = folder / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        took_s = time.monotonic() - began
    finally:
        process.kill()
    assert min(took_s, in_idle_seconds(took_s, time.monotonic)) <= AT_ONCE_S
    return out, error, process.returncode


# Every phase in one command, and every command in the phase that is hardest to interrupt; the
# commands that read files share what they do, except that `explain` has an analysis of its own.
HARDEST = "a compiler that takes the interrupt for itself"
CASES = [
    *(("analyze", phase) for phase in sorted(PHASES)),
    ("explain", "the analysis"),
    *((command, HARDEST) for command in ("parse", *LONG)),
]


@pytest.mark.parametrize(("command", "phase"), CASES)
def test_an_interrupt_ends_it_at_once(tmp_path: Path, phase: str, command: str) -> None:
    place, arguments = LONG.get(command, (PLACES[phase], (str(tmp_path),)))
    if (command, phase) == ("explain", "the analysis"):
        place = "triage.analysis.explain.explain_evidence"
    log = tmp_path / "kernel.log"
    log.write_text("[12.000001] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n")
    script = SCRIPT.format(phase=PHASES[phase], place=place)
    assert interrupt(script, [command, *arguments], tmp_path) == ("", SAID, 130)


@pytest.mark.parametrize("hangs", [False, True])
def test_a_pull_leaves_no_command_and_no_stacks_behind(tmp_path: Path, *, hangs: bool) -> None:
    """The command that it runs is ended even where the pull itself does not end."""
    place, arguments = LONG["live"]
    script = SCRIPT.format(phase=A_COMMAND.format(hangs=hangs), place=place)
    assert interrupt(script, ["live", *arguments], tmp_path) == ("", SAID, 130)
    command = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")

    def is_ended() -> bool:
        """A signal that was sent is not always served when its sender goes on."""
        try:
            return command.read_text().rpartition(") ")[2][0] == "Z"
        except OSError:
            return True

    eventually(is_ended)
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == [] or hangs


def test_it_leaves_the_process_as_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_at_once():
        pass
    assert signal.set_wakeup_fd(-1) == -1
    assert signal.getsignal(signal.SIGINT) is before


def test_where_interrupts_are_ignored_it_changes_nothing() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_at_once():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
