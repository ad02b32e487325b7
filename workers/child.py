"""The first lines of a child of ``triage serve``: from here on it cannot outlive its parent.

The rest of it takes seconds to import on a busy machine, and the parent may be gone by then.
"""

import importlib
import signal
import sys

from workers.parent_death import end_with_parent


def main(arguments: list[str]) -> int:
    """Run ``PARENT MODULE OPTIONS...``: the parent's process id, and whose ``main`` it is."""
    parent, module, *options = arguments
    end_with_parent(signal.SIGTERM, int(parent))
    return int(importlib.import_module(module).main(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
