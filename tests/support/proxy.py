"""A TCP proxy before a dependency, which a test has refuse, fall silent, go slow or lie."""

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum

PIECE = 1 << 16
SLOW_S = 0.2


class Fault(StrEnum):
    """What is wrong; ``hang`` is silence on the connections that are open, and on no new one."""

    NONE = "none"
    REFUSES = "refuses"
    SILENT = "silent"
    HANG = "hang"
    SLOW = "slow"
    WRONG = "wrong answer"


class Proxy:
    """Listens on a free port of loopback, and passes all to ``target``."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.fault = Fault.NONE
        self.open: list[tuple[socket.socket, socket.socket]] = []
        self.hung: set[socket.socket] = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def set(self, fault: Fault) -> None:
        """From now on be this way; what refuses breaks off what is open, too."""
        self.fault = fault
        if fault is Fault.HANG:
            self.hung |= {pair[0] for pair in self.open}
        if fault is Fault.REFUSES:
            for pair in list(self.open):
                self._end(pair)

    def close(self) -> None:
        """End all."""
        self.listener.close()
        self.set(Fault.REFUSES)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.fault is Fault.REFUSES:
                client.close()
                continue
            threading.Thread(target=self._pass, args=[client], daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self.target, timeout=10)
        except OSError:
            client.close()
            return
        pair = (client, server)
        self.open.append(pair)
        with suppress(OSError, ValueError):
            while pair in self.open:
                ready, _, _ = select.select(pair, [], [], 0.2)
                if not all(self._one_piece(pair, one) for one in ready):
                    break
        self._end(pair)

    def _one_piece(self, pair: tuple[socket.socket, socket.socket], one: socket.socket) -> bool:
        while self.fault is Fault.SILENT or pair[0] in self.hung:
            time.sleep(0.05)
            if pair not in self.open:
                return False
        piece = one.recv(PIECE)
        if self.fault is Fault.SLOW:
            time.sleep(SLOW_S)
        if self.fault is Fault.WRONG and one is pair[1]:
            piece = bytes(byte ^ 0x15 for byte in piece)
        (pair[1] if one is pair[0] else pair[0]).sendall(piece)
        return bool(piece)

    def _end(self, pair: tuple[socket.socket, socket.socket]) -> None:
        with suppress(ValueError):
            self.open.remove(pair)
        for one in pair:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def proxied(host: str, port: int) -> Iterator[Proxy]:
    """A proxy before this address."""
    proxy = Proxy((host, port))
    try:
        yield proxy
    finally:
        proxy.close()
