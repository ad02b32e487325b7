"""Bringing a reader down on purpose, for tests of whoever has to live with that."""

import ctypes
import os
import socket
import time
from collections.abc import Callable
from typing import Final

__all__ = ["asked_crashes"]

# ``substring=segv,other=hang``: artifacts whose name holds it bring the reader down. Nobody but
# the reader looks at it.
CRASH_ON: Final = "TRIAGE_TEST_CRASH_ON"
KEPT: Final[list[bytes]] = []


def asked_crashes() -> list[tuple[str, Callable[[], None]]]:
    """Which names bring this process down, and how; none outside of tests."""
    asked = os.environ.get(CRASH_ON, "")
    pairs = [one.rpartition("=") for one in asked.split(",") if "=" in one]
    return [(name, CRASHES[how]) for name, _, how in pairs]


def crash_by_signal() -> None:
    ctypes.string_at(0)


def hang() -> None:
    while True:
        time.sleep(1)


def run_out_of_memory() -> None:
    held = []
    while True:
        held.append(bytearray(64 << 20))


def leave() -> None:
    os._exit(3)


def keep_memory() -> None:
    KEPT.append(os.urandom(1 << 20) * 800)


def reach_the_network() -> None:
    socket.socket().close()


CRASHES: Final[dict[str, Callable[[], None]]] = {
    "segv": crash_by_signal,
    "hang": hang,
    "oom": run_out_of_memory,
    "exit": leave,
    "keep": keep_memory,
    "network": reach_the_network,
}
