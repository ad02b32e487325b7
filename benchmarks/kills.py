"""Kill -9 at random moments during a burst of uploads: what was acknowledged is looked for.

Real processes, killed and started again: the API, workers and their readers, the broker
(also wiped), the database. Clients send each upload one to five times and note every 2xx.
When all is quiet the database and the blobs are asked: nothing acknowledged may be lost,
nothing doubled, nothing stuck, and of every incident the receiver has heard.

Moments and choices are drawn from the seed; the load of the machine decides the rest. The
leases are short (``TRIAGE_LEASE_S``), so that a run takes minutes.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from benchmarks.service_client import Client
from benchmarks.service_findings import faults_of, open_rows
from benchmarks.service_load import Load, Shape, dumps_of
from benchmarks.service_processes import BACKENDS, Installation, end_well, installed, servers
from benchmarks.service_receiver import Receiver
from benchmarks.service_victims import KINDS, Killer, own_postgres, own_redis

_SETTINGS: Final = {
    "TRIAGE_LEASE_S": "5",
    "TRIAGE_QUIET_S": "2",
    "TRIAGE_COLLECT_WITHIN_S": "60",
    "TRIAGE_PROVISIONAL_EVERY_S": "1",
    "TRIAGE_LOG_LEVEL": "warning",
    "TRIAGE_MESSAGES_PER_MINUTE": "100000",
}
# After the last upload is taken: far more than lease and sweep, for the machine may be busy.
_QUIET_WITHIN_S: Final = 300.0
# Two looks, this far apart, have to find nothing left to do.
_STILL_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Killed:
    """One run. Times are seconds."""

    backend: str
    kind: str
    seed: int
    kills: Counter[str]
    num_answers: int
    num_files: int
    num_jobs: int
    num_again: int
    """Requests that had to be sent again."""
    quarantined: int
    burst_s: float
    quiet_s: float
    """From the last 2xx until nothing was left to do."""
    faults: tuple[str, ...]

    def line(self) -> str:
        """One line of a table."""
        how = ", ".join(f"{n} {what}" for what, n in sorted(self.kills.items()))
        return (
            f"{self.backend:<9} {self.kind:<9} seed {self.seed:<4} kills {self.kills.total():>3}"
            f"  2xx {self.num_answers:>6}  files {self.num_files:>6}  jobs {self.num_jobs:>4}"
            f"  sent again {self.num_again:>5}  quarantined {self.quarantined}"
            f"  burst {self.burst_s:.0f} s  quiet after {self.quiet_s:.1f} s"
            f"  faults {len(self.faults)}  ({how})"
        )


def run(
    backend: str,
    kinds: Sequence[str],
    num_kills: int,
    seed: int,
    folder: Path,
    shape: Shape | None = None,
    gap_s: tuple[float, float] = (0.5, 5.0),
) -> Killed:
    """One burst under ``num_kills`` kills, of each kind in turn.

    ``gap_s`` bounds the time between two kills.
    """
    kind = "+".join(kinds)
    chance = random.Random(f"{seed}/{backend}/{kind}")
    shape = shape or Shape()
    dumps = dumps_of(folder / "dumps", shape.num_ranks, seed)
    with ExitStack() as stack:
        receiver = stack.enter_context(Receiver(lose=1))
        made, strikes = stack.enter_context(_prepared(backend, kinds, folder, chance))
        wanted = {"kind": "generic", "url": f"{receiver.url}/all"}
        Client(made.port).post("/v1/subscriptions", wanted)
        load = Load(made.port, dumps, shape, chance, f"{receiver.url}/callback")
        began = time.monotonic()
        load.start()
        kills: Counter[str] = Counter()
        moments = random.Random(f"{seed}/moments")
        for strike in islice(cycle(strikes), num_kills):
            time.sleep(moments.uniform(*gap_s))
            kills[strike()] += 1
        load.finish()
        taken = time.monotonic()
        rows = open_rows(made.database_url)

        def list_unfinished() -> list[str]:
            made.start_ended()
            return rows.unfinished()

        wait_quiet(list_unfinished)
        quiet_s = time.monotonic() - taken - _STILL_S
        faults = faults_of(rows, made.data_dir / "blobs", load, receiver.kept())
        set_apart = rows.all("SELECT reason FROM artifact WHERE state = 'quarantined'")
        rows.engine.dispose()
        return Killed(
            backend, kind, seed, kills, load.num_answers, len(set(load.acknowledged)),
            len(load.jobs), load.tried_again.total(), len(set_apart), taken - began, quiet_s,
            tuple(faults),
        )  # fmt: skip


def wait_quiet(unfinished: Callable[[], list[str]]) -> None:
    """Wait until nothing is left to do; what is left when the time is up is found later."""
    end = time.monotonic() + _QUIET_WITHIN_S
    still_since = None
    while time.monotonic() < end:
        if unfinished():
            still_since = None
        elif still_since is None:
            still_since = time.monotonic()
        elif time.monotonic() - still_since >= _STILL_S:
            return
        time.sleep(0.25)


@contextmanager
def _prepared(
    backend: str, kinds: Sequence[str], folder: Path, chance: random.Random
) -> Iterator[tuple[Installation, list[Callable[[], str]]]]:
    """The running service, and for each kind what kills one thing of it."""
    with ExitStack() as stack:
        settings = dict(_SETTINGS)
        if backend != "embedded":
            settings |= stack.enter_context(servers(backend))
        redis_server = postgres = None
        if "broker" in kinds and backend == "redis":
            redis_server, settings["TRIAGE_BROKER_URL"] = stack.enter_context(own_redis(folder))
        if "database" in kinds and backend != "embedded":
            postgres, settings["TRIAGE_DATABASE_URL"] = stack.enter_context(own_postgres())
        made = stack.enter_context(installed(backend, folder, settings))
        killer = Killer(made, chance)
        broker_url = settings.get("TRIAGE_BROKER_URL", "")
        known = {"api": killer.api, "worker": killer.worker, "database": killer.everything}
        if postgres is not None:
            database_url = settings["TRIAGE_DATABASE_URL"]
            known["database"] = partial(killer.postgres, postgres, database_url)
        if redis_server is not None:
            known["broker"] = partial(killer.redis, redis_server, broker_url)
        if backend == "rabbitmq":
            known["broker"] = partial(killer.rabbitmq, broker_url)
        if missing := set(kinds) - set(known):
            raise ValueError(f"{backend} has no {', '.join(missing)} that could be killed")
        yield made, [known[kind] for kind in kinds]


def _main() -> int:
    """Run as asked; 1 when something was lost, doubled, stuck or untold."""
    end_well()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--kind", choices=KINDS, action="append", help="all without it")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="embedded without it")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--every-s", type=float, default=4.0, help="between two jobs")
    parser.add_argument("--jobs", type=int, default=20, help="at most")
    parser.add_argument("--keep", type=Path, help="folder to keep data and logs in")
    options = parser.parse_args()
    num_faults = 0
    shape = Shape(options.ranks, every_s=options.every_s, most_jobs=options.jobs)
    for backend in options.backend or ["embedded"]:
        for kind in options.kind or list(KINDS):
            if backend == "embedded" and kind == "broker":
                continue
            with tempfile.TemporaryDirectory(prefix="triage-kills-") as made:
                folder = options.keep / f"{backend}-{kind}" if options.keep else Path(made)
                folder.mkdir(parents=True, exist_ok=True)
                one = run(backend, [kind], options.kills, options.seed, folder, shape)
            print(one.line(), flush=True)
            for fault in one.faults[:20]:
                print(f"  FAULT: {fault}")
            num_faults += len(one.faults)
    print(f"{num_faults} faults")
    return 1 if num_faults else 0


if __name__ == "__main__":
    sys.exit(_main())
