"""``triage serve``, as it runs: the API in this process, the worker in a supervised child.

Everything that can be refused is refused before the port is opened, in one sentence.
"""

import fcntl
import gc
import importlib
import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import structlog

from triage.cli.http_server import HttpServer, bind, build_server_config
from triage.errors import UsageError
from triage.logging import configure_logging
from triage.queue.wakeups import CeleryWakeups, NoWakeups, PipeWakeups, Wakeups
from triage.server.context import open_context
from triage.server.supervisor import Supervisor
from triage.services.schema import prepare_schema
from triage.services.tokens import has_any_token
from triage.settings import Settings, load_settings
from triage.store.messages.seals import seal_rows
from triage.store.private_files import make_file_private, make_private_folder

log = structlog.get_logger(__name__)

# The child gives back what it holds within this; after it, SIGKILL, and the leases decide.
_CHILD_STOP_S: Final = 22.0
_CHECKOUT: Final = Path(__file__).resolve().parents[2]


def run_service(
    host: str,
    port: int,
    data_dir: Path | None,
    num_workers: int | None,
    *,
    no_worker: bool,
    open_access: bool,
) -> int:
    """Serve until SIGTERM or Ctrl-C. Raises :class:`UsageError` for what cannot be."""
    settings = load_settings(data_dir=data_dir)
    configure_logging(settings)
    local = is_loopback(host)
    if open_access and not local:
        raise UsageError(
            f"--open gives everybody who reaches {host} all rights;"
            " it is for 127.0.0.1 and ::1 alone"
        )
    with ExitStack() as stack:
        if settings.embedded_database or settings.embedded_broker:
            stack.enter_context(lock_data_dir(settings.data_dir))
        supervisor = None if no_worker else _make_supervisor(settings, num_workers)
        ctx = open_context(settings, _make_wakeups(settings, supervisor))
        stack.callback(ctx.close)
        prepare_schema(settings, ctx.database)
        seal_rows(ctx.database)
        if not local and not has_any_token(ctx):
            raise UsageError(
                f"{host} can be reached by others and there is no token yet:"
                " `triage token create --scope admin --name NAME` first"
            )
        sock = stack.enter_context(_bound_socket(host, port))
        # By name, as uvicorn loads any application: the command line knows no routes.
        create_app = importlib.import_module("triage.server.application").create_app
        app = create_app(ctx, open_access=open_access)
        _serve(app, format_listen_address(host, sock), sock, supervisor)
    return 0


def _serve(app: Any, address: str, sock: socket.socket, supervisor: Supervisor | None) -> None:  # noqa: ANN401
    """Answer on this socket, with the child beside, until a signal ends both."""
    stop = (lambda _: None) if supervisor is None else supervisor.stop
    end_child = threading.Thread(target=stop, args=[_CHILD_STOP_S], name="end-child")

    def ready() -> None:
        gc.freeze()
        gc.enable()
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()

    server = HttpServer(build_server_config(app), ready, end_child.start)
    # uvicorn raises its signals once more when it is done; by then they were heeded.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    if supervisor is not None:
        supervisor.start()
    try:
        server.run(sockets=[sock])
    finally:
        if end_child.ident is None:
            end_child.start()
        end_child.join()


def _make_supervisor(settings: Settings, num_workers: int | None) -> Supervisor | None:
    """The worker beside the API: always when it is embedded, else only when asked for."""
    if not settings.embedded_broker and num_workers is None:
        return None
    num_parsers = num_workers or min(4, len(os.sched_getaffinity(0)))
    environment = {
        **os.environ,
        "TRIAGE_DATA_DIR": str(settings.data_dir.absolute()),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(_CHECKOUT), os.environ.get("PYTHONPATH", "")])
        ),
    }
    command = [sys.executable, "-m", "workers.child", str(os.getpid())]
    command += ["workers.embedded", str(num_parsers)]
    if not (_CHECKOUT / "workers").is_dir():
        raise ModuleNotFoundError("no module named workers", name="workers")
    return Supervisor(command, environment)


def _make_wakeups(settings: Settings, supervisor: Supervisor | None) -> Wakeups:
    if supervisor is not None:
        return PipeWakeups(supervisor.wake)
    return NoWakeups() if settings.embedded_broker else CeleryWakeups(settings)


@contextmanager
def lock_data_dir(folder: Path) -> Iterator[None]:
    """Hold the data directory: two services on one would each take the other's work for lost."""
    lock = make_private_folder(folder) / "serve.lock"
    make_file_private(lock)
    with lock.open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"another `triage serve` runs on {folder}: end it, or give this one"
                " a --data-dir of its own"
            ) from error
        yield


@contextmanager
def _bound_socket(host: str, port: int) -> Iterator[socket.socket]:
    try:
        sock = bind(host, port)
    except OSError as error:
        raise UsageError(
            f"{host} port {port} cannot be had ({error.strerror or error}):"
            " give another --port, or 0 for any that is free"
        ) from error
    with sock:
        yield sock


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it; a name counts by all of its addresses."""
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"--host {host} is no address of this machine: {error}") from error
    addresses = (str(address[0]).partition("%")[0] for *_, address in infos)
    return all(ipaddress.ip_address(address).is_loopback for address in addresses)


def format_listen_address(host: str, sock: socket.socket) -> str:
    """The URL of a socket that listens on ``host``."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{sock.getsockname()[1]}"
