"""Threads that begin at the same moment."""

import threading
from collections.abc import Callable


def in_threads(number: int, do: Callable[[int], None]) -> None:
    """Each with its number; what any of them raised is raised here."""
    barrier, errors = threading.Barrier(number), []

    def run(k: int) -> None:
        barrier.wait()
        try:
            do(k)
        except Exception as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(number)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if errors:
        raise errors[0]
