"""Small jobs by chance: stopped ones, and such as ended well."""

import random

from tests.support.small_job import ROOTED, SmallJob

OPS = ("all_reduce", "_all_gather_base", "_reduce_scatter_base", "all_to_all", "barrier")


def drawn_job(seed: int, *, stopped: bool) -> tuple[SmallJob, bool]:
    """A job, and whether its dumps are JSON."""
    chance = random.Random(f"small/{seed}")
    ranks = chance.choice((4, 6, 8, 12))
    cycle = [chance.choice(OPS) for _ in range(chance.randint(1, 4))]
    if chance.random() < 0.5:
        cycle.append(chance.choice(ROOTED))
    ops = tuple((cycle * 40)[: chance.randint(20, 60)])
    timeout_s = chance.choice((60, 600, 1800))
    pauses = {
        chance.randrange(len(ops)): chance.uniform(0.1, 0.4) * timeout_s
        for _ in range(chance.choice((0, 0, 1, 3)))
    }
    guilty = chance.randrange(1, ranks) if stopped else None
    stops_at = chance.randint(2, len(ops) - 2)
    job = SmallJob(
        ranks,
        ops,
        guilty=guilty,
        stops_at=stops_at,
        waits_s=timeout_s * chance.uniform(0.55, 1.0),
        step_s=chance.choice((0.05, 0.2, 2.0)),
        pauses=pauses,
        clock_steps={0: (3, 7200.0)} if chance.random() < 0.1 else {},
        through=by_right(ops[stops_at], guilty, ranks) if guilty is not None else frozenset(),
        timing=chance.random() < 0.5,
        timeout_s=timeout_s,
        # Without counters nothing tells how far a rank came whose dump leaves out what has ended.
        counters=(leaves_out := chance.random() < 0.2) or chance.random() < 0.8,
        retired=stopped and chance.random() < 0.2,
        only_active=leaves_out,
        first_seq=chance.choice((1, 1, 5000, (1 << 31) - 20, 1 << 33)),
    )
    return job, chance.random() < 0.3


def by_right(op: str, guilty: int, ranks: int) -> frozenset[int]:
    """Who finishes an operation to which one rank does not come; rank 0 is the root."""
    before, behind = range(guilty), range(guilty + 1, ranks)
    if op == "broadcast":
        return frozenset(before)
    if op == "reduce":
        return frozenset(behind)
    return frozenset({*before, *behind} - {0}) if op in ROOTED else frozenset()
