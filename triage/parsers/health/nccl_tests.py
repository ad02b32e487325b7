"""NCCL tests (``all_reduce_perf`` and its like): wrong values, and bandwidth below its peers.

::

    # nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20
    # Using devices
    #  Rank  0 Group  0 Pid   374 on n3 device  0 [0x1b] NVIDIA H100 80GB HBM3
    #       size         count      type   redop    root     time   algbw   busbw #wrong ...
     8589934592    2147483648     float     sum      -1    31250  274.88  481.04      0  ...
    # Out of bounds values : 0 OK
    # Avg bus bandwidth    : 301.2

The best bus bandwidth of a run is its last and largest sizes'. Nothing in a run says what it
should be: it is held against what the caller expects, else against the other runs of as many
ranks in the same file, where there are at least three. A run of several nodes speaks of none
of them by itself: what is wrong with it is a warning for each. Launchers put labels in front
of lines (``[1,0]<stdout>:``); old versions print an error where new ones count ``#wrong``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.parsers.health.reading import Format, Reading, lines_of

__all__ = ["NCCL_TESTS"]

# "# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor)"
BEGIN: Final = re.compile(r"#\s{0,4}nThread \d{1,4} nGpus \d{1,4} minBytes \d")
# "#  Rank 11 Group  0 Pid    374 on n3 device  3 [0x54] NVIDIA H100"
RANK: Final = re.compile(
    r"#\s{0,4}Rank\s{1,8}\d{1,7}(?: Group\s{1,4}\d{1,6})? Pid\s{1,8}\d{1,9}"
    r" on\s{1,64}(\S{1,256}) device"
)
# One of size, count, type, redop, root, time, algbw, busbw, #wrong; the in-place four follow.
ROW: Final = re.compile(
    r"(?:^|[\s:>])(\d{1,16})\s+\d{1,16}\s+[a-z]\w{1,15}(?:\s+[a-z]{2,10})?(?:\s+-?\d{1,7})?"
    r"\s+([\d.]{1,12})\s+([\d.]{1,10})\s+([\d.]{1,10})\s+(\S{1,12})"
    r"(?:\s+([\d.]{1,12})\s+([\d.]{1,10})\s+([\d.]{1,10})\s+(\S{1,12}))?\s*$"
)  # fmt: skip
# "# Out of bounds values : 0 OK", "... : 3 FAILED"
BOUNDS: Final = re.compile(r"# Out of bounds values : (\d{1,12}) (OK|FAIL)")
# A whole number is a count of wrong values; old versions print an error such as 5e-07.
COUNT: Final = re.compile(r"\d{1,12}", re.ASCII)
# Below this share of what is usual a node is slow beyond what runs differ by; below the other
# one a link or a GPU is missing from its ring.
WARN_BELOW: Final = 0.9
FAIL_BELOW: Final = 0.75
LEAST_PEERS: Final = 3
MAX_NODES: Final = 20_000


@dataclass(slots=True)
class Run:
    """One run: where it begins, on which nodes, and what it measured (GB/s)."""

    line: int
    nodes: dict[str, None] = field(default_factory=dict)
    num_ranks: int = 0
    busbw: float | None = None
    largest: int = 0
    wrong: int = 0
    wrong_line: int | None = None
    ended: bool = False


def claimed(head: str) -> bool:
    return BEGIN.search(head) is not None


def read(text: str, reading: Reading) -> None:
    runs: list[Run] = []
    for number, line in lines_of(text):
        if BEGIN.search(line):
            runs.append(Run(number))
        elif runs and not runs[-1].ended:
            take(line, number, runs[-1])
    reading.first_line = runs[0].line if runs else 1
    for run in runs:
        told(run, peers_of(run, runs), reading)


def take(line: str, number: int, run: Run) -> None:
    """What one line says of the run."""
    if (found := RANK.search(line)) is not None:
        run.num_ranks += 1
        if len(run.nodes) < MAX_NODES:
            run.nodes[found[1]] = None
    elif (found := BOUNDS.search(line)) is not None:
        run.ended = True
        count = int(found[1])
        if found[2] != "OK" and not run.wrong:
            run.wrong, run.wrong_line = max(count, 1), number
    elif "#" not in line[:4] and (found := ROW.search(line)) is not None:
        size = int(found[1])
        speeds = [speed for index in (4, 8) if (speed := decimal(found[index])) is not None]
        if size >= run.largest and speeds:
            run.busbw = max([*speeds, run.busbw or 0.0])
            run.largest = size
        for cell in (found[5], found[9]):
            if cell and COUNT.fullmatch(cell) and int(cell):
                run.wrong += int(cell)
                run.wrong_line = run.wrong_line or number


def decimal(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def peers_of(run: Run, runs: Sequence[Run]) -> list[float]:
    """Bandwidths of the other runs that may be compared with this one."""
    return [
        other.busbw
        for other in runs
        if other is not run
        and other.busbw is not None
        and other.num_ranks == run.num_ranks
        and len(other.nodes) == len(run.nodes)
        and other.nodes.keys() != run.nodes.keys()
    ]


def told(run: Run, peers: Sequence[float], reading: Reading) -> None:
    """The results of one run, for each of its nodes."""
    nodes: list[str | None] = [*run.nodes] if len(run.nodes) != 1 or not reading.node else [None]
    alone = len(run.nodes) <= 1
    where = "" if alone else f" over {len(run.nodes)} nodes"
    fail = Outcome.FAIL if alone else Outcome.WARN
    values, bandwidth = Outcome.PASS, Outcome.PASS
    said = f"no wrong values{where}"
    if run.wrong:
        values, said = fail, f"{run.wrong:,} wrong values{where}"
    elif not run.ended:
        values, said = Outcome.WARN, f"the run did not come to its end{where}"
    speed, category = judged(run, peers, reading.busbw_gbps)
    if run.busbw is not None and speed:
        bandwidth = fail if category is not None and run.busbw < speed * FAIL_BELOW else bandwidth
        if bandwidth is Outcome.PASS and run.busbw < speed * WARN_BELOW:
            bandwidth = Outcome.WARN
    for node in nodes or [None]:
        reading.add(
            "nccl.values", values, node=node, detail=said,
            category=Category.SDC if run.wrong else None, line=run.wrong_line or run.line,
        )  # fmt: skip
        if run.busbw is None:
            continue
        usual = f", {speed:.1f} GB/s is usual" if speed else ", nothing to compare it with"
        reading.add(
            "nccl.busbw", bandwidth, node=node, category=category, line=run.line,
            detail=f"bus bandwidth {run.busbw:.1f} GB/s{where}{usual}",
        )  # fmt: skip


def judged(
    run: Run, peers: Sequence[float], expected: float | None
) -> tuple[float | None, Category | None]:
    """What the bandwidth is held against, and what a low one would be: NVLink inside a node."""
    category = Category.NVLINK if len(run.nodes) <= 1 else Category.NETWORK
    if expected is not None:
        return expected, category
    if len(peers) >= LEAST_PEERS:
        return median(peers), category
    return None, category


# Between the rows stands what the job itself prints: it is a job log all the same.
NCCL_TESTS: Final = Format("nccl_tests", claimed, read, report=False)
