"""How a call to a reader can fail: it died, it was too slow, or it said no."""

import signal
from typing import Final

from triage.errors import TriageError

# The exit status of a reader to which the system gave no more memory.
OUT_OF_MEMORY: Final = 86
TRIED_TOO_MUCH: Final = "tried what no reader needs, and its confinement ended it (SIGSYS)"


class ReaderDied(TriageError):
    """The child ended in the middle of a call.

    ``signal`` is what killed it; without one, ``status`` is its exit status. That was
    ``seconds`` into the call, and ``peak_mib`` is the most memory it ever held.
    """

    def __init__(self, code: int, seconds: float, peak_mib: float, memory_bytes: int) -> None:
        self.signal = -code if code < 0 else None
        self.status = code if code >= 0 else None
        self.out_of_memory = code == OUT_OF_MEMORY
        self.seconds = seconds
        self.peak_mib = peak_mib
        super().__init__(
            f"the reader {_describe_process_end(code, memory_bytes)} after {seconds:.1f} s"
            f" (peak memory {peak_mib:,.0f} MiB)"
        )


class ReaderNotStarted(TriageError):
    """The child ended, or was not ready in time, before it was given anything: no file's fault."""


class ReaderTooSlow(TriageError):
    """The child was not done after ``deadline_s``, and was killed. ``peak_mib`` as above."""

    def __init__(self, deadline_s: float, seconds: float, peak_mib: float) -> None:
        self.deadline_s = deadline_s
        self.seconds = seconds
        self.peak_mib = peak_mib
        super().__init__(
            f"the reader was not done after {deadline_s:g} s and was ended"
            f" (peak memory {peak_mib:,.0f} MiB)"
        )


class ReaderFailed(TriageError):
    """The child answered with an error, and lives on; ``error`` is the name of its class."""

    def __init__(self, error: str, why: str) -> None:
        self.error = error
        self.why = why
        super().__init__(f"the reader failed with {error}: {why}")


def _describe_process_end(code: int, memory_bytes: int) -> str:
    if code == OUT_OF_MEMORY:
        return f"needed more than the {memory_bytes >> 20:,} MiB of memory that it may have"
    if code >= 0:
        return f"ended with status {code}"
    if code == -signal.SIGSYS:
        return TRIED_TOO_MUCH
    try:
        return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was killed by signal {-code}"
