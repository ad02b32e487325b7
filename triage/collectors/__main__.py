"""``python3 -m triage.collectors``: the command on a node that has nothing but Python."""

import sys

from triage.collectors.command import main

sys.exit(main())
