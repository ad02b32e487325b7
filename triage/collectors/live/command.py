"""``python3 -m triage.collectors live``: a pull on a node that has nothing but Python.

Exit status: 0 a folder was written (and sent, with --send); 1 it could not be sent; 2 wrong
usage or no job.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from triage.collectors.capture import end_all
from triage.collectors.credentials import hide_tokens
from triage.collectors.live.every_node import pull_all_nodes
from triage.collectors.live.folder import write_tar
from triage.collectors.live.options import LIVE_OPTIONS, SOURCES, LiveOptions
from triage.collectors.live.pull import pull
from triage.collectors.live.reach import HOW
from triage.collectors.live.send import send_folder
from triage.collectors.options import Misuse, convert_values, make_parser

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ABOUT = "Ask the processes of a running job on this node, and write an incident folder."
_NICENESS = 5


def main(argv: Sequence[str]) -> int:
    """Run the command with ``argv``; its exit status."""
    try:
        # The same options as those of ``triage live``, less what analyses.
        parser = make_parser("triage live", _ABOUT, __doc__.partition("\n\n")[2], LIVE_OPTIONS)
        # What the command says to its copies on other nodes.
        parser.add_argument("--one-of-many", action="store_true", help=argparse.SUPPRESS)
        options = read_options(parser.parse_args(argv))
        if not options.out and not options.send:
            raise Misuse("give --out DIR, --out - or --send; triage live also analyses")
        if options.every_s:
            raise Misuse("--every needs the analysis: run triage live --every")
        return _run(options, os.environ)
    except Misuse as error:
        print_to_stderr(hide_tokens(str(error)))
        return 2
    finally:
        end_all()


def _run(options: LiveOptions, environment: Mapping[str, str]) -> int:
    """Write the folder or the tar, and send it where that is asked for."""
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(ValueError):
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if options.out and options.out != "-":
        fill(options, environment, options.out)
        return _send_all(options, environment, options.out)
    with tempfile.TemporaryDirectory(prefix="triage-live-") as root:
        fill(options, environment, root)
        if options.out == "-":
            write_tar(root, sys.stdout.buffer)
        return _send_all(options, environment, root)


def fill(options: LiveOptions, environment: Mapping[str, str], root: str) -> None:
    """Fill the folder ``root`` from this node or from all. Raises :class:`Misuse`."""
    os.umask(0o077)  # stacks and dumps are for this user alone
    try:
        os.makedirs(root, exist_ok=True)
        if os.listdir(root):
            raise Misuse(f"{root} is not empty; name a new folder")
        if options.all_nodes or options.nodes:
            pull_all_nodes(options, environment, root, print_to_stderr)
        else:
            pull(options, environment, root, print_to_stderr)
    except OSError as error:
        raise Misuse(f"cannot write {error.filename or root}: {error.strerror}") from error


def read_options(arguments: argparse.Namespace) -> LiveOptions:
    """The arguments as :class:`LiveOptions`. Raises :class:`Misuse` for a value that cannot be."""
    values = convert_values(LIVE_OPTIONS, vars(arguments))
    options = LiveOptions(**values, one_of_many=getattr(arguments, "one_of_many", False))
    if not 1 <= options.looks <= 20:
        raise Misuse("--looks is 1 to 20")
    if not 2.0 <= options.budget_s <= 3600.0:
        raise Misuse("--budget is in seconds, 2 to 3600")
    if options.every_s and not 10.0 <= options.every_s <= 86_400.0:
        raise Misuse("--every is in seconds, 10 to 86400")
    if options.via not in HOW:
        raise Misuse(f"--via is one of {', '.join(HOW)}")
    unknown = sorted(set(options.without) - set(SOURCES))
    if unknown:
        raise Misuse(f"--without {unknown[0]}: give one of {', '.join(SOURCES)}")
    if options.pid is not None and (options.all_nodes or options.nodes):
        raise Misuse("--pid is of this node; give --job with --all-nodes")
    if options.send and not options.url:
        raise Misuse("the service is unknown: give --url")
    return options


def print_to_stderr(line: str) -> None:
    """One line on stderr."""
    with suppress(OSError):
        sys.stderr.write(f"triage live: {line}\n")
        sys.stderr.flush()


def _send_all(options: LiveOptions, environment: Mapping[str, str], root: str) -> int:
    return send_folder(options, environment, root, print_to_stderr) if options.send else 0
