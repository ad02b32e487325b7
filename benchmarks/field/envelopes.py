"""Twenty-four forms in which a node's log reaches the one who reads it."""

# ruff: noqa: E501

import datetime as dt
import json
import random
from collections.abc import Callable

from benchmarks.field.nodes import Line, Node

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
NAMES = {0: "emerg", 2: "crit", 3: "err", 4: "warn", 5: "notice", 6: "info"}


def wall(node: Node, at: float, local: bool = True) -> dt.datetime:
    """A time as this node's clock shows it."""
    return dt.datetime.fromtimestamp(at + node.skew, node.zone if local else dt.UTC)


def _up(node: Node, at: float) -> float:
    return max(0.0, at - node.booted(at))


def _short(when: dt.datetime) -> str:
    return f"{MONTHS[when.month - 1]} {when.day:2d} {when:%H:%M:%S}"


def _zone(when: dt.datetime, colon: bool = True) -> str:
    text = when.strftime("%z")
    return f"{text[:3]}:{text[3:]}" if colon else text


def _head(line: Line) -> str:
    return line.ident + ":"


def raw(node: Node, line: Line) -> str:
    """`[  12.345678] text`."""
    return f"[{_up(node, line.at):12.6f}] {line.text}"


def raw_thread(node: Node, line: Line) -> str:
    """With the thread or processor that printed, as newer kernels do."""
    return f"[{_up(node, line.at):12.6f}] [{'T' if line.level > 3 else 'C'}{hash_of(line) % 9999:>5}] {line.text}"


def hash_of(line: Line) -> int:
    """A number that hangs on the text alone."""
    return sum(line.text.encode()[:40]) * 7919


def human(node: Node, line: Line) -> str:
    """`dmesg -T`."""
    w = wall(node, line.at)
    return f"[{DAYS[w.weekday()]} {MONTHS[w.month - 1]} {w.day:2d} {w:%H:%M:%S %Y}] {line.text}"


def human_decoded(node: Node, line: Line) -> str:
    """`dmesg -Tx`."""
    return f"kern  :{NAMES.get(line.level, 'info'):<6}: {human(node, line)}"


def iso(node: Node, line: Line) -> str:
    """`dmesg --time-format iso`."""
    w = wall(node, line.at)
    return f"{w:%Y-%m-%dT%H:%M:%S},{w.microsecond:06d}{_zone(w)} {line.text}"


def journal(node: Node, line: Line) -> str:
    """`journalctl -o short`."""
    return f"{_short(wall(node, line.at))} {node.name} {_head(line)} {line.text}"


def journal_precise(node: Node, line: Line) -> str:
    """`journalctl -o short-precise`."""
    w = wall(node, line.at)
    return f"{_short(w)}.{w.microsecond:06d} {node.name} {_head(line)} {line.text}"


def journal_iso(node: Node, line: Line) -> str:
    """`journalctl -o short-iso`."""
    w = wall(node, line.at)
    return f"{w:%Y-%m-%dT%H:%M:%S}{_zone(w, False)} {node.name} {_head(line)} {line.text}"


def journal_full(node: Node, line: Line) -> str:
    """`journalctl -o short-full`."""
    w = wall(node, line.at)
    zone = "UTC" if not w.utcoffset() else _zone(w, False)[:3]
    return f"{DAYS[w.weekday()]} {w:%Y-%m-%d %H:%M:%S} {zone} {node.name} {_head(line)} {line.text}"


def journal_verbose(node: Node, line: Line) -> str:
    """`journalctl -o verbose`: a head, then fields."""
    w = wall(node, line.at)
    ident, _, pid = line.ident.partition("[")
    rows = [
        f"{DAYS[w.weekday()]} {w:%Y-%m-%d %H:%M:%S}.{w.microsecond:06d} UTC [s={node.boot_id};i={hash_of(line):x};b={node.boot_id}]",
        f"    PRIORITY={line.level}",
        f"    _TRANSPORT={'kernel' if ident == 'kernel' else 'syslog'}",
        f"    SYSLOG_IDENTIFIER={ident}",
        f"    _HOSTNAME={node.name}",
        f"    MESSAGE={line.text}",
    ]
    if pid:
        rows.insert(4, f"    _PID={pid.rstrip(']')}")
    return "\n".join(rows)


def journal_json(node: Node, line: Line) -> str:
    """`journalctl -o json`."""
    ident, _, pid = line.ident.partition("[")
    row = {
        "__REALTIME_TIMESTAMP": str(int((line.at + node.skew) * 1e6)),
        "__MONOTONIC_TIMESTAMP": str(int(_up(node, line.at) * 1e6)),
        "_BOOT_ID": node.boot_id,
        "_HOSTNAME": node.name,
        "PRIORITY": str(line.level),
        "_TRANSPORT": "kernel" if ident == "kernel" else "syslog",
        "SYSLOG_IDENTIFIER": ident,
        "MESSAGE": line.text,
    }
    if pid:
        row["_PID"] = pid.rstrip("]")
    return json.dumps(row)


def journal_monotonic(node: Node, line: Line) -> str:
    """`journalctl -o short-monotonic`."""
    return f"[{_up(node, line.at):13.6f}] {node.name} {_head(line)} {line.text}"


def rsyslog(node: Node, line: Line) -> str:
    """The traditional file format; the kernel's own clock stays in the text."""
    body = raw(node, line) if line.ident == "kernel" else line.text
    return f"{_short(wall(node, line.at))} {node.name} {_head(line)} {body}"


def rsyslog_iso(node: Node, line: Line) -> str:
    """RSYSLOG_FileFormat."""
    w = wall(node, line.at)
    body = raw(node, line) if line.ident == "kernel" else line.text
    return f"{w:%Y-%m-%dT%H:%M:%S}.{w.microsecond:06d}{_zone(w)} {node.full} {_head(line)} {body}"


def rfc5424(node: Node, line: Line) -> str:
    """`<PRI>1 time host app procid msgid sd text`."""
    w = wall(node, line.at, local=False)
    ident, _, pid = line.ident.partition("[")
    pri = line.level if ident == "kernel" else 24 + line.level
    return f"<{pri}>1 {w:%Y-%m-%dT%H:%M:%S}.{w.microsecond:06d}Z {node.full} {ident} {pid.rstrip(']') or '-'} - - {line.text}"


def kmsg(node: Node, line: Line) -> str:
    """/dev/kmsg."""
    us = int(_up(node, line.at) * 1e6)
    return f"{line.level},{us // 7919 + 400},{us},-;{line.text}"


def cri(node: Node, line: Line) -> str:
    """A log agent in a container that follows the kernel."""
    w = wall(node, line.at, local=False)
    return f"{w:%Y-%m-%dT%H:%M:%S}.{w.microsecond:06d}123Z stdout F {line.text}"


def docker(node: Node, line: Line) -> str:
    """Docker's json-file."""
    w = wall(node, line.at, local=False)
    stamp = f"{w:%Y-%m-%dT%H:%M:%S}.{w.microsecond:06d}417Z"
    return json.dumps({"log": line.text + "\n", "stream": "stdout", "time": stamp})


def loki(node: Node, line: Line) -> str:
    """`logcli --output=jsonl`."""
    w = wall(node, line.at, local=False)
    labels = {"job": "systemd-journal", "node": node.name, "unit": line.ident.partition("[")[0]}
    stamp = f"{w:%Y-%m-%dT%H:%M:%S}.{w.microsecond:06d}Z"
    return json.dumps({"labels": labels, "line": line.text, "timestamp": stamp})


def cloudwatch(node: Node, line: Line) -> str:
    """`aws logs tail --format short` of a syslog stream."""
    w = wall(node, line.at, local=False)
    return f"{w:%Y-%m-%dT%H:%M:%S} {node.name} {_head(line)} {line.text}"


def cloudwatch_json(node: Node, line: Line) -> str:
    """`aws logs filter-log-events`, one event a line."""
    ms = int((line.at + node.skew) * 1e3)
    row = {"logStreamName": f"{node.name}/messages", "timestamp": ms,
           "message": f"{_short(wall(node, line.at, False))} {node.name} {_head(line)} {line.text}",
           "ingestionTime": ms + 2211}  # fmt: skip
    return json.dumps(row)


def serial(node: Node, line: Line) -> str:
    """A serial console: uptimes, carriage returns, what the login prompt prints."""
    return raw(node, line) + "\r"


def netconsole(node: Node, line: Line) -> str:
    """Received elsewhere: the receiver's clock and the sender's address stand before it."""
    w = dt.datetime.fromtimestamp(line.at, dt.UTC)
    return f"{w:%Y-%m-%d %H:%M:%S} {node.address} {raw(node, line)}"


def stackdriver(node: Node, line: Line) -> str:
    """`gcloud logging read --format json`, flattened to one entry a line."""
    w = wall(node, line.at, local=False)
    stamp = f"{w:%Y-%m-%dT%H:%M:%S}.{w.microsecond:06d}Z"
    ident = line.ident.partition("[")[0]
    row = {"jsonPayload": {"MESSAGE": line.text, "SYSLOG_IDENTIFIER": ident, "_HOSTNAME": node.name},
           "resource": {"labels": {"node_name": node.name}, "type": "k8s_node"},
           "severity": "ERROR" if line.level < 4 else "INFO", "timestamp": stamp}  # fmt: skip
    return json.dumps(row)


# kernel lines alone, or the whole node's log; the common name of the file
FORMS: dict[str, tuple[Callable[[Node, Line], str], bool, str]] = {
    "raw": (raw, True, "dmesg.txt"),
    "raw_thread": (raw_thread, True, "dmesg.out"),
    "human": (human, True, "dmesg-T.txt"),
    "human_decoded": (human_decoded, True, "dmesg_Tx.log"),
    "iso": (iso, True, "dmesg-iso.log"),
    "journal": (journal, False, "journal.log"),
    "journal_precise": (journal_precise, False, "journalctl.txt"),
    "journal_iso": (journal_iso, False, "journal-iso.txt"),
    "journal_full": (journal_full, False, "journal-full.txt"),
    "journal_verbose": (journal_verbose, False, "journal-verbose.txt"),
    "journal_json": (journal_json, False, "journal.json"),
    "journal_monotonic": (journal_monotonic, True, "journal-b.txt"),
    "rsyslog": (rsyslog, False, "messages"),
    "rsyslog_iso": (rsyslog_iso, False, "syslog"),
    "rfc5424": (rfc5424, False, "syslog5424.log"),
    "kmsg": (kmsg, True, "kmsg.txt"),
    "cri": (cri, True, "kernel-monitor_0.log"),
    "docker": (docker, True, "kmsg-tail-json.log"),
    "loki": (loki, False, "loki-export.jsonl"),
    "cloudwatch": (cloudwatch, False, "cloudwatch.txt"),
    "cloudwatch_json": (cloudwatch_json, False, "cloudwatch-events.jsonl"),
    "serial": (serial, True, "console.log"),
    "netconsole": (netconsole, True, "netconsole.log"),
    "stackdriver": (stackdriver, False, "stackdriver.jsonl"),
}
UPTIME_ONLY = frozenset({"raw", "raw_thread", "journal_monotonic", "kmsg", "serial"})
SUITS = {
    "aws-p5": ("cloudwatch", "cloudwatch_json", "journal", "rsyslog", "human", "journal_json"),
    "gcp-a3": ("stackdriver", "journal_json", "journal", "serial", "cri", "human"),
    "azure-nd": ("rsyslog", "rsyslog_iso", "human", "journal", "journal_precise", "serial"),
}


def draw(rng: random.Random, key: str) -> str:
    """The form in which a cluster of this kind hands out its logs."""
    if key in SUITS and rng.random() < 0.6:
        return rng.choice(SUITS[key])
    return rng.choice(
        [f for f in sorted(FORMS) if f not in ("stackdriver",) and not f.startswith("cloudwatch")]
    )


def render(node: Node, form: str, since: float, until: float) -> list[str]:
    """The node's log from a time on, oldest first, in one form."""
    write, kernel_only, _ = FORMS[form]
    kept = [
        x
        for x in node.lines
        if since <= x.at <= until
        and (x.ident == "kernel" or not kernel_only)
        and (node.dead_at is None or not node.dead_at < x.at < _back(node))
    ]
    kept.sort(key=lambda x: x.at)
    return [write(node, x) for x in kept]


def _back(node: Node) -> float:
    later = [b for b in node.reboots if node.dead_at is not None and b > node.dead_at]
    return min(later) if later else float("inf")
