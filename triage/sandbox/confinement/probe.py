"""Whether readers can be confined here: a process tries it on itself and says what is missing.

python -m triage.sandbox.confinement.probe
"""

import json
import os
import subprocess
import sys
from typing import Final

from triage.sandbox.confinement.confine import confine
from triage.sandbox.process import build_child_environment

_DEADLINE_S: Final = 60.0


def probe_confinement_gaps() -> tuple[str, ...]:
    """What a reader of this machine may do though it need not; empty where all is closed."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __spec__.name],
            env=build_child_environment(os.environ),
            capture_output=True,
            timeout=_DEADLINE_S,
            check=True,
        )
        return tuple(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return (f"whether a reader is confined cannot be found out ({error})",)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(confine(())))
