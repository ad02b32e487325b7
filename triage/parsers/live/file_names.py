"""What the name of a file says of a look: whose it is, and when it was taken.

Tools and scripts that ask every rank name files ``rank_3.txt``, ``stack_3.log`` or
``20640.txt``; a number that the content knows as a pid is no rank.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.patterns import compile_re
from triage.parsers.live.foreign_values import make_stamp

_ENDING: Final = compile_re(r"(?:\.[A-Za-z]{1,12})+$")
# "stacks_20261122_083845.txt", in the local time of who wrote it.
_TIME: Final = compile_re(
    r"(?<![0-9])(20[0-9]{2})-?([01][0-9])-?([0-3][0-9])[_T-]([0-2][0-9])[-:]?([0-5][0-9])[-:]?"
    r"([0-5][0-9])(?![0-9])"
)
# "rank_3", "rank3", "r3", "worker-3", "stack_3", "3", "dump_traceback_rank_0"
_NUMBER: Final = compile_re(
    r"(?:^|(?P<word>(?:(?:local|node)[_-]?)?[A-Za-z]*)(?P<sign>[_.=-]{0,2}))(?<![0-9])"
    r"(?P<number>[0-9]{1,7})(?![0-9A-Za-z])"
)
_RANK_WORDS: Final = frozenset({"rank", "globalrank", "grank"})
# Directly in front of a rank; other letters there are part of a name, as in "pod-7f9c".
_GLUED_WORDS: Final = frozenset(
    {"worker", "stack", "stacks", "trace", "traceback", "dump", "pyspy"}
)
# Words whose number counts something else than ranks.
_OTHER_WORDS: Final = compile_re(
    "node|host|gpu|n|pid|p|process|proc|tid|thread|look|round|poll|sample|attempt|try|pass|part"
    "|step|iter|iteration|version|v|run|job|localrank|local|noderank|rack|pod"
)
# No pid that a job gets is smaller, nearly; no job has as many ranks.
_LEAST_PID: Final = 100_000


def _parse_name_stem(artifact: str) -> str:
    return _TIME.sub("", _ENDING.sub("", artifact.rpartition("/")[2]))


def rank_of_name(artifact: str, pids: Collection[int] = ()) -> int | None:
    """The rank that a name claims: the number after ``rank``, else the last number of its stem.

    None where that number is one of ``pids``, or counts nodes, rounds or processes.
    """
    last: int | None = None
    for match in _NUMBER.finditer(_parse_name_stem(artifact)[-256:]):
        word, number = (match["word"] or "").lower(), int(match["number"])
        if word in _RANK_WORDS or (word == "r" and not match.start()):
            return number
        bare = not word or bool(match["sign"]) or word in _GLUED_WORDS
        ours = bare and not _OTHER_WORDS.fullmatch(re.sub("[_-]", "", word))
        last = number if ours and number not in pids and number < _LEAST_PID else None
    return last


def parse_name_pid(artifact: str) -> int | None:
    """The process that a name claims: ``pid_20640``, ``proc-20640``, ``core.gpu-n02.20640``."""
    for match in _NUMBER.finditer(_parse_name_stem(artifact)[-256:]):
        if (match["word"] or "").lower() in ("pid", "proc", "process", "p"):
            return int(match["number"])
    return None


def stamp_of_name(artifact: str) -> Stamp:
    """The time that a name holds, in a zone that it does not say; none where it holds none."""
    match = _TIME.search(artifact.rpartition("/")[2])
    if match is None:
        return NO_STAMP
    try:
        date, time = "-".join(match.groups()[:3]), ":".join(match.groups()[3:])
        return make_stamp(datetime.fromisoformat(f"{date}T{time}").replace(tzinfo=UTC))
    except ValueError:
        return NO_STAMP
