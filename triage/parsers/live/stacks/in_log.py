"""Dumps of faulthandler that stand between the lines of a job log, by the rank that printed them.

The scan of a log sees the head of a thread as it sees any known line; only from there on lines
are looked at one by one, so that a log without dumps costs nothing. Lines of several ranks may be
mixed: each goes to its rank's dump by the prefix in front of it (``[rank3]: ``, ``12: ``). Not
read are crashes, which are events of the log, and dumps of whom nothing tells the rank.
"""

import re
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.patterns import compile_re
from triage.parsers.live.stacks.faulthandler import MARK, THREAD, FaulthandlerReader
from triage.parsers.logs.envelope import clean, read_envelope

# The signature that knows the head of a thread.
HEAD_SIGNATURE: Final = "crash.thread_head"
_HEAD: Final = MARK.encode()
_CRASH: Final = b"Fatal Python error: "
# A crash is announced in the lines above the first thread.
ABOVE: Final = 400
# Lines of others between two lines of one dump.
_MOST_BETWEEN: Final = 2_000
_MOST_LINES: Final = 200_000
_MOST_ROUNDS: Final = 720
_LINE_BYTES: Final = 4096
# "rank_3.log", "worker-rank3.out"
_RANK_IN_NAME: Final = compile_re(r"(?<![a-z])(?<!local[_-])rank[_.-]?(\d{1,7})(?!\d)", re.I)
_INSIDE: Final = ('File "', "File ???", "<", "Garbage-collecting", "...")


@dataclass(slots=True)
class _DumpsOfRank:
    """The dumps of one rank, as they are read; ``between`` counts the lines of others."""

    reader: FaulthandlerReader
    stamp: Stamp = NO_STAMP
    is_open: bool = False
    is_crash: bool = False
    between: int = 0


class DumpsInLog:
    """Collects the dumps of one log, chunk by chunk."""

    def __init__(self, artifact: str, *, label: "re.Pattern[str] | None") -> None:
        self.artifact = artifact
        self.label = label
        named = _RANK_IN_NAME.search(artifact.rpartition("/")[2])
        self.rank = int(named[1]) if named else None
        self.ranks: dict[int, _DumpsOfRank] = {}
        self.lines = 0
        # Whether a rank crashed just above; others that print at the same time do so too.
        self.in_crash = False

    @property
    def is_open(self) -> bool:
        """Whether a dump goes on at the end of what was taken."""
        return any(one.is_open for one in self.ranks.values())

    def take(self, data: bytes, first_line: int, above: bytes = b"") -> None:
        """Read on in lines of the log; the first has the number ``first_line``, from 1.

        ``above`` are the last bytes before it.
        """
        place, number = 0, first_line
        while place < len(data) and self.lines < _MOST_LINES:
            if not self.is_open:
                head = data.find(_HEAD, place)
                if head < 0:
                    return
                begin = data.rfind(b"\n", place, head) + 1 or place
                number += data.count(b"\n", place, begin)
                place = begin
                near = above[-max(1, ABOVE - begin) :] + data[max(0, begin - ABOVE) : begin]
                self.in_crash = _CRASH in near
            end = data.find(b"\n", place)
            end = len(data) if end < 0 else end
            self.take_line(number, data[place : min(end, place + _LINE_BYTES)])
            place, number = end + 1, number + 1

    def take_line(self, number: int, raw: bytes) -> None:
        """Give one line to the dump that it is of."""
        envelope = read_envelope(clean(raw.rstrip(b"\r")), label=self.label)
        rank = envelope.rank if envelope.rank is not None else self.rank
        text = envelope.text.lstrip()
        mine = None if rank is None else self.ranks.get(rank)
        for other in self.ranks.values():
            if other is not mine and other.is_open:
                other.between += 1
                other.is_open = other.between < _MOST_BETWEEN
        if rank is None:
            return
        if text.startswith(_CRASH.decode()):
            self.in_crash = True
        if THREAD.match(text):
            if mine is None:
                process = Process(rank=rank, node=envelope.node, pid=envelope.pid)
                mine = _DumpsOfRank(FaulthandlerReader(process), envelope.stamp)
                self.ranks[rank] = mine
            if not mine.is_open:
                mine.is_crash = self.in_crash
                mine.reader.end_dump()
            mine.is_open = True
        elif mine is None or not mine.is_open:
            return
        elif text.startswith(_INSIDE):
            text = text if text == "..." else f"  {text}"
        elif text:
            mine.is_open = False
            return
        mine.between = 0
        if not mine.is_crash:
            self.lines += 1
            mine.reader.take(number, text)

    def looks(self) -> tuple[Look, ...]:
        """One look for each time that ranks dumped; the stacks of all ranks of one time in one."""
        for one in self.ranks.values():
            one.reader.end_dump()
        rounds = zip_longest(*(self.ranks[rank].reader.rounds for rank in sorted(self.ranks)))
        stamps = [one.stamp for one in self.ranks.values() if one.stamp != NO_STAMP]
        every = (tuple(stack for dump in dumps if dump for stack in dump) for dumps in rounds)
        looks = [Look(self.artifact, Tool.FAULTHANDLER, stacks=stacks) for stacks in every]
        if looks and stamps:
            looks[0] = replace(looks[0], stamp=stamps[0])
        return tuple(looks[-_MOST_ROUNDS:])
