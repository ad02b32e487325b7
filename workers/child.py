"""The first lines of a child of ``triage serve``: from here on it cannot outlive its parent.

The rest of it takes seconds to import on a busy machine, and the parent may be gone by then.

How a process notices that the one it belongs to has ended, even by kill -9.
"""

import ctypes
import gc
import importlib
import os
import signal
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


def main(arguments: list[str]) -> int:
    """Run ``PARENT MODULE OPTIONS...``: the parent's process id, and whose ``main`` it is."""
    parent, module, *options = arguments
    end_with_parent(signal.SIGTERM, int(parent))
    gc.disable()  # until it is ready, as in `triage serve`
    return int(importlib.import_module(module).main(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
