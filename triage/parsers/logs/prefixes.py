"""Prefixes that a pattern alone does not take off a line, and how the groups of patterns are taken.

The patterns are data: ``prefixes.toml``. Four numbers are kept apart: the global rank, the rank
inside a process group, the local rank on a node, and the CUDA device of a process.
"""

import re
from typing import Final

from triage.domain.evidence import Stamp
from triage.domain.patterns import compile_re
from triage.parsers.logs.stamps import (
    MONTHS,
    SECOND_NS,
    make_dated,
    make_uptime,
    make_wall,
    make_written,
)
from triage.parsers.logs.state import Envelope
from triage.parsers.logs.wrapped import parse_json_time, take_json
from triage.signatures.program.process_names import Whose, classify_owner

LEVELS: Final = "emerg|alert|crit|err|error|warn|warning|notice|info|debug"
# How far `dmesg -T` is taken to drift: it follows neither suspend nor steps of the clock.
_CTIME_ERROR_NS: Final = 60 * SECOND_NS
# Words behind a time that are no host.
_NO_HOST: Final = compile_re(
    r"trace|debug|info|notice|warn|warning|err|error|crit|critical|fatal|alert|emerg|kernel"
    r"|stdout|stderr",
    re.IGNORECASE,
)
# After the time: a host where a program name with a colon, or a level and one, follows.
_HOST: Final = compile_re(
    r"([A-Za-z0-9_][\w.-]{0,252})[ \t]+"
    r"(?=(?:(?:[a-z0-9]{1,10}\.)?(?i:"
    + LEVELS
    + r")[ \t]+)?[A-Za-z][\w./()@-]{0,80}(?:\[\d{1,8}\])?:(?:[ \t]|$))",
)
# Where the time says less of its origin (many programs print it), only what is plain.
_PLAIN_HOST: Final = compile_re(
    r"([A-Za-z0-9_][\w.-]{0,252})[ \t]+(?=(?:(?:[a-z0-9]{1,10}\.)?(?:" + LEVELS + r")[ \t]+)?"
    r"(?:kernel:|[A-Za-z][\w./()@-]{0,80}\[\d{1,8}\]:))",
    re.IGNORECASE,
)
# What a kernel prints by itself behind the name or address of who sent it: its uptime, or a
# record of /dev/kmsg.
_SENDER: Final = compile_re(
    r"(?!\d{1,8} )([A-Za-z0-9_][\w.:-]{0,252})[ \t]+"
    r"(?=(?:<\d{1,3}>)?\[ *\d{1,10}\.\d{6}\] |\d{1,3},\d{1,19},\d{1,19},[-c+];)"
)
_ADDRESS: Final = compile_re(
    r"(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?::\d{1,5})?|[0-9a-f]{0,4}:[0-9a-f:]{2,40}"
)
_SEVERITY: Final = compile_re(
    r"(?:[a-z0-9]{1,10}\.)?(?:" + LEVELS + r")[ \t]+(?=kernel:)", re.IGNORECASE
)
# SGLang: "[2026-09-14 03:11:33 DP1 TP9 EP9] ..."
_ENGINE: Final = compile_re(r"(?: [DTEP]P\d{1,5})+\]")
# Things of which a node has several, and which are no roles of a launcher.
_NO_ROLE: Final = compile_re(
    r"cuda|gpu|mlx|mlx5_|eth|ib|node|host|nvme|sd|md|cpu|step|iter|epoch|layer|stage|rank"
    r"|device|dev|pg|pp|tp|dp|cp|ep",
    re.IGNORECASE,
)
_SOURCE_FILE: Final = compile_re(r"\.(?:py|cpp|cc|c|cu|cuh|h|hpp|rs|go|js)$")
_FOLDER: Final = compile_re(r"(?:^|/)nodes/([\w.-]{1,253})/")
_NO_NODE: Final = compile_re(
    r"(?i:kernel|kern|stderr|stdout|error|warning|warn|info|debug|fatal|critical|messages|syslog|dmesg|torch"
    r"|time|date|log|output|traceback|note|nvrm|srun|slurmstepd|mpirun|task|run|master|line)$"
)
# Where all lines of a log begin with a label, what follows it may be anything.
NUMBER_LABEL: Final = compile_re(
    r" {0,8}(?:(\d{1,6})(?:: ?|\| )|\[(\d{1,6})\](?:: ?| )|<(\d{1,6})>: ?)"
)
# "trainer-2-0: ", "[cn-101-1] ", "worker-1  | ", "10.0.0.7: ", and "trainer-2-0 pytorch " as
# kubectl puts a pod and its container before what they say; "[default0]:" and "[rank3]:" are read
# as what they are.
NAME_LABEL: Final = compile_re(
    r" {0,8}(?!\[?[A-Za-z_][A-Za-z_.-]{0,40}\d{1,4}(?:\|\d{1,7})?\]:"
    r"|\[?(?i:rank|step|iter\w*|epoch|gpu|cuda|task|proc\w*|pid|line|stage|layer|device|dev|group"
    r"|pg|pp|tp|dp)[\d_.-])"
    r"\[?((?=[\w.-]{0,252}\d)(?:[A-Za-z][\w.-]{1,252}|\d{1,3}(?:\.\d{1,3}){3}))"
    r"(?:(?::\d{1,5})?\]:? |: | {1,40}\| ?| [a-z][a-z-]{2,40} (?=\S))"
)
_GROUP: Final = compile_re(r"\[(?:PG [^\[\]]{0,200} )?Rank (\d{1,7})\]")
_RANK_WORD: Final = compile_re(r"[Rr]ank[ :]{0,2}(\d{1,7})(?:: |, node )")


def set_field(envelope: Envelope, name: str, value: str) -> None:
    """Take what a group of this name holds."""
    match name:
        case "rank" | "task":
            setattr(envelope, name, int(value))
        case "pid":  # a longer number is no process
            if envelope.pid is None and len(value) <= 8:
                envelope.pid = int(value)
        case "own_pid":
            envelope.pid = int(value)
        case "own_address":
            envelope.address = value
        case "actor":
            envelope.actor = value
        case "address" | "printed_by" | "program":
            if getattr(envelope, name) is None:
                setattr(envelope, name, value)
        case "host":
            envelope.host(value)
        case "facility":
            envelope.kernel |= value == "kern"
        case "partial":
            envelope.partial |= value == "P"
        case "file":
            folder = _FOLDER.search(value)
            envelope.host(None if folder is None else folder[1])
        case "time":
            envelope.clock(parse_json_time(value))


def take_time(envelope: Envelope, match: "re.Match[str]") -> bool:
    """Take the time that the groups hold; False for a month of no known language."""
    found = match.groupdict()
    name = found.get("month_name")
    month = int(found["month"]) if name is None else MONTHS.get(name.casefold())
    if month is None:
        return False
    year = found.get("year") or found.get("year2") or found.get("year3")
    fraction, zone = found.get("fraction"), found.get("zone")
    day, clock = int(found["day"]), found["clock"]
    envelope.clock(make_wall(int(year) if year else None, month, day, clock, fraction, zone))
    return True


def take_uptime(envelope: Envelope, match: "re.Match[str]") -> bool:
    """Seconds since boot."""
    envelope.clock(make_uptime(match["whole"], match["fraction"]))
    envelope.pos = match.end()
    # journalctl -o short-monotonic prints the host, and the lines of other programs.
    if not _take_host(envelope, _PLAIN_HOST):
        envelope.kernel |= len(match["fraction"]) == 6
    return True


def take_epoch(envelope: Envelope, match: "re.Match[str]") -> bool:
    """Seconds since 1970, in brackets and without a fraction."""
    envelope.clock(make_uptime(match["whole"], None))
    return True


def take_delta(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The time since the line before."""
    digits = match["fraction"]
    envelope.delta_ns = int(match["whole"]) * SECOND_NS + int(digits) * 10 ** (9 - len(digits))
    envelope.kernel = True
    return True


def take_ctime(envelope: Envelope, match: "re.Match[str]") -> bool:
    """A date in words; behind a day of the week the month may be of a language nobody knows."""
    month = MONTHS.get(match["month_name"].casefold())
    if month is None and match["weekday"] is None:
        return False
    if month is not None and len(match["year"]) == 4:
        year, day, clock = int(match["year"]), int(match["day"]), match["clock"]
        error_ns = _CTIME_ERROR_NS
        envelope.clock(make_wall(year, month, day, clock, match["fraction"], error_ns=error_ns))
    envelope.kernel = True
    return True


def take_syslog(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The time and the host of syslog."""
    if not take_time(envelope, match):
        return False
    envelope.pos = match.end()
    if not _take_sender(envelope):
        _take_host(envelope, _HOST)
    return True


def take_full(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The time and the host of a journal."""
    year, month, day, clock, fraction, zone, hours = match.groups()
    envelope.clock(make_wall(int(year), int(month), int(day), clock, fraction, zone or hours))
    envelope.pos = match.end()
    _take_host(envelope, _HOST)
    return True


def take_unix(envelope: Envelope, match: "re.Match[str]") -> bool:
    """Seconds since 1970, and the host where one follows."""
    envelope.pos = match.end()
    if not _take_sender(envelope):
        _take_host(envelope, _PLAIN_HOST)
    envelope.clock(make_uptime(match["whole"], match["fraction"]))
    return True


def take_iso(envelope: Envelope, match: "re.Match[str]") -> bool:
    """A date in digits."""
    stamp = make_dated(match)
    envelope.clock(stamp)
    envelope.pos = match.end()
    if not _take_sender(envelope) and not _take_host(envelope, _PLAIN_HOST) and stamp is not None:
        # dmesg --time-format=iso: six digits behind a comma, and a zone; nothing else prints so.
        is_exact = "," in match[0] and len(match["fraction"] or "") == 6
        envelope.kernel |= is_exact and match["zone"] is not None
    return True


def _take_sender(envelope: Envelope) -> bool:
    """Who sent a line over the network, where what it sent is a kernel's."""
    found = _SENDER.match(envelope.text, envelope.pos)
    if found is None or _NO_HOST.fullmatch(found[1]) is not None:
        return False
    address = _ADDRESS.fullmatch(found[1])
    name = found[1] if address is None else address[1] or found[1]
    envelope.host(name)
    if address is not None:
        envelope.address = envelope.address or name
    envelope.pos = found.end()
    return True


def _take_host(envelope: Envelope, pattern: "re.Pattern[str]") -> bool:
    """A host name behind the time, where the rest looks as behind a host name."""
    found = pattern.match(envelope.text, envelope.pos)
    if found is None or _NO_HOST.fullmatch(found[1]) is not None:
        return False
    envelope.host(found[1])
    envelope.pos = found.end()
    level = _SEVERITY.match(envelope.text, envelope.pos)
    if level is not None:
        envelope.pos = level.end()
    return True


def take_record(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The message of an object, and the host that a relay of syslog left in front of it."""
    taken = take_json(envelope, match)
    if taken and envelope.node is None:
        _take_host(envelope, _PLAIN_HOST)
    return taken


def take_bracketed(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The time that begins a bracket."""
    envelope.clock(make_dated(match))
    if _ENGINE.search(match[0]) is not None:
        envelope.actor = "engine"  # its numbers are those of groups inside of it
    return True


def take_kmsg(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The head of a record of /dev/kmsg."""
    envelope.kernel = True
    envelope.sequence = int(match["sequence"])
    if len(match["up"]) <= 15:
        envelope.clock(Stamp(uptime_ns=int(match["up"]) * 1000, error_ns=1000))
    return True


def take_structured(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The head of RFC 5424."""
    if match["year"] is not None:
        envelope.clock(make_dated(match))
    if match["host"] != "-":
        envelope.host(match["host"])
    app, pid = match["app"], match["pid"]
    envelope.kernel |= app == "kernel"
    if pid.isdecimal():
        set_field(envelope, "pid", pid)
    envelope.pos = match.end()
    if app not in ("-", "kernel"):
        envelope.program = envelope.program or app
        if classify_owner(app) is not Whose.JOB:
            envelope.said_by(app)
    return True


def take_role(envelope: Envelope, match: "re.Match[str]") -> bool:
    """A worker of a launcher, by its number on the node."""
    if _NO_ROLE.fullmatch(match["role"]) is not None:
        return False
    envelope.local_rank = int(match["local_rank"])
    return True


def take_writer(envelope: Envelope, match: "re.Match[str]") -> bool:
    """The node and the process that a library puts before its words, and their device."""
    name, device = match["writer"], match.groupdict().get("device")
    if _SOURCE_FILE.search(name) or (name.isdecimal() and len(name) < 3):
        return False
    envelope.node = name
    envelope.pid = int(match["pid"])
    if device is not None:
        envelope.cuda_device = max(int(device), 0) if device != "-1" else None
    return True


def take_written(envelope: Envelope, match: "re.Match[str]") -> bool:
    """A date as people write it."""
    stamp = make_written(match)
    envelope.clock(stamp)
    return stamp is not None


def take_file(envelope: Envelope, match: "re.Match[str]") -> bool:
    """A file name of grep, or a host name of pdsh."""
    name = match["file"]
    if _NO_NODE.match(name) is None and "/" not in name and envelope.text[match.end() :][:1] == " ":
        envelope.host(name)
    set_field(envelope, "file", name)
    return True


def labelled(envelope: Envelope, match: "re.Match[str]") -> None:
    """Take the label off: a name is that of a host until something says better."""
    value = next(part for part in match.groups() if part is not None)
    if match.re.pattern == NUMBER_LABEL.pattern:
        envelope.task = int(value)
    else:
        envelope.printed_by = value
        envelope.host(value)
    envelope.text = envelope.text[match.end() :]


def peek(envelope: Envelope) -> None:
    """Read what stays in the text: the rank inside a group, or a rank that begins a sentence."""
    found = _GROUP.match(envelope.text, envelope.pos)
    if found is not None:
        envelope.group_rank = int(found[1])
        if envelope.rank is None and "(default_pg)" in found[0]:
            envelope.rank = envelope.group_rank  # of this group all ranks are global
        return
    if envelope.rank is None:
        found = _RANK_WORD.match(envelope.text, envelope.pos)
        if found is not None:
            envelope.rank = int(found[1])
