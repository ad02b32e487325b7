"""Options of a collection, and sizes and times read from text."""

from __future__ import annotations

import argparse
import re
import time
from calendar import timegm
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from triage.collectors.credentials import hide_tokens
from triage.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

_MIB = 1 << 20
_GIB = 1 << 30
_DAY_S = 86_400

# How files are treated that lie on a file system which every node of the job sees:
# auto: the job's first node sends them, every node where the list of nodes is unknown;
# send: this node does; skip: it does not; own: they are taken for this node's own.
SHARED = ("auto", "send", "skip", "own")

NO_LITERALS: Mapping[str, str] = MappingProxyType({})

_SIZE = re.compile(r"([0-9]{1,12})([KMGT]?)(?:i?B)?", re.IGNORECASE | re.ASCII)
_AGO = re.compile(r"([0-9]{1,9})([smhd])", re.ASCII)
_EPOCH = re.compile(r"@?([0-9]{9,11})", re.ASCII)
_DATE = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.\d+)?(?:([Zz])|([+-])(\d{2}):(\d{2}))?",
    re.ASCII,
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": _DAY_S}


class Misuse(Exception):
    """The call is wrong; the message says what to give instead.

    Not in the tree of ``triage.errors``, which needs a newer Python than nodes have.
    """


class Option(NamedTuple):
    """An option of the command line; ``metavar`` is empty for a flag.

    S is in seconds, SIZE in bytes or with a unit, TIME as :func:`parse_seconds` takes it.
    """

    metavar: str
    help: str
    default: str | float | None = None

    @property
    def repeatable(self) -> bool:
        """Whether it is given again for more."""
        return self.metavar in {"GLOB", "NAME=TEXT", "SOURCE"}

    @property
    def kind(self) -> type:
        """The type of one value."""
        if self.metavar == "S":
            return float
        return int if self.metavar == "PID" or isinstance(self.default, int) else str


OPTIONS = {
    "--url": Option("URL", "address of the service, such as https://triage.example", ""),
    "--token-file": Option("FILE", "file that holds the token; else TRIAGE_TOKEN"),
    "--job-id": Option("ID", "the job [SLURM_JOB_ID]"),
    "--node": Option("NAME", "this node [SLURMD_NODENAME, NODE_NAME, the host name]"),
    "--cluster": Option("NAME", "the cluster [TRIAGE_CLUSTER, SLURM_CLUSTER_NAME, the token's]"),
    "--attempt": Option("N", "which start of a requeued job [TRIAGE_ATTEMPT, SLURM_RESTART_COUNT]"),
    "--incident": Option("ID", "add to this incident, not to the job's newest"),
    "--fr": Option("GLOB", "dumps, repeatable; else where PyTorch writes them"),
    "--logs": Option("GLOB", "job logs, repeatable; else Slurm's output files"),
    "--literal": Option("NAME=TEXT", "TEXT, without wildcards, for {NAME} in a GLOB, repeatable"),
    "--kernel-log": Option("FILE", "the kernel log; else that of journalctl, dmesg or /var/log"),
    "--no-kernel-log": Option("", "send no kernel log"),
    "--since": Option("TIME", "only what is newer: 6h, @EPOCH or RFC 3339; else the job's start"),
    "--shared": Option(
        "HOW", "files that all nodes see: auto (the first node sends them), send, skip, own", "auto"
    ),
    "--digest": Option("", "send digests in place of dumps, where this node can make them"),
    "--wait-for-wanted": Option(
        "S", "wait up to S seconds for the service to ask for files; 45 with --digest, else 0"
    ),
    "--only-with-dumps": Option("", "send nothing if no dump is found"),
    "--wait-for-dumps": Option("S", "wait up to S seconds until dumps are written", 0.0),
    "--deadline": Option("S", "seconds that the whole run may take", 60.0),
    "--max-bytes": Option("SIZE", "most of a bundle before compression", "1G"),
    "--max-log-bytes": Option("SIZE", "send at most this much of the end of a log", "64M"),
    "--spool": Option("DIR", "folder where bundles wait; else /var/spool/triage or the user's"),
    "--spool-max-bytes": Option("SIZE", "most of all bundles that wait", "4G"),
    "--flush-spool": Option("", "send the bundles that wait; collect nothing"),
    "--dry-run": Option("", "list what would be sent; send nothing"),
    "--strict": Option("", "exit with 1 if the service lacks anything"),
    "--no-compress": Option("", "send without gzip"),
    "--ca-file": Option("FILE", "certificate authorities to trust for https"),
    "--insecure": Option("", "check no certificate; only for loopback"),
}
"""All options, for ``python3 -m triage.collectors`` and for ``triage collect`` alike."""


class Options(NamedTuple):
    """All that can be asked; sizes in bytes, times in seconds, ``since`` since the epoch.

    None for a value that the surroundings give. ``max_bytes`` bounds a bundle before
    compression, ``max_log_bytes`` the end that is kept of one log.
    """

    url: str = ""
    token_file: str | None = None
    job_id: str | None = None
    node: str | None = None
    cluster: str | None = None
    attempt: str | None = None
    incident: str | None = None
    fr: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    literals: Mapping[str, str] = NO_LITERALS
    kernel_log: str | None = None
    no_kernel_log: bool = False
    since: float | None = None
    shared: str = "auto"
    digest: bool = False
    wait_for_wanted_s: float | None = None
    only_with_dumps: bool = False
    wait_for_dumps_s: float = 0.0
    deadline_s: float = 60.0
    max_bytes: int = _GIB
    max_log_bytes: int = 64 * _MIB
    spool: str | None = None
    spool_max_bytes: int = 4 * _GIB
    spool_max_age_s: float = 14.0 * _DAY_S
    flush_spool: bool = False
    dry_run: bool = False
    strict: bool = False
    compress: bool = True
    ca_file: str | None = None
    insecure: bool = False


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # The message quotes what was given, which may be a token by mistake.
        self.exit(2, f"{self.prog}: {hide_tokens(message)}. See --help.\n")


def make_parser(
    prog: str, about: str, epilog: str, table: Mapping[str, Option]
) -> argparse.ArgumentParser:
    """The parser of a command with these options, for a node that has nothing but Python."""
    # "--token X" must not be taken for --token-file: X would be a token.
    made = _Parser(prog=prog, description=about, epilog=epilog, allow_abbrev=False)
    for name, option in table.items():
        if not option.metavar:
            made.add_argument(name, action="store_true", help=option.help)
            continue
        made.add_argument(
            name,
            metavar=option.metavar,
            default=option.default,
            type=option.kind,
            action="append" if option.repeatable else "store",
            help=option.help + (" (default: %(default)s)" if option.default else ""),
        )
    made.add_argument("--version", action="version", version=f"nccl-triage {__version__}")
    return made


def convert_values(table: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given by fields of options: sizes in bytes, moments since the epoch, seconds by
    names that say so, repeated values as a tuple. Raises :class:`Misuse`.
    """
    values = {}
    for name, option in table.items():
        key = name[2:].replace("-", "_")
        value = given[key]
        if option.metavar == "SIZE":
            value = parse_bytes(value)
        elif option.metavar == "TIME" and value is not None:
            value = parse_seconds(value)
        elif option.repeatable:
            value = tuple(value or ())
        values[f"{key}_s" if option.metavar == "S" else key] = value
    return values


def parse_bytes(text: str) -> int:
    """``64M``, ``1GiB`` or ``4096`` in bytes, powers of 1024. Raises :class:`Misuse`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise Misuse(f"{text!r} is no size; give bytes, or a number with K, M or G, as in 64M")
    return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")


def parse_seconds(text: str, now: float | None = None) -> float:
    """``6h`` before ``now``, ``@1700000000`` or an RFC 3339 time, in seconds since the epoch.

    A time without offset is UTC. Raises :class:`Misuse`.
    """
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return (time.time() if now is None else now) - int(ago[1]) * _SECONDS[ago[2]]
    epoch = _EPOCH.fullmatch(text)
    if epoch is not None:
        return float(epoch[1])
    date = _DATE.fullmatch(text)
    try:
        if date is None:
            raise ValueError
        wall = timegm(time.strptime(f"{date[1]} {date[2]}", "%Y-%m-%d %H:%M:%S"))
    except ValueError:
        raise Misuse(f"{text!r} is no time; give 6h, 2026-11-21T03:14:15Z or @1700000000") from None
    offset_s = 0 if date[4] is None else int(date[5]) * 3600 + int(date[6]) * 60
    return float(wall - offset_s if date[4] == "+" else wall + offset_s)
