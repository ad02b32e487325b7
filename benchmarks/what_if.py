"""What-if on the three published traces: slowdowns beside those of their authors' code.

The traces lie in the folder ``data`` of the public repository ByteDance-Seed/StragglerAnalysis
(``trace-AR.parquet``, ``replay-AR.json`` and so on); reading them needs pyarrow.

    python -m benchmarks.what_if --traces DIR
"""

import argparse
import json
import sys
import time
from pathlib import Path

import pandas as pd

from benchmarks.replay.slowdown import WhatIf, what_if
from benchmarks.table import aligned, machine

TRACES = ("AR", "SE", "ST")
MOST_APART = 0.01


def main() -> int:
    """Replay, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--traces", type=Path, required=True, metavar="DIR")
    folder = parser.parse_args().traces
    print(f"{machine()}\n")
    rows, furthest = [], 0.0
    for name in TRACES:
        published = json.loads((folder / f"replay-{name}.json").read_text())
        began = time.perf_counter()
        replay = what_if(pd.read_parquet(folder / f"trace-{name}.parquet"))
        took = time.perf_counter() - began
        theirs = published["blocking_slowdown"]
        apart = abs(replay.slowdown / theirs - 1)
        furthest = max(furthest, apart)
        rows.append((
            name, f"{replay.slowdown:.4f}", f"{theirs:.4f}", f"{apart:.2%}",
            f"{parts_apart(replay, published):.2%}", f"{replay.by_worker.max():.3f}",
            f"{took:.1f} s",
        ))  # fmt: skip
    heads = ("trace", "S", "published", "apart", "parts at most", "worst worker", "takes")
    print(aligned(heads, rows))
    return 1 if furthest > MOST_APART else 0


def parts_apart(replay: WhatIf, published: dict[str, dict[str, float]]) -> float:
    """How far the share of any stage, replica or kind is from the published one."""
    pairs = [
        *(
            (replay.by_stage[int(k)], v)
            for k, v in published["blocking_decompose_by_stage"].items()
        ),
        *(
            (replay.by_replica[int(k)], v)
            for k, v in published["blocking_decompose_by_dp_rank"].items()
        ),
        *(
            (replay.by_kind[k], v)
            for k, v in published["blocking_decompose_by_optype"].items()
            if k in replay.by_kind
        ),
    ]
    return float(max(abs(ours / theirs - 1) for ours, theirs in pairs))


if __name__ == "__main__":
    sys.exit(main())
