"""The kernel log of this node: the journal, else the ring buffer, else syslog's file.

The journal comes first: it holds what the ring has overwritten, the boots before this
one, and times that do not drift.
"""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING

from triage.collectors.artifact import KERNEL_LOG, Artifact, Look, Skipped
from triage.collectors.capture import capture, program
from triage.collectors.files import node_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KernelLog"]

FILES = ("/var/log/kern.log", "/var/log/messages")
# A journal of many gigabytes is read from its end, and yet may take this long.
COMMAND_S = 15.0
USUAL_AGE_S = 86_400.0
# Errors of the hardware shortly before the job began may explain why it failed.
BEFORE_S = 3_600.0


class KernelLog:
    """One log of the kernel, as ``nodes/NODE/kernel.log``."""

    name = "kernel_log"

    def poll(self, look: Look) -> Iterator[Artifact | Skipped]:
        """The file that was asked for, else the first way that gives any bytes."""
        if look.options.no_kernel_log:
            return
        if look.options.kernel_log is not None:
            yield artifact(look, look.options.kernel_log, named=True)
            return
        for argv in commands(look):
            path, skipped = printed(argv, look)
            if skipped is not None:
                yield skipped
            if path:
                yield artifact(look, path, named=False)
                return
        for path in FILES:
            if os.access(path, os.R_OK):
                yield artifact(look, path, named=True)
                return
        yield Skipped("kernel log", "neither journalctl, dmesg nor /var/log/kern.log gives one")


def commands(look: Look) -> Iterator[tuple[str, ...]]:
    """Commands that print the kernel log, the best first; only those that are there."""
    search = look.around.environment.get("PATH", "")
    since = look.options.since if look.options.since is not None else look.around.started_at
    start = int(time.time() - USUAL_AGE_S if since is None else since - BEFORE_S)
    journal, ring = program("journalctl", search), program("dmesg", search)
    if journal:
        # Not -k, which means this boot alone: a node that fell over has booted since.
        form = ("--quiet", "--no-pager", "-o", "short-iso-precise")
        yield (journal, *form, "--since", f"@{start}", "_TRANSPORT=kernel")
    if ring:
        yield (ring, "--time-format", "iso")
        yield (ring,)


def printed(argv: tuple[str, ...], look: Look) -> tuple[str, Skipped | None]:
    """The scratch file with the output of ``argv``, empty where there is none; and what failed."""
    deadline = look.deadline.part(min(1.0, COMMAND_S / max(look.deadline.left_s(), 0.001)))
    handle, path = tempfile.mkstemp(dir=look.scratch, prefix="kernel-")
    with os.fdopen(handle, "w+b") as scratch:
        got = capture(argv, scratch, look.options.max_log_bytes, deadline)
    skipped = Skipped(" ".join(argv), got.why, usual=not got.size_bytes) if got.why else None
    return path if got.size_bytes else "", skipped


def artifact(look: Look, path: str, *, named: bool) -> Artifact:
    """``path`` as this node's kernel log; never shared, and of any owner."""
    return Artifact(
        kind=KERNEL_LOG,
        member=f"{node_folder(look.around.node)}/kernel.log",
        path=path,
        max_bytes=look.options.max_log_bytes,
        tail=True,
        owner=None,
        named=named,
        shared=False,
    )
