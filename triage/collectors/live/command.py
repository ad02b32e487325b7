"""``python3 -m triage.collectors live``: a pull on a node that has nothing but Python.

Exit status: 0 a folder was written (and sent, with --send); 1 it could not be sent; 2 wrong
usage or no job.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from triage.collectors.artifact import JOB_LOG, Artifact, Deadline
from triage.collectors.bundle import Bounds, pack
from triage.collectors.capture import end_all
from triage.collectors.credentials import hide_tokens, read_token
from triage.collectors.endpoint import parse_endpoint
from triage.collectors.live.every_node import HOW, pull_all_nodes
from triage.collectors.live.folder import list_files, write_tar
from triage.collectors.live.options import LIVE_OPTIONS, SOURCES, LiveOptions
from triage.collectors.live.pull import pull
from triage.collectors.options import Misuse, convert_values, make_parser
from triage.collectors.send import ACCEPTED, Delivery
from triage.collectors.spool import SCRATCH, Label, Spool, choose_default_folder
from triage.collectors.surroundings import find_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


# A pulled folder goes to the service by the spool: what cannot be sent now is sent later.

_SEND_S = 60.0
_MAX_FILE = 256 << 20


def send_folder(
    options: LiveOptions,
    environment: Mapping[str, str],
    root: str,
    say: Callable[[str], None],
    seconds: float = _SEND_S,
) -> int:
    """Send all files below ``root`` as one bundle; 0 where the service has it, else 1.

    Raises Misuse for an address that cannot be used, and OSError where the spool is not writable.
    """
    deadline = Deadline(seconds)
    endpoint = parse_endpoint(options.url, ca_file=options.ca_file, insecure=False)
    token = read_token(options.token_file, environment)
    if token.why:
        say(token.why)
        return 1
    spool = Spool(options.spool or choose_default_folder(environment))
    artifacts = [
        Artifact(JOB_LOG, member, path, _MAX_FILE, False, None, True, False)
        for member, path in list_files(root)
    ]
    label = _make_label(root, options, environment)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=spool.root) as scratch:
        bounds = Bounds(options.max_bytes, deadline.part(0.5))
        with spool.writing(label) as draft:
            packed = pack(artifacts, draft.file, scratch, bounds)
    done = Delivery(spool, endpoint, token).deliver(draft.path, deadline)
    if done is None:
        return 0
    answer, size_bytes = done
    if answer.kind == ACCEPTED:
        files = sum(packed.counts.values())
        say(f"sent {files} files, {size_bytes / 1e6:.1f} MB; incident {answer.incident}")
        return 0
    say(f"not sent: {answer.text}; it waits in {spool.root}")
    return 1


def _make_label(root: str, options: LiveOptions, environment: Mapping[str, str]) -> Label:
    job = options.job or ""
    with suppress(OSError, ValueError), open(os.path.join(root, "job.json"), "rb") as file:
        job = job or str(json.load(file).get("job_id", ""))
    cluster = find_cluster(options.cluster, environment)
    attempt = environment.get("TRIAGE_ATTEMPT", "")
    return Label(job or "unnamed", "", "", "gzip", cluster, attempt)
