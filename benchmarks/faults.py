"""Each dependency fails in each way during a burst of uploads: what was acknowledged is analysed.

A service with PostgreSQL, a broker and an object store (moto, on loopback), each behind a proxy
that refuses, falls silent, goes slow or lies. A fault begins two seconds into the burst and ends
before it does; senders try again, as collectors do. Afterwards everything acknowledged has five
minutes to be analysed, nothing may be quarantined, and no file may be there twice. ``--seconds``
is the length of the fault. A full folder is a small file system of its own, which needs root.
"""

import argparse
import logging
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson

from benchmarks.service_processes import DIRECT, Process, answers, free_port, servers, triage
from benchmarks.table import aligned, machine
from tests.support.databases import migrated_postgres
from tests.support.proxy import Fault, Proxy, proxied
from tests.support.waiting import eventually

_WITHIN_S: Final = 300.0
_BEFORE_S: Final = 2.0
_SENDERS: Final = 4
_PAUSE_S: Final = 0.15
_LINE: Final = b"[rank0]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
_WIRE: Final = (Fault.REFUSES, Fault.SILENT, Fault.HANG, Fault.SLOW, Fault.WRONG)
_PARTS: Final = ("postgresql", "redis", "rabbitmq", "s3")


@dataclass(frozen=True, slots=True)
class Cell:
    """One dependency, and what is wrong with it."""

    part: str
    fault: str


@dataclass(slots=True)
class Outcome:
    """Files by what became of them; ``seconds`` until the last acknowledged one was analysed."""

    acknowledged: int = 0
    refused: int = 0
    analysed: int = 0
    quarantined: int = 0
    doubled: int = 0
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether nothing was lost, blamed or doubled."""
        lost = self.acknowledged - self.analysed
        return bool(self.acknowledged) and not lost and not self.quarantined and not self.doubled


@dataclass(slots=True)
class _Burst:
    """Senders that try each file until it is acknowledged, and at last when all is well again."""

    address: str
    ended: threading.Event = field(default_factory=threading.Event)
    acknowledged: set[str] = field(default_factory=set)
    refused: int = 0

    def run(self, sender: int) -> None:
        """One sender."""
        number = 0
        while not self.ended.is_set():
            name = f"s{sender}-{number}.log"
            if self._send(name, sender):
                self.acknowledged.add(name)
                number += 1
            else:
                self.refused += 1
            self.ended.wait(_PAUSE_S)

    def _send(self, name: str, sender: int) -> bool:
        url = f"{self.address}/v1/jobs/fault-{sender}/artifacts?node=n{sender}&kind=job_log"
        body = _LINE + name.encode() + b"\n"
        request = urllib.request.Request(f"{url}&filename={name}", body, method="POST")
        try:
            with DIRECT.open(request, timeout=20) as answer:
                return bool(answer.status in (200, 201))
        except OSError:
            return False


@contextmanager
def _store_on(stack: ExitStack) -> Iterator[tuple[str, int]]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    made = urllib.request.Request(f"http://{host}:{port}/faults", method="PUT")
    with DIRECT.open(made, timeout=20):
        pass
    stack.callback(server.stop)
    yield host, port


def _behind(stack: ExitStack, address: str, usual: int) -> tuple[str, Proxy]:
    """The address by way of a proxy."""
    parts = urlsplit(address)
    proxy = stack.enter_context(proxied(parts.hostname or "127.0.0.1", parts.port or usual))
    there = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    return address.replace(there, f"127.0.0.1:{proxy.port}", 1), proxy


@contextmanager
def _service(cell: Cell, folder: Path) -> Iterator[tuple[str, str, Callable[[bool], None]]]:
    """A service of its own: its address, its database, and what begins and ends the fault."""
    broker = cell.part if cell.part in ("redis", "rabbitmq") else "redis"
    with ExitStack() as stack:
        settings = dict(stack.enter_context(servers(broker)))
        database = settings["TRIAGE_DATABASE_URL"] = stack.enter_context(migrated_postgres())
        through, postgresql = _behind(stack, database, 5432)
        broker_url, brokers = _behind(stack, settings["TRIAGE_BROKER_URL"], 6379)
        proxies = {"postgresql": postgresql, broker: brokers}
        settings |= {"TRIAGE_DATABASE_URL": through, "TRIAGE_BROKER_URL": broker_url}
        if cell.part == "s3":
            host, port = stack.enter_context(_store_on(stack))
            endpoint, proxies["s3"] = _behind(stack, f"http://{host}:{port}", port)
            settings |= {
                "TRIAGE_BLOB_URL": "s3://faults/packs", "TRIAGE_S3_ENDPOINT": endpoint,
                "TRIAGE_S3_ACCESS_KEY_ID": "x", "TRIAGE_S3_SECRET_ACCESS_KEY": "y",
            }  # fmt: skip
        temporary = folder / "tmp"
        temporary.mkdir()
        environment = settings | {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TRIAGE_DATA_DIR": str(folder / "data"),
            "TRIAGE_QUIET_S": "2", "TRIAGE_LOG_LEVEL": "warning", "TMPDIR": str(temporary),
        }  # fmt: skip
        port = free_port()
        command = triage("serve", "--open", "--port", str(port), "--workers", "1")
        process = Process("serve", command, environment, folder / "serve.log")
        process.start()
        stack.callback(process.end)
        address = f"http://127.0.0.1:{port}"
        eventually(lambda: answers(f"{address}/readyz"), 120)
        if cell.part in _PARTS:
            yield address, database, _broken(proxies[cell.part], Fault(cell.fault))
            return
        place = temporary if cell.part == "temp folder" else folder / "data" / "blobs"
        yield address, database, _full(place) if cell.fault == "full" else _away(place)


def _broken(proxy: Proxy, fault: Fault) -> Callable[[bool], None]:
    """A dependency that has this fault."""
    return lambda on: proxy.set(fault if on else Fault.NONE)


def _away(place: Path) -> Callable[[bool], None]:
    """A folder that is not there, as a volume that is not mounted."""
    aside = place.with_name(place.name + ".away")

    def act(on: bool) -> None:
        if on:
            place.rename(aside)
            return
        if place.name == "blobs" and place.exists():
            raise RuntimeError(f"{place} was made anew while its volume was away")
        if place.exists():
            shutil.rmtree(place)
        aside.rename(place)

    return act


def _full(place: Path) -> Callable[[bool], None]:
    """A folder on a file system without any room."""

    def act(on: bool) -> None:
        if on:
            options = "size=64k,mode=0700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=True)
            (place / "filled").write_bytes(b"\0" * 65_536)
        else:
            subprocess.run(["umount", "-l", str(place)], check=True)

    return act


def suffer(cell: Cell, seconds: float) -> Outcome:
    """One burst with one fault in it."""
    with (
        tempfile.TemporaryDirectory(prefix="triage-faults-") as name,
        _service(cell, Path(name)) as (address, database, act),
    ):
        burst = _Burst(address)
        threads = [threading.Thread(target=burst.run, args=[k]) for k in range(_SENDERS)]
        for one in threads:
            one.start()
        time.sleep(_BEFORE_S)
        act(True)
        time.sleep(seconds)
        act(False)
        back = time.monotonic()
        time.sleep(_BEFORE_S)
        burst.ended.set()
        for one in threads:
            one.join()
        found = Outcome(len(burst.acknowledged), burst.refused)
        while True:
            _look(database, burst.acknowledged, found)
            found.seconds = time.monotonic() - back
            if found.analysed >= found.acknowledged or found.seconds > _WITHIN_S:
                return found
            time.sleep(0.5)


def _look(database: str, acknowledged: set[str], found: Outcome) -> None:
    """Count what became of the files."""
    import psycopg

    with psycopg.connect(database.replace("+psycopg", ""), connect_timeout=20) as connection:
        rows = connection.execute("SELECT filename, state FROM artifact").fetchall()
    states = [(str(name), str(state)) for name, state in rows]
    found.analysed = len({name for name, state in states if state == "analysed"} & acknowledged)
    found.quarantined = sum(state == "quarantined" for _, state in states)
    found.doubled = len(states) - len({name for name, _ in states})


def _cells(wanted: Sequence[str]) -> list[Cell]:
    every = [Cell(part, str(fault)) for part in _PARTS for fault in _WIRE]
    every += [
        Cell(place, fault) for place in ("blob folder", "temp folder") for fault in ("away", "full")
    ]
    return [one for one in every if not wanted or one.part in wanted or one.fault in wanted]


def _main() -> int:
    """Go through the cells; 1 where anything was lost, blamed or doubled."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("only", nargs="*", help="parts or faults; all without")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    rows, good = [], True
    for cell in _cells(options.only):
        one = suffer(cell, options.seconds)
        good = good and one.good
        rows.append(
            [cell.part, cell.fault, *map(str, (one.acknowledged, one.refused, one.analysed)),
             f"{one.seconds:.0f}", str(one.quarantined), str(one.doubled)]
        )  # fmt: skip
        sys.stderr.write(f"{orjson.dumps(rows[-1]).decode()}\n")
    print(f"each fault lasts {options.seconds:g} s; {machine()}")
    head = ["dependency", "fault", "acknowledged", "refused", "analysed", "after s",
            "quarantined", "doubled"]  # fmt: skip
    print(aligned(head, rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(_main())
