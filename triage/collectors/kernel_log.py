"""The kernel log of this node: the journal, else the ring buffer, else syslog's file.

The journal comes first: it holds what the ring has overwritten, the boots before this
one, and times that do not drift.
"""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING

from triage.collectors.artifact import KERNEL_LOG, Artifact, SearchContext, Skipped
from triage.collectors.capture import capture, program
from triage.collectors.files import node_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILES = ("/var/log/kern.log", "/var/log/messages")
# A journal of many gigabytes is read from its end, and yet may take this long.
COMMAND_S = 15.0
_USUAL_AGE_S = 86_400.0
# Errors of the hardware shortly before the job began may explain why it failed.
_BEFORE_S = 3_600.0


class KernelLog:
    """One log of the kernel, as ``nodes/NODE/kernel.log``."""

    name = "kernel_log"

    def poll(self, context: SearchContext) -> Iterator[Artifact | Skipped]:
        """The file that was asked for, else the first way that gives any bytes."""
        if context.options.no_kernel_log:
            return
        if context.options.kernel_log is not None:
            yield _make_artifact(context, context.options.kernel_log, named=True)
            return
        for argv in _list_commands(context):
            path, skipped = _print_kernel_log(argv, context)
            if skipped is not None:
                yield skipped
            if path:
                yield _make_artifact(context, path, named=False)
                return
        for path in _FILES:
            if os.access(path, os.R_OK):
                yield _make_artifact(context, path, named=True)
                return
        yield Skipped("kernel log", "neither journalctl, dmesg nor /var/log/kern.log gives one")


def _list_commands(context: SearchContext) -> Iterator[tuple[str, ...]]:
    """Commands that print the kernel log, the best first; only those that are there."""
    search = context.surroundings.environment.get("PATH", "")
    since = context.since
    start = int(time.time() - _USUAL_AGE_S if since is None else since - _BEFORE_S)
    journal, ring = program("journalctl", search), program("dmesg", search)
    if journal:
        # Not -k, which means this boot alone: a node that fell over has booted since.
        form = ("--quiet", "--no-pager", "-o", "short-iso-precise")
        yield (journal, *form, "--since", f"@{start}", "_TRANSPORT=kernel")
    if ring:
        yield (ring, "--time-format", "iso")
        yield (ring,)


def _print_kernel_log(argv: tuple[str, ...], context: SearchContext) -> tuple[str, Skipped | None]:
    """The scratch file with the output of ``argv``, empty where there is none; and what failed."""
    deadline = context.deadline.part(min(1.0, COMMAND_S / max(context.deadline.left_s(), 0.001)))
    handle, path = tempfile.mkstemp(dir=context.scratch, prefix="kernel-")
    with os.fdopen(handle, "w+b") as scratch:
        got = capture(argv, scratch, context.options.max_log_bytes, deadline)
    skipped = Skipped(" ".join(argv), got.why, usual=not got.size_bytes) if got.why else None
    return path if got.size_bytes else "", skipped


def _make_artifact(context: SearchContext, path: str, *, named: bool) -> Artifact:
    """``path`` as this node's kernel log; never shared, and of any owner."""
    return Artifact(
        kind=KERNEL_LOG,
        member=f"{node_folder(context.surroundings.node)}/kernel.log",
        path=path,
        max_bytes=context.options.max_log_bytes,
        tail=True,
        owner=None,
        named=named,
        shared=False,
    )
