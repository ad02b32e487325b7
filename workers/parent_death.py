"""How a process notices that the one it belongs to has ended, even by kill -9."""

import ctypes
import os
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_with_parent(signal_number: int, parent: int) -> None:
    """Have this signal sent to us when the parent ends; exits if it already has.

    Linux alone can do that; elsewhere the closed pipe of the parent has to tell. The
    system watches the *thread* that started us, so that one has to live on.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:
        os._exit(0)
