"""``python3 -m triage.collectors``: the command on a node that has nothing but Python.

``python3 -m triage.collectors live`` asks the processes of a job that still runs.
"""

import sys

if sys.argv[1:2] == ["live"]:
    from triage.collectors.live.command import main

    sys.exit(main(sys.argv[2:]))

from triage.collectors.command import main as collect

sys.exit(collect())
