"""What a program prints, bounded in time and bytes; it is killed with its children at the end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.capture import FOLDERS, running

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from triage.collectors.deadline import Deadline

_CHUNK = 1 << 16
_MAX_ERRORS = 1 << 14


class Printed(NamedTuple):
    """``data`` on stdout, ``errors`` the beginning of stderr, ``status`` None where it was killed.

    ``why`` says what is wrong, or is empty.
    """

    data: bytes
    errors: str
    status: int | None
    why: str


def run_program(
    argv: Sequence[str],
    deadline: Deadline,
    max_bytes: int,
    environment: Mapping[str, str] | None = None,
    sent: bytes = b"",
) -> Printed:
    """Run ``argv`` with ``sent`` on its stdin; never raises for a program that fails."""
    variables = {"PATH": os.pathsep.join(FOLDERS), "LC_ALL": "C", **(environment or {})}
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as begins:
        begins.write(sent)
        begins.seek(0)
        try:
            process = subprocess.Popen(
                list(argv), stdin=begins, stdout=subprocess.PIPE, stderr=errors, env=variables,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return Printed(b"", "", None, f"cannot be run: {error.strerror}")
        running.add(process.pid)
        try:
            data, why = _read(process, deadline, max_bytes)
            if not why:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.01, deadline.left_s()))
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            running.discard(process.pid)
            status = process.returncode
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        errors.seek(0)
        errors_text = errors.read(_MAX_ERRORS).decode("utf-8", "replace").strip()
    if status is None:
        return Printed(data, errors_text, None, why or "did not end in time")
    return Printed(data, errors_text, status, f"ended with status {status}" if status else "")


def _read(
    process: subprocess.Popen[bytes], deadline: Deadline, max_bytes: int
) -> tuple[bytes, str]:
    """What it prints until it closes its output, and what ended that otherwise."""
    parts: list[bytes] = []
    size = 0
    if process.stdout is None:
        return b"", "no output"
    pipe = process.stdout.fileno()
    while not deadline.passed():
        ready, _, _ = select.select([pipe], [], [], min(1.0, deadline.left_s()))
        if not ready:
            continue
        part = os.read(pipe, _CHUNK)
        if not part:
            return b"".join(parts), ""
        if size + len(part) > max_bytes:
            return b"".join(parts), f"more than {max_bytes:,} bytes; the rest was not read"
        parts.append(part)
        size += len(part)
    return b"".join(parts), "did not end in time"
