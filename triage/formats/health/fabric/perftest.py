"""perftest: ``ib_write_bw`` and its kin, between two adapters.

::

                        RDMA_Write BW Test
     Device         : mlx5_0
     #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
     65536      5000             392.41             391.87             0.747434

What bandwidth is enough is nobody's here to say; a transfer that ended with an error fails.
"""

import re
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.reading import Reading, lines_of

__all__ = ["PERFTEST"]

CHECK: Final = "ib.perftest"
TITLE: Final = re.compile(
    r"^\s{5,60}(?P<title>(?:RDMA_(?:Write|Read)|Send|Atomic_\w{2,8})(?: Post List)?"
    r"(?: Bidirectional)? (?:BW|Latency) Test)\b", re.M
)  # fmt: skip
COLUMNS: Final = re.compile(
    r"^\s{0,4}#bytes\s{1,20}#iterations\s{1,20}(?P<what>BW peak|t_min)", re.M
)
DEVICE: Final = re.compile(r"\bDevice\s{1,12}: (?P<name>[\w.-]{1,64})")
ROW: Final = re.compile(
    r"\s{0,4}(?P<bytes>\d{1,12})\s{1,24}(?P<count>\d{1,12})\s{1,24}(?P<first>[\d.]{1,16})\s{1,24}(?P<second>[\d.]{1,16})"
)
ERROR: Final = re.compile(
    r"(?P<what>(?:Failed status \d{1,3}: wr_id|Completion with error at (?:client|server)"
    r"|Failed to complete run_iter|Problems with warm up|poll CQ failed)[^\n]{0,120})"
)
NOT_RUN: Final = re.compile(
    r"(?P<what>Couldn't (?:connect|listen|allocate|get)[^\n]{0,120}"
    r"|Unable to (?:open|find)[^\n]{0,120}"
    r"|IB device \S{1,40} not found|Port number \d{1,3} state is [^\n]{1,40})"
)


def claimed(head: str) -> bool:
    return TITLE.search(head) is not None and (
        COLUMNS.search(head) is not None or DEVICE.search(head) is not None
    )


def read(text: str, reading: Reading) -> None:
    device: str | None = None
    errors: list[tuple[int, str]] = []
    why, first = "", 0
    rows: list[float] = []
    table = False
    for index, line in lines_of(text):
        if TITLE.match(line) is not None:
            first = first or index
        elif COLUMNS.match(line) is not None:
            table = True
        elif (named := DEVICE.search(line)) is not None:
            device = named["name"]
        elif (error := ERROR.search(line)) is not None:
            errors.append((index, error["what"]))
        elif (stopped := NOT_RUN.search(line)) is not None:
            why = stopped["what"]
        elif table and (row := ROW.match(line)) is not None:
            rows.append(value_of(row["second"]))
        elif not first:
            continue
        reading.saw(index)
    if errors:
        where, said = errors[0]
        reading.add(
            CHECK, Outcome.FAIL, part=device, detail=said, category=Category.NETWORK, line=where
        )
    elif not rows:
        reading.unknown(CHECK, why or "it did not come to a result", part=device, line=first)
    else:
        outcome = Outcome.PASS if max(rows) > 0 else Outcome.FAIL
        reading.add(
            CHECK,
            outcome,
            part=device,
            detail=f"{max(rows):g} at most in {len(rows)} rows",
            category=Category.NETWORK,
            line=first,
        )


def value_of(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


PERFTEST: Final = CheckFormat(
    "perftest", claimed, read, cut_as=CHECK, words=("BW Test", "Latency Test")
)
