"""The command of a node: options in, one line on stderr out.

Exit status: 0 sent, or safe in the spool; 1 with ``--strict`` when the service does not
have everything; 2 wrong usage. An epilogue is never held up, and never fails by it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from triage.collectors.capture import end_all, end_process_at
from triage.collectors.collect import collect, listing
from triage.collectors.credentials import hide_tokens
from triage.collectors.deadline import Deadline
from triage.collectors.options import SHARED, Misuse, Options, bytes_of, seconds_of
from triage.collectors.summary import lines_of, list_lines, note_lines
from triage.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["main", "options_of", "parser", "run"]

ABOUT = "Send this node's dumps, kernel log and job logs of one job to the service."
NICENESS = 10

_DEFAULTS = Options()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv``, the process's own when None; its exit status."""
    try:
        options = options_of(parser().parse_args(argv))
    except Misuse as error:
        return _misused(error)
    return run(options, os.environ)


def run(options: Options, environment: Mapping[str, str]) -> int:
    """Collect, and say on stderr what became of it; the exit status.

    Ends this whole process where a call still hangs after the deadline.
    """
    with suppress(OSError):
        os.nice(NICENESS)
    with suppress(ValueError):  # not the main thread: somebody else's process
        signal.signal(signal.SIGTERM, _terminated)
    deadline = Deadline(options.deadline_s)
    late = end_process_at(deadline, 1 if options.strict else 0)
    try:
        if options.dry_run:
            rows, notes = listing(options, environment)
            _say(note_lines(notes))
            sys.stdout.write("".join(f"{line}\n" for line in list_lines(rows)))
            return 0
        outcome = collect(options, environment, deadline)
    except Misuse as error:
        return _misused(error)
    finally:
        late.cancel()
        end_all()
    _say(lines_of(outcome))
    return 1 if options.strict and not outcome.complete else 0


def parser() -> argparse.ArgumentParser:
    """The options; the same as those of ``triage collect``."""
    made = _Parser(
        prog="triage collect",
        description=ABOUT,
        epilog=__doc__.partition("\n\n")[2],
        # "--token X" must not be taken for --token-file: X would be a token.
        allow_abbrev=False,
    )
    _add_files(made)
    _add_limits(made)
    made.add_argument("--version", action="version", version=f"nccl-triage {__version__}")
    return made


def _add_files(made: argparse.ArgumentParser) -> None:
    """Which service, which job, which files."""
    add = made.add_argument
    add(
        "--url",
        default=_DEFAULTS.url,
        metavar="URL",
        help="address of the service: https://triage.example",
    )
    add("--token-file", metavar="FILE", help="file that holds the token; else TRIAGE_TOKEN")
    add("--job-id", metavar="ID", help="the job [SLURM_JOB_ID]")
    add("--node", metavar="NAME", help="this node [SLURMD_NODENAME, NODE_NAME, the host name]")
    add("--incident", metavar="ID", help="add to this incident, not to the job's newest")
    add(
        "--fr",
        action="append",
        metavar="GLOB",
        help="dumps, repeatable; else where PyTorch writes them",
    )
    add(
        "--logs",
        action="append",
        metavar="GLOB",
        help="job logs, repeatable; else Slurm's output files",
    )
    add(
        "--kernel-log",
        metavar="FILE",
        help="the kernel log; else that of journalctl, dmesg or /var/log",
    )
    add("--no-kernel-log", action="store_true", help="send no kernel log")
    add(
        "--since",
        metavar="TIME",
        help="only files and lines since then: 6h, @EPOCH or 2026-11-21T03:14:15Z; by default"
        " the start of the job, else a day ago",
    )
    add(
        "--shared",
        choices=SHARED,
        default=_DEFAULTS.shared,
        help="files that all nodes see. auto: the job's first node sends them; send: this node"
        " does; skip: it does not; own: they count as this node's (default: auto)",
    )


def _add_limits(made: argparse.ArgumentParser) -> None:
    """When to send, how long, how much, and by which way."""
    add = made.add_argument
    add("--only-with-dumps", action="store_true", help="send nothing if no dump is found")
    add(
        "--wait-for-dumps",
        type=float,
        default=0.0,
        metavar="S",
        help="wait up to S seconds until dumps are written, within the deadline (default: 0)",
    )
    add(
        "--deadline",
        type=float,
        default=_DEFAULTS.deadline_s,
        metavar="S",
        help="seconds that the whole run may take (default: 60)",
    )
    add(
        "--max-bytes",
        metavar="SIZE",
        default="1G",
        help="most of a bundle before compression (default: 1G)",
    )
    add(
        "--max-log-bytes",
        metavar="SIZE",
        default="64M",
        help="send at most this much of the end of a log (default: 64M)",
    )
    add(
        "--spool",
        metavar="DIR",
        help="folder where bundles wait to be sent (default: /var/spool/triage, else"
        " $XDG_STATE_HOME/triage/spool)",
    )
    add(
        "--spool-max-bytes",
        metavar="SIZE",
        default="4G",
        help="most of all bundles that wait (default: 4G)",
    )
    add("--flush-spool", action="store_true", help="send the bundles that wait; collect nothing")
    add("--dry-run", action="store_true", help="list what would be sent; send nothing")
    add("--strict", action="store_true", help="exit with 1 if the service lacks anything")
    add("--no-compress", action="store_true", help="send without gzip")
    add("--ca-file", metavar="FILE", help="certificate authorities to trust for https")
    add("--insecure", action="store_true", help="check no certificate; only for loopback")


def options_of(given: argparse.Namespace) -> Options:
    """The arguments as :class:`Options`. Raises :class:`Misuse` for a size or time."""
    return Options(
        url=given.url,
        token_file=given.token_file,
        job_id=given.job_id,
        node=given.node,
        incident=given.incident,
        fr=tuple(given.fr or ()),
        logs=tuple(given.logs or ()),
        kernel_log=given.kernel_log,
        no_kernel_log=given.no_kernel_log,
        since=None if given.since is None else seconds_of(given.since),
        shared=given.shared,
        only_with_dumps=given.only_with_dumps,
        wait_for_dumps_s=given.wait_for_dumps,
        deadline_s=given.deadline,
        max_bytes=bytes_of(given.max_bytes),
        max_log_bytes=bytes_of(given.max_log_bytes),
        spool=given.spool,
        spool_max_bytes=bytes_of(given.spool_max_bytes),
        flush_spool=given.flush_spool,
        dry_run=given.dry_run,
        strict=given.strict,
        compress=not given.no_compress,
        ca_file=given.ca_file,
        insecure=given.insecure,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # The message quotes what was given, which may be a token by mistake.
        self.exit(2, f"triage collect: {hide_tokens(message)}. See --help.\n")


def _misused(error: Misuse) -> int:
    _say([hide_tokens(str(error))])
    return 2


def _say(lines: Sequence[str]) -> None:
    with suppress(OSError):
        sys.stderr.write("".join(f"triage collect: {line}\n" for line in lines))
        sys.stderr.flush()


def _terminated(_number: int, _frame: object) -> NoReturn:
    """Leave by way of all ``finally``: commands are ended, partial files removed."""
    sys.exit(128 + signal.SIGTERM)
