"""Ctrl-C stops a real process at once, in whatever it is doing, with one sentence and 130."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from triage.cli.interrupt import stopped_at_once

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
    "a compiler that takes the interrupt for itself": "triage.parsers.logs.catalogue.catalogue_of",
    "the analysis": "triage.analysis.answer.weigh_incident",
}
SCRIPT = """
import importlib, signal, sys, time
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


@pytest.mark.parametrize("phase", sorted(PHASES))
@pytest.mark.parametrize("command", ["analyze", "explain", "parse"])
def test_an_interrupt_ends_it_at_once(tmp_path: Path, phase: str, command: str) -> None:
    if command == "parse" and phase == "the analysis":
        pytest.skip("it analyses nothing")
    place = PLACES[phase]
    if (command, phase) == ("explain", "the analysis"):
        place = "triage.analysis.explain.explain_from"
    log = tmp_path / "kernel.log"
    log.write_text("[12.000001] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n")
    script = SCRIPT.format(phase=PHASES[phase], place=place)
    process = subprocess.Popen(
        [sys.executable, "-c", script, command, str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error == "triage: interrupted: stopped before it was done\n"
    assert out == ""


def test_it_leaves_the_process_as_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopped_at_once():
        pass
    assert signal.set_wakeup_fd(-1) == -1
    assert signal.getsignal(signal.SIGINT) is before


def test_where_interrupts_are_ignored_it_changes_nothing() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopped_at_once():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
