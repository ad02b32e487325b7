"""Write incidents: `python -m benchmarks.field.make --out DIR --seed S --count N`.

`DIR/cases/<id>/` is what a product sees, `DIR/truth/<id>.json` what is true of it.
The same seed gives the same bytes.
"""

import argparse
import collections
import json
import random
import sys
from pathlib import Path

from benchmarks.field.incident import Incident, draw_platform
from benchmarks.field.kinds import KINDS
from benchmarks.field.writing import write

# Interruptions of 54 days of training by cause (Llama 3 report, table 5).
LLAMA3 = {
    "gpu": 110, "nvlink": 28, "nvlink_domain": 10, "gpu_hbm": 72, "software_user": 16,
    "software_framework": 13, "mismatch_size": 3, "mismatch_dtype": 2, "mismatch_op": 2,
    "mismatch_order": 2, "mismatch_p2p": 2, "host_stall": 6, "host_stall_cascade": 3, "gpu_oom": 3,
    "host_oom": 1, "numerical": 1, "network": 28, "network_leaf": 7, "host_maintenance": 32,
    "gpu_sram": 19, "gpu_gsp": 17, "nic": 7, "nccl_timeout": 4, "fabric_stall": 3, "sdc": 6,
    "gpu_thermal": 6, "ssd": 3, "power": 3, "chassis": 2, "io_board": 2, "dependency": 1,
    "storage": 1, "cpu": 2, "host_memory": 2,
}  # fmt: skip


def chosen(args: argparse.Namespace, rng: random.Random) -> list[str]:
    """The kinds to make, in order."""
    if args.all_419:
        kinds = [k for k, n in LLAMA3.items() for _ in range(n)]
        rng.shuffle(kinds)
        return kinds
    if args.healthy:
        return ["healthy" if rng.random() < 0.5 else "live" for _ in range(args.healthy)]
    if args.live:
        return ["live"] * args.live
    if not args.kinds:
        return draw_kinds(args.count or len(KINDS), rng)
    names = args.kinds.split(",")
    for name in names:
        if name not in KINDS:
            raise SystemExit(f"no kind {name}; there are {', '.join(sorted(KINDS))}")
    return [names[i % len(names)] for i in range(args.count or len(names))]


def draw_kinds(count: int, rng: random.Random) -> list[str]:
    """``count`` kinds as often as they come, in order."""
    names = sorted(KINDS)
    return rng.choices(names, [KINDS[name].weight for name in names], k=count)


def make(ident: str, kind: str, seed: str) -> Incident:
    """One incident; the same seed gives the same one."""
    rng = random.Random(seed)
    k = KINDS[kind]
    c = Incident(ident, kind, rng, draw_platform(rng, k.only, k.vendor))
    k.make(c)
    c.background()
    return c


def main(argv: list[str] | None = None) -> int:
    """Write what the arguments ask for."""
    ask = argparse.ArgumentParser(prog="benchmarks.field.make", description=__doc__)
    ask.add_argument("--out", type=Path, required=True)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--count", type=int)
    ask.add_argument("--all-419", action="store_true")
    ask.add_argument("--kinds")
    ask.add_argument("--healthy", type=int)
    ask.add_argument("--live", type=int)
    args = ask.parse_args(argv)
    cases, truths = args.out / "cases", args.out / "truth"
    cases.mkdir(parents=True, exist_ok=True)
    truths.mkdir(parents=True, exist_ok=True)
    counted: collections.Counter[str] = collections.Counter()
    for i, kind in enumerate(chosen(args, random.Random(f"{args.seed}/kinds")), 1):
        ident = f"f{i:04d}"
        c = make(ident, kind, f"{args.seed}/{i}/{kind}")
        write(c, cases / ident, truths)
        counted[kind] += 1
    manifest = {
        "seed": args.seed,
        "count": sum(counted.values()),
        "kinds": dict(sorted(counted.items())),
    }
    (args.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(json.dumps(manifest), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
