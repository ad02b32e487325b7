"""Text tables of recorders, as PyTorch's debug server writes them: ``fr_trace_*.txt``.

::

    === FR Trace NCCL ===
    --- Groups ---
    --- Collectives ---
      id    group_id  pass_check      collective_seq_id  ...  expected_ranks  ...  missing_ranks
       2           0  True                           22  ...  {0, 2, 4, 5}    ...  {5}

Of value is which ranks of a group came to which operation. What the server's own analyzer makes of
it (``pass_check``, ``mismatch_collectives``) is not used: it names victims.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from triage.domain.evidence import NO_STAMP
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.domain.patterns import compile_re
from triage.parsers.live.file_names import stamp_of_name

_TABLE: Final = "--- Collectives ---"
# Up to the state, no cell is empty; behind it blanks alone tell the columns.
_ROW: Final = compile_re(
    r"\s{0,64}\d{1,9}\s{1,64}(?P<group>\S{1,64})\s{1,64}(?:True|False)\s{1,64}(?P<seq>\d{1,18})"
    r"\s{1,64}\d{1,18}\s{1,64}\d{1,18}\s{1,64}(?P<desc>\S{1,128})\s{1,64}(?P<op>\S{1,128})"
    r"\s[^{}]{0,4000}\{(?P<expected>[\d, ]{1,400000})\}"
)
_RANKS: Final = compile_re(r"\s{0,4000}\{(?P<ranks>[\d, ]{1,400000})\}")
_MAX_LINE: Final = 1 << 20
_MAX_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True)
class _TableRow:
    """One operation that has not ended: who has to come, and who did not."""

    group: str
    seq: int
    desc: str
    expected: frozenset[int]
    missing: frozenset[int]
    line: int


def read_trace_tables(text: str, artifact: str) -> list[Look]:
    """One look: of each group how far its ranks came. Empty tables are an empty look."""
    rows = list(_iterate_table_rows(text))
    stamp = stamp_of_name(artifact)
    note = (
        f"tables of PyTorch's debug server, {len(rows)} unfinished operations: what its analyzer"
        " says of culprits is not used; fr_trace_json and the dumps of all ranks say more"
    )
    return [
        Look(
            artifact,
            Tool.TRACE_TABLE,
            stamp or NO_STAMP,
            None if stamp is None else "name",
            communicators=tuple(_iterate_communicators(rows)),
            notes=(note,),
        )
    ]


def _iterate_table_rows(text: str) -> Iterator[_TableRow]:
    """The rows of all tables of collectives."""
    inside, column, count = False, -1, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(("---", "===")):
            inside, column = line.strip() == _TABLE, -1
        elif inside and column < 0:
            column = line.find("missing_ranks")
            inside = column >= 0
        elif inside and len(line) <= _MAX_LINE and (found := _ROW.match(line)) is not None:
            count += 1
            if count > _MAX_ROWS:
                return
            absent = _RANKS.match(line[column : column + _MAX_LINE])
            yield _TableRow(
                found["group"],
                int(found["seq"]),
                found["desc"],
                _parse_ranks(found["expected"]),
                _parse_ranks(absent["ranks"]) if absent else frozenset(),
                number,
            )


def _parse_ranks(text: str) -> frozenset[int]:
    return frozenset(int(one) for one in text.split(",") if one.strip() and len(one) <= 9)


def _iterate_communicators(rows: list[_TableRow]) -> Iterator[Communicator]:
    """Each group once: the furthest operation that each of its ranks came to."""
    groups: dict[tuple[str, frozenset[int]], list[_TableRow]] = {}
    for row in rows:
        if row.expected and row.missing < row.expected:
            groups.setdefault((row.group, row.expected), []).append(row)
    for (group, expected), own in sorted(groups.items(), key=lambda item: item[1][0].line):
        first = min(row.seq for row in own)
        came = dict.fromkeys(expected, first - 1)
        for row in own:
            for rank in expected - row.missing:
                came[rank] = max(came[rank], row.seq)
        yield Communicator(
            crc32(f"{group}/{sorted(expected)}".encode()),
            len(expected),
            tuple(
                CommunicatorRank(place, Process(rank=rank), launched={"all": came[rank]})
                for place, rank in enumerate(sorted(expected))
            ),
            name=own[0].desc,
            line=own[0].line,
        )
