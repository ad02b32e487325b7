"""torchrun's agents: failure tables, exit codes, status events, and the signals they pass on.

An agent kills its other workers after the first exit, so most entries of a table
are consequences; every agent has a "first observed failure" of its own. Times in
tables are local and count whole seconds.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.scheduler.exit_codes import SIGNAL_NUMBER, read_exit_code, read_signal
from triage.signatures.severity import NOISE, ROOT
from triage.signatures.signature import Reading

HOST = compile_re(r"^\s*host\s{1,8}: (\S{1,256})")
RANK = compile_re(r"^\s*rank\s{1,8}: (\d{1,7}) \(local_rank: (\d{1,4})\)")
EXIT = compile_re(r"^\s*exitcode\s{1,8}: (-?\d{1,5}) \(pid: (\d{1,10})\)")
_ERROR_FILE = compile_re(r"^\s*error_file\s{0,8}: (\S{1,512})")
_TRACEBACK = compile_re(r"^\s*traceback\s{0,8}: (\S.{0,200})")
_NEXT_ENTRY = compile_re(r"^\s*(?:\[\d{1,7}\]:|-{8,}|Root Cause \()")
_END_OF_TABLE = compile_re(r"^\s*={8,}")


def entry(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """One entry of a table; that of the root cause is the last before the closing rule."""
    fields = {"time": match["time"]}
    said = [match.string]
    code = None
    first = True
    for line in after:
        if _NEXT_ENTRY.match(line):
            first = False
            break
        if _END_OF_TABLE.match(line):
            break
        if one := HOST.match(line):
            fields["node"] = one[1]
        elif one := RANK.match(line):
            fields["rank"], fields["local_rank"] = one[1], one[2]
        elif one := EXIT.match(line):
            code, fields["pid"] = int(one[1]), one[2]
            fields["exit_code"] = one[1]
        else:
            if one := _ERROR_FILE.match(line):
                fields["error_file"] = one[1]
            elif one := _TRACEBACK.match(line):
                fields["traceback"] = one[1]
            continue
        said.append(line)
    if len(fields) == 1 and after:
        return None
    fields["first"] = "1" if first else "0"
    reading = Reading() if code is None else read_exit_code(code)
    if not first and reading.role is ROOT:
        reading = replace(reading, weak=True)
    return replace(reading, text=" ".join(line.strip() for line in said), fields=fields)


def by_exit(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The exit code of one worker."""
    return read_exit_code(int(match["exit_code"]))


def by_signal_name(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The signal that ended one worker, by number or by name."""
    groups = match.groupdict()
    number = groups.get("signal")
    name = groups.get("signal_name")
    return read_signal(int(number) if number else SIGNAL_NUMBER.get((name or "").upper(), 0))


def stop_signal(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The agent was told to stop: by a person (2), a lost terminal (1) or a scheduler."""
    number = match["signal"] or match["got"]
    if number in ("1", "2"):
        return Reading(role=ROOT, weak=number == "1")
    return Reading()


def event(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A status event: the best printed source of (global rank, node)."""
    if match["status"].upper() != "FAILED":
        return Reading(role=NOISE, blame=Blame.NOBODY)
    return Reading()


SIGNATURES = load(__name__)
