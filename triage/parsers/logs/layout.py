"""How a log is laid out, by its first lines, and whose it is."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.envelope import clean, read_envelope
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.prefixes import NAME_LABEL, NUMBER_LABEL
from triage.parsers.logs.stamps import find_stated_zone, parse_zone_s, read_time
from triage.parsers.logs.state import Envelope

# Lines of which the envelopes are read.
_SAMPLE: Final = 12
# The label of `srun -l`, which may stand on all lines of a short log of one task.
_LABEL: Final = compile_re(r" *\d{1,6}: ")
# Of the first lines so many bear a label where a launcher or a collector puts one, and each label
# comes again: of a table or a listing it does not.
_MOST_LABELLED: Final = 0.9
_LABEL_LINES: Final = 2000
_TIMES_EACH: Final = 2
_LEAST_LABELLED: Final = 3
_MOST_OF_A_LABEL: Final = 400
_NUMBERS: Final = compile_re(r"\d{1,30}")
_RELATIVE: Final = compile_re(rb"^(?:<\d+>)?\[ {1,6}\+\d{1,6}\.\d{6}\]", re.MULTILINE)
# Columns of terminals, printers and the tools that break lines for them.
_WRAPS: Final = frozenset(
    {72, 76, 78, 79, 80, 96, 100, 110, 120, 127, 128, 130, 131, 132, 133, 140, 150, 160, 180}
    | {200, 220, 240, 250, 255, 256}
)
# Rows of one broken record, on the average.
_MAX_ROWS: Final = 64
_START_CHARACTERS: Final = 6
# Nov 22 10:00:00 node7 systemd[1]: Started Session 4 of user ops.
_SERVICES: Final = compile_re(
    rb"(?: |\"SYSLOG_IDENTIFIER\" ?: ?\")"
    rb"(?:systemd(?:-\w{3,20})?|kernel|CRON|crond?|sshd|dbus(?:-daemon)?|NetworkManager|rsyslogd"
    rb"|snapd|anacron|auditd|chronyd|polkitd|sudo|su|dhclient|rtkit-daemon|irqbalance)"
    rb"(?:(?:\[\d{1,9}\])?: | (?:-|\d{1,9}) [^ \n]{1,32} [-\[]|\")"
    # So do those of schedulers and monitors: PBS, Slurm, Flux, LSF, Nagios.
    rb"|;[0-9a-f]{4};(?:Server@|pbs_)|\b_job_complete: JobId=|\b_slurm_rpc_\w{1,60}:"
    rb"|\bsched: Allocate JobId="
    rb"|\bsched-fluxion-\w{1,40}\.|\bJob <\d{1,12}> (?:dispatched|done|started|submitted)\b"
    rb"|\bSERVICE ALERT: |\b(?:PROBLEM|RECOVERY) [\w.-]{1,253}/\w"
)
# When a tool made its report: `nvidia-smi -q`.
_MADE_AT: Final = compile_re(r"Timestamp[ \t]{1,60}: (.{10,40})$")
# What wrappers and srun say of their own job before it begins.
_JOB_ID: Final = compile_re(
    rb"\b(?:SLURM_(?:ARRAY_)?JOB_?ID|PBS_JOBID|LSB_JOBID|JOB_ID)[\"']?\s{0,3}[=:]\s{0,3}[\"']?"
    rb"(\d{1,12}(?:_\d{1,9})?)|\bsrun: job (\d{1,12}) (?:queued|has been allocated)"
    rb"|\b[Jj]ob [Ii][Dd](?: is)? ?[:=] {0,2}(\d{1,12}(?:_\d{1,9})?)\b"
    rb"|\bSubmitted batch job (\d{1,12})\b"
)
# Behind so many lines a log tells of more than of its own beginning.
_HEAD_LINES: Final = 200
_DIGITS: Final = compile_re(rb"[0-9]")
_LETTERS: Final = compile_re(rb"[A-Za-z]")
_HOSTLIKE: Final = compile_re(r"(?=[^.]*[a-z])(?=.*\d)[A-Za-z0-9][A-Za-z0-9.-]{1,252}", re.I)
# Words of file names that are no host.
_PLAIN_WORDS: Final = compile_re(
    r"^(?:dmesg|kern(?:el)?|kmsg|tail|messages|syslog|journal(?:ctl)?|console|serial|log|logs|out|err|txt|"
    r"json|jsonl|gz|zst|xz|bz2|std(?:out|err)|\d+|boot|previous|full|raw|iso|node|host|xid|nvidia)$",
    re.I,
)
# Those that never begin a host's name.
_LOG_WORDS: Final = compile_re(
    r"^(?:dmesg|kern(?:el)?|kmsg|tail|messages|syslog|journal(?:ctl)?|serial|logs?|json)$"
)
# dmesg_Tx-n3.log: what was asked of dmesg is no part of a name.
_DMESG_OPTIONS: Final = compile_re(
    r"dmesg[._-]{1,2}(?:T[xL]?|xT|iso|ctime|reltime|delta|notime|human|raw)(?=[._-])"
)
_PLAIN_FOLDERS: Final = frozenset({"logs", "log", "kernel", "kern", "dmesg", "nodes", "var", "fr"})


@dataclass(slots=True)
class Layout:
    """What the first lines tell of all of them."""

    wrap: int = 0
    label: "re.Pattern[str] | None" = None
    """What all lines begin with: the number of a task, or a name."""
    numbers: frozenset[str] = frozenset()
    """The ranks and tasks that the first lines name before anything else."""
    names: frozenset[str] = frozenset()
    """The hosts, pods or containers that a collector put before all of the first lines, or which
    are several of one kind."""
    relative: bool = False
    seated: bool = False
    """Its lines say on which node a rank is, so that no rank's line is like another's."""
    system: bool = False
    """The node's own services write into it, so that not every program in it is a job's."""
    kernel_lines: int = 0
    job_lines: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    first_stamp: Stamp = NO_STAMP
    zone_s: int | None = None
    """The zone of its times, where a line above the first of them says so."""
    job_id: str = ""
    """The scheduler's number of the job, where a wrapper or the scheduler prints it first."""
    own_words: bool = False
    """A kernel printed it, though nothing but its words says so."""

    @property
    def kernel(self) -> bool:
        """Whether a kernel printed most of the first lines."""
        return self.own_words or self.kernel_lines > self.job_lines


def detect_layout(head: bytes) -> Layout:
    """The layout of a log that begins with ``head``."""
    lines = [line for line in head.split(b"\n")[:-1] if line.strip()] or [head]
    texts = [clean(line[:4096]) for line in lines[:_SAMPLE]]
    found = Layout(wrap=wrap_width(lines[:2000]), relative=_RELATIVE.search(head) is not None)
    found.system = _SERVICES.search(head) is not None
    found.label, labels = _find_labels(lines, texts)
    first = [read_envelope(text, label=found.label) for text in texts]
    for envelope in first:
        if envelope.kernel or (envelope.stamp.uptime_ns is not None and envelope.rank is None):
            found.kernel_lines += 1
        else:
            found.job_lines += 1
        if found.first_stamp == NO_STAMP:
            found.first_stamp = envelope.stamp
        if found.first_stamp == NO_STAMP and found.zone_s is None:
            found.zone_s = parse_zone_s(find_stated_zone(envelope.text))
        if found.first_stamp == NO_STAMP and (made := _MADE_AT.match(envelope.text)) is not None:
            found.first_stamp = read_time(made[1]) or NO_STAMP
        if envelope.node is not None:
            found.hosts[envelope.node] += 1
    if not found.kernel:
        ids = {one for match in _JOB_ID.findall(b"\n".join(lines[:_HEAD_LINES])) for one in match}
        ids.discard(b"")
        found.job_id = ids.pop().decode() if len(ids) == 1 else ""
        spread = lines[:: max(1, len(lines) // _SAMPLE)][:_SAMPLE]
        more = [read_envelope(clean(line[:4096]), label=found.label) for line in spread]
        told = [*first, *more]
        numbers = {str(one.rank) for one in told if one.rank is not None}
        names = {one.printed_by for one in told if one.printed_by is not None}
        found.numbers = frozenset(numbers | {one for one in labels if one.isdecimal()})
        names |= labels - found.numbers
        throughout = all(one.printed_by is not None for one in told) if told else False
        several = len(names) > 1 and _are_sisters(names)
        found.names = frozenset(names if labels or throughout or several else ())
        found.seated = any(one.node is not None and one.rank is not None for one in more)
        found.own_words = _is_kernels_own(first if len(lines) <= _SAMPLE else [*first, *more])
    return found


def _find_labels(
    lines: Sequence[bytes], texts: Sequence[str]
) -> tuple["re.Pattern[str] | None", frozenset[str]]:
    """The form of the label with which most of ``lines`` begin, and the labels; ``texts`` are the
    first of them. None and an empty set where they bear none.
    """
    if len(texts) < _LEAST_LABELLED:
        return None, frozenset()
    for form in (NUMBER_LABEL, NAME_LABEL):
        if 2 * sum(form.match(text) is not None for text in texts) < len(texts):
            continue
        more = [clean(line[:_MOST_OF_A_LABEL]) for line in lines[:_LABEL_LINES]]
        found = Counter(label for text in more if (label := _label_in(form, text)) is not None)
        is_listed = found.total() < _TIMES_EACH * len(found) or not _are_sisters(found)
        if found.total() >= _MOST_LABELLED * len(more) and not is_listed:
            return (form if len(found) > 1 else None), frozenset(found)
    if all(_LABEL.match(text) for text in texts):
        return NUMBER_LABEL, frozenset()
    return None, frozenset()


def _label_in(form: "re.Pattern[str]", text: str) -> str | None:
    """The label of a line; None for what only might be one, as the hour of a time."""
    found = form.match(text)
    if found is None or not found[0].endswith((" ", ">:")):
        return None
    return next(part for part in found.groups() if part is not None)


def _are_sisters(labels: Iterable[str]) -> bool:
    """Whether names are those of nodes or pods: they differ in their numbers alone, or in how they
    end, as ``llm-7b-master-0`` and ``llm-7b-workers-1-x8k2p`` do.
    """
    labels = {_NUMBERS.sub("0", label) for label in labels}
    words = {label.partition("-")[:2] for label in labels}
    return len(labels) == 1 or (len(words) == 1 and all(dash for _, dash in words))


def wrap_width(lines: list[bytes]) -> int:
    """The width at which something broke the lines; 0 when nothing did.

    Lines that were broken end at one width, none is longer, and what follows them
    does not begin as a record does.
    """
    widths = [len(line.rstrip(b"\r")) for line in lines]
    width = max(widths, default=0)
    full = [k for k, one in enumerate(widths) if one == width and k + 1 < len(widths)]
    if width not in _WRAPS or len(full) < 2 or len(full) * 4 < len(widths):
        return 0
    # Records of one length follow each other at will, and each begins as the one before.
    runs = [k for k in full if k == 0 or widths[k - 1] != width]
    alike = sum(_mask_beginning(lines[k]) == _mask_beginning(lines[k + 1]) for k in runs)
    if len(full) > _MAX_ROWS * len(runs) or alike * 2 > len(runs):
        return 0
    # What is left of a broken record is of any length.
    rests = [one for one in widths if one != width]
    if len(set(rests)) < min(3, len(rests)):
        return 0
    starts = [
        _mask_beginning(lines[k]) for k in range(len(lines)) if k == 0 or widths[k - 1] != width
    ]
    usual = {start for start, count in Counter(starts).items() if count * 5 >= len(starts)}
    broken = sum(_mask_beginning(lines[k + 1]) not in usual for k in full)
    return width if broken * 5 >= len(full) * 4 else 0


def _mask_beginning(line: bytes) -> bytes:
    """How a line begins: digits and letters by their kind alone."""
    return _LETTERS.sub(b"a", _DIGITS.sub(b"0", line[:_START_CHARACTERS]))


def find_node_of_file(
    artifact: str, kind: LogKind, hosts: Counter[str], hostless: int = 0
) -> str | None:
    """The node of a log: by its folder or name, else by the one host that its lines name.

    Where a fourth or more of the lines with a time name none (``hostless``), logs of several
    nodes stand one behind the other, and who names itself in one does not speak for the rest.
    """
    found = parse_node(artifact)
    if found is not None or kind is LogKind.JOB:
        return found
    if hosts and 3 * hostless > hosts.total():
        return None
    if len(hosts) == 1:
        return next(iter(hosts))
    if hosts:
        (host, most), (_, next_most) = hosts.most_common(2)
        return host if most > 4 * next_most else None
    return parse_host_in_name(artifact)


def _strip_plain_words(name: str) -> str:
    """A name without the words before it that say what the file is: ``kmsg-tail-gpu17``."""
    head, mark, rest = name.partition("-")
    while mark and _LOG_WORDS.match(head):
        name = rest
        head, mark, rest = name.partition("-")
    return name


def parse_host_in_name(artifact: str) -> str | None:
    """``dmesg-n3.log``, ``dmesg_Tx-n3.log``, ``n3.kernel.log``, ``n3/dmesg.txt``.

    >>> host_in_name("logs/dmesg_Tx-n3.log"), host_in_name("Tx-n3.log")
    ('n3', 'Tx-n3')
    >>> host_in_name("dmesg-iso-n3.log")
    'n3'
    """
    path = PurePosixPath(artifact)
    name = _DMESG_OPTIONS.sub("dmesg", path.name)
    words = [word for word in re.split(r"[._]", name) if not _PLAIN_WORDS.match(word)]
    words = [_strip_plain_words(word) for word in words]
    named = [word for word in words if _HOSTLIKE.fullmatch(word)]
    if len(named) == 1:
        return named[0]
    parent = path.parent.name
    if parent and parent.lower() not in _PLAIN_FOLDERS and _HOSTLIKE.fullmatch(parent):
        return parent
    return None


# A follower of /dev/kmsg in a container, ``dmesg -t`` and a receiver of consoles drop both the
# uptime and the word "kernel". What is left begins with a driver and its device, or with one of
# the words of the kernel's own parts; a job's lines do not.

# Of the lines that are looked at, so many begin as a kernel's, and so few as a job's.
_OWN_SHARE: Final = 1 / 3
_LEAST_OWN: Final = 3
_JOB_SHARE: Final = 0.1

_OWN: Final = compile_re(
    "|".join("".join(text) for text in read_toml("triage.parsers.logs", "kernel_words").values())
)
_JOB: Final = compile_re(
    r"NCCL (?:INFO|WARN)|Traceback \(most recent|\b(?:INFO|WARNING|ERROR|DEBUG)\b ?[:|\]-]"
    r"|\b(?:loss|epoch|iteration|iter|step)\b[ :=/]{1,3}\d|^\S{1,60}\.py:\d|torch"
)


def _is_kernels_own(envelopes: Sequence[Envelope]) -> bool:
    """Whether these lines of one log, of which none says so, are a kernel's."""
    payloads = [one.text.lstrip() for one in envelopes if one.text.strip()]
    if not payloads or any(one.kernel for one in envelopes):
        return False  # where a kernel's lines say so, the others are not
    own = sum(_OWN.match(text) is not None for text in payloads)
    job = sum(one.rank is not None or one.local_rank is not None for one in envelopes)
    job += sum(_JOB.search(text[:400]) is not None for text in payloads)
    if own < min(_LEAST_OWN, max(2, len(payloads))):
        return False  # one line alone may be quoted by anybody
    return own >= _OWN_SHARE * len(payloads) and job <= _JOB_SHARE * len(payloads)
