"""One text with what several machines printed, one below the other.

``clush -b`` and ``dshbak -c`` put each machine's lines below its name, Ansible below ``n7 | CHANGED
| rc=0 >>``, scripts below a heading, and who copies a terminal has its prompt above them::

    ---------------
    gpu-17
    ---------------
    [Mon Apr 14 23:11:09 2025] NVRM: Xid (PCI:0000:61:00): 62, pid='<unknown>', ...

    [root@gpu-18 ~]# dmesg -T | tail
    [Mon Apr 14 23:09:41 2025] mlx5_core 0000:5e:00.0: Link down

Each line is read as one that has its machine in front of it, as ``pdsh`` prints it. A prompt says
where a command ran: what it shows is that machine's where it asks the machine itself, and anybody's
where it shows a file that all of them share. Checks are read as checks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.domain.evidence import Evidence
from triage.domain.patterns import compile_re
from triage.formats.format import FormatTable, Head, ReadLines
from triage.formats.health.check_format import CheckFormat
from triage.formats.logs.bug_report import iterate_results, replace_text
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.prefixes import NAME_LABEL
from triage.parsers.logs.source import HEAD_BYTES, LogStream, ReadAhead

_MAX_BYTES: Final = 64 << 20
_FIRST_LINES: Final = 12
_LEAST_HEADED: Final = 2
_NAME: Final = r"(?=[\w.-]{0,60}\d)[A-Za-z][\w.-]{1,62}"
_RULE: Final = compile_re(r"[-=]{5,80}\s*$")
_BARE: Final = compile_re(rf"({_NAME})\s*$")
_HEADING: Final = compile_re(
    rf"(?:[=#*>-]{{2,12}} ?(?:host:? |node:? )?({_NAME})(?: {{1,4}}(\([^)\n]{{1,80}}\)))?:?"
    r"(?: ?[=#*<-]{2,60})?"
    rf"|({_NAME}) \| [A-Z!]{{2,20}}(?: \| rc=-?\d{{1,4}} \|? ?>>| => ?\{{| >>)"
    rf"|\[({_NAME})\])\s*$"
)
_USER: Final = r"\w[\w.-]{0,40}"
_PROMPT: Final = compile_re(
    rf"(?:\[{_USER}@({_NAME}) [^\]\n]{{1,120}}\][#$]"
    rf"|{_USER}@({_NAME}):[^\s#$]{{0,120}} ?[#$]) (.+)$"
)
_ELSEWHERE: Final = compile_re(rf"\b(?:ssh|-H)(?: -\w+(?: \S+)?)*? (?:\w+@)?({_NAME})\b")
# Commands that show the machine on which they run.
_OF_THE_MACHINE: Final = compile_re(
    r"(?:^|[;&|] ?|sudo (?:-\w+ )*)(?:dmesg|journalctl|nvidia-smi|dcgmi|amd-smi|rocm-smi|ipmitool"
    r"|ipmi-sel|lspci|lsmod|lscpu|ibstat\w*|ibv_\w+|ethtool|ip |rdma|free|top|ps|uptime|df|mount"
    r"|nvme|smartctl|mcelog|ras-mc-ctl|edac-util|dmidecode|sensors|systemctl|hostname"
    r"|(?:tail|cat|less|grep)\b[^|]*/var/log/)"
)


def _find_heads(lines: Sequence[str]) -> Iterator[tuple[int, int, str | None, bool]]:
    """Where each section's head begins and ends, whose it is, and whether it names a command."""
    for k, line in enumerate(lines):
        name, rule = (*lines[k + 1 : k + 3], "", "")[:2]
        if _RULE.match(line) and _RULE.match(rule) and name.strip():
            found = _BARE.match(name)
            yield k, k + 3, None if found is None else found[1], False
        elif (prompt := _PROMPT.match(line)) is not None:
            host, command = prompt[1] or prompt[2], prompt[3]
            other = _ELSEWHERE.search(command)
            is_its = other is not None or _OF_THE_MACHINE.search(command) is not None
            yield k, k + 1, (other[1] if other is not None else host) if is_its else None, True
        elif (heading := _HEADING.match(line)) is not None:
            host = heading[1] or heading[3] or heading[4]
            # What may not label a line is no machine, but a part of one or a step: "== gpu0 ==".
            if NAME_LABEL.match(f"{host}: "):
                yield k, k + 1, host, heading[2] is not None


def _split(lines: Sequence[str]) -> list[tuple[int, int, str | None]]:
    """Where each section begins (counted from 0) and stops, and whose it is, if one machine's; what
    stands above the first head is nobody's.
    """
    heads = [(0, 0, None, False), *_find_heads(lines)]
    stops = [begin for begin, *_ in heads[1:]] + [len(lines)]
    return [(start, stop, host) for (_, start, host, _), stop in zip(heads, stops, strict=True)]


@dataclass(frozen=True, slots=True)
class HostSections:
    """``checks`` are the formats that a section may have."""

    checks: FormatTable[CheckFormat]
    name: str = "host_sections"
    words: tuple[str, ...] = ()
    kind: None = None

    def claims(self, head: Head) -> bool:
        """Whether heads of machines stand in it, the first of them at the beginning."""
        lines = head.whole_text.split("\n", _FIRST_LINES)[:_FIRST_LINES]
        if next(_find_heads(lines), None) is None:
            return False
        heads = list(_find_heads(head.whole_text.split("\n")))
        if any(has_command and host is not None for _, _, host, has_command in heads):
            return True
        headed = {host for _, _, host, has_command in heads if host is not None and not has_command}
        return len(headed) >= _LEAST_HEADED or (
            bool(headed) and any(" -w " in line or "dshbak" in line for line in lines)
        )

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """The lines of all machines, and the results of their checks."""
        whole = stream.read_up_to(_MAX_BYTES + 1)
        if len(whole) > _MAX_BYTES:
            rest = replace_text(whole, stream)
            rest.read = ReadAhead(whole[HEAD_BYTES:], stream).read
            rest.notes, rest.total = stream.notes, stream.total
            rest.notes.append(f"of several machines, over {_MAX_BYTES >> 20} MiB: read as a log")
            return read_lines(rest)
        lines = whole.decode("utf-8", "replace").split("\n")
        labelled = [""] * len(lines)
        results: list[Evidence] = []
        for start, stop, host in _split(lines):
            found = list(iterate_results(self.checks, lines, start, stop, stream.artifact))
            results += [row if row.node else replace(row, node=host) for row in found]
            if not found:
                label = "" if host is None else f"{host}: "
                labelled[start:stop] = [
                    f"{label}{line}" if line.strip() else "" for line in lines[start:stop]
                ]
        log = replace_text("\n".join(labelled).encode(), stream)
        log.notes, log.total = stream.notes, stream.total
        outcome = read_lines(log)
        return replace(outcome, rows=[*outcome.rows, *results]) if results else outcome
