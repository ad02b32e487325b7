"""What public checkers print, and what it is read as.

One line a sample below ``tests/data/checkers/``: the tool, the sample, the format that reads it,
the outcome, and in how many harmless changes (colours, line ends, other nodes ...) it stays. Then
the totals by tool. Exits with 1 if a sample is read as something else than its name says.

    python -m benchmarks.checkers [--samples]
"""

import argparse
import sys
from collections import Counter
from typing import Final

from benchmarks.table import aligned
from tests.support.checkers import CHANGES, Sample, outcome_of, read_as, read_checks, samples

_HEAD: Final = ("tool", "sample", "read as", "wanted", "outcome", "kept in changes")


def _row_of(sample: Sample) -> tuple[str, str, str, str, str, str]:
    """One sample, as it is printed."""
    data = sample.data
    checks = read_checks(data)
    kept = sum(
        outcome_of(read_checks(change(data))) == sample.wanted for change in CHANGES.values()
    )
    read = checks.format if checks is not None else (read_as(data) or "nothing")
    outcome = outcome_of(checks)
    return sample.tool, sample.name, read, sample.wanted, outcome, f"{kept} of {len(CHANGES)}"


def _totals(rows: list[tuple[str, str, str, str, str, str]]) -> list[tuple[str, ...]]:
    """By tool: samples, how many are read as they should be, and how many failing ones fail."""
    tools = sorted({row[0] for row in rows})
    found = []
    for tool in [*tools, "all"]:
        own = [row for row in rows if tool in (row[0], "all")]
        right = Counter(row[3] for row in own if row[3] == row[4])
        wanted = Counter(row[3] for row in own)
        said = [f"{right[one]} of {wanted[one]}" for one in ("fail", "warn", "pass", "unknown")]
        found.append((tool, str(len(own)), *said))
    return found


def main() -> int:
    """Read every sample, print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", action="store_true", help="each sample, not the wrong alone")
    options = parser.parse_args()
    rows = [_row_of(sample) for sample in samples()]
    wrong = [row for row in rows if row[3] != row[4]]
    listed = rows if options.samples else wrong
    if listed:
        print(aligned(_HEAD, listed), end="\n\n")
    head = ("tool", "samples", "failing fail", "warning warn", "passing pass", "unknown stay so")
    print(aligned(head, _totals(rows)))
    print(f"\n{len(rows) - len(wrong)} of {len(rows)} samples are read as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
