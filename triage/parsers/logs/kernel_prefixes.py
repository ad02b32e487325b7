"""What stands before a message of the kernel: dmesg, kmsg, syslog and journal prints."""

import re
from typing import Final

from triage.domain.evidence import Stamp
from triage.domain.patterns import compile_re
from triage.parsers.logs.stamps import (
    DATED,
    MONTHS,
    SECOND_NS,
    make_dated,
    make_uptime,
    make_wall,
)
from triage.parsers.logs.state import Strip
from triage.signatures.program.process_names import Whose, classify_owner

# How far `dmesg -T` is taken to drift: it follows neither suspend nor steps of the clock.
_CTIME_ERROR_NS: Final = 60 * SECOND_NS

_FACILITIES: Final = "kern|user|mail|daemon|auth|syslog|lpr|news|authpriv|cron|local[0-7]"
_LEVELS: Final = "emerg|alert|crit|err|error|warn|warning|notice|info|debug"
# Words behind a time that are no host.
_NO_HOST: Final = compile_re(
    r"trace|debug|info|notice|warn|warning|err|error|crit|critical|fatal|alert|emerg|kernel"
    r"|stdout|stderr",
    re.IGNORECASE,
)

# With the time since the line before ("[   12.345678 <    0.000123>]") and the thread or
# processor that printed it.
_RAW: Final = compile_re(
    r"\[ *(\d{1,40})\.(\d{1,9})(?: <[ \d.]{3,24}>? ?)?\](?: ?\[ *[TC] *\d{1,8}\])?:? ?"
)
_DELTA: Final = compile_re(r"\[ *[+<] *(\d{1,9})\.(\d{1,9})>?\] ?")
_MINUTE: Final = compile_re(r"\[([^\W\d]{3,6}|\d{1,2}월|\d{1,2}月) ?(\d{1,2}) (\d\d:\d\d)\] ?")
_CTIME: Final = compile_re(
    r"\[(?:([^\W\d]{1,12})\.?,? {1,2})?"
    r"([^\W\d]{3,12}|\S{1,2}\ufffd{1,4}\S{0,3}|\d{1,2}[月월])\.? {1,3}"
    r"(\d{1,2}) (\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? (\d{4,6})\]:? ?"
)
_MANAGER: Final = compile_re(
    r"\[([A-Z][a-z]{2}) +(\d{1,2}) (\d{4}) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\] ?"
)
_SYSLOG: Final = compile_re(
    r"(?:(\d{4}) )?(?:[A-Z][a-z]{2},? )?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (?:(\d{4}) )?"
    r"(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:(?: ([A-Z]{3,5}))? (\d{4})(?= ))?:?(?: +|$)"
)
_ISO: Final = compile_re(DATED + r"[:\]|]?(?:[ \t]+|$|(?=\[))")
# journalctl -o short-full: Tue 2025-12-30 16:05:39 UTC gpu17 kernel: text. A zone without an
# abbreviation is printed as its hours.
_FULL: Final = compile_re(
    r"[A-Z][a-z]{2},? " + DATED + r"(?: ([+-]\d\d)(?= )| [A-Z]{3,5}(?= ))?(?:[ \t]+|$)"
)
# journalctl -o short-unix, and what tails it.
_UNIX: Final = compile_re(r"(1\d{9})\.(\d{3,9}) (?=\S)")
# After the time: a host where a program name with a colon, or a level and one, follows.
_HOST: Final = compile_re(
    r"([A-Za-z0-9_][\w.-]{0,252})[ \t]+"
    r"(?=(?:(?:[a-z0-9]{1,10}\.)?(?i:"
    + _LEVELS
    + r")[ \t]+)?[A-Za-z][\w./()@-]{0,80}(?:\[\d{1,8}\])?:(?:[ \t]|$))",
)
# Where the time says less of its origin (many programs print it), only what is plain.
_PLAIN_HOST: Final = compile_re(
    r"([A-Za-z0-9_][\w.-]{0,252})[ \t]+(?=(?:(?:[a-z0-9]{1,10}\.)?(?:" + _LEVELS + r")[ \t]+)?"
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
    r"(?:[a-z0-9]{1,10}\.)?(?:" + _LEVELS + r")[ \t]+(?=kernel:)", re.IGNORECASE
)
_KERNEL: Final = compile_re(r"kernel: ?")
_DECODED: Final = compile_re(r"(" + _FACILITIES + r") *: *(?:" + _LEVELS + r") *: ?")
_KMSG: Final = compile_re(r"(\d{1,5}),(\d{1,19}),(\d{1,40}),[^;,]{0,16}(?:,[^;]{0,200})?;")
_PRIORITY: Final = compile_re(r"<\d{1,3}>(?!:)(?:1 (?=\d{4}-))?")
# RFC 5424: <4>1 2026-03-14T02:39:12.026Z gpu17.cluster.local kernel - - - text, with data in
# brackets in the place of the last dash.
_STRUCTURED: Final = compile_re(
    r"<\d{1,3}>1 (?:" + DATED + r"|-) (?P<host>[\w.:-]{1,253}) (?P<app>[^\s\[\]]{1,48})"
    r" (?P<pid>[^\s\[\]]{1,128}) [^\s\[\]]{1,32} (?:-|(?:\[[^\]]{0,1000}\]){1,4})(?: \ufeff?|$)"
)
_TALOS: Final = compile_re(
    r"(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}): (" + _FACILITIES + r"): *(?:" + _LEVELS + r"): "
)
_BRACKETED: Final = compile_re(r"\[" + DATED + r"(?: [^\[\]]{0,120})?\]:? ?")
# SGLang: "[2026-09-14 03:11:33 DP1 TP9 EP9] ..."
_ENGINE: Final = compile_re(r"(?: [DTEP]P\d{1,5})+\]")
_IDENT: Final = compile_re(r"([a-z][\w./()@-]{0,80})\[(\d{1,8})\]: (?=[\[{\d])")
_CONSOLE: Final = compile_re(r"Message from syslogd@([\w.-]{1,253})")


def _take_raw(strip: Strip, match: "re.Match[str]") -> bool:
    stamp = make_uptime(match[1], match[2])
    strip.clock(stamp)
    strip.pos = match.end()
    # journalctl -o short-monotonic prints the host, and the lines of other programs.
    if not _take_host(strip, _PLAIN_HOST):
        strip.kernel |= len(match[2]) == 6
    return True


def _take_delta(strip: Strip, match: "re.Match[str]") -> bool:
    digits = match[2]
    strip.delta_ns = int(match[1]) * SECOND_NS + int(digits) * 10 ** (9 - len(digits))
    strip.kernel = True
    return True


def _take_minute(strip: Strip, match: "re.Match[str]") -> bool:
    month = MONTHS.get(match[1].casefold())
    if month is None:
        return False
    strip.clock(make_wall(None, month, int(match[2]), match[3]))
    strip.kernel = True
    return True


def _take_ctime(strip: Strip, match: "re.Match[str]") -> bool:
    month = MONTHS.get(match[2].casefold())
    if month is None and match[1] is None:
        return False
    if month is not None and len(match[6]) == 4:
        strip.clock(
            make_wall(
                int(match[6]), month, int(match[3]), match[4], match[5], error_ns=_CTIME_ERROR_NS
            )
        )
    strip.kernel = True
    return True


def _take_manager(strip: Strip, match: "re.Match[str]") -> bool:
    month = MONTHS.get(match[1].casefold())
    if month is None:
        return False
    strip.clock(make_wall(int(match[3]), month, int(match[2]), match[4], match[5]))
    return True


def _take_syslog(strip: Strip, match: "re.Match[str]") -> bool:
    month = MONTHS.get(match[2].casefold())
    if month is None:
        return False
    year = match[1] or match[4] or match[8]
    strip.clock(
        make_wall(int(year) if year else None, month, int(match[3]), match[5], match[6], match[7])
    )
    strip.pos = match.end()
    if not _take_sender(strip):
        _take_host(strip, _HOST)
    return True


def _take_full(strip: Strip, match: "re.Match[str]") -> bool:
    year, month, day, clock, fraction, zone, hours = match.groups()
    strip.clock(make_wall(int(year), int(month), int(day), clock, fraction, zone or hours))
    strip.pos = match.end()
    _take_host(strip, _HOST)
    return True


def _take_unix(strip: Strip, match: "re.Match[str]") -> bool:
    strip.pos = match.end()
    if (
        not _take_sender(strip)
        and not _take_host(strip, _PLAIN_HOST)
        and not strip.line.startswith("kernel:", strip.pos)
    ):
        return False
    strip.clock(make_uptime(match[1], match[2]))
    return True


def _take_sender(strip: Strip) -> bool:
    """Who sent a line over the network, where what it sent is a kernel's."""
    found = _SENDER.match(strip.line, strip.pos)
    if found is None or _NO_HOST.fullmatch(found[1]) is not None:
        return False
    address = _ADDRESS.fullmatch(found[1])
    name = found[1] if address is None else address[1] or found[1]
    strip.host(name)
    if address is not None:
        strip.address = strip.address or name
    strip.pos = found.end()
    return True


def _take_iso(strip: Strip, match: "re.Match[str]") -> bool:
    stamp = make_dated(match)
    strip.clock(stamp)
    strip.pos = match.end()
    if not _take_sender(strip) and not _take_host(strip, _PLAIN_HOST) and stamp is not None:
        # dmesg --time-format=iso: six digits behind a comma, and a zone; nothing else prints so.
        strip.kernel |= "," in match[0] and len(match[5] or "") == 6 and match[6] is not None
    return True


def _take_host(strip: Strip, pattern: "re.Pattern[str]") -> bool:
    """A host name behind the time, where the rest looks as behind a host name."""
    found = pattern.match(strip.line, strip.pos)
    if found is None or _NO_HOST.fullmatch(found[1]) is not None:
        return False
    strip.host(found[1])
    strip.pos = found.end()
    level = _SEVERITY.match(strip.line, strip.pos)
    if level is not None:
        strip.pos = level.end()
    return True


def _take_bracketed(strip: Strip, match: "re.Match[str]") -> bool:
    strip.clock(make_dated(match))
    if _ENGINE.search(match[0]) is not None:
        strip.actor = "engine"  # its numbers are those of groups inside of it
    return True


def _take_kernel(strip: Strip, _match: "re.Match[str]") -> bool:
    strip.kernel = True
    return True


def _take_decoded(strip: Strip, match: "re.Match[str]") -> bool:
    strip.kernel |= match[1] == "kern"
    return True


def _take_kmsg(strip: Strip, match: "re.Match[str]") -> bool:
    strip.kernel = True
    strip.sequence = int(match[2])
    if len(match[3]) <= 15:
        strip.clock(Stamp(uptime_ns=int(match[3]) * 1000, error_ns=1000))
    return True


def _take_talos(strip: Strip, match: "re.Match[str]") -> bool:
    strip.address = strip.address or match[1]
    strip.kernel |= match[2] == "kern"
    return True


def _take_priority(_strip: Strip, _match: "re.Match[str]") -> bool:
    return True


def _take_structured(strip: Strip, match: "re.Match[str]") -> bool:
    if match[1] is not None:
        strip.clock(make_dated(match))
    if match["host"] != "-":
        strip.host(match["host"])
    app, pid = match["app"], match["pid"]
    strip.kernel |= app == "kernel"
    if strip.pid is None and pid.isdecimal() and len(pid) <= 8:
        strip.pid = int(pid)
    strip.pos = match.end()
    if app not in ("-", "kernel"):
        strip.program = strip.program or app
        if classify_owner(app) is not Whose.JOB:
            strip.said_by(app)
    return True


def _take_ident(strip: Strip, match: "re.Match[str]") -> bool:
    strip.program = strip.program or match[1]
    if strip.pid is None:
        strip.pid = int(match[2])
    return True


def _take_console(strip: Strip, match: "re.Match[str]") -> bool:
    strip.host(match[1])
    return False


# First character -> rules in the order in which they are tried.
RULES: Final = {
    "[": (
        (_RAW, _take_raw),
        (_BRACKETED, _take_bracketed),
        (_CTIME, _take_ctime),
        (_MINUTE, _take_minute),
        (_DELTA, _take_delta),
        (_MANAGER, _take_manager),
    ),
    "0": (
        (_ISO, _take_iso),
        (_KMSG, _take_kmsg),
        (_TALOS, _take_talos),
        (_SYSLOG, _take_syslog),
        (_UNIX, _take_unix),
    ),
    "A": ((_SYSLOG, _take_syslog), (_FULL, _take_full), (_CONSOLE, _take_console)),
    "a": ((_KERNEL, _take_kernel), (_DECODED, _take_decoded), (_IDENT, _take_ident)),
    "<": ((_STRUCTURED, _take_structured), (_PRIORITY, _take_priority)),
}
