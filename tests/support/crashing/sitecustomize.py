"""Brings a reader down by the names of files: ``PYTHON_CRASH_ON=substring=segv,other=hang``.

Python imports this at the start of every process that has this folder on its path; it acts in
readers alone.
"""

import ctypes
import os
import socket
import sys
import time

CRASH_ON = "PYTHON_CRASH_ON"
KEPT = []


def hang():
    while True:
        time.sleep(1)


def run_out_of_memory():
    held = []
    while True:
        held.append(bytearray(64 << 20))


CRASHES = {
    "segv": lambda: ctypes.string_at(0),
    "hang": hang,
    "oom": run_out_of_memory,
    "exit": lambda: os._exit(3),
    "keep": lambda: KEPT.append(os.urandom(1 << 20) * 500),
    "network": lambda: socket.socket().close(),
}


def crash_readers():
    from triage.formats.extractor import Extractor

    pairs = [one.rpartition("=") for one in os.environ[CRASH_ON].split(",")]
    extract = Extractor.extract

    def crash_or_extract(self, files, *rest):
        for file in files:
            for name, _, how in pairs:
                if name in file.artifact:
                    CRASHES[how]()
        return extract(self, files, *rest)

    Extractor.extract = crash_or_extract


if CRASH_ON in os.environ and "triage.sandbox.child" in sys.orig_argv:
    crash_readers()
