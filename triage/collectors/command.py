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
from typing import TYPE_CHECKING, Any, NoReturn

from triage.collectors.capture import end_all, end_process_at
from triage.collectors.collect import collect, listing
from triage.collectors.credentials import hide_tokens
from triage.collectors.deadline import Deadline
from triage.collectors.files import literals_of
from triage.collectors.options import OPTIONS, SHARED, Misuse, Options, bytes_of, seconds_of
from triage.collectors.summary import lines_of, list_lines, note_lines
from triage.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["main", "options_of", "parser", "run"]

ABOUT = "Send this node's dumps, kernel log and job logs of one job to the service."
NICENESS = 10


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
    os.umask(0o077)  # copies of logs and dumps are for this user alone
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
    for name, option in OPTIONS.items():
        if not option.metavar:
            made.add_argument(name, action="store_true", help=option.help)
            continue
        values: dict[str, Any] = {"metavar": option.metavar, "default": option.default}
        if option.metavar in {"GLOB", "NAME=TEXT"}:
            values["action"] = "append"
        elif option.metavar == "S":
            values["type"] = float
        elif option.metavar == "HOW":
            values["choices"] = SHARED
        default = " (default: %(default)s)" if option.default else ""
        made.add_argument(name, help=option.help + default, **values)
    made.add_argument("--version", action="version", version=f"nccl-triage {__version__}")
    return made


def options_of(given: argparse.Namespace) -> Options:
    """The arguments as :class:`Options`. Raises :class:`Misuse` for a size or time."""
    return Options(
        url=given.url,
        token_file=given.token_file,
        job_id=given.job_id,
        node=given.node,
        cluster=given.cluster,
        attempt=given.attempt,
        incident=given.incident,
        fr=tuple(given.fr or ()),
        logs=tuple(given.logs or ()),
        literals=literals_of(given.literal or (), [*(given.fr or ()), *(given.logs or ())]),
        kernel_log=given.kernel_log,
        no_kernel_log=given.no_kernel_log,
        since=None if given.since is None else seconds_of(given.since),
        shared=given.shared,
        digest=given.digest,
        wait_for_wanted_s=given.wait_for_wanted,
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
